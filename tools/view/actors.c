/* SPDX-License-Identifier: MIT */
#include "tools/view/actors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"

static const char *loom_name(const struct source *source, uint32_t stream)
{
	const char *loom = source->owners[stream].loom;

	return loom ? loom : "";
}

int actors_init(struct actors *a, const struct source *source)
{
	size_t n = source->trace.nstreams;
	int err;

	memset(a, 0, sizeof(*a));
	a->source = source;
	err = state_walk_init(&a->walk, source);
	if (err)
		return err;
	err = tid_names_init(&a->names, &a->walk);
	if (err)
		return err;
	a->loom_of = calloc(n + 1, sizeof(*a->loom_of));
	if (!a->loom_of)
		goto lack;
	/* by_tid is sorted by loom */
	for (size_t i = 0; i < n; i++) {
		uint32_t stream = a->walk.by_tid[i];
		const char *name = loom_name(source, stream), **loom;

		if (!a->nlooms || strcmp(a->looms[a->nlooms - 1], name) != 0) {
			loom = ARRAY_ADD(a->looms, a->nlooms);
			if (!loom)
				goto lack;
			*loom = name;
		}
		a->loom_of[stream] = (uint32_t)(a->nlooms - 1);
	}
	return 0;
lack:
	return log_no_memory("for %zu threads of %s", n, source->trace.path);
}

void actors_fini(struct actors *a)
{
	tid_names_fini(&a->names);
	state_walk_fini(&a->walk);
	hash_free(&a->by_tid);
	hash_free(&a->by_cpu);
	free(a->loom_of);
	free(a->looms);
	free(a->others);
	free(a->cpus);
	memset(a, 0, sizeof(*a));
}

uint32_t actors_find(struct actors *a, uint32_t stream, int32_t tid)
{
	const struct hash_key key = {.a = (uint64_t)tid,
				     .b = (uint64_t)a->source->owners[stream].pid,
				     .c = a->loom_of[stream]};
	uint32_t *at = hash_at(&a->by_tid, key);
	struct actor *other;
	int64_t found;

	if (!at)
		return UINT32_MAX;
	if (*at != HASH_NONE)
		return *at;
	found = state_walk_find(&a->walk, stream, tid);
	if (found < 0) {
		/* one number for all processes of a loom */
		const struct hash_key outside = {.a = (uint64_t)tid, .b = UINT64_MAX, .c = key.c};
		uint32_t *shared = hash_at(&a->by_tid, outside);

		if (!shared)
			return UINT32_MAX;
		if (*shared == HASH_NONE) {
			other = ARRAY_ADD(a->others, a->nothers);
			if (!other)
				return UINT32_MAX;
			*other = (struct actor){stream, tid};
			*shared = (uint32_t)(a->source->trace.nstreams + a->nothers - 1);
		}
		found = *shared;
		at = hash_at(&a->by_tid, key);
		if (!at)
			return UINT32_MAX;
	}
	*at = (uint32_t)found;
	return *at;
}

uint32_t actors_cpu(struct actors *a, uint32_t stream, int32_t cpu)
{
	const struct hash_key key = {.a = (uint64_t)(int64_t)cpu, .b = a->loom_of[stream]};
	uint32_t *at = hash_at(&a->by_cpu, key);
	struct cpu_row *row;

	if (!at)
		return UINT32_MAX;
	if (*at == HASH_NONE) {
		row = ARRAY_ADD(a->cpus, a->ncpus);
		if (!row)
			return UINT32_MAX;
		*row = (struct cpu_row){a->loom_of[stream], cpu};
		*at = (uint32_t)(a->ncpus - 1);
	}
	return *at;
}
