/* SPDX-License-Identifier: MIT */
/*
 * off: a session that records nothing (--mode off): the command runs as if alone.
 *
 * Nothing is loaded, mapped, written or asked of the kernel; what stays is that the command runs as
 * the same user as in the other modes, and that the exit status is ours.
 */
#ifndef USER_OFF_H
#define USER_OFF_H

#include "user/options.h"

/* Runs it. Every problem has been said when it returns. */
enum status off_run(const struct options *options);

#endif
