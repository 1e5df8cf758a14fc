/* SPDX-License-Identifier: MIT */
/* sweep: combines the nodes of a core (see sweep.h). */
#include "trace/loom/stats/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/base/array.h"

#define NOWHERE UINT32_MAX

void loom_sweep_fini(struct loom_sweep *s)
{
	free(s->heap);
	free(s->where);
}

/* ---- counting ---- */

static enum loom_does highest(const struct loom_sweep *s)
{
	enum loom_does does = LOOM_DOES_WORK;

	while (does > LOOM_DOES_NOTHING && !s->nodes[does])
		does--;
	return does;
}

/* Counts the cycles [s->at, to), without a change. */
static void count(struct loom_sweep *s, uint64_t to, enum loom_does does)
{
	if (s->has_end && to > s->end) {
		uint64_t from = s->at > s->end ? s->at : s->end;

		s->late[does] += to - from;
		s->cycles[does] += from - s->at;
	} else {
		s->cycles[does] += to - s->at;
	}
	s->at = to;
}

static void step(struct loom_sweep *s, uint64_t to)
{
	if (to <= s->at)
		return;
	if (s->works_until > s->at)
		count(s, s->works_until < to ? s->works_until : to, LOOM_DOES_WORK);
	if (to > s->at)
		count(s, to, highest(s));
}

void loom_sweep_change(struct loom_sweep *s, uint64_t cycle, enum loom_does before,
		       enum loom_does now)
{
	step(s, cycle);
	if (before)
		s->nodes[before]--;
	s->nodes[now]++;
}

void loom_sweep_ends(struct loom_sweep *s, uint64_t cycle)
{
	for (int does = 0; s->has_end && cycle > s->end && does < LOOM_DOES; does++) {
		s->cycles[does] += s->late[does];
		s->late[does] = 0;
	}
	s->has_end = true;
	s->end = cycle;
}

/* ---- spans ---- */

int loom_sweep_join(struct loom_sweep *s, uint32_t *place)
{
	/* the heap has space for a span of each node */
	struct loom_sweep_span *heap = array_more(s->heap, s->nplaces, sizeof(*heap));
	uint32_t *where;

	if (!heap)
		return -ENOMEM;
	s->heap = heap;
	*place = s->nplaces;
	where = ARRAY_ADD(s->where, s->nplaces);
	if (!where)
		return -ENOMEM;
	*where = NOWHERE;
	return 0;
}

static void put(struct loom_sweep *s, uint32_t i, struct loom_sweep_span span)
{
	s->heap[i] = span;
	s->where[span.place] = i;
}

/* Puts the span into the heap, which is in order except for its empty entry `i`. */
static void sift(struct loom_sweep *s, uint32_t i, struct loom_sweep_span span)
{
	for (; i > 0 && s->heap[(i - 1) / 2].until > span.until; i = (i - 1) / 2)
		put(s, i, s->heap[(i - 1) / 2]);
	for (uint32_t child; (child = 2 * i + 1) < s->nheap; i = child) {
		if (child + 1 < s->nheap && s->heap[child + 1].until < s->heap[child].until)
			child++;
		if (s->heap[child].until >= span.until)
			break;
		put(s, i, s->heap[child]);
	}
	put(s, i, span);
}

static void take(struct loom_sweep *s, uint32_t i)
{
	s->nodes[s->heap[i].does]--;
	s->where[s->heap[i].place] = NOWHERE;
	s->nheap--;
	if (i < s->nheap)
		sift(s, i, s->heap[s->nheap]);
}

void loom_sweep_to(struct loom_sweep *s, uint64_t to)
{
	while (s->nheap && s->heap[0].until <= to) {
		step(s, s->heap[0].until);
		take(s, 0);
	}
	step(s, to);
}

void loom_sweep_span(struct loom_sweep *s, uint32_t place, uint64_t cycle, uint64_t until,
		     enum loom_does does)
{
	struct loom_sweep_span span = {.until = until, .place = place, .does = (uint8_t)does};

	loom_sweep_to(s, cycle);
	if (s->where[place] != NOWHERE)
		take(s, s->where[place]);
	s->nodes[does]++;
	sift(s, s->nheap++, span);
}

void loom_sweep_route(struct loom_sweep *s, uint64_t cycle)
{
	loom_sweep_to(s, cycle);
	s->works_until = cycle + 1 ? cycle + 1 : cycle;
}

void loom_sweep_finish(struct loom_sweep *s, uint64_t end)
{
	while (s->nheap)
		loom_sweep_to(s, s->heap[0].until);
	step(s, s->works_until);
	if (s->has_end && end > s->end)
		loom_sweep_ends(s, end);
	step(s, end);
}
