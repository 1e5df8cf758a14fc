/* SPDX-License-Identifier: MIT */
#include "trace/loom/controls.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The numbers of records, by node, core and kind. */
struct loom_ticks {
	struct hash index_of;
	uint64_t *counts;
	size_t n;
};

/* ---- lists ---- */

static const struct {
	const char *name;
	uint8_t kind;
} short_names[] = {
	{"fire", LOOM_NODE_FIRE},	    {"stall_in", LOOM_NODE_STALL_IN},
	{"stall_out", LOOM_NODE_STALL_OUT}, {"route", LOOM_ROUTE_USE},
	{"config", LOOM_CONFIG_WRITE},	    {"start", LOOM_INVOCATION_START},
	{"done", LOOM_INVOCATION_DONE},	    {"error", LOOM_DEVICE_ERROR},
};

void loom_controls_add_kind(struct loom_controls *c, uint8_t kind)
{
	c->by_kind = true;
	c->kinds[kind / 8] |= (uint8_t)(1u << kind % 8);
}

int loom_controls_add_core(struct loom_controls *c, uint16_t core)
{
	if (!c->cores)
		c->cores = calloc(LOOM_CORES / 8, 1);
	if (!c->cores)
		return -ENOMEM;
	c->by_core = true;
	c->cores[core / 8] |= (uint8_t)(1u << core % 8);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct loom_node_id *x = a, *y = b;

	if (x->any_core != y->any_core)
		return x->any_core ? 1 : -1;
	if (!x->any_core && x->core != y->core)
		return x->core < y->core ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int add_node(struct loom_controls *c, struct loom_node_id node)
{
	struct loom_node_id *to = ARRAY_ADD(c->nodes, c->nnodes);

	if (!to)
		return -ENOMEM;
	c->by_node = true;
	for (; to > c->nodes && compare(&node, to - 1) < 0; to--)
		to[0] = to[-1];
	*to = node;
	return 0;
}

/* Parses the decimal number at *at and advances *at. Returns false if it is missing or above
 * `most`. */
static bool number(const char **at, uint64_t most, uint64_t *out)
{
	uint64_t v = 0;

	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		v = 10 * v + (uint64_t)(**at - '0');
		if (v > most)
			return false;
	}
	*out = v;
	return true;
}

const char *loom_controls_kinds(struct loom_controls *c, const char *list)
{
	while (true) {
		size_t len = strcspn(list, ",");
		uint8_t kind = 0;
		bool known = loom_kind_parse(list, len, &kind);

		for (size_t i = 0; i < COUNT(short_names) && !known; i++) {
			known = strlen(short_names[i].name) == len &&
				!strncmp(short_names[i].name, list, len);
			kind = short_names[i].kind;
		}
		if (!known)
			return "there is no such kind of record (kinds are NODE_FIRE, "
			       "NODE_STALL_IN, NODE_STALL_OUT, ROUTE_USE, CONFIG_WRITE, "
			       "INVOCATION_START, INVOCATION_DONE, DEVICE_ERROR, EXT_8 to EXT_255)";
		loom_controls_add_kind(c, kind);
		if (list[len] == '\0')
			return NULL;
		list += len + 1;
	}
}

const char *loom_controls_cores(struct loom_controls *c, const char *list)
{
	while (true) {
		uint64_t first, last;

		if (!number(&list, LOOM_CORES - 1, &first))
			return "a core is a number from 0 to 65535";
		last = first;
		if (*list == '-') {
			list++;
			if (!number(&list, LOOM_CORES - 1, &last) || last < first)
				return "a range of cores goes from a number to a larger one, at "
				       "most 65535";
		}
		for (uint64_t core = first; core <= last; core++) {
			if (loom_controls_add_core(c, (uint16_t)core) < 0)
				return LOOM_NO_MEMORY;
		}
		if (*list == '\0')
			return NULL;
		if (*list++ != ',')
			return "cores are separated by commas";
	}
}

const char *loom_controls_nodes(struct loom_controls *c, const char *list)
{
	while (true) {
		struct loom_node_id id = {.any_core = true};
		uint64_t n;

		if (!number(&list, UINT32_MAX, &n))
			return "a node is NODE or CORE:NODE, a number of 32 bits";
		if (*list == ':') {
			if (n > UINT16_MAX)
				return "a core is a number from 0 to 65535";
			id.core = (uint16_t)n;
			id.any_core = false;
			list++;
			if (!number(&list, UINT32_MAX, &n))
				return "a node is NODE or CORE:NODE, a number of 32 bits";
		}
		id.node = (uint32_t)n;
		if (add_node(c, id) < 0)
			return LOOM_NO_MEMORY;
		if (*list == '\0')
			return NULL;
		if (*list++ != ',')
			return "nodes are separated by commas";
	}
}

const char *loom_controls_sample(struct loom_controls *c, const char *ratio)
{
	uint64_t keep, of;

	if (!number(&ratio, UINT32_MAX, &keep) || *ratio++ != '/' ||
	    !number(&ratio, UINT32_MAX, &of) || *ratio || keep < 1 || keep > of)
		return "sampling is K/N, K of every N records, with K from 1 to N";
	c->keep = (uint32_t)keep;
	c->of = (uint32_t)of;
	return NULL;
}

/* ---- intersection ---- */

/* Keeps the nodes that both lists have. */
static int narrow_nodes(struct loom_controls *c, const struct loom_controls *by)
{
	struct loom_controls both = {.by_node = true};
	int err;

	for (size_t i = 0; i < c->nnodes; i++) {
		for (size_t k = 0; k < by->nnodes; k++) {
			const struct loom_node_id *x = &c->nodes[i], *y = &by->nodes[k];

			if (x->node != y->node ||
			    (!x->any_core && !y->any_core && x->core != y->core))
				continue;
			err = add_node(&both, x->any_core ? *y : *x);
			if (err) {
				free(both.nodes);
				return err;
			}
		}
	}
	free(c->nodes);
	c->nodes = both.nodes;
	c->nnodes = both.nnodes;
	return 0;
}

int loom_controls_narrow(struct loom_controls *c, const struct loom_controls *by)
{
	int err;

	for (size_t i = 0; by->by_kind && i < sizeof(c->kinds); i++)
		c->kinds[i] = c->by_kind ? c->kinds[i] & by->kinds[i] : by->kinds[i];
	c->by_kind = c->by_kind || by->by_kind;
	if (by->by_core && !c->by_core) {
		c->cores = malloc(LOOM_CORES / 8);
		if (!c->cores)
			return -ENOMEM;
		c->by_core = true;
		memcpy(c->cores, by->cores, LOOM_CORES / 8);
	}
	for (unsigned i = 0; by->by_core && i < LOOM_CORES / 8; i++)
		c->cores[i] &= by->cores[i];
	if (by->by_node && c->by_node)
		return narrow_nodes(c, by);
	for (size_t i = 0; by->by_node && i < by->nnodes; i++) {
		err = add_node(c, by->nodes[i]);
		if (err)
			return err;
	}
	return 0;
}

/* ---- decisions ---- */

static bool has_node(const struct loom_controls *c, uint16_t core, uint32_t node)
{
	struct loom_node_id key = {.node = node, .core = core};

	if (bsearch(&key, c->nodes, c->nnodes, sizeof(key), compare))
		return true;
	key.any_core = true;
	return bsearch(&key, c->nodes, c->nnodes, sizeof(key), compare) != NULL;
}

bool loom_controls_filters_pass(const struct loom_controls *c, uint8_t kind, uint16_t core,
				uint32_t node)
{
	bool session = kind >= LOOM_CONFIG_WRITE && kind <= LOOM_INVOCATION_DONE;

	if (c->by_kind && !(c->kinds[kind / 8] & 1u << kind % 8))
		return false;
	if (c->by_core && !(c->cores[core / 8] & 1u << core % 8))
		return false;
	return !c->by_node || (session && c->session_passes) || has_node(c, core, node);
}

int loom_controls_decide(struct loom_controls *c, const struct loom_record *r)
{
	struct hash_key key = {r->hw_node_id, r->core_id, r->event_kind};
	struct loom_ticks *t;
	uint64_t *count;
	uint32_t *at;

	if (!loom_controls_filters_pass(c, r->event_kind, r->core_id, r->hw_node_id))
		return LOOM_FILTERED;
	if (!loom_controls_samples(c) ||
	    (r->event_kind >= LOOM_INVOCATION_START && r->event_kind <= LOOM_DEVICE_ERROR))
		return LOOM_PASSES;
	if (!c->ticks)
		c->ticks = calloc(1, sizeof(*c->ticks));
	t = c->ticks;
	at = t ? hash_at(&t->index_of, key) : NULL;
	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		count = ARRAY_ADD(t->counts, t->n);
		if (!count)
			return -ENOMEM;
		*count = 0;
		*at = (uint32_t)(t->n - 1);
	}
	return t->counts[*at]++ % c->of < c->keep ? LOOM_PASSES : LOOM_SAMPLED_OUT;
}

void loom_controls_free(struct loom_controls *c)
{
	if (c->ticks) {
		hash_free(&c->ticks->index_of);
		free(c->ticks->counts);
	}
	free(c->ticks);
	free(c->cores);
	free(c->nodes);
	memset(c, 0, sizeof(*c));
}
