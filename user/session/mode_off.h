/* SPDX-License-Identifier: MIT */
/*
 * mode_off: a session that records nothing (--mode off): the command runs as if alone.
 *
 * Nothing is loaded, mapped, written or asked of the kernel; what stays is that the command runs as
 * the same user as in the other modes, and that the exit status is ours.
 */
#ifndef USER_SESSION_MODE_OFF_H
#define USER_SESSION_MODE_OFF_H

#include "trace/base/status.h"
#include "user/config/config.h"

/* Runs it. Every problem has been said when it returns. */
enum status off_run(const struct options *options);

#endif
