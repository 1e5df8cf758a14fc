/* SPDX-License-Identifier: MIT */
/*
 * cells: the tables of counters.h: activity of each node in each invocation.
 *
 * In: ids; out: cells. A cell belongs to a node, or to a whole core, in one invocation. Entries
 * stay until the end. Indices are stable; pointers are valid until the next addition. Invariant:
 * memory follows invocations, and the nodes with records in them.
 */
#ifndef TRACE_LOOM_STATS_CELLS_H
#define TRACE_LOOM_STATS_CELLS_H

#include "trace/base/hash.h"
#include "trace/loom/stats/counters.h"
#include "trace/loom/loom_record.h"
#include "trace/loom/stats/sweep.h"

#define LOOM_NO_CELL  HASH_NONE
#define LOOM_ANY_CORE UINT32_MAX /* the invocation of all cores together */

/* Activity of a node in an invocation, or with whole_core of all nodes of its core. */
struct loom_cell {
	uint64_t cycles[LOOM_DOES]; /* by activity */
	uint64_t tokens_in, tokens_out;
	/*
	 * Its last record, not counted yet: an activity in `cycle`, or in style edge from `cycle`
	 * to `left`, where the node continued in another invocation.
	 */
	uint64_t cycle, left;
	/* style span: the last interval; `cycle` is that of the last route */
	uint64_t from, until;
	uint32_t invocation, node, unit;
	uint32_t next;	/* next cell of the invocation */
	uint32_t place; /* index in the sweep of its core; of a core: index of its sweep */
	bool whole_core, routed;
	uint8_t does, lasting;
};

/* A node. */
struct loom_unit {
	uint64_t key;
	uint64_t tokens_in, tokens_out; /* before its first record */
	uint32_t cell;			/* of its last record, or NONE */
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
	uint32_t last_invocation; /* of the last record, and of the last counted record */
	uint32_t last_counted;
	uint64_t every; /* cycles; 0: no periodic snapshots */
	loom_snapshot_fn snapshot;
	void *arg;
	uint64_t first, last, end;
	bool any;
};

/*
 * The index of the invocation of a record on its core, which gets a joint one; LOOM_NO_CELL out of
 * memory.
 */
uint32_t loom_cells_invocation(struct loom_counters *c, const struct loom_record *r);
/* The node, added if it is new; NULL out of memory. */
struct loom_unit *loom_cells_unit(struct loom_counters *c, uint32_t core, uint32_t node);
/* The node, or NULL if it is unknown. */
struct loom_unit *loom_cells_find_unit(const struct loom_counters *c, uint32_t core, uint32_t node);
/* Adds a cell without an index; NULL out of memory. */
struct loom_cell *loom_cells_new(struct loom_counters *c, uint32_t invocation);
/* The cell of a node in the invocation; its core gets one, too. NULL out of memory. */
struct loom_cell *loom_cells_node(struct loom_counters *c, uint32_t invocation, uint32_t node);
/* The cell of the core, with a sweep if the style needs one; NULL out of memory. */
struct loom_cell *loom_cells_core(struct loom_counters *c, uint32_t invocation);
/* Frees the cells and their sweeps. */
void loom_cells_free(struct loom_counters *c);

#endif
