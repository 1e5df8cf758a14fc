/* SPDX-License-Identifier: MIT */
/*
 * counters: records of a Loom run in, the six counters of each node and core out.
 *
 * In: records in the order of their cycles; out: the invocations, and a row of counters for each
 * node and each core in each of them. A record that violates the rules of order is refused and
 * changes nothing. Invariant: memory follows nodes and invocations, not records.
 * Specification: loom.md 4.1, 4.3, 5.1, 5.4 and 8 (O1, O3 to O5).
 */
#ifndef TRACE_LOOM_STATS_COUNTERS_H
#define TRACE_LOOM_STATS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/loom_record.h"

struct loom_counters;

/* One invocation on one core. */
struct loom_invocation {
	uint32_t core, epoch; /* core: a u16, internally also UINT32_MAX */
	uint64_t id;
	uint64_t start, end; /* cycles, end exclusive */
	bool seen, started, done, failed;
	uint64_t config_writes;
	uint64_t first, last;	/* cycles of its records */
	uint64_t host_clock_ns; /* of the host's call (loom_counters_anchor); 0: not known */
	/* private */
	uint64_t covered;	     /* the cycle after the last one that its records cover */
	uint32_t joint, cell, cells; /* cells: the first of a list */
	uint32_t open;		     /* of a joint one: number of cores with a start and no end */
	bool has_nodes;
	struct loom_row *pending; /* the snapshot at pending_cycle, unless it ends there */
	size_t npending;
	uint64_t pending_cycle;
};

/* Counters of a node, or of a whole core, in one invocation. */
struct loom_row {
	uint32_t invocation; /* index of it */
	bool whole_core;     /* of the core, not of a node */
	uint32_t node;
	uint64_t active, stall_in, stall_out; /* cycles */
	uint64_t tokens_in, tokens_out, config_writes;
};

/*
 * Returns NULL without memory. The caller frees it with loom_counters_free(). With `strict`, a core
 * without a START leaves an invocation when all cores with a START are done: a later record would
 * need its own DONE, which is not known yet.
 */
struct loom_counters *loom_counters_new(enum loom_style style, bool strict);
void loom_counters_free(struct loom_counters *counters); /* accepts NULL */

/* Gets a row of a snapshot: the counters of an invocation that ends at v->end. */
typedef void (*loom_snapshot_fn)(void *arg, const struct loom_invocation *v,
				 const struct loom_row *row);

/*
 * Calls `fn` for each row of an invocation at multiples of `cycles` (not 0), in the order of the
 * rows below. Of several multiples between two of its records, only the first one counts.
 */
void loom_counters_every(struct loom_counters *counters, uint64_t cycles, loom_snapshot_fn fn,
			 void *arg);

/*
 * Counts a record. Returns 0; or, without a change, -ERANGE for a decreasing cycle; -EPROTO for a
 * second start or end of an invocation, a start after records of its nodes, an end without a start,
 * or a record of a node outside its invocation; or -ENOMEM.
 */
int loom_counters_add(struct loom_counters *counters, const struct loom_record *record)
	__attribute__((warn_unused_result));

/* Declares a node, which gets a row even without records. Returns 0 or -ENOMEM. */
int loom_counters_node(struct loom_counters *counters, uint16_t core, uint32_t node)
	__attribute__((warn_unused_result));

/*
 * Adds tokens to a node, in the invocation of its last record, or of its first one to come. Returns
 * 0, or -ENOENT for an unknown node.
 */
int loom_counters_tokens(struct loom_counters *counters, uint16_t core, uint32_t node, uint64_t in,
			 uint64_t out);

/*
 * Sets the clock of the host's call of an invocation, of all its cores, before or after its first
 * record. Returns 0, -EEXIST if it has one, or -ENOMEM.
 */
int loom_counters_anchor(struct loom_counters *counters, uint32_t epoch, uint64_t id,
			 uint64_t clock_ns) __attribute__((warn_unused_result));

/*
 * Ends all open invocations: at the latest end of the same epoch and id on another core, else at
 * the cycle after the last record; never before the cycles that its records cover. Then the tables
 * below are complete: invocations by the cycles of their first records, epoch, id and core; rows by
 * invocation, the row of the core before those of its nodes. Returns 0 or -ENOMEM.
 */
int loom_counters_finish(struct loom_counters *counters) __attribute__((warn_unused_result));

const struct loom_invocation *loom_counters_invocations(const struct loom_counters *counters,
							size_t *n);
/* The invocation of the last record, or NULL. */
const struct loom_invocation *loom_counters_last(const struct loom_counters *counters);
const struct loom_row *loom_counters_rows(const struct loom_counters *counters, size_t *n);

/* The invocation of a core, or NULL; the row in it of a node, or with `whole_core` of the core, or
 * NULL. */
const struct loom_invocation *loom_counters_find(const struct loom_counters *counters,
						 uint16_t core, uint32_t epoch, uint64_t id);
const struct loom_row *loom_counters_row(const struct loom_counters *counters,
					 const struct loom_invocation *v, bool whole_core,
					 uint32_t node);

/* The range of cycles of the records, end exclusive; both 0 without records. */
void loom_counters_window(const struct loom_counters *counters, uint64_t *first, uint64_t *end);

#endif
