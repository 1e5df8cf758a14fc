/* SPDX-License-Identifier: MIT */
#include "trace/states/state_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct owner *owners = arg;
	const uint32_t *a = pa, *b = pb;
	int order = strcmp(owners[*a].loom, owners[*b].loom);

	if (order)
		return order;
	if (owners[*a].tid != owners[*b].tid)
		return owners[*a].tid < owners[*b].tid ? -1 : 1;
	if (owners[*a].pid != owners[*b].pid)
		return owners[*a].pid < owners[*b].pid ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static struct hash_key tid_key(uint32_t loom, int64_t tid)
{
	return (struct hash_key){.a = (uint64_t)tid, .c = loom};
}

/* Numbers the looms, and notes where the streams of each tid begin in by_tid. */
static int index_tids(struct state_walk *w)
{
	const struct owner *owners = w->source->owners;
	uint32_t loom = 0;

	for (uint32_t i = 0; i < w->source->trace.nstreams; i++) {
		uint32_t stream = w->by_tid[i], *first;

		if (i && strcmp(owners[w->by_tid[i - 1]].loom, owners[stream].loom))
			loom++;
		w->looms[stream] = loom;
		first = hash_at(&w->first_of, tid_key(loom, owners[stream].tid));
		if (!first)
			return -ENOMEM;
		w->shared |= *first != HASH_NONE;
		if (*first == HASH_NONE)
			*first = i;
	}
	return 0;
}

/* One load in place of a search in a hash, which misses the caches with thousands of threads. */
static void make_dense(struct state_walk *w, size_t n)
{
	const struct owner *owners = w->source->owners;
	int64_t from, range;

	if (!n || w->looms[w->by_tid[n - 1]] != 0)
		return;
	from = owners[w->by_tid[0]].tid;
	range = clock_distance(from, owners[w->by_tid[n - 1]].tid);
	if (range < 0 || (uint64_t)range > 4 * n)
		return;
	w->dense = malloc(((size_t)range + 1) * sizeof(*w->dense));
	if (!w->dense)
		return; /* the hash has them */
	w->dense_from = from;
	w->ndense = (uint64_t)range + 1;
	memset(w->dense, 0xff, w->ndense * sizeof(*w->dense));
	for (size_t i = n; i-- > 0;)
		w->dense[owners[w->by_tid[i]].tid - from] = (uint32_t)i;
}

_Static_assert(HASH_NONE == UINT32_MAX, "a tid that has no stream");

int state_walk_init(struct state_walk *w, const struct source *source)
{
	size_t n = source->trace.nstreams;

	*w = (struct state_walk){.source = source};
	w->threads = calloc(n + 1, sizeof(*w->threads));
	w->by_tid = calloc(n + 1, sizeof(*w->by_tid));
	w->looms = calloc(n + 1, sizeof(*w->looms));
	if (!w->threads || !w->by_tid || !w->looms)
		goto no_memory;
	for (size_t i = 0; i < n; i++) {
		w->threads[i].cpu = CPU_NONE;
		w->threads[i].stopper = source->owners[i].name &&
					!strncmp(source->owners[i].name, "migration/", 10);
		w->by_tid[i] = (uint32_t)i;
	}
	qsort_r(w->by_tid, n, sizeof(*w->by_tid), compare, source->owners);
	if (!index_tids(w)) {
		make_dense(w, n);
		return 0;
	}
no_memory:
	state_walk_fini(w);
	return log_no_memory("for %zu threads of %s", n, source->trace.path);
}

void state_walk_fini(struct state_walk *w)
{
	free(w->threads);
	free(w->by_tid);
	free(w->looms);
	free(w->dense);
	hash_free(&w->first_of);
	memset(w, 0, sizeof(*w));
}

int64_t state_walk_find(const struct state_walk *w, uint32_t stream, int64_t tid)
{
	const struct owner *owners = w->source->owners;
	uint64_t place = (uint64_t)tid - (uint64_t)w->dense_from;
	size_t n = w->source->trace.nstreams;
	uint32_t at;

	if (w->dense)
		at = place < w->ndense ? w->dense[place] : HASH_NONE;
	else
		at = hash_get(&w->first_of, tid_key(w->looms[stream], tid));
	if (at == HASH_NONE)
		return -1;
	for (uint32_t i = at; w->shared && i < n && w->looms[w->by_tid[i]] == w->looms[stream] &&
			      owners[w->by_tid[i]].tid == tid;
	     i++)
		if (owners[w->by_tid[i]].pid == owners[stream].pid)
			return w->by_tid[i];
	return w->by_tid[at];
}

int64_t state_walk_step(struct state_walk *w, uint32_t stream, const struct event *ev)
{
	int64_t other;

	if (event_mcv(ev) != MCV('O', 'A', 'r')) {
		if (sched_state_step(&w->threads[stream], ev, false) != SCHED_CHANGED)
			return -1;
		return stream;
	}
	if (ev->payload_size < 8)
		return -1;
	other = state_walk_find(w, stream, get_i32(ev->payload + 4));
	if (other >= 0)
		w->threads[other].cpu = get_i32(ev->payload);
	return other;
}
