/* SPDX-License-Identifier: MIT */
/* run_survey: what there is in a Loom run (see run_survey.h). */
#include "tools/loom/run/run_survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

#define LANES	    256
#define LANES_BYTES (LANES / 8)

static uint64_t later(uint64_t cycle, uint64_t more)
{
	return cycle + more < cycle ? UINT64_MAX : cycle + more;
}

/* ---- tables ---- */

struct run_survey *run_survey_new(enum loom_style style)
{
	struct run_survey *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->style = style;
	memset(run->core_of, 0xff, sizeof(run->core_of));
	return run;
}

void run_survey_free(struct run_survey *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->ncores; i++)
		free(run->cores[i].inside);
	free(run->cores);
	for (size_t i = 0; i < run->nnodes; i++)
		free(run->nodes[i].used_lanes);
	free(run->nodes);
	free(run->lanes);
	free(run->scopes);
	free(run->node_slots);
	free(run->scope_slots);
	free(run);
}

static uint32_t *new_slots(size_t n)
{
	uint32_t *slots = malloc(n * sizeof(*slots));

	if (slots)
		memset(slots, 0xff, n * sizeof(*slots));
	return slots;
}

static size_t node_slot(const struct run_survey *run, uint32_t core, uint32_t node)
{
	size_t mask = run->nnode_slots - 1, i = loom_table_hash(node, core) & mask;

	for (; run->node_slots[i] != LOOM_NONE; i = (i + 1) & mask) {
		const struct run_survey_node *at = &run->nodes[run->node_slots[i]];

		if (at->core == core && at->node == node)
			break;
	}
	return i;
}

static size_t scope_slot(const struct run_survey *run, const struct loom_scope *s)
{
	size_t mask = run->nscope_slots - 1;
	size_t i = loom_table_hash(loom_table_hash(s->id, s->part),
				   (uint64_t)s->core << 32 ^ s->epoch) &
		   mask;

	for (; run->scope_slots[i] != LOOM_NONE; i = (i + 1) & mask) {
		const struct loom_scope *at = &run->scopes[run->scope_slots[i]];

		if (at->core == s->core && at->epoch == s->epoch && at->part == s->part &&
		    at->id == s->id)
			break;
	}
	return i;
}

static int enter_nodes(struct run_survey *run, size_t n)
{
	uint32_t *slots = new_slots(n);

	if (!slots)
		return -ENOMEM;
	free(run->node_slots);
	run->node_slots = slots;
	run->nnode_slots = n;
	for (uint32_t i = 0; i < run->nnodes; i++)
		slots[node_slot(run, run->nodes[i].core, run->nodes[i].node)] = i;
	return 0;
}

static int enter_scopes(struct run_survey *run, size_t n)
{
	uint32_t *slots = new_slots(n);

	if (!slots)
		return -ENOMEM;
	free(run->scope_slots);
	run->scope_slots = slots;
	run->nscope_slots = n;
	for (uint32_t i = 0; i < run->nscopes; i++)
		slots[scope_slot(run, &run->scopes[i])] = i;
	return 0;
}

static struct run_survey_core *core_of(struct run_survey *run, uint16_t id)
{
	if (run->core_of[id] == LOOM_NONE) {
		if (loom_table_grow(&run->cores, &run->core_room, run->ncores, sizeof(*run->cores)))
			return NULL;
		run->cores[run->ncores] = (struct run_survey_core){.id = id, .current = LOOM_NONE};
		run->core_of[id] = (uint32_t)run->ncores++;
	}
	return &run->cores[run->core_of[id]];
}

static struct run_survey_node *node_of(struct run_survey *run, uint32_t core, uint32_t node)
{
	size_t slot;

	if (2 * (run->nnodes + 1) > run->nnode_slots &&
	    enter_nodes(run, run->nnode_slots ? 2 * run->nnode_slots : 128))
		return NULL;
	slot = node_slot(run, core, node);
	if (run->node_slots[slot] == LOOM_NONE) {
		if (loom_table_grow(&run->nodes, &run->node_room, run->nnodes, sizeof(*run->nodes)))
			return NULL;
		run->nodes[run->nnodes] = (struct run_survey_node){.core = core, .node = node};
		run->node_slots[slot] = (uint32_t)run->nnodes++;
	}
	return &run->nodes[run->node_slots[slot]];
}

static struct loom_scope *scope_of(struct run_survey *run, struct run_survey_core *core,
				   const struct loom_record *r, uint32_t part)
{
	struct loom_scope key = {.core = run->core_of[r->core_id],
				 .epoch = r->epoch_id,
				 .part = part,
				 .id = r->invocation_id};
	size_t slot;

	if (core->current != LOOM_NONE) {
		struct loom_scope *s = &run->scopes[core->current];

		if (s->epoch == key.epoch && s->part == part && s->id == key.id)
			return s;
	}
	if (2 * (run->nscopes + 1) > run->nscope_slots &&
	    enter_scopes(run, run->nscope_slots ? 2 * run->nscope_slots : 128))
		return NULL;
	slot = scope_slot(run, &key);
	if (run->scope_slots[slot] == LOOM_NONE) {
		if (loom_table_grow(&run->scopes, &run->scope_room, run->nscopes,
				    sizeof(*run->scopes)))
			return NULL;
		run->scopes[run->nscopes] = key;
		run->scope_slots[slot] = (uint32_t)run->nscopes++;
	}
	core->current = run->scope_slots[slot];
	return &run->scopes[core->current];
}

/* ---- records ---- */

static int use_lane(struct run_survey_node *node, uint8_t lane)
{
	if (!node->used_lanes)
		node->used_lanes = calloc(1, LANES_BYTES);
	if (!node->used_lanes)
		return -ENOMEM;
	node->used_lanes[lane / 8] |= (uint8_t)(1u << lane % 8);
	return 0;
}

int run_survey_add(struct run_survey *run, const struct loom_record *r, uint32_t part)
{
	struct run_survey_core *core = core_of(run, r->core_id);
	struct loom_scope *scope = core ? scope_of(run, core, r, part) : NULL;
	uint64_t covers = r->event_kind == LOOM_INVOCATION_DONE ? 0 : 1;

	if (!scope)
		return -ENOMEM;
	if (r->event_kind < LOOM_CONFIG_WRITE || r->event_kind >= LOOM_DEVICE_ERROR) {
		struct run_survey_node *node = node_of(run, scope->core, r->hw_node_id);

		if (!node)
			return -ENOMEM;
		/* node 0 of an error may stand for the core */
		node->evidence |= r->event_kind != LOOM_DEVICE_ERROR || r->hw_node_id != 0;
		node->routes |= r->event_kind == LOOM_ROUTE_USE;
		if (run->by_lane && r->event_kind == LOOM_ROUTE_USE && use_lane(node, r->lane))
			return -ENOMEM;
		run->stalls +=
			r->event_kind == LOOM_NODE_STALL_IN || r->event_kind == LOOM_NODE_STALL_OUT;
		if (run->style == LOOM_STYLE_SPAN && loom_is_of_node(r->event_kind))
			covers = loom_record_span(r);
	}
	core->used = true;
	run->records++;
	if (later(r->cycle, covers) > run->end)
		run->end = later(r->cycle, covers);
	if (r->event_kind == LOOM_CONFIG_WRITE)
		return 0; /* before the invocation */
	if (r->event_kind == LOOM_INVOCATION_START && !scope->started) {
		scope->started = true;
		scope->begin = r->cycle;
	}
	if (r->event_kind == LOOM_INVOCATION_DONE) {
		scope->done = true;
		scope->end = r->cycle;
	}
	if (!scope->seen)
		scope->first = r->cycle;
	if (later(r->cycle, covers) > scope->last)
		scope->last = later(r->cycle, covers);
	scope->seen = true;
	return 0;
}

int run_survey_add_node(struct run_survey *run, uint16_t id, uint32_t node_id)
{
	struct run_survey_core *core = core_of(run, id);
	struct run_survey_node *node = core ? node_of(run, run->core_of[id], node_id) : NULL;

	if (!node)
		return -ENOMEM;
	node->evidence = true;
	return 0;
}

int run_survey_add_core(struct run_survey *run, uint16_t id)
{
	return core_of(run, id) ? 0 : -ENOMEM;
}

/* ---- the end ---- */

static int by_id(const void *a, const void *b)
{
	const struct run_survey_core *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_node(const void *a, const void *b)
{
	const struct run_survey_node *x = a, *y = b;

	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Those of all cores together, the earliest first. */
static int by_ids(const void *a, const void *b)
{
	const struct loom_scope *x = a, *y = b;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (x->epoch != y->epoch)
		return x->epoch < y->epoch ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_begin(const void *a, const void *b)
{
	const struct loom_scope *x = a, *y = b;

	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return by_ids(a, b);
}

/* Begin and end of the scopes [s, s + n), which are the same invocation on several cores. */
static void bound(struct loom_scope *s, size_t n)
{
	uint64_t start = UINT64_MAX, done = 0;
	bool started = false, ended = false;

	for (size_t i = 0; i < n; i++) {
		if (s[i].started && s[i].begin < start)
			start = s[i].begin;
		if (s[i].done && s[i].end > done)
			done = s[i].end;
		started |= s[i].started;
		ended |= s[i].done;
	}
	for (size_t i = 0; i < n; i++) {
		if (!s[i].started)
			s[i].begin = started && start < s[i].first ? start : s[i].first;
		if (!s[i].done)
			s[i].end = ended && done > s[i].begin ? done : s[i].last;
		if (s[i].end < s[i].begin)
			s[i].end = s[i].begin;
	}
}

static int make_inside(struct run_survey *run, struct run_survey_core *core)
{
	core->inside = calloc(core->nscopes + 1, sizeof(*core->inside));
	if (!core->inside)
		return -ENOMEM;
	for (uint32_t i = 0; i < core->nscopes; i++) {
		const struct loom_scope *s = &run->scopes[core->first_scope + i];
		struct loom_span *last = core->ninside ? &core->inside[core->ninside - 1] : NULL;

		if (s->begin == s->end)
			continue;
		if (last && s->begin <= last->end) {
			if (s->end > last->end)
				last->end = s->end;
		} else {
			core->inside[core->ninside++] = (struct loom_span){s->begin, s->end};
		}
	}
	return 0;
}

static int seal_scopes(struct run_survey *run)
{
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < run->nscopes; i++) {
		if (run->scopes[i].seen)
			run->scopes[n++] = run->scopes[i];
	}
	run->nscopes = n;
	if (n)
		qsort(run->scopes, n, sizeof(*run->scopes), by_ids);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && by_ids(&run->scopes[i], &run->scopes[k]) == 0; k++)
			;
		bound(&run->scopes[i], k - i);
	}
	if (n)
		qsort(run->scopes, n, sizeof(*run->scopes), by_begin);
	for (uint32_t i = 0; i < n; i++) {
		struct run_survey_core *core = &run->cores[run->scopes[i].core];

		if (core->nscopes++ == 0)
			core->first_scope = i;
		if (run->scopes[i].end > run->end)
			run->end = run->scopes[i].end;
	}
	for (size_t i = 0; !err && i < run->ncores; i++)
		err = make_inside(run, &run->cores[i]);
	return err ? err : enter_scopes(run, run->nscope_slots ? run->nscope_slots : 128);
}

static bool uses_lane(const struct run_survey_node *node, unsigned lane)
{
	return node->used_lanes && node->used_lanes[lane / 8] >> lane % 8 & 1;
}

static int seal_lanes(struct run_survey *run)
{
	size_t room = 0;
	int err = 0;

	for (uint32_t i = 0; i < run->nnodes; i++) {
		run->nodes[i].first_lane = (uint32_t)run->nlanes;
		for (unsigned lane = 0; run->nodes[i].used_lanes && lane < LANES; lane++) {
			if (!uses_lane(&run->nodes[i], lane))
				continue;
			err = loom_table_grow(&run->lanes, &room, run->nlanes, sizeof(*run->lanes));
			if (err)
				return err;
			run->lanes[run->nlanes++] = (struct run_survey_lane){i, (uint8_t)lane};
		}
	}
	return 0;
}

int run_survey_seal(struct run_survey *run)
{
	uint32_t *moved = malloc((run->ncores + 1) * sizeof(*moved));
	size_t n = 0;
	int err;

	if (!moved)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->ncores; i++)
		run->cores[i].first_scope = i; /* where it was */
	if (run->ncores)
		qsort(run->cores, run->ncores, sizeof(*run->cores), by_id);
	for (uint32_t i = 0; i < run->ncores; i++) {
		moved[run->cores[i].first_scope] = i;
		run->core_of[run->cores[i].id] = i;
		run->cores[i].current = LOOM_NONE;
		run->cores[i].first_scope = 0;
	}
	for (size_t i = 0; i < run->nnodes; i++) {
		if (!run->nodes[i].evidence)
			continue;
		run->nodes[n] = run->nodes[i];
		run->nodes[n].core = moved[run->nodes[n].core];
		n++;
	}
	run->nnodes = n;
	if (n)
		qsort(run->nodes, n, sizeof(*run->nodes), by_node);
	for (size_t i = 0; i < run->nscopes; i++)
		run->scopes[i].core = moved[run->scopes[i].core];
	free(moved);
	err = enter_nodes(run, run->nnode_slots ? run->nnode_slots : 128);
	if (!err)
		err = seal_lanes(run);
	if (!err)
		err = seal_scopes(run);
	run->sealed = true;
	return err;
}

uint32_t run_survey_core(const struct run_survey *run, uint16_t core)
{
	return run->core_of[core];
}

uint32_t run_survey_node(const struct run_survey *run, uint32_t core, uint32_t node)
{
	return run->node_slots[node_slot(run, core, node)];
}

uint32_t run_survey_lane(const struct run_survey *run, uint32_t node, uint8_t lane)
{
	uint32_t at = run->nodes[node].first_lane;

	while (at < run->nlanes && run->lanes[at].node == node && run->lanes[at].lane != lane)
		at++;
	return at < run->nlanes && run->lanes[at].node == node ? at : LOOM_NONE;
}

uint32_t run_survey_scope(const struct run_survey *run, uint32_t core, const struct loom_record *r,
			  uint32_t part)
{
	struct loom_scope key = {
		.core = core, .epoch = r->epoch_id, .part = part, .id = r->invocation_id};

	return run->scope_slots[scope_slot(run, &key)];
}
