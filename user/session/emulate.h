/* SPDX-License-Identifier: MIT */
/*
 * emulate: the emulator that stands beside this program, run on a trace.
 */
#ifndef USER_SESSION_EMULATE_H
#define USER_SESSION_EMULATE_H

#include <stdbool.h>

struct signals;

/* Is there an ovni-emu beside this program? 0, or -errno after one message. */
int emulate_find(void) __attribute__((warn_unused_result));

/* Runs `ovni-emu DIR` as whoever we are by now, with the signals that were taken from our caller,
 * and waits. 0 if it ended well, else -errno after a message (its own, or ours). */
int emulate_run(const char *dir, bool quiet, const struct signals *signals)
	__attribute__((warn_unused_result));

#endif
