/* SPDX-License-Identifier: MIT */
/* run_survey: tables of the objects of a Loom run (see run_survey.h). */
#include "tools/loom/run/run_survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

#define LANES	    256
#define LANES_BYTES (LANES / 8)

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
	hash_free(&run->node_of);
	hash_free(&run->scope_of);
	free(run);
}

static struct hash_key node_key(uint16_t core, uint32_t node)
{
	return (struct hash_key){.a = node, .b = core};
}

static struct hash_key scope_key(uint16_t core, uint32_t epoch, uint64_t id, uint32_t part)
{
	return (struct hash_key){id, (uint64_t)core << 32 | epoch, part};
}

static int enter(struct hash *h, struct hash_key key, uint32_t index)
{
	uint32_t *at = hash_at(h, key);

	if (!at)
		return -ENOMEM;
	*at = index;
	return 0;
}

static struct run_survey_core *core_of(struct run_survey *run, uint16_t id)
{
	if (run->core_of[id] == LOOM_NONE) {
		struct run_survey_core *core = ARRAY_ADD(run->cores, run->ncores);

		if (!core)
			return NULL;
		*core = (struct run_survey_core){.id = id, .current = LOOM_NONE};
		run->core_of[id] = (uint32_t)(core - run->cores);
	}
	return &run->cores[run->core_of[id]];
}

static struct run_survey_node *node_of(struct run_survey *run, uint16_t core, uint32_t node)
{
	uint32_t *recent = &run->recent[(node + 61 * core) % RUN_SURVEY_RECENT], *at;
	struct run_survey_node *n;

	if (*recent < run->nnodes) {
		n = &run->nodes[*recent];
		if (n->node == node && n->core == core)
			return n;
	}
	at = hash_at(&run->node_of, node_key(core, node));
	if (!at)
		return NULL;
	*recent = *at;
	if (*at != HASH_NONE)
		return &run->nodes[*at];
	n = ARRAY_ADD(run->nodes, run->nnodes);
	if (!n)
		return NULL;
	*n = (struct run_survey_node){.core = core, .node = node};
	*at = (uint32_t)(n - run->nodes);
	return n;
}

static struct loom_scope *scope_of(struct run_survey *run, struct run_survey_core *core,
				   const struct loom_record *r, uint32_t part)
{
	struct loom_scope *scope;
	uint32_t *at;

	if (core->current != LOOM_NONE) {
		struct loom_scope *s = &run->scopes[core->current];

		if (s->epoch == r->epoch_id && s->part == part && s->id == r->invocation_id)
			return s;
	}
	at = hash_at(&run->scope_of, scope_key(r->core_id, r->epoch_id, r->invocation_id, part));
	if (!at)
		return NULL;
	if (*at == HASH_NONE) {
		scope = ARRAY_ADD(run->scopes, run->nscopes);
		if (!scope)
			return NULL;
		*scope = (struct loom_scope){.core = r->core_id,
					     .epoch = r->epoch_id,
					     .part = part,
					     .id = r->invocation_id};
		*at = (uint32_t)(scope - run->scopes);
	}
	core->current = *at;
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
		struct run_survey_node *node = node_of(run, r->core_id, r->hw_node_id);

		if (!node)
			return -ENOMEM;
		/* node 0 of an error may be the core */
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
	if (loom_cycle_after(r->cycle, covers) > run->end)
		run->end = loom_cycle_after(r->cycle, covers);
	if (r->event_kind == LOOM_CONFIG_WRITE)
		return 0; /* the configuration precedes the invocation */
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
	if (loom_cycle_after(r->cycle, covers) > scope->last)
		scope->last = loom_cycle_after(r->cycle, covers);
	scope->seen = true;
	return 0;
}

int run_survey_add_node(struct run_survey *run, uint16_t id, uint32_t node_id)
{
	struct run_survey_core *core = core_of(run, id);
	struct run_survey_node *node = core ? node_of(run, id, node_id) : NULL;

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

/* Sorts the scopes of one invocation on all cores, earliest first. */
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

/* Sets begin and end of the scopes [s, s + n), one invocation on several cores. */
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
	for (size_t i = 0; i < run->ncores; i++) {
		err = make_inside(run, &run->cores[i]);
		if (err)
			return err;
	}
	hash_free(&run->scope_of);
	for (uint32_t i = 0; i < run->nscopes; i++) {
		const struct loom_scope *s = &run->scopes[i];

		err = enter(&run->scope_of,
			    scope_key(run->cores[s->core].id, s->epoch, s->id, s->part), i);
		if (err)
			return err;
	}
	return 0;
}

static bool uses_lane(const struct run_survey_node *node, unsigned lane)
{
	return node->used_lanes && node->used_lanes[lane / 8] >> lane % 8 & 1;
}

static int seal_lanes(struct run_survey *run)
{
	struct run_survey_lane *used;

	for (uint32_t i = 0; i < run->nnodes; i++) {
		run->nodes[i].first_lane = (uint32_t)run->nlanes;
		for (unsigned lane = 0; run->nodes[i].used_lanes && lane < LANES; lane++) {
			if (!uses_lane(&run->nodes[i], lane))
				continue;
			used = ARRAY_ADD(run->lanes, run->nlanes);
			if (!used)
				return -ENOMEM;
			*used = (struct run_survey_lane){i, (uint8_t)lane};
		}
	}
	return 0;
}

int run_survey_seal(struct run_survey *run)
{
	size_t n = 0;
	int err;

	if (run->ncores)
		qsort(run->cores, run->ncores, sizeof(*run->cores), by_id);
	for (uint32_t i = 0; i < run->ncores; i++) {
		run->core_of[run->cores[i].id] = i;
		run->cores[i].current = LOOM_NONE;
	}
	for (size_t i = 0; i < run->nnodes; i++) {
		if (!run->nodes[i].evidence)
			continue;
		run->nodes[n] = run->nodes[i];
		run->nodes[n].core = run->core_of[run->nodes[n].core];
		n++;
	}
	run->nnodes = n;
	if (n)
		qsort(run->nodes, n, sizeof(*run->nodes), by_node);
	for (size_t i = 0; i < run->nscopes; i++)
		run->scopes[i].core = run->core_of[run->scopes[i].core];
	hash_free(&run->node_of);
	for (uint32_t i = 0; i < n; i++) {
		const struct run_survey_node *node = &run->nodes[i];

		err = enter(&run->node_of, node_key(run->cores[node->core].id, node->node), i);
		if (err)
			return err;
	}
	err = seal_lanes(run);
	return err ? err : seal_scopes(run);
}

uint32_t run_survey_node(const struct run_survey *run, uint16_t core, uint32_t node)
{
	return hash_get(&run->node_of, node_key(core, node));
}

uint32_t run_survey_lane(const struct run_survey *run, uint32_t node, uint8_t lane)
{
	uint32_t at = run->nodes[node].first_lane;

	while (at < run->nlanes && run->lanes[at].node == node && run->lanes[at].lane != lane)
		at++;
	return at < run->nlanes && run->lanes[at].node == node ? at : LOOM_NONE;
}

uint32_t run_survey_scope(const struct run_survey *run, const struct loom_record *r, uint32_t part)
{
	return hash_get(&run->scope_of, scope_key(r->core_id, r->epoch_id, r->invocation_id, part));
}
