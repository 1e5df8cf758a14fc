/* SPDX-License-Identifier: MIT */
/*
 * cpu_time: use of the time of each CPU.
 *
 *   window = threads + idle + other + unknown
 *
 * In: the spans of intervals.h, and for each CPU the times in the recorder's session (idle, other
 * threads, unknown because records were lost); out: for each CPU of each machine parts that add up
 * to the window; the parts of an accelerator are no CPUs. Only a recording of all threads
 * distinguishes idle time from the time of other threads: without `idle_known`, `idle` is 0 and
 * `other` is the time of other threads or idle. Specification: event-mapping.md, "Metadata"
 * (bpf.session).
 */
#ifndef TRACE_STATES_CPU_TIME_H
#define TRACE_STATES_CPU_TIME_H

#include "trace/base/hash.h"
#include "trace/base/array.h"
#include "trace/base/json.h"
#include "trace/states/intervals.h"

#define CPU_IRQS_MOST 128 /* kinds of interrupt handlers of a CPU */

struct cpu_irq {    /* what handlers of a kind did on a CPU */
	char *kind; /* "softirq NET_RX" */
	int64_t ns;
	uint64_t times;
};

struct cpu_time { /* all in ns */
	char *loom;
	int32_t cpu;
	bool idle_known; /* the session distinguishes idle time of this CPU from the time of other
			    threads */
	int64_t threads; /* with a thread of the trace, by the events */
	int64_t idle, other, unknown;
	int64_t steal; /* of the window, taken by a hypervisor, within the others; below 0: not
			  known */
	int64_t irq;   /* the same, taken by interrupt handlers (--why=irq) */
	struct cpu_irq *irqs; /* their kinds, the one with the most time first: nirqs of them */
	size_t nirqs;
	int64_t window;
	int64_t overlap; /* beyond the window: several threads at a time on one CPU */

	/* private to cpu_time.c, for the walk over the events: */
	int64_t running;	     /* the stream of the running thread; -1: none is known */
	int64_t since, until;	     /* begin of that run; end of its known part, or of a gap */
	int64_t gaps_all, gaps_part; /* ns after a loss, in the trace and in the part */
};

struct cpu_span { /* the time of one thread on one CPU */
	uint32_t stream;
	int32_t cpu;
	int64_t ns;
	uint64_t count; /* of pieces */
};

struct cpu_times {
	struct cpu_time *cpus; /* sorted by loom and CPU */
	size_t ncpus;
	/* After cpu_times_finish(), by stream and CPU. */
	struct cpu_span *spans;
	size_t nspans;
	size_t next;	       /* private: where the next CPU may be */
	struct hash cpu_at;    /* private: of loom and CPU, until they are sorted */
	struct span_row *rows; /* private: of each stream, during the walk */
	size_t nrows;
	struct pool sums;	/* private: of the rows, */
	size_t nsums;		/* and how many are in use */
	struct cpu_span *batch; /* private: to be added together */
	size_t nbatch;
	int64_t t0, t1; /* the window */
	bool session;	/* the window is the session's */
	/* Set before the walk: only the part of the window from clock `first` to `last` counts. The
	 * session's times of a CPU cover the whole window. Then the rest of the part is idle if the
	 * CPU had no other threads in the whole window; unknown is the time in which a thread was
	 * lost on it, and the rest as far as the session has more unknown time than that. */
	bool part;
	int64_t first, last;
};

/* "idle", and "other threads", or "other threads or idle" if the two are not distinguished. */
#define CPU_TIME_OTHER_OR_IDLE "other threads or idle"

/* True if a session (bpf.session of its metadata) distinguishes idle time of its CPUs from the time
 * of other threads. */
bool cpu_times_idle_known(const struct json *session);

/* Limits the window to the part between two clocks; INT64_MIN, INT64_MAX: all. */
static inline void cpu_times_begin(struct cpu_times *times, int64_t first, int64_t last)
{
	*times = (struct cpu_times){
		.part = first != INT64_MIN || last != INT64_MAX, .first = first, .last = last};
}

/* Adds one span (of interval_listener). Returns 0 or -ENOMEM. */
int cpu_times_add(struct cpu_times *times, const struct intervals *intervals, uint32_t stream,
		  int32_t cpu, int64_t from, int64_t to);

/* In a part, each event of the walk (interval_listener.event). Returns 0 or -ENOMEM. */
int cpu_times_step(struct cpu_times *times, const struct intervals *intervals, uint32_t stream,
		   const struct event *ev);

/* Adds everything up after the walk. Returns 0, or -errno after one message. */
int cpu_times_finish(struct cpu_times *times, const struct intervals *intervals)
	__attribute__((warn_unused_result));
void cpu_times_fini(struct cpu_times *times);

#endif
