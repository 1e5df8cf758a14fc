/* SPDX-License-Identifier: MIT */
#include "trace/loom/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/loom/json_tokens.h"

#define LLU(v) ((unsigned long long)(v))

static char *copy(const char *text)
{
	return text && *text ? strdup(text) : NULL;
}

/* True if copying `text` failed. */
static bool lacks(const char *text, const char *copied)
{
	return text && *text && !copied;
}

static void clear(struct loom_module *m)
{
	free(m->kind);
	free(m->name);
	free(m->component_name);
	free(m->function_unit_name);
	*m = (struct loom_module){.any_core = true, .boundary_ordinal = -1};
}

/* The usual name of a kind that has two names upstream. */
static const char *usual(const char *kind)
{
	if (kind && !strcmp(kind, "spatial_switch"))
		return "spatial_sw";
	return kind && !strcmp(kind, "temporal_switch") ? "temporal_sw" : kind;
}

int loom_modules_add(struct loom_modules *t, const struct loom_module *m)
{
	struct loom_module *to;

	if (t->n == UINT32_MAX)
		return -ENOMEM;
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 32;
		struct loom_module *list = reallocarray(t->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		t->list = list;
		t->room = room;
	}
	to = &t->list[t->n];
	*to = *m;
	to->kind = copy(usual(m->kind));
	to->name = copy(m->name);
	to->component_name = copy(m->component_name);
	to->function_unit_name = copy(m->function_unit_name);
	t->n++;
	free(t->sorted);
	t->sorted = NULL;
	return lacks(m->kind, to->kind) || lacks(m->name, to->name) ||
			       lacks(m->component_name, to->component_name) ||
			       lacks(m->function_unit_name, to->function_unit_name)
		       ? -ENOMEM
		       : 0;
}

/* Nodes of one core precede those of any core, for the search. */
static int compare(const struct loom_module *a, const struct loom_module *b)
{
	if (a->any_core != b->any_core)
		return a->any_core ? 1 : -1;
	if (!a->any_core && a->core_id != b->core_id)
		return a->core_id < b->core_id ? -1 : 1;
	if (a->hw_node_id != b->hw_node_id)
		return a->hw_node_id < b->hw_node_id ? -1 : 1;
	return 0;
}

static int by_node(const void *a, const void *b, void *list)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare((struct loom_module *)list + x, (struct loom_module *)list + y);

	return order ? order : x < y ? -1 : x > y;
}

void loom_modules_seal(struct loom_modules *t)
{
	if (t->sorted || t->n == 0)
		return;
	t->sorted = calloc(t->n, sizeof(*t->sorted));
	if (!t->sorted)
		return; /* look-ups search linearly then */
	for (size_t i = 0; i < t->n; i++)
		t->sorted[i] = (uint32_t)i;
	qsort_r(t->sorted, t->n, sizeof(*t->sorted), by_node, t->list);
}

static const struct loom_module *find(const struct loom_modules *t, const struct loom_module *key)
{
	size_t low = 0, high = t->n;

	for (size_t i = 0; !t->sorted && i < t->n; i++) {
		if (compare(&t->list[i], key) == 0)
			return &t->list[i];
	}
	if (!t->sorted)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&t->list[t->sorted[middle]], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == t->n || compare(&t->list[t->sorted[low]], key) != 0)
		return NULL;
	return &t->list[t->sorted[low]];
}

const struct loom_module *loom_modules_find(const struct loom_modules *t, uint16_t core,
					    uint32_t node)
{
	struct loom_module key = {.core_id = core, .hw_node_id = node};
	const struct loom_module *m = find(t, &key);

	if (m)
		return m;
	key.any_core = true;
	return find(t, &key);
}

void loom_modules_free(struct loom_modules *t)
{
	for (size_t i = 0; i < t->n; i++)
		clear(&t->list[i]);
	free(t->list);
	free(t->sorted);
	memset(t, 0, sizeof(*t));
}

/* ---- reading ---- */

static bool read_text(struct tokens *t, char **out)
{
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	if (v.type == TOKEN_NULL)
		return true;
	if (v.type != TOKEN_STRING)
		return tokens_refuse(t, "this must be a string");
	free(*out);
	*out = copy(v.text);
	return *out || v.len == 0 ? true : tokens_no_memory(t);
}

static bool read_node(struct tokens *t, struct loom_module *m)
{
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	if (!token_fits(&v, UINT32_MAX))
		return tokens_refuse(t, "this must be an integer of 32 bits, from 0 on");
	m->hw_node_id = (uint32_t)v.integer;
	return true;
}

static bool read_ordinal(struct tokens *t, struct loom_module *m)
{
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	if (v.type != TOKEN_NUMBER || !v.is_integer || v.is_huge || v.integer > INT64_MAX)
		return tokens_refuse(t, "this must be an integer");
	m->boundary_ordinal = v.is_negative ? -(int64_t)v.integer : (int64_t)v.integer;
	return true;
}

static bool read_core(struct tokens *t, struct loom_module *m)
{
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	if (!token_fits(&v, UINT16_MAX))
		return tokens_refuse(t, "this must be an integer from 0 to 65535");
	m->core_id = (uint16_t)v.integer;
	m->any_core = false;
	return true;
}

static bool read_module(struct tokens *t, struct loom_module *m, loom_module_fn other, void *arg)
{
	struct token v;
	const char *key;
	bool named = false;
	int more;

	if (!tokens_value(t, &v))
		return false;
	if (v.type != TOKEN_OBJECT)
		return tokens_refuse(t, "a module must be an object");
	while ((more = tokens_key(t, &key)) > 0) {
		bool ok;

		if (!strcmp(key, "hw_node_id")) {
			ok = read_node(t, m);
			named = true;
		} else if (!strcmp(key, "kind")) {
			ok = read_text(t, &m->kind);
		} else if (!strcmp(key, "name")) {
			ok = read_text(t, &m->name);
		} else if (!strcmp(key, "component_name")) {
			ok = read_text(t, &m->component_name);
		} else if (!strcmp(key, "function_unit_name")) {
			ok = read_text(t, &m->function_unit_name);
		} else if (!strcmp(key, "boundary_ordinal")) {
			ok = read_ordinal(t, m);
		} else if (!strcmp(key, "core_id")) {
			ok = read_core(t, m);
		} else {
			ok = other ? other(arg, t, key, m) : tokens_skip(t);
		}
		if (!ok)
			return false;
	}
	if (more < 0)
		return false;
	return named ? true : tokens_refuse(t, "this module has no hw_node_id");
}

bool loom_modules_read(struct loom_modules *table, struct tokens *t, loom_module_fn other,
		       void *arg)
{
	struct loom_module m = {0};
	bool ok = true;
	int more = 0;

	while (ok && (more = tokens_element(t)) > 0) {
		clear(&m);
		ok = read_module(t, &m, other, arg);
		if (ok && loom_modules_add(table, &m) < 0)
			ok = tokens_no_memory(t);
		if (ok && other)
			ok = other(arg, t, NULL, &m);
	}
	clear(&m);
	return ok && more == 0;
}
