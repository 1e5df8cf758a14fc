/* SPDX-License-Identifier: MIT */
/*
 * stats_output: the file perf.json: where the time of each thread, process and CPU went.
 *
 * In: the counters, the account, the session's facts; out: one JSON document beside the streams (or
 * instead of them), one snapshot a line. Snapshots that are taken while the session runs go to
 * NAME.part, line by line, and from there into the document at the end; who is killed leaves them.
 * Invariants: integers are written as they are, never through a double; each metric has its
 * inputs beside it; sums are the sums of what they sum. trace/ovni/stats_file.h checks it.
 * Specification: loom.md 5.4, 12; ovni-perf(5).
 */
#ifndef USER_STATS_STATS_OUTPUT_H
#define USER_STATS_STATS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "user/stats/summary_read.h"
#include "user/stats/perf_lines.h"

struct account;
struct cost;
struct options;
struct disk_error;

/* All that the document tells beside the counters. */
struct perf {
	const struct options *options;
	const struct counters *counters;
	const struct account *account;
	uint32_t kinds; /* with a program */
	uint64_t t0, t1;
	const struct cost *cost; /* of the recorder */
};

struct perf_file {
	int dirfd;	  /* not owned */
	const char *name; /* "perf.json" */
	struct disk_error *disk_error;
	FILE *part;	/* NULL: no snapshot yet */
	off_t whole;	/* bytes of it that are whole snapshots */
	uint64_t last;	/* clock of the last one, */
	unsigned count; /* and its number */
};

/* Appends the snapshots of the moment, or none of them. 0 or -errno after one message. */
int perf_snapshot(struct perf_file *file, const struct counters *counters)
	__attribute__((warn_unused_result));

/* Writes the document, in place of nothing: it must not exist. 0 or -errno after one message. */
int perf_write(struct perf_file *file, const struct perf *perf) __attribute__((warn_unused_result));

void perf_close(struct perf_file *file); /* also of a zeroed struct */

/* For the report at the end: sums of all threads, and of the CPUs. */
void perf_sum(const struct counters *counters, struct perf_run *run);

#endif
