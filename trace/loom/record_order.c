/* SPDX-License-Identifier: MIT */
#include "trace/loom/record_order.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"

#define NEVER  UINT64_MAX
#define LLU(v) ((unsigned long long)(v))

/* A record and its position. */
struct spot {
	uint64_t index, offset;
};

struct scope {
	uint64_t invocation_id;
	uint32_t epoch_id;
	uint16_t core_id;
	uint64_t starts, dones, errors, config_writes;
	struct spot first_start, first_done, last_done;
	struct spot first_node;	 /* first record of the kinds 0 to 3 */
	struct spot last_active; /* last fire or route */
	struct spot after_done;	 /* first fire or route after the last DONE */
	struct spot last_config;
};

struct record_order {
	struct loom_violations *findings;
	const char *file;
	struct scope *scopes;
	size_t nscopes;
	struct hash scope_of; /* invocation, epoch, core */
	size_t last;	      /* scope of the last record */
	uint64_t *epochs;     /* of the last record of each core, + 1; 0: no record yet */
	uint64_t last_cycle;
	uint32_t last_epoch;
	uint64_t last_invocation;
	uint64_t without_start;
	bool any;
};

struct record_order *record_order_new(struct loom_violations *findings)
{
	struct record_order *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->findings = findings;
	o->epochs = calloc(LOOM_CORES, sizeof(*o->epochs));
	if (!o->epochs) {
		record_order_free(o);
		return NULL;
	}
	return o;
}

void record_order_free(struct record_order *o)
{
	if (!o)
		return;
	free(o->scopes);
	hash_free(&o->scope_of);
	free(o->epochs);
	free(o);
}

/* ---- scopes ---- */

static bool is_scope(const struct scope *s, const struct loom_record *r)
{
	return s->core_id == r->core_id && s->epoch_id == r->epoch_id &&
	       s->invocation_id == r->invocation_id;
}

static struct scope *new_scope(struct record_order *o, const struct loom_record *r)
{
	struct scope *s = ARRAY_ADD(o->scopes, o->nscopes);

	if (!s)
		return NULL;
	memset(s, 0xff, sizeof(*s)); /* all spots: NEVER */
	s->invocation_id = r->invocation_id;
	s->epoch_id = r->epoch_id;
	s->core_id = r->core_id;
	s->starts = s->dones = s->errors = s->config_writes = 0;
	return s;
}

static struct scope *scope_of(struct record_order *o, const struct loom_record *r)
{
	uint32_t *at;

	if (o->nscopes > 0 && is_scope(&o->scopes[o->last], r))
		return &o->scopes[o->last];
	at = hash_at(&o->scope_of, (struct hash_key){r->invocation_id, r->epoch_id, r->core_id});
	if (!at)
		return NULL;
	if (*at == HASH_NONE) {
		if (!new_scope(o, r))
			return NULL;
		*at = (uint32_t)(o->nscopes - 1);
	}
	o->last = *at;
	return &o->scopes[o->last];
}

/* ---- records ---- */

static void check_time(struct record_order *o, const struct loom_place *place,
		       const struct loom_record *r, bool restarts)
{
	uint64_t *epoch = &o->epochs[r->core_id];

	if (restarts)
		loom_violation_add_as(o->findings, LOOM_NOTICE, LOOM_O1, place,
				      "record %llu: the cycle starts anew with epoch %u invocation "
				      "%llu, chained to %llu",
				      LLU(place->record), r->epoch_id, LLU(r->invocation_id),
				      LLU(r->cycle));
	else if (o->any && r->cycle < o->last_cycle)
		loom_violation_add(
			o->findings, LOOM_O1, place, "record %llu: cycle %llu after %llu%s",
			LLU(place->record), LLU(r->cycle), LLU(o->last_cycle),
			r->epoch_id != o->last_epoch ? " (the epoch changed: see --chain)"
			: r->invocation_id != o->last_invocation
				? " (the invocation changed: see --chain)"
				: "");
	if (r->epoch_id + 1ull < *epoch)
		loom_violation_add(o->findings, LOOM_O2, place,
				   "record %llu: core %u epoch %u after %llu", LLU(place->record),
				   r->core_id, r->epoch_id, LLU(*epoch - 1));
	*epoch = r->epoch_id + 1ull;
}

static void check_kind(const struct record_order *o, const struct loom_place *place,
		       const struct loom_record *r)
{
	if (r->event_kind >= LOOM_KINDS)
		loom_violation_add(o->findings, LOOM_K1, place, "record %llu: extension kind %u",
				   LLU(place->record), r->event_kind);
	if (r->event_kind == LOOM_DEVICE_ERROR && (r->arg0 == 0 || loom_error_reserved(r->arg0)))
		loom_violation_add(o->findings, LOOM_K2, place, "record %llu: error code %u %s",
				   LLU(place->record), r->arg0,
				   r->arg0 ? "is reserved" : "says nothing");
}

static void note(struct scope *s, struct spot spot, uint8_t kind)
{
	switch (kind) {
	case LOOM_NODE_FIRE:
	case LOOM_ROUTE_USE:
		s->last_active = spot;
		if (s->dones > 0 && s->after_done.index == NEVER)
			s->after_done = spot;
		/* fall through */
	case LOOM_NODE_STALL_IN:
	case LOOM_NODE_STALL_OUT:
		if (s->first_node.index == NEVER)
			s->first_node = spot;
		break;
	case LOOM_CONFIG_WRITE:
		s->config_writes++;
		s->last_config = spot;
		break;
	case LOOM_INVOCATION_START:
		if (s->starts++ == 0)
			s->first_start = spot;
		break;
	case LOOM_INVOCATION_DONE:
		if (s->dones++ == 0)
			s->first_done = spot;
		s->last_done = spot;
		s->after_done = (struct spot){NEVER, NEVER};
		break;
	case LOOM_DEVICE_ERROR:
		s->errors++;
		break;
	default:
		break;
	}
}

int record_order_add(struct record_order *o, const struct loom_place *place,
		     const struct loom_record *r, bool restarts)
{
	struct scope *s = scope_of(o, r);

	if (!s)
		return -ENOMEM;
	o->file = place->file;
	if (__builtin_expect(restarts || r->cycle < o->last_cycle ||
				     r->epoch_id + 1ull != o->epochs[r->core_id],
			     0))
		check_time(o, place, r, restarts);
	if (r->event_kind >= LOOM_DEVICE_ERROR)
		check_kind(o, place, r);
	o->last_cycle = r->cycle;
	o->last_epoch = r->epoch_id;
	o->last_invocation = r->invocation_id;
	o->any = true;
	note(s, (struct spot){place->record, place->offset}, r->event_kind);
	return 0;
}

/* ---- the end ---- */

/* By epoch and invocation, cores among themselves. */
static int by_invocation(const void *a, const void *b)
{
	const struct scope *x = a, *y = b;

	if (x->epoch_id != y->epoch_id)
		return x->epoch_id < y->epoch_id ? -1 : 1;
	if (x->invocation_id != y->invocation_id)
		return x->invocation_id < y->invocation_id ? -1 : 1;
	return x->core_id < y->core_id ? -1 : x->core_id > y->core_id;
}

__attribute__((format(printf, 6, 7))) static void
report(const struct record_order *o, enum loom_severity severity, enum loom_rule rule,
       const struct scope *s, const struct spot *where, const char *fmt, ...)
{
	struct loom_place place = {o->file, where->index, where->offset};
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	loom_violation_add_as(o->findings, severity, rule, &place, "core=%u epoch=%u inv=%llu: %s",
			      s->core_id, s->epoch_id, LLU(s->invocation_id), text);
}

/* Judges a scope; `start` and `done` are from its own core or from another one. */
static void judge(struct record_order *o, const struct scope *s, struct spot start,
		  struct spot done, bool (*may_lack)(void *, uint8_t, uint16_t), void *arg)
{
	bool has_nodes = s->first_node.index != NEVER;

	if (s->starts > 1)
		report(o, LOOM_ERROR, LOOM_O5, s, &s->first_start, "%llu INVOCATION_START",
		       LLU(s->starts));
	if (s->dones > 1)
		report(o, LOOM_ERROR, LOOM_O5, s, &s->first_done, "%llu INVOCATION_DONE",
		       LLU(s->dones));
	if (start.index == NEVER) {
		if (!has_nodes)
			return;
		o->without_start++;
		report(o,
		       may_lack(arg, LOOM_INVOCATION_START, s->core_id) ? LOOM_NOTICE : LOOM_ERROR,
		       LOOM_O8, s, &s->first_node, "node events without INVOCATION_START");
		return;
	}
	if (s->first_done.index < start.index)
		report(o, LOOM_ERROR, LOOM_O5, s, &s->first_done,
		       "INVOCATION_DONE at record %llu precedes INVOCATION_START at record %llu",
		       LLU(s->first_done.index), LLU(start.index));
	if (s->first_node.index < start.index)
		report(o, LOOM_ERROR, LOOM_O3, s, &s->first_node,
		       "record %llu precedes INVOCATION_START at record %llu",
		       LLU(s->first_node.index), LLU(start.index));
	if (s->config_writes > 0 && s->last_config.index > start.index)
		report(o, LOOM_WARNING, LOOM_O6, s, &s->last_config,
		       "CONFIG_WRITE at record %llu follows INVOCATION_START at record %llu",
		       LLU(s->last_config.index), LLU(start.index));
	if (done.index == NEVER) {
		if (has_nodes || s->starts > 0)
			report(o, LOOM_NOTICE, LOOM_O9, s, &start,
			       s->errors ? "no INVOCATION_DONE (device error)"
					 : "no INVOCATION_DONE (cut, timed out or filtered)");
		return;
	}
	if (s->after_done.index != NEVER)
		report(o, LOOM_ERROR, LOOM_O4, s, &s->after_done,
		       "record %llu follows INVOCATION_DONE at record %llu",
		       LLU(s->after_done.index), LLU(s->last_done.index));
	else if (s->dones == 0 && s->last_active.index != NEVER &&
		 s->last_active.index > done.index)
		report(o, LOOM_ERROR, LOOM_O4, s, &s->last_active,
		       "record %llu follows INVOCATION_DONE of another core at record %llu",
		       LLU(s->last_active.index), LLU(done.index));
}

/* Judges the scopes of one invocation: a core without START or DONE uses the one of another core.
 * */
static void judge_invocation(struct record_order *o, const struct scope *s, size_t n,
			     bool (*may_lack)(void *, uint8_t, uint16_t), void *arg)
{
	struct spot start = {NEVER, NEVER}, done = {NEVER, NEVER};

	for (size_t i = 0; i < n; i++) {
		if (s[i].first_start.index < start.index)
			start = s[i].first_start;
		if (s[i].dones > 0 && (done.index == NEVER || s[i].last_done.index > done.index))
			done = s[i].last_done;
	}
	for (size_t i = 0; i < n; i++)
		judge(o, &s[i], s[i].starts ? s[i].first_start : start,
		      s[i].dones ? s[i].last_done : done, may_lack, arg);
}

void record_order_finish(struct record_order *o, bool (*may_lack)(void *, uint8_t, uint16_t),
			 void *arg)
{
	size_t start = 0;

	hash_free(&o->scope_of); /* its indices are those before sorting */
	if (o->nscopes > 1)
		qsort(o->scopes, o->nscopes, sizeof(*o->scopes), by_invocation);
	for (size_t i = 1; i <= o->nscopes; i++) {
		if (i < o->nscopes && o->scopes[i].epoch_id == o->scopes[start].epoch_id &&
		    o->scopes[i].invocation_id == o->scopes[start].invocation_id)
			continue;
		judge_invocation(o, &o->scopes[start], i - start, may_lack, arg);
		start = i;
	}
}

uint64_t record_order_last_config_writes(const struct record_order *o)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < o->nscopes; i++) {
		if (o->scopes[i].epoch_id == o->last_epoch &&
		    o->scopes[i].invocation_id == o->last_invocation)
			sum += o->scopes[i].config_writes;
	}
	return sum;
}

uint64_t record_order_without_start(const struct record_order *o)
{
	return o->without_start;
}

uint64_t record_order_scopes(const struct record_order *o)
{
	return o->nscopes;
}
