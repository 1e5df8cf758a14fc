/* SPDX-License-Identifier: MIT */
/*
 * counters: records of a Loom run in, the six counters of each node and core out.
 *
 * In: records in the order of their cycles; out: the invocations, and a row of counters for
 * each node and each core in each of them. On the way every record is held against the
 * ordering rules: one that would make the run invalid is refused and changes nothing.
 * Invariant: memory follows nodes and invocations, never records.
 * Specification: loom.md 4.1, 4.3, 5.1, 5.4 and 8 (O1, O3 to O5).
 */
#ifndef TRACE_LOOM_STATS_COUNTERS_H
#define TRACE_LOOM_STATS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/style.h"

struct loom_counters;

/* One invocation on one core. */
struct loom_invocation {
	uint32_t core, epoch; /* a core is a u16; UINT32_MAX is used inside */
	uint64_t id;
	uint64_t start, end; /* cycles, end exclusive */
	bool seen, started, done, failed;
	uint64_t config_writes;
	uint64_t first, last; /* cycles of its records */
	/* used inside: */
	uint64_t covered;	     /* the cycle after the last one that its nodes tell of */
	uint32_t joint, cell, cells; /* cells: the first of a list */
	uint32_t open; /* of a joint one: cores that have started it and not ended it */
	bool has_nodes;
	struct loom_row *pending; /* a snapshot at pending_cycle, if it does not end there */
	size_t npending, pending_room;
	uint64_t pending_cycle;
};

/* Counters of a node, or of a whole core, in one invocation. */
struct loom_row {
	uint32_t invocation; /* index of it */
	bool whole_core;     /* cycles of the core, not of a node */
	uint32_t node;
	uint64_t active, stall_in, stall_out; /* cycles */
	uint64_t tokens_in, tokens_out, config_writes;
};

/*
 * NULL without memory. The caller frees. With `strict`, a core that has not started an invocation
 * itself has no part in it any more when all that have are done: only an end of its own would make
 * that valid, which is not known yet.
 */
struct loom_counters *loom_counters_new(enum loom_style style, bool strict);
void loom_counters_free(struct loom_counters *counters); /* NULL is fine */

/* A row of a snapshot: what it would be, had the invocation ended at v->end. */
typedef void (*loom_snapshot_fn)(void *arg, const struct loom_invocation *v,
				 const struct loom_row *row);

/*
 * Has `fn` called for each row of an invocation when it passes a multiple of `cycles` (not 0), in
 * the order of the rows below. Of several multiples between two of its records the first one
 * counts.
 */
void loom_counters_every(struct loom_counters *counters, uint64_t cycles, loom_snapshot_fn fn,
			 void *arg);

/*
 * Counts a record. Returns 0; or, with nothing changed, -ERANGE: its cycle is before that of
 * the record before it; -EPROTO: it is a second start or end of an invocation, a start after
 * records of its nodes, an end without a start, or a record of a node outside of its invocation;
 * -ENOMEM.
 */
int loom_counters_add(struct loom_counters *counters, const struct loom_record *record)
	__attribute__((warn_unused_result));

/* Says that there is this node, so that it has a row even if it never does anything. 0 or -ENOMEM.
 */
int loom_counters_node(struct loom_counters *counters, uint16_t core, uint32_t node)
	__attribute__((warn_unused_result));

/* Adds tokens to a node that is known, in the invocation of its last record, or of the first that
 * will come. 0, or -ENOENT if it is not. */
int loom_counters_tokens(struct loom_counters *counters, uint16_t core, uint32_t node, uint64_t in,
			 uint64_t out);

/*
 * Ends all invocations that are open: one without an end of its own takes the latest of the
 * same epoch and id on another core, else the cycle after its last record; none ends before what
 * its nodes tell of (a span, or what is done in the cycle of the end). Then the tables below are
 * complete: invocations by the cycles of their first records, epoch, id and core; rows by
 * invocation, the row of the core before those of its nodes. Returns 0 or -ENOMEM.
 */
int loom_counters_finish(struct loom_counters *counters) __attribute__((warn_unused_result));

const struct loom_invocation *loom_counters_invocations(const struct loom_counters *counters,
							size_t *n);
/* The invocation of the last record; NULL if there was none. */
const struct loom_invocation *loom_counters_last(const struct loom_counters *counters);
const struct loom_row *loom_counters_rows(const struct loom_counters *counters, size_t *n);

/* The cycles that the records span, end exclusive; both 0 when there were none. */
void loom_counters_window(const struct loom_counters *counters, uint64_t *first, uint64_t *end);

#endif
