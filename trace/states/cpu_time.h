/* SPDX-License-Identifier: MIT */
/*
 * cpu_time: where all of the time of each CPU went.
 *
 *   window = threads + idle + other + unknown
 *
 * In: the walk of intervals.h, and what the recorder's session tells of each CPU (idle, other
 * threads, unknown because records were lost); out: for each CPU of each loom parts that add
 * up to the window. In a trace that does not tell, what no thread of it took is `idle`,
 * which then means: idle or not recorded.
 * Specification: event-mapping.md, "Metadata" (bpf.session).
 */
#ifndef TRACE_STATES_CPU_TIME_H
#define TRACE_STATES_CPU_TIME_H

#include "trace/states/pairs.h"
#include "trace/states/intervals.h"

struct account_cpu {
	char *loom;
	int32_t cpu;
	bool told;	 /* by the session */
	int64_t threads; /* ns with a thread of the trace, as the events say */
	int64_t idle, other, unknown;
	int64_t window;
	int64_t twice; /* ns beyond the window: threads at the same time on one CPU */
};

struct account {
	struct account_cpu *cpus; /* sorted by loom and CPU */
	size_t ncpus, room;
	struct pairs spans; /* (stream, cpu): ns on it */
	int64_t t0, t1;	    /* the window */
	bool session;	    /* it is the session's */
};

/* Takes one span in (runs_listener.span). Returns 0 or -ENOMEM. */
int account_span(struct account *account, uint32_t who, int32_t cpu, int64_t from, int64_t to);

/* When the walk is over: adds everything up. Returns 0, or -errno after one message. */
int account_finish(struct account *account, const struct runs *runs)
	__attribute__((warn_unused_result));
void account_free(struct account *account);

#endif
