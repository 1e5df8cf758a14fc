/* SPDX-License-Identifier: MIT */
/*
 * cpu_time: use of the time of each CPU.
 *
 *   window = threads + idle + other + unknown
 *
 * In: the spans of intervals.h, and for each CPU the times in the recorder's session (idle, other
 * threads, unknown because records were lost); out: for each CPU of each loom parts that add up to
 * the window. Where the session has no times of a CPU, its time without a thread of the trace is
 * `idle`, which then means: idle or not recorded.
 * Specification: event-mapping.md, "Metadata" (bpf.session).
 */
#ifndef TRACE_STATES_CPU_TIME_H
#define TRACE_STATES_CPU_TIME_H

#include "trace/states/intervals.h"
#include "trace/states/pairs.h"

struct cpu_time { /* all in ns */
	char *loom;
	int32_t cpu;
	bool in_session; /* the session has the times of this CPU */
	int64_t threads; /* with a thread of the trace, by the events */
	int64_t idle, other, unknown;
	int64_t steal; /* of the window, taken by a hypervisor, within the others; below 0: not
			  known */
	int64_t window;
	int64_t overlap; /* beyond the window: several threads at a time on one CPU */
};

struct cpu_times {
	struct cpu_time *cpus; /* sorted by loom and CPU */
	size_t ncpus;
	struct pairs spans; /* (stream, cpu): ns on it */
	int64_t t0, t1;	    /* the window */
	bool session;	    /* it is that of the session */
	/* Set before the walk: only the part of the window from clock `first` to `last` counts. The
	 * session's times of a CPU, which are those of the whole window, then only tell whether all
	 * the rest is idle. */
	bool part;
	int64_t first, last;
};

/* Adds one span (of interval_listener). Returns 0 or -ENOMEM. */
int cpu_times_add(struct cpu_times *times, uint32_t stream, int32_t cpu, int64_t from, int64_t to);

/* Adds everything up after the walk. Returns 0, or -errno after one message. */
int cpu_times_finish(struct cpu_times *times, const struct intervals *intervals)
	__attribute__((warn_unused_result));
void cpu_times_fini(struct cpu_times *times);

#endif
