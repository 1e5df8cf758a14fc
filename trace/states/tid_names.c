/* SPDX-License-Identifier: MIT */
#include "trace/states/tid_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

struct called_name {
	const char *loom; /* of an owner */
	int32_t tid;
	char *name;
};

static int compare(const void *pa, const void *pb)
{
	const struct called_name *a = pa, *b = pb;
	int order = strcmp(a->loom, b->loom);

	return order ? order : a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int take(struct called *called, const struct json *names, const char *loom)
{
	for (const struct json *node = json_first(names); node; node = json_next(node)) {
		const char *key = json_name(node), *name = json_string(node);
		struct called_name *entry;

		if (!key || !name)
			continue;
		if (called->n == called->room) {
			size_t room = called->room ? 2 * called->room : 64;
			void *grown = realloc(called->names, room * sizeof(*called->names));

			if (!grown)
				return -ENOMEM;
			called->names = grown;
			called->room = room;
		}
		entry = &called->names[called->n];
		*entry = (struct called_name){loom, (int32_t)strtol(key, NULL, 10), strdup(name)};
		if (!entry->name)
			return -ENOMEM;
		called->n++;
	}
	return 0;
}

int called_init(struct called *called, const struct whereabouts *where)
{
	const struct source *source = where->source;
	int err = 0;

	memset(called, 0, sizeof(*called));
	called->where = where;
	for (size_t i = 0; i < source->trace.nstreams && !err; i++) {
		struct json *meta = trace_metadata(&source->trace, i);
		const char *loom = source->owners[i].loom;

		if (!meta)
			return -EINVAL;
		err = take(called, json_get(meta, "bpf.names"), loom ? loom : "");
		json_free(meta);
	}
	if (err)
		log_error("%s: no memory for names", source->trace.path);
	else if (called->n)
		qsort(called->names, called->n, sizeof(*called->names), compare);
	return err;
}

void called_fini(struct called *called)
{
	for (size_t i = 0; i < called->n; i++)
		free(called->names[i].name);
	free(called->names);
	memset(called, 0, sizeof(*called));
}

static char *spell(const char *name, int64_t tid)
{
	char *text;
	int n = name ? asprintf(&text, "%s (%lld)", name, (long long)tid)
		     : asprintf(&text, "%lld", (long long)tid);

	return n < 0 ? NULL : text;
}

char *called_stream(const struct called *called, uint32_t who)
{
	const struct owner *owner = &called->where->source->owners[who];

	return spell(owner->name, owner->tid);
}

char *called_tid(const struct called *called, uint32_t who, int32_t tid)
{
	const char *loom = called->where->source->owners[who].loom;
	struct called_name key = {loom ? loom : "", tid, NULL}, *found;
	int64_t stream;

	if (tid == 0)
		return strdup("idle");
	if (tid < 0)
		return strdup(tid == -2 ? "interrupt" : "unknown");
	stream = whereabouts_find(called->where, who, tid);
	if (stream >= 0)
		return called_stream(called, (uint32_t)stream);
	found = called->n ? bsearch(&key, called->names, called->n, sizeof(key), compare) : NULL;
	return spell(found ? found->name : NULL, tid);
}
