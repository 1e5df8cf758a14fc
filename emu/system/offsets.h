/* SPDX-License-Identifier: MIT */
/*
 * offsets: reads the table of clock offsets, one row per host.
 *
 *   rank       hostname             offset_median        offset_mean          offset_std
 *   0          node1                0                    0.000000             0.000000
 *
 * In: the file; out: loom->offset, in ns, of all looms of the listed hosts.
 * Specification: emulator.md 5.
 */
#ifndef EMU_SYSTEM_OFFSETS_H
#define EMU_SYSTEM_OFFSETS_H

#include <stdio.h>

#include "emu/system/system.h"

#define OFFSETS_FILE "clock-offsets.txt"

/*
 * Reads `path` below `dir_fd`. With `optional` a missing file leaves all offsets at 0, with a
 * warning if there are several looms. Returns 0, or -errno after a message.
 */
int offsets_load(struct system *sys, int dir_fd, const char *path, bool optional)
	__attribute__((warn_unused_result));

/* The same for an open file; `path` is its name in messages. */
int offsets_parse(struct system *sys, FILE *file, const char *path)
	__attribute__((warn_unused_result));

#endif
