/* SPDX-License-Identifier: MIT */
#include "trace/states/state_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

static int compare_loom_tid(const struct owner *a, const char *loom, int64_t tid)
{
	int order = strcmp(a->loom ? a->loom : "", loom ? loom : "");

	if (order)
		return order;
	return a->tid < tid ? -1 : a->tid > tid;
}

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct owner *owners = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int order = compare_loom_tid(&owners[a], owners[b].loom, owners[b].tid);

	if (order)
		return order;
	if (owners[a].pid != owners[b].pid)
		return owners[a].pid < owners[b].pid ? -1 : 1;
	return a < b ? -1 : a > b;
}

int state_walk_init(struct state_walk *w, const struct source *source)
{
	size_t n = source->trace.nstreams;

	w->source = source;
	w->threads = calloc(n + 1, sizeof(*w->threads));
	w->by_tid = calloc(n + 1, sizeof(*w->by_tid));
	if (!w->threads || !w->by_tid) {
		state_walk_fini(w);
		return log_no_memory("for %zu threads of %s", n, source->trace.path);
	}
	for (size_t i = 0; i < n; i++) {
		w->threads[i].cpu = CPU_NONE;
		w->by_tid[i] = (uint32_t)i;
	}
	qsort_r(w->by_tid, n, sizeof(*w->by_tid), compare, source->owners);
	return 0;
}

void state_walk_fini(struct state_walk *w)
{
	free(w->threads);
	free(w->by_tid);
	memset(w, 0, sizeof(*w));
}

int64_t state_walk_find(const struct state_walk *w, uint32_t stream, int64_t tid)
{
	const struct owner *owners = w->source->owners;
	const char *loom = owners[stream].loom;
	size_t low = 0, high = w->source->trace.nstreams, n = high;
	int64_t found = -1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_loom_tid(&owners[w->by_tid[middle]], loom, tid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && compare_loom_tid(&owners[w->by_tid[low]], loom, tid) == 0; low++) {
		if (owners[w->by_tid[low]].pid == owners[stream].pid)
			return w->by_tid[low];
		if (found < 0)
			found = w->by_tid[low];
	}
	return found;
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
