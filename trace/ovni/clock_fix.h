/* SPDX-License-Identifier: MIT */
/*
 * clock_fix: the correction of the clocks of nodes: offsets, drifts, and the table that has them.
 * Measurements between the first and the last one of the table are in node/NODE.json (job_file.h).
 *
 *   rank       hostname             offset_median        offset_mean          offset_std
 *   0          node1                0                    0.000000             0.000000
 *
 * In: a clock of a node, ns; out: the same moment by the clock of the reference node. Invariant:
 * clocks that do not fall stay so, since a drift is at most 1/1000.
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
#define CLOCK_POINTS_MOST   10000 /* of a node: a month, one each 5 min */
#define CLOCK_OFFSETS_FILE  "clock-offsets.txt"

/* A measurement of the clock of a node. */
struct clock_point {
	int64_t clock, offset; /* ns: its clock, and what to add to it */
	int64_t bound;	       /* ns: the greatest error of the offset; CLOCK_BOUND_UNKNOWN */
};

/* True if `point` is later than `earlier`, and the drift between the two is at most
 * CLOCK_DRIFT_MOST. */
bool clock_point_follows(const struct clock_point *earlier, const struct clock_point *point);

struct clock_fix {
	int64_t offset; /* ns, added at the clock `begin`; everywhere if `length` is 0 */
	int64_t drift;	/* ns by which the offset grows in `length` ns of the node's clock */
	int64_t begin, length;
	/* Measurements after `begin` and before its end, each of which follows the one before;
	   the corrected clock is linear between two of them. Owned by the table. */
	struct clock_point *points;
	size_t npoints;
};

/* clock_fix() of a clock with points. */
bool clock_fix_between(const struct clock_fix *fix, int64_t clock, int64_t *fixed);

/* Corrects a clock, also outside of the measurements. False if the result is out of range. */
static inline bool clock_fix(const struct clock_fix *fix, int64_t clock, int64_t *fixed)
{
	__int128 grown, more;

	if (__builtin_expect(!fix->length, 1))
		return !__builtin_add_overflow(clock, fix->offset, fixed);
	if (__builtin_expect(fix->npoints, 0))
		return clock_fix_between(fix, clock, fixed);
	grown = (__int128)fix->drift * ((__int128)clock - fix->begin);
	more = grown / fix->length - (grown % fix->length < 0); /* the floor */
	return !__builtin_add_overflow(clock + more, fix->offset, fixed);
}

/* ---- the table ---- */

struct clock_row {
	char *host;
	struct clock_fix fix;
	int64_t bound; /* ns; CLOCK_BOUND_UNKNOWN */
	unsigned line; /* in the file; 0: of clock_table_realtime() */
	bool used;
};

/* A table by host. Zeroed it is an empty one, of a trace without a table. */
struct clock_table {
	struct clock_row *rows;
	size_t n;
};

/*
 * Reads `path` below `dir_fd`, with the drift in its columns 6 to 9 if `drift`. With `optional` a
 * missing file is an empty table, and `dir_fd` is a trace: with the drift come the points of its
 * nodes. A fix is valid until the end of the table. Returns 0, or -errno after a message;
 * clock_table_fini() must follow in both cases.
 */
int clock_table_load(struct clock_table *table, int dir_fd, const char *path, bool optional,
		     bool drift) __attribute__((warn_unused_result));
/* In place of a table: offsets by CLOCK_REALTIME, which the nodes of a job read at their begin, to
 * that of the first node by name. They have no bound. Empty if no node has read it. The same
 * result. */
int clock_table_realtime(struct clock_table *table, int dir_fd) __attribute__((warn_unused_result));
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
