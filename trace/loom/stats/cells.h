/* SPDX-License-Identifier: MIT */
/*
 * cells: the tables behind counters.h: what each node does in each invocation.
 *
 * A cell is of a node, or of a core as a whole, in one invocation. Entries are found by their ids
 * and stay until the end. Indices stay valid; pointers are valid until an entry is added.
 * Invariant: memory follows invocations, and the nodes that have records in them.
 */
#ifndef TRACE_LOOM_STATS_CELLS_H
#define TRACE_LOOM_STATS_CELLS_H

#include "trace/base/hash.h"
#include "trace/loom/stats/counters.h"
#include "trace/loom/loom_record.h"
#include "trace/loom/stats/sweep.h"

#define LOOM_NO_CELL  HASH_NONE
#define LOOM_ANY_CORE UINT32_MAX /* the invocation of all cores together */

/* What a node does in an invocation, or with whole_core all nodes of its core. */
struct loom_cell {
	uint64_t cycles[LOOM_DOES]; /* by what it does */
	uint64_t tokens_in, tokens_out;
	/* Of its last record, not counted yet: done in `cycle`, or in style edge from it on, but
	 * not from `left` on, where the node went on in another invocation. */
	uint64_t cycle, left;
	/* Style span: the last interval; `cycle` is that of the last route. */
	uint64_t from, until;
	uint32_t invocation, node, unit;
	uint32_t next;	/* of the same invocation */
	uint32_t place; /* in the sweep of its core; of a core: which sweep is its own */
	bool whole_core, routed;
	uint8_t does, lasting;
};

/* A node, whatever it does. */
struct loom_unit {
	uint64_t key;
	uint64_t tokens_in, tokens_out; /* of before its first record */
	uint32_t cell;			/* of its last record, NONE: there is none */
	bool declared;
};

struct loom_counters {
	enum loom_style style;
	bool strict;
	struct loom_unit *units;
	size_t nunits;
	struct hash unit_of;	 /* core, node */
	struct loom_cell *cells; /* until the rows are made */
	size_t ncells;
	struct hash cell_of; /* node, invocation; cells of cores are found by their invocations */
	struct loom_sweep *sweeps;
	size_t nsweeps;
	struct loom_invocation *invocations;
	size_t ninvocations;
	struct hash invocation_of; /* id, epoch, core */
	struct loom_row *rows;
	size_t nrows;
	uint32_t last_invocation; /* that of the last record, and of the last that was counted */
	uint32_t last_counted;
	uint64_t every; /* cycles; 0: no snapshots on the way */
	loom_snapshot_fn snapshot;
	void *arg;
	uint64_t first, last, end;
	bool any;
};

/* The invocation of a record on its core, which has a joint one: its index; LOOM_NO_CELL without
 * memory. */
uint32_t loom_cells_invocation(struct loom_counters *c, const struct loom_record *r);
/* The node, known from now on; NULL without memory. */
struct loom_unit *loom_cells_unit(struct loom_counters *c, uint32_t core, uint32_t node);
/* The same if it is known already, else NULL. */
struct loom_unit *loom_cells_find_unit(const struct loom_counters *c, uint32_t core, uint32_t node);
/* A cell that nothing else knows; NULL without memory. */
struct loom_cell *loom_cells_new(struct loom_counters *c, uint32_t invocation);
/* The cell of a node in the invocation, whose core gets one, too; NULL without memory. */
struct loom_cell *loom_cells_node(struct loom_counters *c, uint32_t invocation, uint32_t node);
/* The cell of the core, with its sweep if the style needs one; NULL without memory. */
struct loom_cell *loom_cells_core(struct loom_counters *c, uint32_t invocation);
/* The cells go, and their sweeps. */
void loom_cells_free(struct loom_counters *c);

#endif
