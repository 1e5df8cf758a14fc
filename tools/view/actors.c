/* SPDX-License-Identifier: MIT */
#include "tools/view/actors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"

#define TID_SHARED (HASH_NONE - 1) /* threads of several processes of a loom have it */

static struct hash_key key_of(uint32_t loom, int64_t tid)
{
	return (struct hash_key){.a = (uint64_t)tid, .b = loom};
}

int actors_init(struct actors *a, const struct source *source)
{
	size_t n = source->trace.nstreams;
	uint32_t *at;
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
	a->tid_of = calloc(n + 1, sizeof(*a->tid_of));
	if (!a->loom_of || !a->tid_of)
		goto lack;
	for (size_t i = 0; i < n; i++) {
		int64_t tid = source->owners[i].tid;

		a->tid_of[i] = tid > 0 && tid <= INT32_MAX ? (int32_t)tid : -1;
	}
	/* by_tid is sorted by loom */
	for (size_t i = 0; i < n; i++) {
		uint32_t stream = a->walk.by_tid[i];
		const char *name = source->owners[stream].loom, **loom;

		if (!a->nlooms || strcmp(a->looms[a->nlooms - 1], name) != 0) {
			loom = ARRAY_ADD(a->looms, a->nlooms);
			if (!loom)
				goto lack;
			*loom = name;
		}
		a->loom_of[stream] = (uint32_t)(a->nlooms - 1);
		at = hash_at(&a->by_tid, key_of(a->loom_of[stream], source->owners[stream].tid));
		if (!at)
			goto lack;
		*at = *at == HASH_NONE ? stream : TID_SHARED;
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
	free(a->tid_of);
	free(a->looms);
	free(a->others);
	free(a->cpus);
	memset(a, 0, sizeof(*a));
}

/* The number of a thread without a stream. */
static uint32_t number_other(struct actors *a, uint32_t stream, int32_t tid)
{
	uint32_t *at = hash_at(&a->by_tid, key_of(a->loom_of[stream], tid));
	struct actor *other;

	if (!at)
		return UINT32_MAX;
	if (*at == HASH_NONE) {
		other = ARRAY_ADD(a->others, a->nothers);
		if (!other)
			return UINT32_MAX;
		*other = (struct actor){stream, tid};
		*at = (uint32_t)(a->source->trace.nstreams + a->nothers - 1);
	}
	return *at;
}

uint32_t actors_find(struct actors *a, uint32_t stream, int32_t tid)
{
	uint32_t loom = a->loom_of[stream], found;
	struct known_tid *known = &a->known_tids[(uint32_t)tid % ACTORS_KNOWN];
	int64_t of_process;

	if (known->tid == tid && known->loom == loom)
		return known->number;
	found = hash_get(&a->by_tid, key_of(loom, tid));
	if (found == TID_SHARED) {
		of_process = state_walk_find(&a->walk, stream, tid);
		return of_process < 0 ? UINT32_MAX : (uint32_t)of_process;
	}
	if (found == HASH_NONE)
		found = number_other(a, stream, tid);
	*known = (struct known_tid){tid, loom, found};
	return found;
}

uint32_t actors_cpu(struct actors *a, uint32_t stream, int32_t cpu)
{
	uint32_t loom = a->loom_of[stream], *at;
	uint32_t *known = &a->known_cpus[(uint32_t)cpu % ACTORS_KNOWN];
	struct cpu_row *row;

	if (*known < a->ncpus && a->cpus[*known].cpu == cpu && a->cpus[*known].loom == loom)
		return *known;
	at = hash_at(&a->by_cpu, key_of(loom, cpu));
	if (!at)
		return UINT32_MAX;
	if (*at == HASH_NONE) {
		row = ARRAY_ADD(a->cpus, a->ncpus);
		if (!row)
			return UINT32_MAX;
		*row = (struct cpu_row){a->loom_of[stream], cpu};
		*at = (uint32_t)(a->ncpus - 1);
	}
	*known = *at;
	return *at;
}
