/* SPDX-License-Identifier: MIT */
/*
 * emulate: the emulator that stands beside this program, run on a trace.
 */
#ifndef USER_EMULATE_H
#define USER_EMULATE_H

/* Is there an ovni-emu beside this program? 0, or -errno after one message. */
int emulate_find(void) __attribute__((warn_unused_result));

/* Runs `ovni-emu DIR` as whoever we are by now, and waits. 0 if it ended well, else -errno after a
 * message (its own, or ours). */
int emulate_run(const char *dir) __attribute__((warn_unused_result));

#endif
