/* SPDX-License-Identifier: MIT */
/*
 * node_names: reads the names of nodes from a file, for traces without names (loom.md 3).
 *
 * In: any JSON document with a modules table, the mapping report of upstream, or lines of text;
 * out: entries of modules.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/loom/modules.h"
#include "trace/loom/json_tokens.h"

#define LINE_MAX_BYTES 4096

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
	log_error("%s: byte %llu: %s", in->path, (unsigned long long)t.where, t.why);
	return -EBADMSG;
}

/* "CORE NODE NAME"; the name is the rest of the line. */
static bool read_line(struct loom_modules *table, char *line, int *err)
{
	unsigned long long core, node;
	int used = 0;
	struct loom_module m = {.boundary_ordinal = -1};

	line += strspn(line, " \t");
	if (*line == '#' || *line == '\0')
		return true;
	if (strspn(line, "0123456789") == 0 ||
	    sscanf(line, "%5llu %10llu %n", &core, &node, &used) != 2 || used == 0 ||
	    line[used] == '\0' || core > UINT16_MAX || node > UINT32_MAX)
		return false;
	m.core_id = (uint16_t)core;
	m.hw_node_id = (uint32_t)node;
	m.name = line + used;
	*err = loom_modules_add(table, &m);
	return true;
}

static int load_lines(struct loom_modules *table, struct inflow *in)
{
	char line[LINE_MAX_BYTES] = "";
	size_t len = 0;
	unsigned number = 1;
	int c, err = 0;

	line[0] = '\0';
	do {
		c = inflow_look(in);
		if (c >= 0)
			inflow_skip(in, 1);
		if (c >= 0 && c != '\n') {
			if (c == 0 || len + 1 >= sizeof(line)) {
				log_error("%s: line %u: %s", in->path, number,
					  c ? "longer than 4095 bytes" : "not text");
				return -EBADMSG;
			}
			line[len++] = (char)c;
			continue;
		}
		while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == ' '))
			len--;
		line[len] = '\0';
		if (!read_line(table, line, &err)) {
			log_error("%s: line %u: must be CORE NODE NAME", in->path, number);
			return -EBADMSG;
		}
		number++;
		len = 0;
	} while (c >= 0 && !err);
	return in->error ? in->error : err;
}

int loom_modules_load(struct loom_modules *t, int dirfd, const char *path)
{
	struct inflow in;
	int c, err = inflow_open(&in, dirfd, path);

	if (err)
		goto out;
	do {
		c = inflow_look(&in);
		if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
			inflow_skip(&in, 1);
	} while (c == ' ' || c == '\n' || c == '\r' || c == '\t');
	err = c == '{' || c == '[' ? load_json(t, &in) : load_lines(t, &in);
out:
	inflow_close(&in);
	loom_modules_seal(t);
	if (err == -ENOMEM)
		log_no_memory("for the names of %s", path);
	return err;
}
