/* SPDX-License-Identifier: MIT */
/*
 * progress: shows a line on the terminal during the emulation, and a summary at its end.
 *
 *   ovni-emu: 43 %, 12.3 M events, 9.1 M/s, 2 s left
 *
 * In: the positions in the streams; out: text on standard error, if that is a terminal. Invariant:
 * at most five lines a second.
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
/* Shows the line if the last one is old enough. */
void progress_show(struct progress *progress, const struct emulator *emu);
/* Removes the line; after a success (`err` 0) logs the summary. */
void progress_end(struct progress *progress, const struct emulator *emu, int err);

#endif
