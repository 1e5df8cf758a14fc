/* SPDX-License-Identifier: MIT */
/*
 * progress: a line on the terminal while the emulation runs, and a summary at its end.
 *
 *   ovni-emu: 43 %, 12.3 M events, 9.1 M/s, 2 s left
 *
 * In: how much of the streams has been read; out: text on standard error, only
 * if that is a terminal, at most five times a second.
 */
#ifndef EMU_PROGRESS_H
#define EMU_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct emulator;

struct progress {
	bool on;
	int64_t start_ns, next_ns;
	uint64_t total_bytes; /* of all streams */
};

void progress_start(struct progress *progress, const struct emulator *emu);
/* To be called now and then. */
void progress_show(struct progress *progress, const struct emulator *emu);
/* Removes the line; after a success says what was done. */
void progress_end(struct progress *progress, const struct emulator *emu, int err);

#endif
