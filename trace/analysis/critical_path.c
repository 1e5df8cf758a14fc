/* SPDX-License-Identifier: MIT */
#include "trace/analysis/critical_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"

/* A wake-up has the clock at which the thread was queued. If the other CPU must be interrupted for
 * that, the waker may have left its own CPU meanwhile: its last run, if it ended at most so long
 * before, is the run that made the wake-up. */
#define WAKING_MOST_NS 100000
#define OWNERS_MOST    16   /* an owner that waits for another one, and so on */
#define STAYED	       (-1) /* as a waker: the thread stayed runnable */
#define INTERRUPT      (-2)

/* ---- the stays of each thread ---- */

static void add_stay(void *arg, uint32_t stream, enum time_use use, int64_t from, int64_t to)
{
	struct critical_path *path = arg;
	struct critical_thread *t = &path->threads[stream];
	struct critical_stay *stay = ARRAY_ADD(t->stays, t->n);

	if (!stay) {
		path->no_memory = true;
		return;
	}
	*stay = (struct critical_stay){from, to, 0, (uint16_t)use, false};
	if (use >= TIME_ASLEEP && use != TIME_LOST)
		stay->by = path->owner;
	if (t->at != from || use >= TIME_ASLEEP)
		return;
	stay->by = t->by;
	stay->woken = t->woken;
}

int critical_path_init(struct critical_path *path, const struct source *source, int64_t first,
		       int64_t last)
{
	size_t n = source->trace.nstreams;
	int err;

	memset(path, 0, sizeof(*path));
	err = thread_times_init(&path->times, source, first, last);
	if (err)
		return err;
	path->times.stay = add_stay;
	path->times.arg = path;
	path->threads = calloc(n + 1, sizeof(*path->threads));
	if (!path->threads)
		return log_no_memory("for %zu threads of %s", n, source->trace.path);
	for (size_t i = 0; i < n; i++)
		path->threads[i].at = INTERVAL_UNKNOWN;
	return mpi_edges_init(&path->mpi, source);
}

void critical_path_fini(struct critical_path *path)
{
	for (size_t i = 0; path->threads && i < path->times.source->trace.nstreams; i++)
		free(path->threads[i].stays);
	free(path->threads);
	free(path->segments);
	mpi_edges_fini(&path->mpi);
	thread_times_fini(&path->times);
	memset(path, 0, sizeof(*path));
}

static void name_other(struct critical_thread *t, int64_t clock, int32_t tid, bool woken)
{
	t->at = clock;
	t->by = tid > 0 || tid == INTERRUPT ? tid : 0;
	t->woken = woken;
}

int critical_path_step(struct critical_path *path, const struct intervals *intervals,
		       uint32_t stream, const struct event *ev)
{
	const struct interval *interval = &intervals->threads[stream].interval;
	struct critical_thread *t = &path->threads[stream];
	int64_t child = -1;

	if (event_mcv(ev) == MCV('O', 'H', 'C'))
		child = wait_newborn(intervals, stream, ev);
	path->owner = sleep_lock_owner(ev);
	if (path->owner < 0)
		path->owner = 0;
	thread_times_step(&path->times, intervals, stream, ev);
	switch (event_mcv(ev)) {
	case MCV('O', 'H', 'C'):
		if (child >= 0)
			name_other(&path->threads[child], ev->clock,
				   (int32_t)intervals->source->owners[stream].tid, true);
		break;
	case MCV('O', 'H', 'w'):
		if (interval->waker != STAYED)
			name_other(t, ev->clock, interval->waker, true);
		break;
	case MCV('O', 'H', 'p'):
	case MCV('K', 'C', 'O'):
		name_other(t, ev->clock, interval->next, false);
		break;
	default:
		break;
	}
	return path->no_memory ? -ENOMEM : mpi_edges_step(&path->mpi, stream, ev);
}

int critical_path_finish(struct critical_path *path, const struct intervals *intervals)
{
	path->owner = 0;
	thread_times_finish(&path->times, intervals);
	return path->no_memory ? -ENOMEM : mpi_edges_finish(&path->mpi);
}

bool critical_path_life(const struct critical_path *path, uint32_t stream, int64_t *from,
			int64_t *to)
{
	const struct critical_thread *t = &path->threads[stream];

	if (!t->n)
		return false;
	*from = t->stays[0].from;
	*to = t->stays[t->n - 1].to;
	return true;
}

/* ---- the path, backward ---- */

struct search {
	struct critical_path *path;
	const struct state_walk *walk;
	uint32_t stream;
	int64_t now, from; /* clocks: the present one, which falls, and its end */
	struct waiting {   /* threads that sleep while the path is in the owners of their locks */
		uint32_t stream;
		int64_t from; /* the end of the search before */
	} waiting[OWNERS_MOST];
	unsigned nwaiting;
};

/* The last stay of a thread that begins before `clock`, or NULL. Clocks of a search fall. */
static const struct critical_stay *stay_before(struct critical_thread *t, int64_t clock)
{
	while (t->next && t->stays[t->next - 1].from >= clock)
		t->next--;
	return t->next ? &t->stays[t->next - 1] : NULL;
}

/* The last run of a thread that begins before `clock`, or NULL. */
static const struct critical_stay *run_before(struct critical_thread *t, int64_t clock)
{
	stay_before(t, clock);
	if (t->run > t->next)
		t->run = t->next;
	while (t->run && t->stays[t->run - 1].use != TIME_RUNNING)
		t->run--;
	return t->run ? &t->stays[t->run - 1] : NULL;
}

/* Adds the segment from `from`, or from the end of the search, to the present clock. */
static struct critical_segment *add_segment(struct search *s, enum critical_kind kind, int64_t from)
{
	struct critical_segment *segment = ARRAY_ADD(s->path->segments, s->path->nsegments);

	if (from < s->from)
		from = s->from;
	if (segment)
		*segment = (struct critical_segment){.from = from,
						     .to = s->now,
						     .stream = s->stream,
						     .kind = kind,
						     .use = TIME_NONE};
	s->now = from;
	return segment;
}

/* True if a thread runs at the present clock or ended its run shortly before: *end. */
static bool ran(struct search *s, uint32_t stream, int64_t *end)
{
	struct critical_thread *t = &s->path->threads[stream];
	const struct critical_stay *run = run_before(t, s->now);

	/* it begins to run at this very clock */
	if (t->next < t->n && t->stays[t->next].from == s->now &&
	    t->stays[t->next].use == TIME_RUNNING) {
		*end = s->now;
		return true;
	}
	if (!run)
		return false;
	*end = run->to < s->now ? run->to : s->now;
	return clock_distance(*end, s->now) <= WAKING_MOST_NS;
}

/* Goes on with the thread that woke or made the present one now, if it ran. */
static int hop(struct search *s, const struct critical_stay *stay)
{
	struct critical_segment *last = &s->path->segments[s->path->nsegments - 1];
	int64_t end, other;

	if (!stay->woken || stay->by <= 0 || s->now <= s->from)
		return 0;
	other = state_walk_find(s->walk, s->stream, stay->by);
	if (other < 0 || s->path->threads[other].visited == s->now ||
	    !ran(s, (uint32_t)other, &end))
		return 0;
	if (end < s->now) {
		last = add_segment(s, CRITICAL_WAKING, end);
		if (!last)
			return -ENOMEM;
		last->by = stay->by;
	}
	last->hop = true;
	s->stream = (uint32_t)other;
	return 0;
}

/* Goes on with the owner of the lock on which the thread sleeps, to the beginning of the sleep.
 * False: it is not known, or the path was in that thread at this clock. */
static bool follow_owner(struct search *s, const struct critical_stay *stay)
{
	int64_t owner = -1;

	if (s->path->owners && stay->use >= TIME_ASLEEP && stay->by > 0 &&
	    s->nwaiting < OWNERS_MOST)
		owner = state_walk_find(s->walk, s->stream, stay->by);
	if (owner < 0 || s->path->threads[owner].visited == s->now)
		return false;
	s->waiting[s->nwaiting++] = (struct waiting){s->stream, s->from};
	s->path->nowners++;
	s->stream = (uint32_t)owner;
	if (stay->from > s->from)
		s->from = stay->from;
	return true;
}

/* The beginning of the sleep is reached: back to the thread that slept. */
static void leave_owner(struct search *s)
{
	s->nwaiting--;
	s->stream = s->waiting[s->nwaiting].stream;
	s->from = s->waiting[s->nwaiting].from;
}

/* Adds the segment of a stay, from `from` to the present clock. */
static struct critical_segment *add_state(struct search *s, const struct critical_stay *stay,
					  int64_t from)
{
	const struct critical_thread *t = &s->path->threads[s->stream];
	struct critical_segment *segment = add_segment(s, CRITICAL_STATE, from);

	if (!segment)
		return NULL;
	segment->use = (enum time_use)stay->use;
	segment->by = stay->use < TIME_ASLEEP ? stay->by : 0;
	/* a sleep ends with the wake-up, at which the next stay begins */
	if (stay->use >= TIME_ASLEEP && t->next < t->n && stay[1].from == stay->to && stay[1].woken)
		segment->by = stay[1].by;
	return segment;
}

/* The call of MPI in which the thread waits for another one before the present clock, or NULL. Of
 * several messages that one call waited for, it is the one that was sent last. */
static const struct mpi_edge *edge_before(const struct search *s, struct critical_thread *t)
{
	const struct mpi_edge_list *list = &s->path->mpi.lists[s->stream];

	while (t->edge && list->edges[t->edge - 1].to >= s->now)
		t->edge--;
	/* of those that end first, the last one */
	for (size_t i = t->edge; i < list->n; i++) {
		if (i + 1 < list->n && list->edges[i + 1].to == list->edges[t->edge].to)
			continue;
		return list->edges[i].at < s->now ? &list->edges[i] : NULL;
	}
	return NULL;
}

/* The thread waits in a call of MPI: no wake-up there is followed, since the library makes them to
 * carry the message. */
static int wait_in_call(struct search *s, const struct critical_stay *stay,
			const struct mpi_edge *edge)
{
	bool reached = stay->from <= edge->at;
	struct critical_segment *segment = add_state(s, stay, reached ? edge->at : stay->from);

	if (!segment)
		return -ENOMEM;
	if (!reached || s->now > edge->at || s->now <= s->from ||
	    s->path->threads[edge->other].visited == s->now)
		return 0;
	segment->hop = true;
	segment->mpi = (enum mpi_wait)edge->wait;
	segment->other = edge->other;
	s->stream = edge->other;
	return 0;
}

static int step(struct search *s)
{
	struct critical_thread *t = &s->path->threads[s->stream];
	const struct critical_stay *stay = stay_before(t, s->now);
	const struct mpi_edge *edge = edge_before(s, t);
	int64_t before;

	t->visited = s->now;
	if (stay && stay->to >= s->now && edge)
		return wait_in_call(s, stay, edge);
	if (!stay || stay->to < s->now)
		return add_segment(s, CRITICAL_ABSENT, stay ? stay->to : s->from) ? 0 : -ENOMEM;
	if (follow_owner(s, stay))
		return 0;
	before = t->edge ? s->path->mpi.lists[s->stream].edges[t->edge - 1].to : INT64_MIN;
	if (before > stay->from) /* the end of such a call: the next step is in it */
		return add_state(s, stay, before) ? 0 : -ENOMEM;
	return add_state(s, stay, stay->from) ? hop(s, stay) : -ENOMEM;
}

static void reverse(struct critical_segment *segments, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct critical_segment first = segments[i];

		segments[i] = segments[n - 1 - i];
		segments[n - 1 - i] = first;
	}
}

int critical_path_find(struct critical_path *path, const struct state_walk *walk, uint32_t stream,
		       int64_t from, int64_t to)
{
	struct search s = {.path = path, .walk = walk, .stream = stream, .now = to, .from = from};

	free(path->segments);
	path->segments = NULL;
	path->nsegments = path->nowners = 0;
	for (size_t i = 0; i < path->times.source->trace.nstreams; i++) {
		path->threads[i].next = path->threads[i].run = path->threads[i].n;
		path->threads[i].edge = path->mpi.lists[i].n;
		path->threads[i].visited = INTERVAL_UNKNOWN;
	}
	while (s.now > from) {
		int err = 0;

		if (s.now > s.from)
			err = step(&s);
		else
			leave_owner(&s);
		if (err)
			return err;
	}
	reverse(path->segments, path->nsegments);
	return 0;
}
