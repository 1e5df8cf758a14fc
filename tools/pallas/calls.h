/* SPDX-License-Identifier: MIT */
/*
 * calls: the calls of a thread, from the times of its ENTER and LEAVE events.
 *
 * In: a loaded thread, a window of time; out: each call at its end. The calls that are open where
 * the window begins come from the grammar, without times. A LEAVE that is not of the innermost
 * open call is no part of a call. Invariant: no time before the window is read, but those of the
 * chunks at its edge, and no time of another event.
 * Specification: pallas.md 13, 15.
 */
#ifndef TOOLS_PALLAS_CALLS_H
#define TOOLS_PALLAS_CALLS_H

#include "tools/pallas/selection.h"

/* A call, or the part of it in the window; ns. */
struct call {
	uint32_t row;	     /* of its region: struct calls */
	uint64_t begin, end; /* of the part */
	uint64_t called;     /* the part of it in calls from it */
	bool outer;	     /* no other call of its region is around it */
	bool cut;	     /* its begin or end is not known: it is open at an end of the window */
};

/* Called for each call. Returns 0, or -errno after one message, which ends the walk. */
typedef int (*calls_fn)(void *to, const struct call *call);

struct calls {
	const struct pallas_thread *thread;
	uint32_t *refs; /* of the regions, rising */
	uint32_t nrows;
	uint32_t *row_of; /* of each event; PALLAS_NONE: no ENTER or LEAVE */
	bool *wanted;	  /* events with a row */
};

/* Finds the regions of a loaded thread. Returns 0, or -errno after one message. */
int calls_init(struct calls *c, const struct selection *s, const struct pallas_trace *trace,
	       const struct pallas_thread *thread) __attribute__((warn_unused_result));
void calls_fini(struct calls *c); /* accepts a zeroed struct */

/* Calls `fn` for all calls of the thread in the window, cut at both of its ends. Returns 0, or
 * -errno after one message, or what `fn` returned. */
int calls_walk(const struct calls *c, struct pallas_loader *loader, const struct selection *s,
	       calls_fn fn, void *to) __attribute__((warn_unused_result));

#endif
