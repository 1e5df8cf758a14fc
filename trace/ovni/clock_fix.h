/* SPDX-License-Identifier: MIT */
/*
 * clock_fix: the correction of the clocks of nodes: offsets, drifts, and the table that has them.
 *
 *   rank       hostname             offset_median        offset_mean          offset_std
 *   0          node1                0                    0.000000             0.000000
 *
 * In: a clock of a node, ns; out: the same moment by the clock of the reference node. Invariant:
 * clocks that do not fall stay so, since a drift is below 1/1000.
 * Specification: job.md 4.4; emulator.md 5.
 */
#ifndef TRACE_OVNI_CLOCK_FIX_H
#define TRACE_OVNI_CLOCK_FIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CLOCK_DRIFT_MOST    1000 /* ppm; more is no clock */
#define CLOCK_BOUND_UNKNOWN (-1)
#define CLOCK_OFFSETS_FILE  "clock-offsets.txt"

struct clock_fix {
	int64_t offset; /* ns, added at the clock `begin`; everywhere if `length` is 0 */
	int64_t drift;	/* ns by which the offset grows in `length` ns of the node's clock */
	int64_t begin, length;
};

/* Corrects a clock, also outside of the two measurements. False if the result is out of range. */
static inline bool clock_fix(const struct clock_fix *fix, int64_t clock, int64_t *fixed)
{
	__int128 grown, more;

	if (__builtin_expect(!fix->length, 1))
		return !__builtin_add_overflow(clock, fix->offset, fixed);
	grown = (__int128)fix->drift * ((__int128)clock - fix->begin);
	more = grown / fix->length - (grown % fix->length < 0); /* the floor */
	return !__builtin_add_overflow(clock + more, fix->offset, fixed);
}

/* ---- the table ---- */

struct clock_row {
	char *host;
	struct clock_fix fix;
	int64_t bound; /* ns; CLOCK_BOUND_UNKNOWN */
	unsigned line; /* in the file */
	bool used;
};

/* A table by host. Zeroed it is an empty one, of a trace without a table. */
struct clock_table {
	struct clock_row *rows;
	size_t n;
};

/*
 * Reads `path` below `dir_fd`, with the drift in its columns 6 to 9 if `drift`. With `optional` a
 * missing file is an empty table. Returns 0, or -errno after a message; clock_table_fini() must
 * follow in both cases.
 */
int clock_table_load(struct clock_table *table, int dir_fd, const char *path, bool optional,
		     bool drift) __attribute__((warn_unused_result));
/* The same for an open file; `path` is its name in messages. */
int clock_table_parse(struct clock_table *table, FILE *file, const char *path, bool drift)
	__attribute__((warn_unused_result));
void clock_table_fini(struct clock_table *table);

/* The row of the host of a loom, marked as used. NULL: its clock is that of the reference. */
const struct clock_row *clock_table_find(struct clock_table *table, const char *loom);

/* The most by which the corrected clocks of two nodes differ, ns; CLOCK_BOUND_UNKNOWN if a row has
 * no bound: the sum of the two largest. */
int64_t clock_table_bound(const struct clock_table *table);

/* Refuses a row that no loom has used: 0, or -EINVAL after a message. */
int clock_table_check(const struct clock_table *table, const char *path)
	__attribute__((warn_unused_result));

/* Warns that the clocks of `machines` looms are taken for equal, if there are several. */
void clock_table_warn_missing(size_t machines);

#endif
