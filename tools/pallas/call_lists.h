/* SPDX-License-Identifier: MIT */
/*
 * call_lists: the histogram of the durations of calls, and the slowest calls, of all threads.
 *
 * In: loaded threads, one after the other; out: tables. Only the times of ENTER and LEAVE events
 * are read. Memory follows the number of regions and of slowest calls, not that of calls.
 */
#ifndef TOOLS_PALLAS_CALL_LISTS_H
#define TOOLS_PALLAS_CALL_LISTS_H

#include "tools/pallas/pallas_command.h"
#include "trace/base/hash.h"

struct call_lists {
	const struct pallas_options *o;
	struct pallas_trace *trace;
	struct pallas_loader *loader;
	struct histogram *histograms; /* one for each name of a region, with --histogram */
	uint32_t nhistograms;
	struct hash histogram_of; /* name */
	struct slow_call *slow;	  /* a heap: the fastest is the first; room for o->slowest */
	size_t nslow;
};

/* Returns 0, or -errno after one message. */
int call_lists_init(struct call_lists *l, struct pallas_trace *trace, struct pallas_loader *loader,
		    const struct pallas_options *o) __attribute__((warn_unused_result));
int call_lists_add(struct call_lists *l, const struct pallas_thread *t)
	__attribute__((warn_unused_result));
void call_lists_show(struct call_lists *l);
void call_lists_fini(struct call_lists *l);

#endif
