/* SPDX-License-Identifier: MIT */
/* cells: found by their ids (see cells.h). */
#include "trace/loom/stats/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

#define NONE LOOM_NO_CELL

void loom_cells_free(struct loom_counters *c)
{
	for (size_t i = 0; i < c->nsweeps; i++)
		loom_sweep_fini(&c->sweeps[i]);
	free(c->sweeps);
	free(c->cells);
	free(c->cell_slots.at);
	c->sweeps = NULL;
	c->cells = NULL;
	c->cell_slots = (struct loom_slots){.n = 0};
	c->nsweeps = c->ncells = c->cell_room = c->sweep_room = 0;
}

/* ---- the tables ---- */

static size_t unit_slot(const struct loom_counters *c, uint64_t key)
{
	size_t mask = c->unit_slots.n - 1, i = loom_table_hash(key, 1) & mask;

	while (c->unit_slots.at[i] != NONE && c->units[c->unit_slots.at[i]].key != key)
		i = (i + 1) & mask;
	return i;
}

static size_t cell_slot(const struct loom_counters *c, uint32_t invocation, uint32_t node)
{
	size_t mask = c->cell_slots.n - 1, i = loom_table_hash(node, invocation) & mask;

	for (; c->cell_slots.at[i] != NONE; i = (i + 1) & mask) {
		const struct loom_cell *at = &c->cells[c->cell_slots.at[i]];

		if (at->invocation == invocation && at->node == node)
			break;
	}
	return i;
}

static size_t invocation_slot(const struct loom_counters *c, uint32_t core, uint32_t epoch,
			      uint64_t id)
{
	size_t mask = c->invocation_slots.n - 1;
	size_t i = loom_table_hash(id, (uint64_t)core << 32 | epoch) & mask;

	for (; c->invocation_slots.at[i] != NONE; i = (i + 1) & mask) {
		const struct loom_invocation *at = &c->invocations[c->invocation_slots.at[i]];

		if (at->core == core && at->epoch == epoch && at->id == id)
			break;
	}
	return i;
}

/* Makes room for one more of `used`: at most half of the slots are taken. 1: all of them have to be
 * entered anew. */
static int slots_grow(struct loom_slots *s, size_t used)
{
	size_t n = s->n ? 2 * s->n : 128;
	uint32_t *at;

	if (2 * (used + 1) <= s->n)
		return 0;
	at = malloc(n * sizeof(*at));
	if (!at)
		return -ENOMEM;
	memset(at, 0xff, n * sizeof(*at));
	free(s->at);
	s->at = at;
	s->n = n;
	return 1;
}

static uint64_t unit_key(uint32_t core, uint32_t node)
{
	return (uint64_t)core << 32 | node;
}

struct loom_unit *loom_cells_unit(struct loom_counters *c, uint32_t core, uint32_t node)
{
	uint64_t key = unit_key(core, node);
	size_t slot;
	int err = slots_grow(&c->unit_slots, c->nunits);

	if (err < 0 || loom_table_grow(&c->units, &c->unit_room, c->nunits, sizeof(*c->units)))
		return NULL;
	if (err) {
		for (uint32_t i = 0; i < c->nunits; i++)
			c->unit_slots.at[unit_slot(c, c->units[i].key)] = i;
	}
	slot = unit_slot(c, key);
	if (c->unit_slots.at[slot] == NONE) {
		c->units[c->nunits] = (struct loom_unit){.key = key, .cell = NONE};
		c->unit_slots.at[slot] = (uint32_t)c->nunits++;
	}
	return &c->units[c->unit_slots.at[slot]];
}

struct loom_unit *loom_cells_find_unit(const struct loom_counters *c, uint32_t core, uint32_t node)
{
	uint32_t at = NONE;

	if (c->unit_slots.n)
		at = c->unit_slots.at[unit_slot(c, unit_key(core, node))];
	return at == NONE ? NULL : &c->units[at];
}

/* Its index, NONE without memory. One that is new has no joint one yet. */
static uint32_t invocation_of(struct loom_counters *c, uint32_t core, uint32_t epoch, uint64_t id)
{
	size_t slot;
	int err = slots_grow(&c->invocation_slots, c->ninvocations);

	if (err < 0 || loom_table_grow(&c->invocations, &c->invocation_room, c->ninvocations,
				       sizeof(*c->invocations)))
		return NONE;
	if (err) {
		for (uint32_t i = 0; i < c->ninvocations; i++) {
			const struct loom_invocation *v = &c->invocations[i];

			c->invocation_slots.at[invocation_slot(c, v->core, v->epoch, v->id)] = i;
		}
	}
	slot = invocation_slot(c, core, epoch, id);
	if (c->invocation_slots.at[slot] == NONE) {
		c->invocations[c->ninvocations] = (struct loom_invocation){.core = core,
									   .epoch = epoch,
									   .id = id,
									   .joint = NONE,
									   .cell = NONE,
									   .cells = NONE};
		c->invocation_slots.at[slot] = (uint32_t)c->ninvocations++;
	}
	return c->invocation_slots.at[slot];
}

uint32_t loom_cells_invocation(struct loom_counters *c, const struct loom_record *r)
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

struct loom_cell *loom_cells_new(struct loom_counters *c, uint32_t invocation)
{
	if (loom_table_grow(&c->cells, &c->cell_room, c->ncells, sizeof(*c->cells)))
		return NULL;
	c->cells[c->ncells] = (struct loom_cell){.invocation = invocation,
						 .left = UINT64_MAX,
						 .next = c->invocations[invocation].cells};
	c->invocations[invocation].cells = (uint32_t)c->ncells;
	return &c->cells[c->ncells++];
}

struct loom_cell *loom_cells_core(struct loom_counters *c, uint32_t invocation)
{
	struct loom_invocation *v = &c->invocations[invocation];
	struct loom_cell *cell;

	if (v->cell != NONE)
		return &c->cells[v->cell];
	if (c->style != LOOM_STYLE_CYCLE &&
	    loom_table_grow(&c->sweeps, &c->sweep_room, c->nsweeps, sizeof(*c->sweeps)))
		return NULL;
	cell = loom_cells_new(c, invocation);
	if (!cell)
		return NULL;
	cell->whole_core = true;
	if (c->style != LOOM_STYLE_CYCLE) {
		c->sweeps[c->nsweeps] = (struct loom_sweep){.at = 0};
		cell->place = (uint32_t)c->nsweeps++;
	}
	v->cell = (uint32_t)(cell - c->cells);
	return cell;
}

struct loom_cell *loom_cells_node(struct loom_counters *c, uint32_t invocation, uint32_t node)
{
	struct loom_cell *cell;
	struct loom_unit *u;
	uint32_t place = 0;
	size_t slot;
	int err = slots_grow(&c->cell_slots, c->ncells);

	if (err < 0)
		return NULL;
	for (uint32_t i = 0; err && i < c->ncells; i++) {
		if (!c->cells[i].whole_core)
			c->cell_slots.at[cell_slot(c, c->cells[i].invocation, c->cells[i].node)] =
				i;
	}
	slot = cell_slot(c, invocation, node);
	if (c->cell_slots.at[slot] != NONE)
		return &c->cells[c->cell_slots.at[slot]];
	u = loom_cells_unit(c, c->invocations[invocation].core, node);
	if (!u || !loom_cells_core(c, invocation))
		return NULL;
	if (c->style == LOOM_STYLE_SPAN &&
	    loom_sweep_join(&c->sweeps[c->cells[c->invocations[invocation].cell].place], &place))
		return NULL;
	cell = loom_cells_new(c, invocation);
	if (!cell)
		return NULL;
	cell->node = node;
	cell->unit = (uint32_t)(u - c->units);
	cell->place = place;
	c->cell_slots.at[slot] = (uint32_t)(cell - c->cells);
	return cell;
}
