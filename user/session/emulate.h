/* SPDX-License-Identifier: MIT */
/*
 * emulate: runs the ovni-emu in the folder of this program on a recorded trace (--emulate).
 */
#ifndef USER_SESSION_EMULATE_H
#define USER_SESSION_EMULATE_H

#include <stdbool.h>

struct signals;

/* Checks that the folder of this program has an ovni-emu. 0, or -errno after one message. */
int emulate_find(void) __attribute__((warn_unused_result));

/* Runs `ovni-emu DIR` with the present identity and the signal mask of the caller, and waits for
 * it. 0 if its exit status is 0, else -errno after a message, of ovni-emu or of this function. */
int emulate_run(const char *dir, bool quiet, const struct signals *signals)
	__attribute__((warn_unused_result));

#endif
