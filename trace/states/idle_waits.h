/* SPDX-License-Identifier: MIT */
/*
 * idle_waits: how long a CPU on which a waiting thread may run was idle meanwhile.
 *
 *   CPU 0      │      b          │ v ...
 *   CPU 1      │  c  │  idle  │ d        v may run on 0 and 1: 8 of a wait of 18; on 0 alone: 0
 *   thread v      └─ waits ──────┘
 *
 * In: a walk over a trace (intervals.h), event by event; out: of the wait with which the present
 * run of a thread began, the time in which at least one CPU of its set was idle. The set is the
 * thread's mark `Allowed CPUs` (type 89, --why=prio); a CPU is idle only where the recorder saw
 * all of its threads (ovni-bpf -a) and lost no event. Invariant: 0 <= the time <= the wait. The
 * time is INTERVAL_UNKNOWN for a thread without a set, and for a wait if the set changes in it or
 * in the run after it: the recorder sees a change only when the thread runs again. A step costs one
 * step for each different set, of which a trace has at most IDLE_SETS_MOST.
 */
#ifndef TRACE_STATES_IDLE_WAITS_H
#define TRACE_STATES_IDLE_WAITS_H

#include "trace/states/intervals.h"

#define IDLE_SETS_MOST 1024 /* more sets are not known */

struct idle_waits {
	bool any; /* the trace has sets of CPUs, and some CPU may be known to be idle */

	/* private */
	struct idle_thread *threads; /* of each stream, nthreads of them */
	size_t nthreads;
	struct idle_cpu *cpus;
	size_t ncpus;
	struct idle_loom *looms;
	size_t nlooms;
	struct idle_set *sets;
	size_t nsets;
	uint32_t gaps; /* marks of lost events that are open */
};

/* Reads the metadata of all streams of `source`. Returns 0, or -errno after one message;
 * idle_waits_fini() must follow in both cases. */
int idle_waits_init(struct idle_waits *idle, const struct source *source)
	__attribute__((warn_unused_result));

/* One event of a walk, after its effect (interval_listener.event). */
void idle_waits_step(struct idle_waits *idle, const struct intervals *intervals, uint32_t stream,
		     const struct event *ev);

/* ns, of the wait before the present or last run of the thread; INTERVAL_UNKNOWN: not known. */
int64_t idle_waits_ns(const struct idle_waits *idle, uint32_t stream);

void idle_waits_fini(struct idle_waits *idle);

#endif
