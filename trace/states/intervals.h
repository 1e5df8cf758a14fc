/* SPDX-License-Identifier: MIT */
/*
 * intervals: a trace as what its threads did: they ran, waited for a CPU, slept.
 *
 *            woken             start                    end
 *   sleeping   │     delay       │         on a CPU      │
 *   ───────────┴─────────────────┴───────────────────────┴────
 *
 * In: the events of all streams by clock; out: one struct run each time that a thread leaves
 * its CPU, and the events in between. A thread is on a CPU while it is Running, or, once its
 * stream has shown a KCO, between KCI and KCO. Where a thread is entered or closed on the
 * virtual CPU in no time is no run. It never refuses a trace: what is
 * not known is INTERVAL_UNKNOWN (figures) or RUN_UNKNOWN (who).
 * Specification: event-mapping.md, "The thread state machine" and payloads.
 */
#ifndef TRACE_STATES_INTERVALS_H
#define TRACE_STATES_INTERVALS_H

#include "trace/base/off_cpu.h"
#include "trace/ovni/trace_input.h"
#include "trace/states/state_walk.h"

#define INTERVAL_UNKNOWN INT64_MIN /* of a duration or a clock */
#define RUN_UNKNOWN	 (-1)	   /* of next */

struct run {
	uint32_t who; /* the stream of the thread */
	int32_t cpu;  /* index, CPU_VIRTUAL or CPU_NONE */
	int64_t start, end;
	int64_t sleep;	  /* ns between its last run and the wake-up, or unknown */
	int64_t delay;	  /* ns from runnable to running, or unknown */
	int32_t waker;	  /* tid; 0 not known, -1 it stayed runnable, -2 an interrupt */
	enum off_cpu why; /* it left the CPU */
	int32_t next;	  /* tid that took the CPU, 0 idle, RUN_UNKNOWN */
	bool cut;	  /* the trace ends while it runs */
};

struct runs;

/* What a report wants to hear; each may be NULL. 0, or -errno which ends the walk. */
struct runs_listener {
	int (*end)(void *arg, const struct runs *runs, const struct run *run);
	/* A piece of a run on one CPU (a thread may be moved while it runs). */
	int (*span)(void *arg, const struct runs *runs, uint32_t who, int32_t cpu, int64_t from,
		    int64_t to);
	/* Any event, after its effect. */
	int (*event)(void *arg, const struct runs *runs, uint32_t who, const struct event *ev);
};

struct runs_thread {
	struct run run;
	bool on;	  /* a CPU */
	bool kernel;	  /* KCO and KCI decide */
	int64_t off_at;	  /* its last run ended, or unknown */
	int64_t woken_at; /* or unknown */
	int64_t span_at;
	int64_t total; /* ns on a CPU, up to the last end */
};

struct runs {
	const struct source *source;
	struct whereabouts where;
	struct runs_thread *threads;
	int64_t first, last; /* clocks of the trace; last: of the present event */
	bool any;	     /* there was an event */
};

/* Walks the trace. Returns 0, or -errno after one message (the last one of the listener is its
 * own); what came before has been told. Runs that are open at the end are told as cut. */
int runs_walk(struct runs *runs, const struct source *source, const struct runs_listener *listener,
	      void *arg) __attribute__((warn_unused_result));
void runs_fini(struct runs *runs);

/* ns that the thread has been on a CPU up to the present event. */
int64_t runs_on_cpu(const struct runs *runs, uint32_t who);

#endif
