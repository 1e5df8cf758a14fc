/* SPDX-License-Identifier: MIT */
/*
 * sweep: derives the activity of a core from its nodes.
 *
 * In: changes of the nodes of one core in one invocation, in the order of their cycles; out: the
 * number of cycles in which a node worked, else was stalled on output, else on input. A change
 * lasts until the next one (style edge), or for a given time (style span). Invariant: memory
 * follows nodes, not changes. Specification: loom.md 4.3, 5.1.
 */
#ifndef TRACE_LOOM_STATS_SWEEP_H
#define TRACE_LOOM_STATS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

/* Activity of a node, or of a core, in one cycle: the highest one counts. */
enum loom_does {
	LOOM_DOES_NOTHING,
	LOOM_DOES_STALL_IN,
	LOOM_DOES_STALL_OUT,
	LOOM_DOES_WORK,
	LOOM_DOES
};

/* An open span of a node. */
struct loom_sweep_span {
	uint64_t until;
	uint32_t place;
	uint8_t does;
};

struct loom_sweep {	      /* zero it to start */
	uint64_t at;	      /* all earlier cycles are counted */
	uint64_t works_until; /* a route, above all other activities */
	uint64_t cycles[LOOM_DOES];
	uint64_t late[LOOM_DOES]; /* from `end` on */
	uint64_t end;		  /* if has_end: of the invocation so far */
	bool has_end;
	uint32_t nodes[LOOM_DOES]; /* number of nodes per activity */
	/* style span: a heap by `until`, and the index of each node in it */
	struct loom_sweep_span *heap;
	uint32_t *where;
	uint32_t nheap, nplaces;
};

void loom_sweep_fini(struct loom_sweep *sweep);

/* Style edge: a node changes from `before` to `now` at `cycle`. */
void loom_sweep_change(struct loom_sweep *sweep, uint64_t cycle, enum loom_does before,
		       enum loom_does now);

/*
 * Style edge: the invocation ends at `cycle` so far. Later activities are kept, and count if the
 * end moves.
 */
void loom_sweep_ends(struct loom_sweep *sweep, uint64_t cycle);

/* Style span: adds a node, with its index in *place. Returns 0 or -ENOMEM. */
int loom_sweep_join(struct loom_sweep *sweep, uint32_t *place) __attribute__((warn_unused_result));
/* Style span: the node has this activity in the cycles [cycle, until), which ends its last one. */
void loom_sweep_span(struct loom_sweep *sweep, uint32_t place, uint64_t cycle, uint64_t until,
		     enum loom_does does);
/* A node routes in the cycle. */
void loom_sweep_route(struct loom_sweep *sweep, uint64_t cycle);

/* Counts to `cycle`, after the last change before it: `cycles` and `late` are then complete. */
void loom_sweep_to(struct loom_sweep *sweep, uint64_t cycle);

/* Counts to `end`, and spans to their ends: sweep->cycles is then complete. */
void loom_sweep_finish(struct loom_sweep *sweep, uint64_t end);

#endif
