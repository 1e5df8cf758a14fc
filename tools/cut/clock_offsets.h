/* SPDX-License-Identifier: MIT */
/*
 * clock_offsets: the table of clock offsets of a cut trace.
 *
 * In: the table of the trace; out: its head and the rows of the nodes that have streams in the new
 * trace. The clocks of the streams stay as they are, so the new trace needs these rows; readers
 * refuse the row of a node without streams. Specification: job.md 4.4.
 */
#ifndef TOOLS_CUT_CLOCK_OFFSETS_H
#define TOOLS_CUT_CLOCK_OFFSETS_H

#include <stdint.h>

struct source;

/* `written`: events of each stream in the new trace, the directory `out_fd` with the path `out`; 0:
 * it has no such stream. Without a table nothing is written. Returns 0, or -errno after one
 * message. */
int copy_clock_offsets(const struct source *source, const uint64_t *written, int out_fd,
		       const char *out) __attribute__((warn_unused_result));

#endif
