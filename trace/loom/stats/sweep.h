/* SPDX-License-Identifier: MIT */
/*
 * sweep: what a core as a whole does, while its nodes do what lasts.
 *
 * In: changes of the nodes of one core in one invocation, in the order of their cycles; out: in how
 * many cycles some node worked, else one was stalled on output, else one on input. Either all
 * changes come as they happen (style edge), or each tells how long it lasts (style span).
 * Invariant: memory follows nodes, never changes. Specification: loom.md 4.3, 5.1.
 */
#ifndef TRACE_LOOM_STATS_SWEEP_H
#define TRACE_LOOM_STATS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

/* What a node, or a core, does in one cycle: the highest of these counts. */
enum loom_does {
	LOOM_DOES_NOTHING,
	LOOM_DOES_STALL_IN,
	LOOM_DOES_STALL_OUT,
	LOOM_DOES_WORK,
	LOOM_DOES
};

/* A span of a node that is not over. */
struct loom_sweep_span {
	uint64_t until;
	uint32_t place;
	uint8_t does;
};

struct loom_sweep {	      /* all zero is the start */
	uint64_t at;	      /* everything before this cycle is counted */
	uint64_t works_until; /* a route: whatever else the nodes do */
	uint64_t cycles[LOOM_DOES];
	uint64_t late[LOOM_DOES]; /* from `end` on */
	uint64_t end;		  /* if has_end: of the invocation, as far as is known */
	bool has_end;
	uint32_t nodes[LOOM_DOES]; /* that do it */
	/* style span: a heap by `until`, and where in it the span of each node is */
	struct loom_sweep_span *heap;
	uint32_t *where;
	uint32_t nheap, nplaces, room;
};

void loom_sweep_fini(struct loom_sweep *sweep);

/* Style edge: a node does `now` from `cycle` on, instead of `before`. */
void loom_sweep_change(struct loom_sweep *sweep, uint64_t cycle, enum loom_does before,
		       enum loom_does now);

/*
 * Style edge: as far as is known by now, the invocation ends at `cycle`. What nodes do after that
 * is kept back, and counts if the end is put off.
 */
void loom_sweep_ends(struct loom_sweep *sweep, uint64_t cycle);

/* Style span: a place for one more node. 0 or -ENOMEM. */
int loom_sweep_join(struct loom_sweep *sweep, uint32_t *place) __attribute__((warn_unused_result));
/* The node does it in the cycles [cycle, until), and nothing else any more. */
void loom_sweep_span(struct loom_sweep *sweep, uint32_t place, uint64_t cycle, uint64_t until,
		     enum loom_does does);
/* Some node routes in the cycle. */
void loom_sweep_route(struct loom_sweep *sweep, uint64_t cycle);

/* Counts to `cycle`, before which nothing will change any more: cycles and late are complete then.
 */
void loom_sweep_to(struct loom_sweep *sweep, uint64_t cycle);

/* Counts to `end`, and spans to theirs: sweep->cycles is complete then. */
void loom_sweep_finish(struct loom_sweep *sweep, uint64_t end);

#endif
