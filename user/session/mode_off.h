/* SPDX-License-Identifier: MIT */
/*
 * mode_off: --mode off: runs the command and records nothing.
 *
 * It loads, maps and writes nothing. The command runs as the same user as in the other modes, and
 * the exit status is that of ovni-bpf.
 */
#ifndef USER_SESSION_MODE_OFF_H
#define USER_SESSION_MODE_OFF_H

#include "trace/base/status.h"
#include "user/config/config.h"

/* Runs the command. Reports every error before it returns. */
enum status off_run(const struct options *options);

#endif
