/* SPDX-License-Identifier: MIT */
#include "trace/states/tid_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

struct tid_name {
	const char *loom; /* of an owner */
	int32_t tid;
	char *name;
};

static int compare(const void *pa, const void *pb)
{
	const struct tid_name *a = pa, *b = pb;
	int order = strcmp(a->loom, b->loom);

	if (order)
		return order;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int add_names(struct tid_names *names, const struct json *list, const char *loom)
{
	for (const struct json *node = json_first(list); node; node = json_next(node)) {
		const char *key = json_name(node), *name = json_string(node);
		struct tid_name *entry;

		if (!key || !name)
			continue;
		entry = ARRAY_ADD(names->names, names->n);
		if (!entry)
			return -ENOMEM;
		*entry = (struct tid_name){loom, (int32_t)strtol(key, NULL, 10), strdup(name)};
		if (!entry->name)
			return -ENOMEM;
	}
	return 0;
}

int tid_names_init(struct tid_names *names, const struct state_walk *walk)
{
	const struct source *source = walk->source;

	memset(names, 0, sizeof(*names));
	names->walk = walk;
	for (size_t i = 0; i < source->trace.nstreams; i++) {
		struct json *meta;
		int err;

		if (!source->owners[i].has_names)
			continue;
		meta = trace_metadata(&source->trace, i);
		if (!meta)
			return -EINVAL;
		err = add_names(names, json_get(meta, "bpf.names"), source->owners[i].loom);
		json_free(meta);
		if (err)
			return log_no_memory("while reading %s", source->trace.path);
	}
	if (names->n)
		qsort(names->names, names->n, sizeof(*names->names), compare);
	return 0;
}

void tid_names_forget(struct tid_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->names[i].name);
	names->n = 0;
}

void tid_names_fini(struct tid_names *names)
{
	tid_names_forget(names);
	free(names->names);
	memset(names, 0, sizeof(*names));
}

static char *format(const char *name, int64_t tid)
{
	return name ? xasprintf("%s (%lld)", name, (long long)tid)
		    : xasprintf("%lld", (long long)tid);
}

char *tid_names_of_stream(const struct tid_names *names, uint32_t stream)
{
	const struct owner *owner = &names->walk->source->owners[stream];

	return format(owner->name, owner->tid);
}

const char *tid_names_find(const struct tid_names *names, uint32_t stream, int64_t tid)
{
	struct tid_name key = {names->walk->source->owners[stream].loom, (int32_t)tid, NULL};
	struct tid_name *found = NULL;
	int64_t owner = state_walk_find(names->walk, stream, tid);

	if (owner >= 0)
		return names->walk->source->owners[owner].name;
	if (names->n && tid > 0 && tid <= INT32_MAX)
		found = bsearch(&key, names->names, names->n, sizeof(key), compare);
	return found ? found->name : NULL;
}

char *tid_names_of_tid(const struct tid_names *names, uint32_t stream, int32_t tid)
{
	if (tid == 0)
		return strdup("idle");
	if (tid < 0)
		return strdup(tid == -2 ? "interrupt" : "unknown");
	return format(tid_names_find(names, stream, tid), tid);
}
