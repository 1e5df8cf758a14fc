/* SPDX-License-Identifier: MIT */
#include "trace/loom/modules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/json_tokens.h"

static void clear(struct loom_module *m)
{
	free(m->kind);
	free(m->name);
	free(m->component_name);
	free(m->function_unit_name);
	*m = (struct loom_module){.any_core = true, .boundary_ordinal = -1};
}

/* Replaces *to by a copy of the text; NULL for an empty one. Returns 0 or -ENOMEM. */
static int copy(char **to, const char *text)
{
	free(*to);
	*to = text && *text ? strdup(text) : NULL;
	return text && *text && !*to ? -ENOMEM : 0;
}

/* The usual name of a kind that has two names upstream. */
static const char *usual(const char *kind)
{
	if (kind && !strcmp(kind, "spatial_switch"))
		return "spatial_sw";
	return kind && !strcmp(kind, "temporal_switch") ? "temporal_sw" : kind;
}

static struct hash_key key_of(const struct loom_module *m)
{
	return (struct hash_key){.a = m->hw_node_id, .b = m->any_core ? UINT64_MAX : m->core_id};
}

int loom_modules_add(struct loom_modules *t, const struct loom_module *m)
{
	struct loom_module *to = ARRAY_ADD(t->list, t->n);
	uint32_t *at;

	if (!to)
		return -ENOMEM;
	*to = (struct loom_module){.hw_node_id = m->hw_node_id,
				   .core_id = m->core_id,
				   .any_core = m->any_core,
				   .boundary_ordinal = m->boundary_ordinal};
	if (copy(&to->kind, usual(m->kind)) || copy(&to->name, m->name) ||
	    copy(&to->component_name, m->component_name) ||
	    copy(&to->function_unit_name, m->function_unit_name))
		return -ENOMEM;
	at = hash_at(&t->index_of, key_of(m));
	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE)
		*at = (uint32_t)(t->n - 1);
	return 0;
}

const struct loom_module *loom_modules_find(const struct loom_modules *t, uint16_t core,
					    uint32_t node)
{
	struct loom_module key = {.core_id = core, .hw_node_id = node};
	uint32_t at = hash_get(&t->index_of, key_of(&key));

	key.any_core = true;
	if (at == HASH_NONE)
		at = hash_get(&t->index_of, key_of(&key));
	return at == HASH_NONE ? NULL : &t->list[at];
}

void loom_modules_free(struct loom_modules *t)
{
	for (size_t i = 0; i < t->n; i++)
		clear(&t->list[i]);
	free(t->list);
	hash_free(&t->index_of);
	memset(t, 0, sizeof(*t));
}

/* ---- modules in JSON ---- */

static bool read_text(struct tokens *t, char **out)
{
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	if (v.type == TOKEN_NULL)
		return true;
	if (v.type != TOKEN_STRING)
		return tokens_refuse(t, "this must be a string");
	return copy(out, v.text) ? tokens_no_memory(t) : true;
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
			ok = tokens_unsigned(t, 32, &m->hw_node_id);
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
			ok = tokens_unsigned(t, 16, &m->core_id);
			m->any_core = false;
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

/* ---- names from a file (loom.md 3) ---- */

/* hwNode and hwNodeName in one object of a mapping report. */
struct pair {
	bool has_node, has_name;
	uint32_t node;
	char name[TOKENS_TEXT];
};

static bool walk(struct loom_modules *table, struct tokens *t, const struct token *v,
		 unsigned level);

static bool keep_pair(struct loom_modules *table, struct tokens *t, struct pair *pair)
{
	struct loom_module m = {.any_core = true,
				.hw_node_id = pair->node,
				.name = pair->name,
				.boundary_ordinal = -1};

	if (!pair->has_node || !pair->has_name || loom_modules_add(table, &m) == 0)
		return true;
	return tokens_no_memory(t);
}

static bool walk_object(struct loom_modules *table, struct tokens *t, unsigned level)
{
	struct pair pair = {.has_node = false};
	const char *key;
	int more;

	while ((more = tokens_key(t, &key)) > 0) {
		bool is_node = !strcmp(key, "hwNode"), is_name = !strcmp(key, "hwNodeName");
		bool is_modules = level == 0 && !strcmp(key, "modules");
		struct token v;

		if (level == 0 && !strcmp(key, "events")) {
			if (!tokens_skip(t))
				return false;
			continue;
		}
		if (!tokens_value(t, &v))
			return false;
		if (is_node && token_fits(&v, UINT32_MAX)) {
			pair.node = (uint32_t)v.integer;
			pair.has_node = true;
		} else if (is_name && v.type == TOKEN_STRING) {
			memcpy(pair.name, v.text, v.len + 1);
			pair.has_name = true;
		} else if (is_modules && v.type == TOKEN_ARRAY) {
			if (!loom_modules_read(table, t, NULL, NULL))
				return false;
		} else if (!walk(table, t, &v, level + 1)) {
			return false;
		}
	}
	return more == 0 && keep_pair(table, t, &pair);
}

/* Visits all objects below the present value. The tokens bound the depth. */
static bool walk(struct loom_modules *table, struct tokens *t, const struct token *v,
		 unsigned level)
{
	int more = 0;

	if (v->type == TOKEN_OBJECT)
		return walk_object(table, t, level);
	if (v->type != TOKEN_ARRAY)
		return true;
	while ((more = tokens_element(t)) > 0) {
		struct token element;

		if (!tokens_value(t, &element) || !walk(table, t, &element, level + 1))
			return false;
	}
	return more == 0;
}

static int load_json(struct loom_modules *table, struct inflow *in)
{
	struct tokens t;
	struct token v;

	tokens_init(&t, in);
	if (tokens_value(&t, &v) && walk(table, &t, &v, 0) && tokens_end(&t))
		return 0;
	if (in->error)
		return in->error;
	log_error("%s: byte %" PRIu64 ": %s", in->path, t.where, t.why);
	return -EBADMSG;
}

/* Reads "CORE NODE NAME"; the name is the rest of the line. */
static int read_line(struct loom_modules *table, char *line)
{
	unsigned long long core, node;
	int used = 0;
	struct loom_module m = {.boundary_ordinal = -1};

	line += strspn(line, " \t");
	if (*line == '#' || *line == '\0')
		return 0;
	if (strspn(line, "0123456789") == 0 ||
	    sscanf(line, "%5llu %10llu %n", &core, &node, &used) != 2 || used == 0 ||
	    line[used] == '\0' || core > UINT16_MAX || node > UINT32_MAX)
		return -EBADMSG;
	m.core_id = (uint16_t)core;
	m.hw_node_id = (uint32_t)node;
	m.name = line + used;
	return loom_modules_add(table, &m);
}

int loom_line_next(struct inflow *in, char line[LOOM_LINE_BYTES])
{
	size_t len = 0;
	int c = inflow_peek_byte(in);

	if (c < 0)
		return 0;
	for (; c >= 0 && c != '\n'; c = inflow_peek_byte(in)) {
		if (c == 0 || len + 1 >= LOOM_LINE_BYTES)
			return c ? -E2BIG : -EBADMSG;
		line[len++] = (char)c;
		inflow_skip(in, 1);
	}
	if (c == '\n')
		inflow_skip(in, 1);
	while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	line[len] = '\0';
	return 1;
}

static int load_lines(struct loom_modules *table, struct inflow *in)
{
	char line[LOOM_LINE_BYTES];
	unsigned number = 1;
	int more, err;

	for (; (more = loom_line_next(in, line)) > 0; number++) {
		err = read_line(table, line);
		if (err == -EBADMSG)
			log_error("%s: line %u: must be CORE NODE NAME", in->path, number);
		if (err)
			return err;
	}
	if (more < 0) {
		log_error("%s: line %u: %s", in->path, number,
			  more == -E2BIG ? "longer than 4095 bytes" : "not text");
		return -EBADMSG;
	}
	return in->error;
}

int loom_modules_load(struct loom_modules *t, int dirfd, const char *path)
{
	struct inflow in;
	int c, err = inflow_open(&in, dirfd, path, INPUT_TEXT_MAX);

	if (err)
		goto out;
	while ((c = inflow_peek_byte(&in)) == ' ' || c == '\n' || c == '\r' || c == '\t')
		inflow_skip(&in, 1);
	err = c == '{' || c == '[' ? load_json(t, &in) : load_lines(t, &in);
out:
	inflow_close(&in);
	if (err == -ENOMEM)
		log_no_memory("for the names of %s", path);
	return err;
}
