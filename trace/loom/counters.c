/* SPDX-License-Identifier: MIT */
/* counters: of nodes and cores, by invocation (see counters.h). */
#include "trace/loom/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE	 UINT32_MAX
#define ANY_CORE UINT32_MAX /* the invocation of all cores together: earliest start, latest end */

/* What a node, or a core, does in one cycle: the highest of these counts. */
enum { DOES_NOTHING, DOES_STALL_IN, DOES_STALL_OUT, DOES_WORK };

struct counts {
	uint64_t cycles[4]; /* by what it does */
	uint64_t tokens_in, tokens_out;
};

/* A node, or with whole_core a core. */
struct unit {
	uint64_t key;
	uint32_t core, node, invocation;    /* NONE: not in one */
	uint32_t before, after;		    /* units of the same invocation */
	bool whole_core, declared, counted; /* counted: it has a row */
	uint8_t does;			    /* in the cycle `cycle`, or from it on (style edge) */
	uint64_t cycle; /* not counted yet; style span: of the last route that was counted */
	/* style span: the last interval, and whether there was a route */
	uint64_t until;
	uint8_t lasting;
	bool routed;
	struct counts counts;
};

/* Open addressing: keys are in the table that the slots number. */
struct slots {
	uint32_t *at;
	size_t n; /* a power of 2 */
};

struct loom_counters {
	enum loom_style style;
	struct unit *units;
	size_t nunits, unit_room;
	struct slots unit_slots;
	struct loom_invocation *invocations;
	size_t ninvocations, invocation_room;
	struct slots invocation_slots;
	struct loom_row *rows;
	size_t nrows, row_room;
	uint32_t last_invocation; /* that of the last record */
	uint64_t first, last, end;
	bool any;
};

static int grow(void *table, size_t *room, size_t used, size_t size)
{
	void **at = table, *more;
	size_t wanted = *room ? 2 * *room : 64;

	if (used < *room)
		return 0;
	more = realloc(*at, wanted * size);
	if (!more)
		return -ENOMEM;
	*at = more;
	*room = wanted;
	return 0;
}

/* A cycle and some more; the highest number there is, if that does not fit. */
static uint64_t later(uint64_t cycle, uint64_t more)
{
	return cycle + more < cycle ? UINT64_MAX : cycle + more;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	return h ^ h >> 32;
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
	free(c->units);
	free(c->unit_slots.at);
	free(c->invocations);
	free(c->invocation_slots.at);
	free(c->rows);
	free(c);
}

/* ---- the two tables ---- */

static size_t unit_slot(const struct loom_counters *c, uint64_t key)
{
	size_t mask = c->unit_slots.n - 1, i = mix(key, 1) & mask;

	while (c->unit_slots.at[i] != NONE && c->units[c->unit_slots.at[i]].key != key)
		i = (i + 1) & mask;
	return i;
}

static size_t invocation_slot(const struct loom_counters *c, uint32_t core, uint32_t epoch,
			      uint64_t id)
{
	size_t mask = c->invocation_slots.n - 1;
	size_t i = mix(id, (uint64_t)core << 32 | epoch) & mask;

	for (; c->invocation_slots.at[i] != NONE; i = (i + 1) & mask) {
		const struct loom_invocation *at = &c->invocations[c->invocation_slots.at[i]];

		if (at->core == core && at->epoch == epoch && at->id == id)
			break;
	}
	return i;
}

/* Makes room for one more of `used`: at most half of the slots are taken. 1: all of them have to be
 * entered anew. */
static int slots_grow(struct slots *s, size_t used)
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

static struct unit *unit_of(struct loom_counters *c, uint32_t core, uint32_t node, bool whole_core)
{
	uint64_t key = (uint64_t)core << 33 | (uint64_t)whole_core << 32 | node;
	size_t slot;
	int err = slots_grow(&c->unit_slots, c->nunits);

	if (err < 0 || grow(&c->units, &c->unit_room, c->nunits, sizeof(*c->units)))
		return NULL;
	if (err) {
		for (uint32_t i = 0; i < c->nunits; i++)
			c->unit_slots.at[unit_slot(c, c->units[i].key)] = i;
	}
	slot = unit_slot(c, key);
	if (c->unit_slots.at[slot] == NONE) {
		c->units[c->nunits] = (struct unit){.key = key,
						    .core = core,
						    .node = node,
						    .whole_core = whole_core,
						    .invocation = NONE};
		c->unit_slots.at[slot] = (uint32_t)c->nunits++;
	}
	return &c->units[c->unit_slots.at[slot]];
}

/* Its index, NONE without memory. */
static uint32_t invocation_of(struct loom_counters *c, uint32_t core, uint32_t epoch, uint64_t id)
{
	size_t slot;
	int err = slots_grow(&c->invocation_slots, c->ninvocations);

	if (err < 0 ||
	    grow(&c->invocations, &c->invocation_room, c->ninvocations, sizeof(*c->invocations)))
		return NONE;
	if (err) {
		for (uint32_t i = 0; i < c->ninvocations; i++) {
			const struct loom_invocation *v = &c->invocations[i];

			c->invocation_slots.at[invocation_slot(c, v->core, v->epoch, v->id)] = i;
		}
	}
	slot = invocation_slot(c, core, epoch, id);
	if (c->invocation_slots.at[slot] == NONE) {
		c->invocations[c->ninvocations] = (struct loom_invocation){
			.core = core, .epoch = epoch, .id = id, .units = NONE};
		c->invocation_slots.at[slot] = (uint32_t)c->ninvocations++;
	}
	return c->invocation_slots.at[slot];
}

/* ---- counting ---- */

/* Counts what the unit has done up to `end`; in style `cycle` it has done it for one cycle. */
static void settle(const struct loom_counters *c, struct unit *u, uint64_t end)
{
	if (u->does && c->style == LOOM_STYLE_EDGE)
		u->counts.cycles[u->does] += end > u->cycle ? end - u->cycle : 0;
	else if (u->does)
		u->counts.cycles[u->does]++;
	u->does = DOES_NOTHING;
}

/* Ends the unit's stay in its invocation: its counters become a row. */
static int leave(struct loom_counters *c, struct unit *u, uint64_t end)
{
	const struct counts *n = &u->counts;

	if (u->invocation == NONE)
		return 0;
	if (grow(&c->rows, &c->row_room, c->nrows, sizeof(*c->rows)))
		return -ENOMEM;
	settle(c, u, end);
	c->rows[c->nrows++] = (struct loom_row){
		.invocation = u->invocation,
		.whole_core = u->whole_core,
		.node = u->node,
		.active = n->cycles[DOES_WORK],
		.stall_in = n->cycles[DOES_STALL_IN],
		.stall_out = n->cycles[DOES_STALL_OUT],
		.tokens_in = n->tokens_in,
		.tokens_out = n->tokens_out,
	};
	u->counts = (struct counts){.tokens_in = 0};
	u->counted = true;
	u->routed = false;
	u->until = 0;
	if (u->before != NONE)
		c->units[u->before].after = u->after;
	else
		c->invocations[u->invocation].units = u->after;
	if (u->after != NONE)
		c->units[u->after].before = u->before;
	u->invocation = NONE;
	return 0;
}

static int enter(struct loom_counters *c, struct unit *u, uint32_t invocation, uint64_t cycle)
{
	struct loom_invocation *v = &c->invocations[invocation];
	uint32_t self = (uint32_t)(u - c->units);
	int err;

	if (u->invocation == invocation)
		return 0;
	err = leave(c, u, cycle);
	if (err)
		return err;
	u->invocation = invocation;
	u->before = NONE;
	u->after = v->units;
	if (u->after != NONE)
		c->units[u->after].before = self;
	v->units = self;
	return 0;
}

static void count(const struct loom_counters *c, struct unit *u, uint64_t cycle, uint8_t does)
{
	if (u->cycle != cycle)
		settle(c, u, cycle);
	u->cycle = cycle;
	if (does > u->does)
		u->does = does;
}

/* In style span no cycle is counted twice: a route is the one thing that may happen inside an
 * interval, and an interval ends where the next one begins. */
static void count_span(struct unit *u, const struct loom_record *r, uint8_t does)
{
	uint64_t span = loom_record_span(r), *cycles = u->counts.cycles;

	if (r->event_kind == LOOM_ROUTE_USE) {
		if (u->routed && u->cycle == r->cycle)
			return;
		if (r->cycle < u->until && u->lasting == DOES_WORK)
			return;
		if (r->cycle < u->until)
			cycles[u->lasting]--;
		cycles[DOES_WORK]++;
		u->routed = true;
		u->cycle = r->cycle;
		return;
	}
	if (!span)
		return;
	if (r->cycle < u->until)
		cycles[u->lasting] -= u->until - r->cycle;
	cycles[does] += span - (u->routed && u->cycle == r->cycle);
	u->until = later(r->cycle, span);
	u->lasting = does;
}

static int count_node(struct loom_counters *c, const struct loom_record *r, uint32_t invocation)
{
	static const uint8_t does[] = {
		[LOOM_NODE_FIRE] = DOES_WORK,
		[LOOM_NODE_STALL_IN] = DOES_STALL_IN,
		[LOOM_NODE_STALL_OUT] = DOES_STALL_OUT,
		[LOOM_ROUTE_USE] = DOES_WORK,
	};
	struct unit *u = unit_of(c, r->core_id, r->hw_node_id, false);
	int err = u ? enter(c, u, invocation, r->cycle) : -ENOMEM;

	if (err)
		return err;
	if (c->style == LOOM_STYLE_SPAN) {
		count_span(u, r, does[r->event_kind]);
		return 0;
	}
	count(c, u, r->cycle, does[r->event_kind]);
	if (c->style != LOOM_STYLE_CYCLE)
		return 0;
	u = unit_of(c, r->core_id, 0, true);
	err = u ? enter(c, u, invocation, r->cycle) : -ENOMEM;
	if (!err)
		count(c, u, r->cycle, does[r->event_kind]);
	return err;
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

static int end_invocation(struct loom_counters *c, uint32_t invocation, uint64_t end)
{
	int err = 0;

	while (!err && c->invocations[invocation].units != NONE)
		err = leave(c, &c->units[c->invocations[invocation].units], end);
	return err;
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
	uint32_t own, all;
	struct loom_invocation *v, *a;
	int err;

	if (c->any && r->cycle < c->last)
		return -ERANGE;
	own = c->last_invocation;
	if (own == NONE || c->invocations[own].core != r->core_id ||
	    c->invocations[own].epoch != r->epoch_id || c->invocations[own].id != r->invocation_id)
		own = invocation_of(c, r->core_id, r->epoch_id, r->invocation_id);
	if (own == NONE)
		return -ENOMEM;
	c->last_invocation = own;
	v = &c->invocations[own];
	a = v;
	/* its own start is the usual case, and needs no second look */
	if (!v->started || r->event_kind == LOOM_INVOCATION_START ||
	    r->event_kind == LOOM_INVOCATION_DONE) {
		all = invocation_of(c, ANY_CORE, r->epoch_id, r->invocation_id);
		if (all == NONE)
			return -ENOMEM;
		v = &c->invocations[own];
		a = &c->invocations[all];
	}
	err = judge(r, v, a);
	if (err)
		return err;
	switch (r->event_kind) {
	case LOOM_INVOCATION_START:
		v->started = true;
		v->start = r->cycle;
		if (!a->started) {
			a->started = true;
			a->start = r->cycle;
		}
		break;
	case LOOM_INVOCATION_DONE:
		err = end_invocation(c, own, r->cycle);
		v->done = a->done = true;
		v->end = a->end = r->cycle;
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
	note_cycle(c, &c->invocations[own], r);
	return 0;
}

int loom_counters_node(struct loom_counters *c, uint16_t core, uint32_t node)
{
	struct unit *u = unit_of(c, core, node, false);

	if (!u)
		return -ENOMEM;
	u->declared = true;
	return 0;
}

void loom_counters_tokens(struct loom_counters *c, uint16_t core, uint32_t node, uint64_t in,
			  uint64_t out)
{
	size_t slot;

	for (int whole = 0; whole < 2 && c->unit_slots.n; whole++) {
		uint64_t key = (uint64_t)core << 33 | (uint64_t)whole << 32 | (whole ? 0 : node);

		slot = unit_slot(c, key);
		if (c->unit_slots.at[slot] == NONE)
			return;
		c->units[c->unit_slots.at[slot]].counts.tokens_in += in;
		c->units[c->unit_slots.at[slot]].counts.tokens_out += out;
	}
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

/* Rows of the same invocation and node become one. */
static void join_rows(struct loom_counters *c)
{
	size_t n = 0;

	if (c->nrows)
		qsort(c->rows, c->nrows, sizeof(*c->rows), by_invocation);
	for (size_t i = 0; i < c->nrows; i++) {
		const struct loom_row *from = &c->rows[i];
		struct loom_row *to = n ? &c->rows[n - 1] : NULL;

		if (!to || by_invocation(to, from) != 0) {
			c->rows[n++] = *from;
			continue;
		}
		to->active += from->active;
		to->stall_in += from->stall_in;
		to->stall_out += from->stall_out;
		to->tokens_in += from->tokens_in;
		to->tokens_out += from->tokens_out;
	}
	c->nrows = n;
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
		if (c->invocations[i].core != ANY_CORE && c->invocations[i].seen)
			c->invocations[n++] = c->invocations[i];
	}
	for (size_t i = 0; i < c->nrows; i++)
		c->rows[i].invocation = number[c->rows[i].invocation];
	c->ninvocations = n;
	free(number);
	return 0;
}

/* Nodes that never did anything: a row of zeros in the first invocation of their core. */
static int add_idle(struct loom_counters *c)
{
	int err = 0;

	for (size_t i = 0; !err && i < c->nunits; i++) {
		const struct unit *u = &c->units[i];
		uint32_t v = 0;

		if (!u->declared || u->counted)
			continue;
		while (v < c->ninvocations &&
		       (c->invocations[v].core != u->core || !c->invocations[v].seen))
			v++;
		if (v == c->ninvocations)
			continue;
		err = grow(&c->rows, &c->row_room, c->nrows, sizeof(*c->rows));
		if (!err)
			c->rows[c->nrows++] = (struct loom_row){.invocation = v, .node = u->node};
	}
	return err;
}

int loom_counters_finish(struct loom_counters *c)
{
	int err = 0;

	for (size_t i = 0; i < c->ninvocations; i++) {
		struct loom_invocation *v = &c->invocations[i];
		static const struct loom_invocation none;
		const struct loom_invocation *all;
		uint32_t at;

		if (v->core == ANY_CORE || !c->invocation_slots.n)
			continue;
		at = c->invocation_slots.at[invocation_slot(c, ANY_CORE, v->epoch, v->id)];
		all = at == NONE ? &none : &c->invocations[at];
		if (!v->started)
			v->start = all->started && all->start < v->first ? all->start : v->first;
		if (!v->done)
			v->end = all->done && all->end > v->last ? all->end : later(v->last, 1);
		v->done = v->done || all->done;
	}
	for (size_t i = 0; !err && i < c->nunits; i++) {
		if (c->units[i].invocation != NONE)
			err = leave(c, &c->units[i], c->invocations[c->units[i].invocation].end);
	}
	if (!err)
		err = add_idle(c);
	/* a core has a row for what it was configured with, though no node of it did anything */
	for (size_t i = 0; !err && i < c->ninvocations && c->style == LOOM_STYLE_CYCLE; i++) {
		if (c->invocations[i].core == ANY_CORE || !c->invocations[i].seen)
			continue;
		err = grow(&c->rows, &c->row_room, c->nrows, sizeof(*c->rows));
		if (!err)
			c->rows[c->nrows++] =
				(struct loom_row){.invocation = (uint32_t)i, .whole_core = true};
	}
	if (err)
		return err;
	join_rows(c);
	for (size_t i = 0; i < c->nrows; i++) {
		if (c->rows[i].whole_core)
			c->rows[i].config_writes =
				c->invocations[c->rows[i].invocation].config_writes;
	}
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
