/* SPDX-License-Identifier: MIT */
/*
 * clock_table: the measurement of all clocks by MPI messages, and its table on disk.
 *
 * In: a communicator of which rank 0 leads; out: the table. All ranks call the same function.
 * Rank 0 measures one host after the other, while the rest sleeps: a sample is the quickest of a
 * few exchanges, so its error is at most half the time of that exchange (clock_samples.h).
 * Invariant: a table that exists is replaced by a complete one or not at all. Needs MPI: linked
 * with ovni-sync and ovni-job alone. Specification: tools.md 6; job.md 4.4; emulator.md 5.
 */
#ifndef TOOLS_SYNC_CLOCK_TABLE_H
#define TOOLS_SYNC_CLOCK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_TABLE	  "clock-offsets.txt"
#define CLOCK_SAMPLES	  100
#define CLOCK_SAMPLES_MAX 1000000

struct clock_request {
	const char *output;	 /* file; NULL: CLOCK_TABLE in $OVNI_TRACEDIR, or in "ovni" */
	const char *append;	 /* directory of a trace: the last measurement of its table */
	uint64_t samples, drift; /* drift: so many measurements in columns, if above 1 */
	double wait;		 /* s between the measurements of `drift` */
	bool verbose;
	bool looms;   /* with `append`: without the hosts that have no streams there */
	bool between; /* with `append`: more will follow, so none of a busy host is taken */
};

/* The sum of a table with two measurements, in rank 0. */
struct clock_sum {
	int64_t largest, bound; /* ns, without sign */
	double drift;		/* ppm, without sign; 0 after the first measurement */
	/* In the other ranks, of those that are the first of their host: its clock, its offset and
	   the bound of it, ns, as measured now; the clock is 0 if the host was too busy. */
	int64_t own_clock, own_offset, own_bound;
};

/* Measures, and writes the table. Returns 0 in all ranks, or -errno after one message in rank 0.
 * `sum` (NULL: not wanted) is filled for `append`. */
int clock_table_measure(const struct clock_request *request, struct clock_sum *sum);

#endif
