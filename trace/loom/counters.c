/* SPDX-License-Identifier: MIT */
/* counters: of nodes and cores, by invocation (see counters.h). */
#include "trace/loom/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/loom/cells.h"

#define NONE  LOOM_NO_CELL
#define CORES 65536

/* A cycle and some more; the highest number there is, if that does not fit. */
static uint64_t later(uint64_t cycle, uint64_t more)
{
	return cycle + more < cycle ? UINT64_MAX : cycle + more;
}

struct loom_counters *loom_counters_new(enum loom_style style)
{
	struct loom_counters *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->style = style;
	c->last_invocation = NONE;
	return c;
}

void loom_counters_free(struct loom_counters *c)
{
	if (!c)
		return;
	loom_cells_free(c);
	free(c->units);
	free(c->unit_slots.at);
	free(c->invocations);
	free(c->invocation_slots.at);
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

/* The first record of a node: tokens that it had before are of this invocation. */
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

/* Counts what is done up to `end`; in style `cycle` it is done for one cycle. */
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

/* Style edge: the node of the cell goes on in another invocation. */
static void leave(struct loom_counters *c, struct loom_cell *cell, uint64_t cycle)
{
	const struct loom_invocation *v = &c->invocations[cell->invocation];
	const struct loom_invocation *all = &c->invocations[v->joint];
	struct loom_sweep *sweep = sweep_of(c, cell->invocation);

	if (!v->done && all->done && all->end > v->last)
		loom_sweep_ends(sweep, all->end);
	loom_sweep_change(sweep, cycle, cell->does, LOOM_DOES_NOTHING);
	cell->left = cycle;
}

static void count_edge(struct loom_counters *c, struct loom_cell *cell, const struct loom_record *r,
		       enum loom_does does)
{
	struct loom_sweep *sweep = sweep_of(c, cell->invocation);
	struct loom_cell *last = &c->cells[c->units[cell->unit].cell];
	enum loom_does before;

	if (last != cell && last->left == UINT64_MAX)
		leave(c, last, r->cycle);
	if (cell->left != UINT64_MAX) { /* it is back */
		settle(c, cell, cell->left);
		cell->left = UINT64_MAX;
	}
	loom_sweep_ends(sweep, later(r->cycle, 1));
	before = cell->does;
	count(c, cell, r->cycle, (uint8_t)does);
	if (cell->does != before)
		loom_sweep_change(sweep, r->cycle, before, cell->does);
}

/* In style span no cycle is counted twice: a route is the one thing that may happen inside an
 * interval, and an interval ends where the next one begins. */
static void count_span(struct loom_counters *c, struct loom_cell *cell, const struct loom_record *r,
		       enum loom_does does)
{
	bool routed = cell->routed && cell->cycle == r->cycle; /* in this cycle, which is counted */
	uint64_t until = later(r->cycle, loom_record_span(r)), *cycles = cell->cycles;
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
	/* of several that begin together the highest counts */
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
	struct loom_cell *cell = loom_cells_node(c, invocation, r->hw_node_id);
	struct loom_unit *u;

	if (!cell)
		return -ENOMEM;
	u = &c->units[cell->unit];
	if (u->cell == NONE)
		take_tokens(c, u, cell);
	switch (c->style) {
	case LOOM_STYLE_EDGE:
		count_edge(c, cell, r, does[r->event_kind]);
		break;
	case LOOM_STYLE_SPAN:
		count_span(c, cell, r, does[r->event_kind]);
		break;
	default:
		count(c, cell, r->cycle, (uint8_t)does[r->event_kind]);
		count(c, core_of(c, cell), r->cycle, (uint8_t)does[r->event_kind]);
		break;
	}
	u->cell = (uint32_t)(cell - c->cells);
	return 0;
}

/* ---- records ---- */

/* May the record stand here? `all` is its invocation on all cores together. */
static int judge(const struct loom_record *r, const struct loom_invocation *v,
		 const struct loom_invocation *all)
{
	switch (r->event_kind) {
	case LOOM_INVOCATION_START:
		return v->started || v->done ? -EPROTO : 0;
	case LOOM_INVOCATION_DONE:
	case LOOM_NODE_FIRE:
	case LOOM_NODE_STALL_IN:
	case LOOM_NODE_STALL_OUT:
	case LOOM_ROUTE_USE:
		return v->done || !all->started ? -EPROTO : 0;
	default:
		return 0;
	}
}

/* The record has been counted: where it stands. */
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
	if (!c->any)
		c->first = r->cycle;
	c->any = true;
	c->last = r->cycle;
	if (later(r->cycle, length) > c->end)
		c->end = later(r->cycle, length);
}

int loom_counters_add(struct loom_counters *c, const struct loom_record *r)
{
	struct loom_invocation *v, *all;
	uint32_t own;
	int err;

	if (c->any && r->cycle < c->last)
		return -ERANGE;
	own = loom_cells_invocation(c, r);
	if (own == NONE)
		return -ENOMEM;
	c->last_invocation = own;
	v = &c->invocations[own];
	all = &c->invocations[v->joint];
	err = judge(r, v, all);
	if (err)
		return err;
	switch (r->event_kind) {
	case LOOM_INVOCATION_START:
		v->started = true;
		v->start = r->cycle;
		if (!all->started) {
			all->started = true;
			all->start = r->cycle;
		}
		break;
	case LOOM_INVOCATION_DONE:
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
	return 0;
}

int loom_counters_node(struct loom_counters *c, uint16_t core, uint32_t node)
{
	struct loom_unit *u = loom_cells_unit(c, core, node);

	if (!u)
		return -ENOMEM;
	u->declared = true;
	return 0;
}

void loom_counters_tokens(struct loom_counters *c, uint16_t core, uint32_t node, uint64_t in,
			  uint64_t out)
{
	struct loom_unit *u = loom_cells_find_unit(c, core, node);
	struct loom_cell *cell, *all;

	if (!u)
		return;
	if (u->cell == NONE) {
		u->tokens_in += in;
		u->tokens_out += out;
		return;
	}
	cell = &c->cells[u->cell];
	all = core_of(c, cell);
	cell->tokens_in += in;
	cell->tokens_out += out;
	all->tokens_in += in;
	all->tokens_out += out;
}

/* ---- the end ---- */

static int by_invocation(const void *a, const void *b)
{
	const struct loom_row *x = a, *y = b;

	if (x->invocation != y->invocation)
		return x->invocation < y->invocation ? -1 : 1;
	if (x->whole_core != y->whole_core)
		return x->whole_core ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* The invocations of all cores together go, and those of refused records; rows get their new
 * numbers. */
static int drop_joint(struct loom_counters *c)
{
	uint32_t *number = malloc((c->ninvocations + 1) * sizeof(*number)), n = 0;

	if (!number)
		return -ENOMEM;
	for (size_t i = 0; i < c->ninvocations; i++) {
		number[i] = n;
		if (c->invocations[i].core != LOOM_ANY_CORE && c->invocations[i].seen)
			c->invocations[n++] = c->invocations[i];
	}
	for (size_t i = 0; i < c->nrows; i++)
		c->rows[i].invocation = number[c->rows[i].invocation];
	c->ninvocations = n;
	free(number);
	return 0;
}

/* Nodes that never did anything: a cell of zeros in the first invocation of their core. */
static int add_idle(struct loom_counters *c)
{
	uint32_t *first;
	int err = 0;

	if (!c->nunits)
		return 0;
	first = malloc(CORES * sizeof(*first));
	if (!first)
		return -ENOMEM;
	memset(first, 0xff, CORES * sizeof(*first));
	for (size_t i = c->ninvocations; i-- > 0;) {
		if (c->invocations[i].core != LOOM_ANY_CORE && c->invocations[i].seen)
			first[c->invocations[i].core] = (uint32_t)i;
	}
	for (size_t i = 0; !err && i < c->nunits; i++) {
		const struct loom_unit *u = &c->units[i];
		uint32_t v = first[u->key >> 32];
		struct loom_cell *cell;

		if (!u->declared || u->cell != NONE || v == NONE)
			continue;
		cell = loom_cells_new(c, v);
		if (cell)
			cell->node = (uint32_t)u->key;
		else
			err = -ENOMEM;
	}
	free(first);
	return err;
}

/* Begin and end of an invocation: its own, those of another core, or its records. */
static void bound(const struct loom_counters *c, struct loom_invocation *v)
{
	const struct loom_invocation *all = &c->invocations[v->joint];

	if (!v->started)
		v->start = all->started && all->start < v->first ? all->start : v->first;
	if (!v->done)
		v->end = all->done && all->end > v->last ? all->end : later(v->last, 1);
	v->done = v->done || all->done;
}

/* A row of each cell. */
static int make_rows(struct loom_counters *c)
{
	c->rows = calloc(c->ncells + 1, sizeof(*c->rows));
	if (!c->rows)
		return -ENOMEM;
	for (size_t i = 0; i < c->ncells; i++) {
		struct loom_cell *cell = &c->cells[i];
		const struct loom_invocation *v = &c->invocations[cell->invocation];
		const uint64_t *cycles = cell->cycles;

		settle(c, cell, v->end);
		if (cell->whole_core && c->style != LOOM_STYLE_CYCLE) {
			loom_sweep_finish(&c->sweeps[cell->place], v->end);
			cycles = c->sweeps[cell->place].cycles;
		}
		c->rows[c->nrows++] = (struct loom_row){
			.invocation = cell->invocation,
			.whole_core = cell->whole_core,
			.node = cell->node,
			.active = cycles[LOOM_DOES_WORK],
			.stall_in = cycles[LOOM_DOES_STALL_IN],
			.stall_out = cycles[LOOM_DOES_STALL_OUT],
			.tokens_in = cell->tokens_in,
			.tokens_out = cell->tokens_out,
			.config_writes = cell->whole_core ? v->config_writes : 0,
		};
	}
	return 0;
}

int loom_counters_finish(struct loom_counters *c)
{
	int err;

	for (uint32_t i = 0; i < c->ninvocations; i++) {
		struct loom_invocation *v = &c->invocations[i];

		if (v->core == LOOM_ANY_CORE || !v->seen)
			continue;
		bound(c, v);
		/* a core has a row for what it was configured with, though no node of it did
		 * anything */
		if (!loom_cells_core(c, i))
			return -ENOMEM;
	}
	err = add_idle(c);
	if (!err)
		err = make_rows(c);
	if (err)
		return err;
	loom_cells_free(c);
	qsort(c->rows, c->nrows, sizeof(*c->rows), by_invocation);
	return drop_joint(c);
}

const struct loom_invocation *loom_counters_invocations(const struct loom_counters *c, size_t *n)
{
	*n = c->ninvocations;
	return c->invocations;
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
