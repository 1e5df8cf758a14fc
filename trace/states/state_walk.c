/* SPDX-License-Identifier: MIT */
#include "trace/states/state_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

static int compare_place(const struct owner *a, const char *loom, int64_t tid)
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
	int order = compare_place(&owners[a], owners[b].loom, owners[b].tid);

	if (!order)
		order = owners[a].pid < owners[b].pid ? -1 : owners[a].pid > owners[b].pid;
	return order ? order : a < b ? -1 : a > b;
}

int whereabouts_init(struct whereabouts *w, const struct source *source)
{
	size_t n = source->trace.nstreams;

	w->source = source;
	w->threads = calloc(n + 1, sizeof(*w->threads));
	w->by_tid = calloc(n + 1, sizeof(*w->by_tid));
	if (!w->threads || !w->by_tid) {
		log_error("%s: no memory for %zu threads", source->trace.path, n);
		whereabouts_fini(w);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		w->threads[i].cpu = CPU_NONE;
		w->by_tid[i] = (uint32_t)i;
	}
	qsort_r(w->by_tid, n, sizeof(*w->by_tid), compare, source->owners);
	return 0;
}

void whereabouts_fini(struct whereabouts *w)
{
	free(w->threads);
	free(w->by_tid);
	memset(w, 0, sizeof(*w));
}

int64_t whereabouts_find(const struct whereabouts *w, uint32_t who, int64_t tid)
{
	const struct owner *owners = w->source->owners;
	const char *loom = owners[who].loom;
	size_t low = 0, high = w->source->trace.nstreams, n = high;
	int64_t found = -1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_place(&owners[w->by_tid[middle]], loom, tid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && compare_place(&owners[w->by_tid[low]], loom, tid) == 0; low++) {
		if (owners[w->by_tid[low]].pid == owners[who].pid)
			return w->by_tid[low];
		if (found < 0)
			found = w->by_tid[low];
	}
	return found;
}

int64_t whereabouts_step(struct whereabouts *w, uint32_t who, const struct event *ev)
{
	struct whereabout *thread = &w->threads[who];
	int64_t other;

	if (ev->model == 'K' && ev->category == 'C') {
		thread->out = ev->value == 'O';
		return who;
	}
	if (ev->model != 'O')
		return -1;
	switch (event_mcv(ev)) {
	case MCV('O', 'H', 'x'):
		thread->state = THREAD_STATE_RUNNING;
		if (ev->payload_size >= 4)
			thread->cpu = get_i32(ev->payload);
		return who;
	case MCV('O', 'H', 'e'):
		thread->state = THREAD_STATE_DEAD;
		thread->cpu = CPU_NONE;
		return who;
	case MCV('O', 'H', 'p'):
		thread->state = THREAD_STATE_PAUSED;
		return who;
	case MCV('O', 'H', 'r'):
		thread->state = THREAD_STATE_RUNNING;
		return who;
	case MCV('O', 'H', 'c'):
		thread->state = THREAD_STATE_COOLING;
		return who;
	case MCV('O', 'H', 'w'):
		thread->state = THREAD_STATE_WARMING;
		return who;
	case MCV('O', 'A', 's'):
		if (ev->payload_size < 4)
			return -1;
		thread->cpu = get_i32(ev->payload);
		return who;
	case MCV('O', 'A', 'r'):
		if (ev->payload_size < 8)
			return -1;
		other = whereabouts_find(w, who, get_i32(ev->payload + 4));
		if (other >= 0)
			w->threads[other].cpu = get_i32(ev->payload);
		return other;
	default:
		return -1;
	}
}
