/* SPDX-License-Identifier: MIT */
/*
 * stats_output: writes the statistics of a recording: stats.json.
 *
 * In: the times of threads and CPUs, the event counts, the cost of our programs; out: one JSON
 * document beside the streams (or instead of them), one snapshot a line. Snapshots that are taken
 * while the session runs (--interval) go to NAME.part, line by line, and at the end from there into
 * the document; a recorder that is killed leaves them.
 * Invariants: integers are written as they are, never through a double; each metric has its inputs
 * beside it; sums are the sums of their parts. Specification: loom.md 12; ovni-stats(5).
 */
#ifndef USER_STATS_STATS_OUTPUT_H
#define USER_STATS_STATS_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "user/timeline/state_times.h"

struct event_counts;
struct window_edge;
struct cost;
struct options;
struct disk_error;

/* Runs of the programs of a group, and the time of those that were timed. */
struct program_runs {
	uint64_t runs, timed_runs, timed_ns;
};

/* The cost of our programs on a CPU. */
struct cpu_cost {
	unsigned cpu;				    /* the kernel's number */
	struct program_runs before[PROGRAM_GROUPS]; /* when the window opened */
	struct program_runs groups[PROGRAM_GROUPS]; /* since then */
};

/* Sums of the threads of a process, or of all. */
struct stats_sums {
	uint32_t pid;
	uint64_t begin, end; /* of the first and the last, ns */
	bool alive;
	uint64_t life_ns; /* of all of them */
	struct thread_times times;
	char comm[RECORD_COMM_SIZE];
};

/* The whole run. */
struct stats_run {
	struct stats_sums all;
	uint64_t clock, window_ns, cpu_ns[CPU_USES], switches;
	unsigned ncpus;
	uint64_t prog_runs, prog_ns; /* ns: estimated from the runs that were timed */
};

/* Contents of the document, beside the times. */
struct stats_session {
	const struct options *options;
	const struct event_counts *counts;
	uint32_t kinds; /* with a program */
	uint64_t t0, t1;
	const struct window_edge *begin, *end;
	const struct cost *cost; /* of the recorder */
};

struct stats_file {
	int dirfd;	  /* not owned */
	const char *name; /* "stats.json" */
	struct disk_error *disk_error;
	bool idle_known;		/* the times of the CPUs tell idle from other threads */
	const struct cpu_state *states; /* by kernel number; not owned */
	struct cpu_cost *costs;		/* ncpus of them */
	unsigned ncpus;
	FILE *part;	/* NULL: not created yet */
	off_t whole;	/* bytes of it that are whole snapshots */
	unsigned count; /* of snapshots */
};

/* The window has opened, on these CPUs; `states` are all CPUs by kernel number. The members
 * before `states` are set, and `part`, if that file exists already and is empty. 0, or -ENOMEM
 * after one message. */
int stats_open(struct stats_file *file, const struct cpu_state *states, const unsigned *cpus,
	       unsigned ncpus) __attribute__((warn_unused_result));

/* Appends the snapshots of the moment, or none of them. 0 or -errno after one message. */
int stats_snapshot(struct stats_file *file, const struct time_stats *times)
	__attribute__((warn_unused_result));

/* Writes the document; a file of its name must not exist. Sorts the threads by process. 0 or -errno
 * after one message. */
int stats_write(struct stats_file *file, struct time_stats *times,
		const struct stats_session *session) __attribute__((warn_unused_result));

void stats_close(struct stats_file *file); /* also of a zeroed struct */

/* For the report at the end: sums of all threads, and of the CPUs. */
void stats_sum(const struct stats_file *file, const struct time_stats *times,
	       struct stats_run *run);

#endif
