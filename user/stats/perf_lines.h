/* SPDX-License-Identifier: MIT */
/*
 * perf_lines: the snapshots of perf.json, one a line.
 *
 * In: settled figures of threads and CPUs; out: lines of JSON, each an object with its counters and
 * then, below `metrics`, what follows from them.
 * Specification: loom.md 12.
 */
#ifndef USER_STATS_PERF_LINES_H
#define USER_STATS_PERF_LINES_H

#include <stdio.h>

#include "user/stats/summary_read.h"

struct facts_cpu;
struct facts_kind;

/* A string of JSON, quoted; bytes of strangers as trace/base/text.h has them. */
void perf_string(FILE *out, const char *text, size_t len);

/* The parts of an account: seen, written, ... with commas in between. */
void perf_account(FILE *out, const struct facts_kind *k);

/* `interval` is the number of the moment while the session runs, from 1; 0 at its end. */
void perf_thread(FILE *out, const struct thread_figures *figures, const struct counters *counters,
		 unsigned interval);

/* `account` may be NULL: not known while the session runs. */
void perf_cpu(FILE *out, const struct counters_cpu *cpu, const struct facts_cpu *account,
	      const struct counters *counters, unsigned interval);

/* Sums of threads, of a process or of all. */
struct perf_sums {
	uint32_t pid;
	uint64_t life_ns, begin, end; /* of all of them; of the first and the last */
	bool alive;
	struct thread_counters threads;
	char comm[RECORD_COMM_SIZE];
};
void perf_process(FILE *out, const struct perf_sums *sums, uint64_t clock, unsigned interval);

/* And those of the CPUs. */
struct perf_run {
	struct perf_sums all;
	uint64_t clock, window_ns, cpu_ns[CPU_USES], switches;
	unsigned ncpus;
	struct counters_cost costs[PROGRAM_GROUPS];
	uint64_t prog_runs, prog_ns; /* ns: from those that were timed */
};
void perf_run(FILE *out, const struct perf_run *run, unsigned interval);

/* The counters of threads alone, behind a comma. */
void perf_counters(FILE *out, uint64_t life_ns, const struct thread_counters *counters);

#endif
