/* SPDX-License-Identifier: MIT */
/*
 * collect: a trace as the sections of a page, in one walk.
 *
 * In: the events of all streams (intervals.h), and the time of each thread by its use
 * (thread_times.h); out: blocks of runs, stays, calls, points, gaps and details, and an overview.
 * Stays between two runs of a thread follow from the runs, where they do not they are written: so
 * the sums of a page are those of ovni-report, of any trace. Clocks are ns since the first event.
 * Memory follows threads, CPUs and functions; the written blocks stay in memory up to a limit.
 * Specification: view.md 8.
 */
#ifndef TOOLS_VIEW_COLLECT_H
#define TOOLS_VIEW_COLLECT_H

#include "tools/lib/filter.h"
#include "tools/view/details.h"
#include "tools/view/findings_walk.h"
#include "tools/view/run_block.h"
#include "trace/analysis/function_calls.h"
#include "trace/analysis/thread_times.h"

#define DENSITY_BUCKETS 2048
/* Types of points: those of marks, and this one + i of the hardware counter i of nOS-V
 * (models.md 5.4). As with marks, Paraver's type is 100 more. */
#define COUNTER_TYPE  100
#define COUNTERS_MOST 100
#define CLOCK_MOST    (1ll << 52) /* ns, 52 days: differences fit into the numbers of a browser */

struct density {	    /* sum of a state over time, in ns */
	int64_t width, end; /* of a bucket, a power of two; of all buckets */
	int64_t ns[DENSITY_BUCKETS];
	/* Not in ns yet: how many more stays cover all of a bucket than of the one before. */
	int64_t whole[DENSITY_BUCKETS + 1];
};

struct thread_track; /* the present state of a thread */

struct collect {
	const struct source *source;
	struct filter *filter;
	struct page_file *page;
	struct actors actors;
	struct run_block runs;
	struct columns stays, calls, points, gaps;
	struct details details;
	int64_t stay_at, call_at, point_at; /* clocks of the entries before */
	struct thread_track *threads;	    /* of each stream */
	struct function_list functions;
	enum call_machine *machines; /* of each stream */
	char **sleep_calls;	     /* texts of the system calls of sleeps */
	size_t nsleep_calls;
	struct hash by_call; /* and by stream or machine, and descriptor */
	int32_t *types;	     /* of the points */
	size_t ntypes;
	struct hash by_type;
	struct density busy, runnable;
	struct findings *findings; /* NULL: there are none */
	struct play_order *order;  /* for their walk; NULL: not needed */
	uint64_t limit;		   /* bytes of the sections */
	int64_t first, last;	   /* clocks of the part in detail */
	int64_t origin;		   /* clock of the first event */
	int64_t end, now;	   /* clocks of the last event, and of the last one of a state */
	bool full;		   /* the limit is reached; `last` is where */
	uint64_t ngaps, nstays, ncalls, npoints;
};

/* Walks the trace and adds its blocks to the page. Returns 0, or -errno after one message;
 * collect_fini() must follow in both cases. It makes the findings' part of the CPUs, too. *damaged:
 * the walk ended early, after a message; the page has the part before. */
int collect_trace(struct collect *collect, const struct source *source, struct filter *filter,
		  struct page_file *page, struct findings_walk *findings, uint64_t limit,
		  bool *damaged) __attribute__((warn_unused_result));
void collect_fini(struct collect *collect);

#endif
