/* SPDX-License-Identifier: MIT */
/* stats_file: see stats_file.h. */
#include "trace/ovni/stats_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/base/json_tokens.h"
#include "trace/base/log.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define KEY_NAME(name, key) [STATS_##name] = #key,
const char *const stats_keys[STATS_NKEYS] = {STATS_KEYS(KEY_NAME)};
_Static_assert(STATS_NKEYS <= 64, "a bit for each key");

struct reader {
	struct recorded_stats *stats;
	struct inflow in;
	struct tokens t;
	bool has_schema;
	char why[64]; /* a mistake that names a key */
};

static bool read_schema(struct reader *r)
{
	struct token v;

	if (!tokens_value(&r->t, &v))
		return false;
	r->has_schema = v.type == TOKEN_STRING &&
			(!strcmp(v.text, STATS_SCHEMA) || !strcmp(v.text, STATS_SCHEMA_OLD));
	return r->has_schema || tokens_refuse(&r->t, "another schema than " STATS_SCHEMA);
}

static bool read_scope(struct tokens *t, struct stats_line *to)
{
	static const char *const scopes[] = {
		[STATS_RUN] = "run",
		[STATS_CPU] = "cpu",
		[STATS_PROCESS] = "process",
		[STATS_THREAD] = "thread",
	};
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	for (int i = STATS_RUN; i <= STATS_THREAD && v.type == TOKEN_STRING; i++) {
		if (!strcmp(v.text, scopes[i])) {
			to->scope = (enum stats_scope)i;
			return true;
		}
	}
	return tokens_refuse(t, "a scope is thread, process, cpu or run");
}

static bool read_comm(struct tokens *t, struct stats_line *to)
{
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	if (v.type != TOKEN_STRING)
		return tokens_refuse(t, "a comm is a string");
	snprintf(to->comm, sizeof(to->comm), "%s", v.text);
	return true;
}

/* Reads an integer. Keys of lists have the same names in other objects. */
static bool read_integer(struct tokens *t, enum stats_key key, struct stats_line *to)
{
	struct token v;

	if (!tokens_value(t, &v))
		return false;
	if (v.type == TOKEN_ARRAY || v.type == TOKEN_OBJECT)
		return tokens_leave(t);
	if (!token_fits(&v, UINT64_MAX))
		return tokens_refuse(t, "this must be an integer from 0 to 2^64 - 1");
	if (stats_has(to, key))
		return tokens_refuse(t, "a key twice in one object");
	to->values[key] = v.integer;
	to->has |= 1ull << key;
	return true;
}

static bool read_object(struct reader *r, struct stats_line *to);

#define BIT(name) (1ull << STATS_##name)

/* Reads a line, which must have its ids and times. */
static bool read_line(struct reader *r, struct stats_line *line)
{
	static const uint64_t times =
		BIT(TOTAL_NS) | BIT(ACTIVE_NS) | BIT(RUNNABLE_NS) | BIT(BLOCKED_NS);
	static const uint64_t needed[] = {
		[STATS_RUN] = times,
		[STATS_CPU] =
			BIT(CPU_ID) | BIT(TOTAL_NS) | BIT(ACTIVE_NS) | BIT(OTHER_NS) | BIT(IDLE_NS),
		[STATS_PROCESS] = times | BIT(PID),
		[STATS_THREAD] = times | BIT(TID) | BIT(PID) | BIT(UNKNOWN_NS),
	};
	uint64_t missing;

	if (!read_object(r, line))
		return false;
	if (!line->scope)
		return tokens_refuse(&r->t, "this snapshot has no scope");
	missing = needed[line->scope] & ~line->has;
	if (!missing)
		return true;
	snprintf(r->why, sizeof(r->why), "this snapshot has no %s",
		 stats_keys[__builtin_ctzll(missing)]);
	return tokens_refuse(&r->t, r->why);
}

/* Reads an array of objects, each with `read`. */
static bool read_array(struct reader *r, struct stats_line **list, size_t *n,
		       bool (*read)(struct reader *r, struct stats_line *to))
{
	struct token v;
	int more;

	if (!tokens_value(&r->t, &v))
		return false;
	if (v.type != TOKEN_ARRAY)
		return tokens_refuse(&r->t, "this must be a list");
	while ((more = tokens_element(&r->t)) > 0) {
		struct stats_line line = {0}, *to;

		if (!read(r, &line))
			return false;
		to = ARRAY_ADD(*list, *n);
		if (!to)
			return tokens_no_memory(&r->t);
		*to = line;
	}
	return more == 0;
}

static bool read_member(struct reader *r, const char *key, struct stats_line *to)
{
	struct recorded_stats *s = r->stats;
	const struct {
		const char *key;
		struct stats_line *to;
	} objects[] = {
		{"window", &s->window}, {"controls", &s->sampling}, {"sampling", &s->sampling},
		{"events", &s->events}, {"recorder", &s->recorder}, {"unlisted", &s->unlisted},
	};

	for (size_t i = 0; i < COUNT(objects); i++) {
		if (!strcmp(key, objects[i].key))
			return read_object(r, objects[i].to);
	}
	for (int i = 0; i < STATS_NKEYS; i++) {
		if (!strcmp(key, stats_keys[i]))
			return read_integer(&r->t, (enum stats_key)i, to);
	}
	if (!strcmp(key, "schema"))
		return read_schema(r);
	if (!strcmp(key, "recovered")) {
		s->recovered = true;
		return tokens_skip(&r->t);
	}
	if (!strcmp(key, "scope"))
		return read_scope(&r->t, to);
	if (!strcmp(key, "comm"))
		return read_comm(&r->t, to);
	if (!strcmp(key, "snapshots"))
		return read_array(r, &s->lines, &s->nlines, read_line);
	if (!strcmp(key, "by_core_and_kind"))
		return read_array(r, &s->by_kind, &s->nby_kind, read_object);
	return tokens_skip(&r->t);
}

/* Reads the known members of an object. */
static bool read_object(struct reader *r, struct stats_line *to)
{
	struct token v;
	const char *key;
	int more;

	if (!tokens_value(&r->t, &v))
		return false;
	if (v.type == TOKEN_NULL)
		return true;
	if (v.type != TOKEN_OBJECT)
		return tokens_refuse(&r->t, "this must be an object");
	while ((more = tokens_key(&r->t, &key)) > 0) {
		if (!read_member(r, key, to))
			return false;
	}
	return more == 0;
}

static bool read_document(struct reader *r)
{
	struct recorded_stats *s = r->stats;

	tokens_init(&r->t, &r->in);
	if (!read_object(r, &s->head) || !tokens_end(&r->t))
		return false;
	if (!r->has_schema || s->head.values[STATS_VERSION_NUMBER] != STATS_VERSION)
		return tokens_refuse(&r->t, "not version 1 of " STATS_SCHEMA);
	if (!s->nlines || (!s->recovered && !stats_has(&s->events, STATS_SEEN)))
		return tokens_refuse(&r->t, "no snapshots, or no counts of events");
	return true;
}

const char *stats_find(int dirfd)
{
	struct stat st; /* a link counts as the file: recorded_stats_load() refuses it */

	if (!fstatat(dirfd, STATS_FILE, &st, AT_SYMLINK_NOFOLLOW))
		return STATS_FILE;
	return fstatat(dirfd, STATS_FILE_OLD, &st, AT_SYMLINK_NOFOLLOW) ? NULL : STATS_FILE_OLD;
}

static bool has_name(const char *path, const char *name)
{
	size_t len = strlen(path), tail = strlen(name);

	return len >= tail && !strcmp(path + len - tail, name) &&
	       (len == tail || path[len - tail - 1] == '/' || path[len - tail - 1] == '.');
}

bool stats_is_file_name(const char *path)
{
	return has_name(path, STATS_FILE) || has_name(path, STATS_FILE_OLD);
}

int recorded_stats_load(struct recorded_stats *stats, int dirfd, const char *path)
{
	struct reader r = {.stats = stats};
	int err;

	memset(stats, 0, sizeof(*stats));
	err = inflow_open(&r.in, dirfd, path, INPUT_STATS_MAX);
	if (err || read_document(&r))
		goto out;
	err = r.in.error;
	if (err) /* reported */
		goto out;
	if (r.t.no_memory) {
		err = log_no_memory("while reading %s", path);
		goto out;
	}
	err = -EBADMSG;
	log_error("%s: byte %" PRIu64 ": %s", path, r.t.where, r.t.why ? r.t.why : "damaged");
out:
	inflow_close(&r.in);
	return err;
}

void recorded_stats_free(struct recorded_stats *stats)
{
	free(stats->by_kind);
	free(stats->lines);
	memset(stats, 0, sizeof(*stats));
}
