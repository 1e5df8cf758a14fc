/* SPDX-License-Identifier: MIT */
/* cells: look-ups by ids (see cells.h). */
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
	hash_free(&c->cell_of);
	c->sweeps = NULL;
	c->cells = NULL;
	c->nsweeps = c->ncells = 0;
}

/* ---- the tables ---- */

static struct hash_key unit_key(uint32_t core, uint32_t node)
{
	return (struct hash_key){.a = node, .b = core};
}

struct loom_unit *loom_cells_unit(struct loom_counters *c, uint32_t core, uint32_t node)
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

struct loom_unit *loom_cells_find_unit(const struct loom_counters *c, uint32_t core, uint32_t node)
{
	uint32_t at = hash_get(&c->unit_of, unit_key(core, node));

	return at == NONE ? NULL : &c->units[at];
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
	struct loom_cell *cell = ARRAY_ADD(c->cells, c->ncells);

	if (!cell)
		return NULL;
	*cell = (struct loom_cell){.invocation = invocation,
				   .left = UINT64_MAX,
				   .next = c->invocations[invocation].cells};
	c->invocations[invocation].cells = (uint32_t)(cell - c->cells);
	return cell;
}

struct loom_cell *loom_cells_core(struct loom_counters *c, uint32_t invocation)
{
	struct loom_invocation *v = &c->invocations[invocation];
	struct loom_sweep *sweep = NULL;
	struct loom_cell *cell;

	if (v->cell != NONE)
		return &c->cells[v->cell];
	cell = loom_cells_new(c, invocation);
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

struct loom_cell *loom_cells_node(struct loom_counters *c, uint32_t invocation, uint32_t node)
{
	uint32_t *at = hash_at(&c->cell_of, (struct hash_key){.a = node, .b = invocation}),
		 place = 0;
	struct loom_cell *cell;
	struct loom_unit *u;

	if (!at)
		return NULL;
	if (*at != NONE)
		return &c->cells[*at];
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
	*at = (uint32_t)(cell - c->cells);
	return cell;
}
