/* SPDX-License-Identifier: MIT */
/*
 * controls: which records pass: by kind, core and node, and of those every so many.
 *
 * In: a record; out: does it pass, and if not, why. The same records in the same order get the same
 * answers. Sampling counts the records of each node and kind by themselves, and keeps the first of
 * every so many; what tells when an invocation begins, ends or fails is never sampled out.
 * Memory follows the nodes. Used by whoever writes, rewrites or shows records.
 * Invariant: every record gets exactly one answer, so that the counts add up.
 * Specification: loom.md 5.4 (controls), 7, 11 (sampling).
 */
#ifndef TRACE_LOOM_CONTROLS_H
#define TRACE_LOOM_CONTROLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/loom_record.h"

#ifdef __cplusplus
extern "C" {
#endif

struct loom_node_id {
	uint32_t node;
	uint16_t core;
	bool any_core;
};

struct loom_tick; /* how many records of a node and kind there were */

struct loom_controls {
	bool by_kind, by_core, by_node; /* false: all pass */
	/* Session-level kinds (4 to 6) pass whatever nodes are chosen: they are of no node. */
	bool session_passes;
	uint8_t kinds[32];	    /* a bit for each */
	uint8_t *cores;		    /* a bit for each of 65536, if by_core */
	struct loom_node_id *nodes; /* if by_node, sorted */
	size_t nnodes;
	uint32_t keep, of; /* sampling; all pass if they are equal (0 and 0 too) */
	struct loom_tick *ticks;
	size_t nticks, room;
};

enum loom_decision { LOOM_PASSES, LOOM_FILTERED, LOOM_SAMPLED_OUT };

/*
 * Lists as the user writes them, separated by commas: "fire,NODE_STALL_IN,EXT_9" (upstream's short
 * names fire stall_in stall_out route config start done error work too), "0,3-5",
 * "7,1:4" (node 7 of every core, node 4 of core 1), and "K/N" with 1 <= K <= N. A second list adds
 * to the first. Return NULL, or what is wrong; `nodes` sorts.
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

/* The same one by one; 0 or -ENOMEM. */
void loom_controls_add_kind(struct loom_controls *c, uint8_t kind);
int loom_controls_add_core(struct loom_controls *c, uint16_t core)
	__attribute__((warn_unused_result));
int loom_controls_add_node(struct loom_controls *c, struct loom_node_id node)
	__attribute__((warn_unused_result));

/* Lets through only what the filters of `by` let through, too (sampling apart). 0 or -ENOMEM. */
int loom_controls_narrow(struct loom_controls *c, const struct loom_controls *by)
	__attribute__((warn_unused_result));

/* The answer for the next record, or -ENOMEM. */
int loom_controls_decide(struct loom_controls *c, const struct loom_record *r)
	__attribute__((warn_unused_result));

/* True if a record of this kind, core and node gets through the filters (sampling apart). */
bool loom_controls_filters_pass(const struct loom_controls *c, uint8_t kind, uint16_t core,
				uint32_t node);

static inline bool loom_controls_samples(const struct loom_controls *c)
{
	return c->keep != c->of;
}

void loom_controls_free(struct loom_controls *c); /* all pass again */

#ifdef __cplusplus
}
#endif

#endif
