/* SPDX-License-Identifier: MIT */
/*
 * counters: see counters.h. A cell has the activity of a node, or of a whole core, in one
 * invocation. Indices into the tables are stable; pointers are valid until the next addition.
 */
#include "trace/loom/stats/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/loom/loom_record.h"
#include "trace/loom/stats/sweep.h"

#define NONE	      HASH_NONE
#define LOOM_ANY_CORE UINT32_MAX /* the invocation of all cores together */
#define RECENT	      256	 /* a power of two */

/* Activity of a node in an invocation, or with whole_core of all nodes of its core. */
struct loom_cell {
	uint64_t cycles[LOOM_DOES]; /* by activity */
	uint64_t tokens_in, tokens_out;
	/*
	 * Its last record, not counted yet: an activity in `cycle`, or in style edge from `cycle`
	 * to `left`, where the node continued in another invocation.
	 */
	uint64_t cycle, left;
	/* style span: the last interval; `cycle` is of the last route */
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
	uint32_t recent[RECENT]; /* the last cells of nodes, to save look-ups */
	struct loom_sweep *sweeps;
	size_t nsweeps;
	struct loom_invocation *invocations;
	size_t ninvocations;
	struct hash invocation_of; /* id, epoch, core */
	uint64_t *anchors;	   /* clocks of the host */
	size_t nanchors;
	struct hash anchor_of; /* id, epoch */
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

/* ---- the tables ---- */

/* Frees the cells and their sweeps. */
static void free_cells(struct loom_counters *c)
{
	for (size_t i = 0; i < c->nsweeps; i++)
		loom_sweep_fini(&c->sweeps[i]);
	free(c->sweeps);
	free(c->cells);
	hash_free(&c->cell_of);
	c->sweeps = NULL;
	c->cells = NULL;
	c->nsweeps = c->ncells = 0;
}

static struct hash_key unit_key(uint32_t core, uint32_t node)
{
	return (struct hash_key){.a = node, .b = core};
}

/* The node, added if it is new; NULL out of memory. */
static struct loom_unit *unit_at(struct loom_counters *c, uint32_t core, uint32_t node)
{
	uint32_t *at = hash_at(&c->unit_of, unit_key(core, node));
	struct loom_unit *unit;

	if (!at)
		return NULL;
	if (*at != NONE)
		return &c->units[*at];
	unit = ARRAY_ADD(c->units, c->nunits);
	if (!unit)
		return NULL;
	*unit = (struct loom_unit){.key = (uint64_t)core << 32 | node, .cell = NONE};
	*at = (uint32_t)(unit - c->units);
	return unit;
}

/* The index of an invocation, NONE without memory. A new one has no joint one yet. */
static uint32_t invocation_of(struct loom_counters *c, uint32_t core, uint32_t epoch, uint64_t id)
{
	uint32_t *at = hash_at(&c->invocation_of, (struct hash_key){id, epoch, core});
	struct loom_invocation *v;

	if (!at)
		return NONE;
	if (*at != NONE)
		return *at;
	v = ARRAY_ADD(c->invocations, c->ninvocations);
	if (!v)
		return NONE;
	*v = (struct loom_invocation){
		.core = core, .epoch = epoch, .id = id, .joint = NONE, .cell = NONE, .cells = NONE};
	return *at = (uint32_t)(v - c->invocations);
}

/* The index of the invocation of a record on its core, which gets a joint one; NONE out of memory.
 */
static uint32_t own_invocation(struct loom_counters *c, const struct loom_record *r)
{
	uint32_t own = c->last_invocation, joint;

	if (own != NONE && c->invocations[own].core == r->core_id &&
	    c->invocations[own].epoch == r->epoch_id && c->invocations[own].id == r->invocation_id)
		return own;
	own = invocation_of(c, r->core_id, r->epoch_id, r->invocation_id);
	if (own == NONE || c->invocations[own].joint != NONE)
		return own;
	joint = invocation_of(c, LOOM_ANY_CORE, r->epoch_id, r->invocation_id);
	if (joint == NONE)
		return NONE;
	c->invocations[own].joint = joint;
	return own;
}

/* Adds a cell without an index; NULL out of memory. */
static struct loom_cell *new_cell(struct loom_counters *c, uint32_t invocation)
{
	struct loom_cell *cell = ARRAY_ADD(c->cells, c->ncells);

	if (!cell)
		return NULL;
	*cell = (struct loom_cell){.invocation = invocation,
				   .left = UINT64_MAX,
				   .next = c->invocations[invocation].cells};
	c->invocations[invocation].cells = (uint32_t)(cell - c->cells);
	return cell;
}

/* The cell of the core, with a sweep if the style needs one; NULL out of memory. */
static struct loom_cell *core_cell(struct loom_counters *c, uint32_t invocation)
{
	struct loom_invocation *v = &c->invocations[invocation];
	struct loom_sweep *sweep = NULL;
	struct loom_cell *cell;

	if (v->cell != NONE)
		return &c->cells[v->cell];
	cell = new_cell(c, invocation);
	if (cell && c->style != LOOM_STYLE_CYCLE)
		sweep = ARRAY_ADD(c->sweeps, c->nsweeps);
	if (!cell || (c->style != LOOM_STYLE_CYCLE && !sweep))
		return NULL;
	cell->whole_core = true;
	if (sweep) {
		*sweep = (struct loom_sweep){.at = 0};
		cell->place = (uint32_t)(sweep - c->sweeps);
	}
	v->cell = (uint32_t)(cell - c->cells);
	return cell;
}

/* The cell of a node in the invocation; its core gets one, too. NULL out of memory. */
static struct loom_cell *node_cell(struct loom_counters *c, uint32_t invocation, uint32_t node)
{
	uint32_t *recent = &c->recent[(node + 61 * invocation) % RECENT], *at, place = 0;
	struct loom_cell *cell;
	struct loom_unit *u;

	if (*recent != NONE) {
		cell = &c->cells[*recent];
		if (cell->node == node && cell->invocation == invocation)
			return cell;
	}
	at = hash_at(&c->cell_of, (struct hash_key){.a = node, .b = invocation});
	if (!at)
		return NULL;
	*recent = *at;
	if (*at != NONE)
		return &c->cells[*at];
	u = unit_at(c, c->invocations[invocation].core, node);
	if (!u || !core_cell(c, invocation))
		return NULL;
	if (c->style == LOOM_STYLE_SPAN &&
	    loom_sweep_join(&c->sweeps[c->cells[c->invocations[invocation].cell].place], &place))
		return NULL;
	cell = new_cell(c, invocation);
	if (!cell)
		return NULL;
	cell->node = node;
	cell->unit = (uint32_t)(u - c->units);
	cell->place = place;
	*at = (uint32_t)(cell - c->cells);
	return cell;
}

struct loom_counters *loom_counters_new(enum loom_style style, bool strict)
{
	struct loom_counters *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->style = style;
	c->strict = strict;
	c->last_invocation = c->last_counted = NONE;
	memset(c->recent, 0xff, sizeof(c->recent));
	return c;
}

void loom_counters_every(struct loom_counters *c, uint64_t cycles, loom_snapshot_fn fn, void *arg)
{
	c->every = cycles;
	c->snapshot = fn;
	c->arg = arg;
}

void loom_counters_free(struct loom_counters *c)
{
	if (!c)
		return;
	free_cells(c);
	free(c->units);
	hash_free(&c->unit_of);
	for (size_t i = 0; i < c->ninvocations; i++)
		free(c->invocations[i].pending);
	free(c->invocations);
	hash_free(&c->invocation_of);
	free(c->anchors);
	hash_free(&c->anchor_of);
	free(c->rows);
	free(c);
}

static struct loom_sweep *sweep_of(const struct loom_counters *c, uint32_t invocation)
{
	return &c->sweeps[c->cells[c->invocations[invocation].cell].place];
}

/* The cell of the core of a node's cell. */
static struct loom_cell *core_of(const struct loom_counters *c, const struct loom_cell *cell)
{
	return &c->cells[c->invocations[cell->invocation].cell];
}

/* At the first record of a node, adds its earlier tokens to this invocation. */
static void take_tokens(struct loom_counters *c, struct loom_unit *u, struct loom_cell *cell)
{
	struct loom_cell *core = core_of(c, cell);

	u->cell = (uint32_t)(cell - c->cells);
	cell->tokens_in += u->tokens_in;
	cell->tokens_out += u->tokens_out;
	core->tokens_in += u->tokens_in;
	core->tokens_out += u->tokens_out;
}

/* ---- counting ---- */

/* Counts the activity of a cell up to `end`; in style `cycle`, for one cycle. */
static void settle(const struct loom_counters *c, struct loom_cell *cell, uint64_t end)
{
	if (cell->left < end)
		end = cell->left;
	if (cell->does && c->style == LOOM_STYLE_EDGE)
		cell->cycles[cell->does] += end > cell->cycle ? end - cell->cycle : 0;
	else if (cell->does)
		cell->cycles[cell->does]++;
	cell->does = LOOM_DOES_NOTHING;
}

static void count(const struct loom_counters *c, struct loom_cell *cell, uint64_t cycle,
		  uint8_t does)
{
	if (cell->cycle != cycle)
		settle(c, cell, cycle);
	cell->cycle = cycle;
	if (does > cell->does)
		cell->does = does;
}

/* ---- rows ---- */

static int by_invocation(const void *a, const void *b)
{
	const struct loom_row *x = a, *y = b;

	if (x->invocation != y->invocation)
		return x->invocation < y->invocation ? -1 : 1;
	if (x->whole_core != y->whole_core)
		return x->whole_core ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static struct loom_row row_of(const struct loom_counters *c, const struct loom_cell *cell,
			      const uint64_t cycles[LOOM_DOES])
{
	return (struct loom_row){
		.invocation = cell->invocation,
		.whole_core = cell->whole_core,
		.node = cell->node,
		.active = cycles[LOOM_DOES_WORK],
		.stall_in = cycles[LOOM_DOES_STALL_IN],
		.stall_out = cycles[LOOM_DOES_STALL_OUT],
		.tokens_in = cell->tokens_in,
		.tokens_out = cell->tokens_out,
		.config_writes =
			cell->whole_core ? c->invocations[cell->invocation].config_writes : 0,
	};
}

/* The start of an invocation: its own, or the start that other cores reported. */
static uint64_t start_of(const struct loom_counters *c, const struct loom_invocation *v)
{
	const struct loom_invocation *all = &c->invocations[v->joint];

	if (v->started)
		return v->start;
	return all->started && (v->has_nodes || all->start < v->first) ? all->start : v->first;
}

/* ---- periodic snapshots ---- */

/* Reports the pending snapshot. */
static void report_pending(const struct loom_counters *c, struct loom_invocation *v)
{
	struct loom_invocation until = *v;

	if (!v->npending)
		return;
	until.start = start_of(c, v);
	until.end = v->pending_cycle;
	for (size_t i = 0; i < v->npending; i++)
		c->snapshot(c->arg, &until, &v->pending[i]);
	v->npending = 0;
}

/* The counters of a cell up to a cycle; earlier cycles are complete. */
static struct loom_row row_at(const struct loom_counters *c, const struct loom_cell *cell,
			      uint64_t cycle)
{
	struct loom_cell so_far = *cell;

	if (cell->whole_core && c->style != LOOM_STYLE_CYCLE) {
		struct loom_sweep *sweep = &c->sweeps[cell->place];

		loom_sweep_to(sweep, cycle);
		for (int does = 0; does < LOOM_DOES; does++)
			so_far.cycles[does] = sweep->cycles[does] + sweep->late[does];
		return row_of(c, cell, so_far.cycles);
	}
	settle(c, &so_far, cycle);
	if (c->style == LOOM_STYLE_SPAN && cell->until > cycle)
		so_far.cycles[cell->lasting] -= cell->until - cycle;
	return row_of(c, cell, so_far.cycles);
}

static int take(const struct loom_counters *c, struct loom_invocation *v, uint64_t cycle)
{
	v->npending = 0;
	for (uint32_t i = v->cells; i != NONE; i = c->cells[i].next) {
		struct loom_row *row = ARRAY_ADD(v->pending, v->npending);

		if (!row)
			return -ENOMEM;
		*row = row_at(c, &c->cells[i], cycle);
	}
	qsort(v->pending, v->npending, sizeof(*v->pending), by_invocation);
	v->pending_cycle = cycle;
	return 0;
}

/* Takes a due snapshot of the invocation before a record in the cycle. */
static int due(const struct loom_counters *c, struct loom_invocation *v, uint64_t cycle)
{
	uint64_t next = v->last - v->last % c->every;

	if (v->done || !v->has_nodes || cycle - next < c->every)
		return 0;
	next += c->every;
	if (next <= v->pending_cycle || start_of(c, v) >= next)
		return 0;
	report_pending(c, v);
	return take(c, v, next);
}

/* The same for a record of the invocation; reports the earlier snapshot. */
static int pass(const struct loom_counters *c, struct loom_invocation *v,
		const struct loom_record *r)
{
	int err;

	if (v->pending_cycle < r->cycle)
		report_pending(c, v);
	err = due(c, v, r->cycle);
	if (err)
		return err;
	/* an invocation that ends in this cycle gets rows anyway */
	if (v->pending_cycle == r->cycle && r->event_kind == LOOM_INVOCATION_DONE)
		v->npending = 0;
	return 0;
}

/* ---- records of nodes ---- */

/* Style edge: the node of the cell continues in another invocation. */
static int leave(struct loom_counters *c, struct loom_cell *cell, uint64_t cycle)
{
	struct loom_invocation *v = &c->invocations[cell->invocation];
	const struct loom_invocation *all = &c->invocations[v->joint];
	struct loom_sweep *sweep = sweep_of(c, cell->invocation);
	int err = c->every ? due(c, v, cycle) : 0;

	if (err)
		return err;
	if (!v->done && all->done && all->end > v->last)
		loom_sweep_ends(sweep, all->end);
	loom_sweep_change(sweep, cycle, cell->does, LOOM_DOES_NOTHING);
	cell->left = cycle;
	return 0;
}

static int count_edge(struct loom_counters *c, struct loom_cell *cell, const struct loom_record *r,
		      enum loom_does does)
{
	struct loom_sweep *sweep = sweep_of(c, cell->invocation);
	struct loom_cell *last = &c->cells[c->units[cell->unit].cell];
	enum loom_does before;
	int err = 0;

	if (last != cell && last->left == UINT64_MAX)
		err = leave(c, last, r->cycle);
	if (err)
		return err;
	if (cell->left != UINT64_MAX) { /* it returns */
		settle(c, cell, cell->left);
		cell->left = UINT64_MAX;
	}
	loom_sweep_ends(sweep, loom_cycle_after(r->cycle, 1));
	before = cell->does;
	count(c, cell, r->cycle, (uint8_t)does);
	if (cell->does != before)
		loom_sweep_change(sweep, r->cycle, before, cell->does);
	return 0;
}

/*
 * Counts a record in style span. No cycle counts twice: only a route may be inside an interval, and
 * an interval ends where the next one begins.
 */
static void count_span(struct loom_counters *c, struct loom_cell *cell, const struct loom_record *r,
		       enum loom_does does)
{
	bool routed = cell->routed && cell->cycle == r->cycle; /* in this cycle, already counted */
	uint64_t until = loom_cycle_after(r->cycle, loom_record_span(r)), *cycles = cell->cycles;
	struct loom_sweep *sweep = sweep_of(c, cell->invocation);

	if (r->event_kind == LOOM_ROUTE_USE) {
		loom_sweep_route(sweep, r->cycle);
		if (!routed && r->cycle < cell->until)
			cycles[cell->lasting]--;
		cycles[LOOM_DOES_WORK] += !routed;
		cell->routed = true;
		cell->cycle = r->cycle;
		return;
	}
	/* of several intervals with one start, the highest activity counts */
	if (until == r->cycle ||
	    (r->cycle < cell->until && r->cycle == cell->from && cell->lasting > does))
		return;
	if (r->cycle < cell->until)
		cycles[cell->lasting] -= cell->until - r->cycle - routed;
	cycles[does] += until - r->cycle - routed;
	cell->from = r->cycle;
	cell->until = until;
	cell->lasting = (uint8_t)does;
	loom_sweep_span(sweep, cell->place, r->cycle, until, does);
}

static int count_node(struct loom_counters *c, const struct loom_record *r, uint32_t invocation)
{
	static const enum loom_does does[] = {
		[LOOM_NODE_FIRE] = LOOM_DOES_WORK,
		[LOOM_NODE_STALL_IN] = LOOM_DOES_STALL_IN,
		[LOOM_NODE_STALL_OUT] = LOOM_DOES_STALL_OUT,
		[LOOM_ROUTE_USE] = LOOM_DOES_WORK,
	};
	struct loom_cell *cell = node_cell(c, invocation, r->hw_node_id);
	struct loom_unit *u;
	int err = 0;

	if (!cell)
		return -ENOMEM;
	u = &c->units[cell->unit];
	if (u->cell == NONE)
		take_tokens(c, u, cell);
	switch (c->style) {
	case LOOM_STYLE_EDGE:
		err = count_edge(c, cell, r, does[r->event_kind]);
		break;
	case LOOM_STYLE_SPAN:
		count_span(c, cell, r, does[r->event_kind]);
		break;
	default:
		count(c, cell, r->cycle, (uint8_t)does[r->event_kind]);
		count(c, core_of(c, cell), r->cycle, (uint8_t)does[r->event_kind]);
		break;
	}
	if (err)
		return err;
	u->cell = (uint32_t)(cell - c->cells);
	return err;
}

/* ---- records ---- */

/* Checks the order of a record; `all` is its joint invocation on all cores. */
static int judge(const struct loom_counters *c, const struct loom_record *r,
		 const struct loom_invocation *v, const struct loom_invocation *all)
{
	switch (r->event_kind) {
	case LOOM_INVOCATION_START:
		return v->started || v->done || v->has_nodes ? -EPROTO : 0;
	case LOOM_INVOCATION_DONE:
		return v->done || !all->started ? -EPROTO : 0;
	case LOOM_NODE_FIRE:
	case LOOM_NODE_STALL_IN:
	case LOOM_NODE_STALL_OUT:
	case LOOM_ROUTE_USE:
		if (v->done || !all->started)
			return -EPROTO;
		return c->strict && !v->started && !all->open ? -EPROTO : 0;
	default:
		return 0;
	}
}

/* Updates the cycles of the invocation after counting a record. */
static void note_cycle(struct loom_counters *c, struct loom_invocation *v,
		       const struct loom_record *r)
{
	uint64_t length = r->event_kind != LOOM_INVOCATION_DONE;

	if (c->style == LOOM_STYLE_SPAN && r->event_kind <= LOOM_NODE_STALL_OUT)
		length = loom_record_span(r);
	if (!v->seen)
		v->first = r->cycle;
	v->seen = true;
	v->last = r->cycle;
	/* in style edge, an activity ends with its invocation */
	if (loom_is_of_node(r->event_kind)) {
		v->has_nodes = true;
		if (c->style != LOOM_STYLE_EDGE && loom_cycle_after(r->cycle, length) > v->covered)
			v->covered = loom_cycle_after(r->cycle, length);
	}
	if (!c->any)
		c->first = r->cycle;
	c->any = true;
	c->last = r->cycle;
	if (loom_cycle_after(r->cycle, length) > c->end)
		c->end = loom_cycle_after(r->cycle, length);
}

int loom_counters_add(struct loom_counters *c, const struct loom_record *r)
{
	struct loom_invocation *v, *all;
	uint32_t own;
	int err;

	if (c->any && r->cycle < c->last)
		return -ERANGE;
	own = own_invocation(c, r);
	if (own == NONE)
		return -ENOMEM;
	c->last_invocation = own;
	v = &c->invocations[own];
	all = &c->invocations[v->joint];
	err = judge(c, r, v, all);
	if (err)
		return err;
	err = c->every ? pass(c, v, r) : 0;
	if (err)
		return err;
	switch (r->event_kind) {
	case LOOM_INVOCATION_START:
		v->started = true;
		v->start = r->cycle;
		all->open++;
		if (!all->started) {
			all->started = true;
			all->start = r->cycle;
		}
		break;
	case LOOM_INVOCATION_DONE:
		all->open -= v->started;
		v->done = all->done = true;
		v->end = all->end = r->cycle;
		if (v->cell != NONE && c->style == LOOM_STYLE_EDGE)
			loom_sweep_ends(sweep_of(c, own), r->cycle);
		break;
	case LOOM_CONFIG_WRITE:
		v->config_writes++;
		break;
	case LOOM_DEVICE_ERROR:
		v->failed = true;
		break;
	case LOOM_NODE_FIRE:
	case LOOM_NODE_STALL_IN:
	case LOOM_NODE_STALL_OUT:
	case LOOM_ROUTE_USE:
		err = count_node(c, r, own);
		break;
	default:
		break;
	}
	if (err)
		return err;
	note_cycle(c, v, r);
	c->last_counted = own;
	return 0;
}

int loom_counters_node(struct loom_counters *c, uint16_t core, uint32_t node)
{
	struct loom_unit *u = unit_at(c, core, node);

	if (!u)
		return -ENOMEM;
	u->declared = true;
	return 0;
}

int loom_counters_tokens(struct loom_counters *c, uint16_t core, uint32_t node, uint64_t in,
			 uint64_t out)
{
	uint32_t at = hash_get(&c->unit_of, unit_key(core, node));
	struct loom_cell *cell, *all;
	struct loom_unit *u;

	if (at == NONE)
		return -ENOENT;
	u = &c->units[at];
	if (u->cell == NONE) {
		u->tokens_in += in;
		u->tokens_out += out;
		return 0;
	}
	cell = &c->cells[u->cell];
	all = core_of(c, cell);
	cell->tokens_in += in;
	cell->tokens_out += out;
	all->tokens_in += in;
	all->tokens_out += out;
	return 0;
}

/* ---- the end ---- */

/* An invocation with its former index. */
struct numbered {
	struct loom_invocation v;
	uint32_t was;
};

static int by_first(const void *a, const void *b)
{
	const struct loom_invocation *x = &((const struct numbered *)a)->v;
	const struct loom_invocation *y = &((const struct numbered *)b)->v;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->epoch != y->epoch)
		return x->epoch < y->epoch ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->core < y->core ? -1 : x->core > y->core;
}

/*
 * Removes the joint invocations, and invocations of refused records; sorts the others in an order
 * that does not depend on the order of records within a cycle, and updates the indices.
 */
static int sort_invocations(struct loom_counters *c)
{
	struct numbered *sorted = calloc(c->ninvocations + 1, sizeof(*sorted));
	uint32_t *number = calloc(c->ninvocations + 1, sizeof(*number)), n = 0;
	int err = -ENOMEM;

	if (!sorted || !number)
		goto out;
	for (uint32_t i = 0; i < c->ninvocations; i++) {
		if (c->invocations[i].core != LOOM_ANY_CORE && c->invocations[i].seen)
			sorted[n++] = (struct numbered){c->invocations[i], i};
	}
	qsort(sorted, n, sizeof(*sorted), by_first);
	hash_free(&c->invocation_of);
	c->ninvocations = n;
	for (uint32_t i = 0; i < n; i++) {
		struct loom_invocation *v = &sorted[i].v;
		uint32_t *at =
			hash_at(&c->invocation_of, (struct hash_key){v->id, v->epoch, v->core});

		if (!at)
			goto out;
		*at = i;
		c->invocations[i] = *v;
		number[sorted[i].was] = i;
	}
	for (size_t i = 0; i < c->nrows; i++)
		c->rows[i].invocation = number[c->rows[i].invocation];
	if (n)
		c->last_counted = number[c->last_counted];
	err = 0;
out:
	free(sorted);
	free(number);
	return err;
}

/* Adds idle nodes: a cell of zeros in the first invocation of their core. */
static int add_idle(struct loom_counters *c)
{
	uint32_t *first;
	int err = 0;

	if (!c->nunits)
		return 0;
	first = malloc(LOOM_CORES * sizeof(*first));
	if (!first)
		return -ENOMEM;
	memset(first, 0xff, LOOM_CORES * sizeof(*first));
	for (size_t i = c->ninvocations; i-- > 0;) {
		if (c->invocations[i].core != LOOM_ANY_CORE && c->invocations[i].seen)
			first[c->invocations[i].core] = (uint32_t)i;
	}
	for (size_t i = 0; i < c->nunits; i++) {
		const struct loom_unit *u = &c->units[i];
		uint32_t v = first[u->key >> 32];
		struct loom_cell *cell;

		if (!u->declared || u->cell != NONE || v == NONE)
			continue;
		cell = new_cell(c, v);
		if (cell)
			cell->node = (uint32_t)u->key;
		else
			err = -ENOMEM;
		if (err)
			goto out;
	}
out:
	free(first);
	return err;
}

/* Sets start and end of an invocation: from its own records START and DONE, from another core, or
 * from its other records. */
static void bound(const struct loom_counters *c, struct loom_invocation *v)
{
	const struct loom_invocation *all = &c->invocations[v->joint];

	v->start = start_of(c, v);
	if (!v->done)
		v->end = all->done && all->end > v->last ? all->end : loom_cycle_after(v->last, 1);
	if (v->covered > v->end)
		v->end = v->covered;
	v->done = v->done || all->done;
}

/* Makes a row of each cell. */
static int make_rows(struct loom_counters *c)
{
	c->rows = calloc(c->ncells + 1, sizeof(*c->rows));
	if (!c->rows)
		return -ENOMEM;
	for (size_t i = 0; i < c->ncells; i++) {
		struct loom_cell *cell = &c->cells[i];
		uint64_t end = c->invocations[cell->invocation].end;
		const uint64_t *cycles = cell->cycles;

		settle(c, cell, end);
		if (cell->whole_core && c->style != LOOM_STYLE_CYCLE) {
			loom_sweep_finish(&c->sweeps[cell->place], end);
			cycles = c->sweeps[cell->place].cycles;
		}
		c->rows[c->nrows++] = row_of(c, cell, cycles);
	}
	return 0;
}

int loom_counters_anchor(struct loom_counters *c, uint32_t epoch, uint64_t id, uint64_t clock_ns)
{
	struct hash_key key = {.a = id, .b = epoch};
	uint64_t *anchor;
	uint32_t *at;

	if (hash_get(&c->anchor_of, key) != HASH_NONE)
		return -EEXIST;
	anchor = ARRAY_ADD(c->anchors, c->nanchors);
	if (!anchor)
		return -ENOMEM;
	*anchor = clock_ns;
	at = hash_at(&c->anchor_of, key);
	if (!at)
		return -ENOMEM;
	*at = (uint32_t)(c->nanchors - 1);
	return 0;
}

/* Applies the anchors to the invocations of all cores. */
static void apply_anchors(struct loom_counters *c)
{
	for (size_t i = 0; c->nanchors && i < c->ninvocations; i++) {
		struct loom_invocation *v = &c->invocations[i];
		uint32_t at = hash_get(&c->anchor_of, (struct hash_key){.a = v->id, .b = v->epoch});

		if (at != HASH_NONE)
			v->host_clock_ns = c->anchors[at];
	}
}

int loom_counters_finish(struct loom_counters *c)
{
	int err;

	apply_anchors(c);
	for (uint32_t i = 0; i < c->ninvocations; i++) {
		struct loom_invocation *v = &c->invocations[i];

		if (v->core == LOOM_ANY_CORE || !v->seen)
			continue;
		bound(c, v);
		if (v->pending_cycle < v->end)
			report_pending(c, v);
		free(v->pending);
		v->pending = NULL;
		/* a core with only configuration writes has a row, too */
		if (!core_cell(c, i))
			return -ENOMEM;
	}
	err = add_idle(c);
	if (err)
		goto out;
	err = make_rows(c);
out:
	if (err)
		return err;
	free_cells(c);
	err = sort_invocations(c);
	qsort(c->rows, c->nrows, sizeof(*c->rows), by_invocation);
	return err;
}

const struct loom_invocation *loom_counters_invocations(const struct loom_counters *c, size_t *n)
{
	*n = c->ninvocations;
	return c->invocations;
}

const struct loom_invocation *loom_counters_last(const struct loom_counters *c)
{
	return c->last_counted == NONE ? NULL : &c->invocations[c->last_counted];
}

const struct loom_invocation *loom_counters_find(const struct loom_counters *c, uint16_t core,
						 uint32_t epoch, uint64_t id)
{
	uint32_t at = hash_get(&c->invocation_of, (struct hash_key){id, epoch, core});

	return at == NONE ? NULL : &c->invocations[at];
}

const struct loom_row *loom_counters_row(const struct loom_counters *c,
					 const struct loom_invocation *v, bool whole_core,
					 uint32_t node)
{
	struct loom_row key = {.invocation = (uint32_t)(v - c->invocations),
			       .whole_core = whole_core,
			       .node = whole_core ? 0 : node};

	return bsearch(&key, c->rows, c->nrows, sizeof(key), by_invocation);
}

const struct loom_row *loom_counters_rows(const struct loom_counters *c, size_t *n)
{
	*n = c->nrows;
	return c->rows;
}

void loom_counters_window(const struct loom_counters *c, uint64_t *first, uint64_t *end)
{
	*first = c->any ? c->first : 0;
	*end = c->any ? c->end : 0;
}
