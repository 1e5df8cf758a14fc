/* SPDX-License-Identifier: MIT */
/*
 * controls: filters records by kind, core and node, and samples the rest.
 *
 * In: a record; out: a decision to keep it, or the reason against it. Decisions depend only on the
 * records and their order. Sampling counts per node and kind, and keeps the first K of every N; it
 * keeps all records about the start, end or failure of an invocation. Memory follows the nodes.
 * Writer, dump and export use it. Invariant: every record gets exactly one decision, so that the
 * counts add up.
 * Specification: loom.md 5.4 (controls), 7, 11 (sampling).
 */
#ifndef TRACE_LOOM_CONTROLS_H
#define TRACE_LOOM_CONTROLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/loom_record.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct loom_node_id {
	uint32_t node;
	uint16_t core;
	bool any_core;
};

struct loom_ticks; /* the numbers of records of each node and kind */

struct loom_controls {
	bool by_kind, by_core, by_node; /* false: all pass */
	/* kinds of the session (4 to 6), which have no node, pass the filter of nodes */
	bool session_passes;
	uint8_t kinds[32];	    /* a bit for each */
	uint8_t *cores;		    /* a bit for each of LOOM_CORES, if by_core */
	struct loom_node_id *nodes; /* if by_node, sorted */
	size_t nnodes;
	uint32_t keep, of; /* sampling: keep K of N; equal numbers keep all */
	struct loom_ticks *ticks;
};

enum loom_decision { LOOM_PASSES, LOOM_FILTERED, LOOM_SAMPLED_OUT };

/*
 * These parse lists of the user, separated by commas: "fire,NODE_STALL_IN,EXT_9" (also the short
 * names of upstream: fire stall_in stall_out route config start done error work), "0,3-5", "7,1:4"
 * (node 7 of every core, node 4 of core 1), and "K/N" with 1 <= K <= N. A second list adds to the
 * first. They return NULL, or the reason of a failure. `nodes` sorts.
 */
#define LOOM_NO_MEMORY "out of memory" /* instead of a mistake in the list */
const char *loom_controls_kinds(struct loom_controls *c, const char *list)
	__attribute__((warn_unused_result));
const char *loom_controls_cores(struct loom_controls *c, const char *list)
	__attribute__((warn_unused_result));
const char *loom_controls_nodes(struct loom_controls *c, const char *list)
	__attribute__((warn_unused_result));
const char *loom_controls_sample(struct loom_controls *c, const char *ratio)
	__attribute__((warn_unused_result));

/* These add one element. They return 0 or -ENOMEM. */
void loom_controls_add_kind(struct loom_controls *c, uint8_t kind);
int loom_controls_add_core(struct loom_controls *c, uint16_t core)
	__attribute__((warn_unused_result));

/* Restricts the filters, but not the sampling, to the filters of `by`. Returns 0 or -ENOMEM. */
int loom_controls_narrow(struct loom_controls *c, const struct loom_controls *by)
	__attribute__((warn_unused_result));

/* Returns the decision for the next record, or -ENOMEM. */
int loom_controls_decide(struct loom_controls *c, const struct loom_record *r)
	__attribute__((warn_unused_result));

/* True if a record of this kind, core and node passes the filters, without sampling. */
bool loom_controls_filters_pass(const struct loom_controls *c, uint8_t kind, uint16_t core,
				uint32_t node);

static inline bool loom_controls_filter(const struct loom_controls *c)
{
	return c->by_kind || c->by_core || c->by_node;
}

static inline bool loom_controls_samples(const struct loom_controls *c)
{
	return c->keep != c->of;
}

void loom_controls_free(struct loom_controls *c); /* afterwards all records pass */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
