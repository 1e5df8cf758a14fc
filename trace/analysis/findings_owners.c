/* SPDX-License-Identifier: MIT */
/*
 * findings on the owners of locks, as --why=lock records them: the waits for each lock by owner,
 * and what the owner did during them. The owner of a wait stands in the event that ends it; the
 * walk looks one event ahead, so that the times of the owner are known from the beginning of the
 * wait.
 */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

#define LOCKS_MOST 3 /* findings of a process */

struct owned { /* waits for a lock that one thread had when they began */
	struct hash_key lock;
	uint32_t waiter, owner; /* streams; waiter: of the longest wait */
	uint32_t other;		/* NO_STREAM, or a waiter beside it */
	uint64_t waits;
	int64_t waited, most, most_at; /* ns; clock of the end of the longest */
	struct times times;	       /* of the owner during the waits */
	struct sleep_call object;      /* of the longest wait, and its begin */
	int64_t begin;
	uint32_t place; /* the same, of blocked_place_of() */
	struct sleep_call
		call; /* in which the owner slept longest, of the last sleeps in the waits */
	int64_t slept, slept_at;
};

/* The owner of the lock on which a thread falls asleep now, and the stack of the sleep; -1: none,
 * or not known. Of a sleep that has no end in the trace nothing is known. */
static int64_t owner_of(const struct findings *f, const struct intervals *intervals,
			uint32_t stream, uint32_t *stack)
{
	const struct stream *s = &f->source->streams[stream];
	struct event end;
	int32_t tid;

	if (event_decode(&end, s->at, stream_peek_end(s)) <= 0)
		return -1;
	tid = sleep_lock_owner(&end);
	*stack = sleep_stack(&end);
	return tid > 0 ? state_walk_find(&intervals->walk, stream, tid) : -1;
}

void findings_begin_owned(struct findings *f, const struct intervals *intervals, uint32_t stream,
			  const struct event *ev)
{
	struct thread_walk *w = &f->state->threads[stream];
	uint32_t stack = 0;
	int64_t owner;

	w->owner = NO_STREAM;
	if (!f->state->owners || sleep_call_of(ev).call == CALL_UNKNOWN)
		return;
	owner = owner_of(f, intervals, stream, &stack);
	if (owner < 0)
		return;
	w->owner = (uint32_t)owner;
	w->owned_since = findings_clamp(f, ev->clock);
	w->owned_place = blocked_place_of(&f->blocked, stack);
	w->owner_times = findings_times(f, w->owner, ev->clock);
}

/* The waits for the lock, of all waiters with that owner. NULL without memory. */
static struct owned *owned_of(struct findings *f, const struct interval *wait, uint32_t stream,
			      uint32_t owner)
{
	struct findings_state *s = f->state;
	struct hash_key key = {.a = wait->call.object,
			       .b = (uint64_t)f->threads[stream].process << 32 | owner,
			       .c = wait->call.kernel_lock};
	uint32_t *at = hash_at(&s->owned_at, key);
	struct owned *owned;

	if (!at)
		return NULL;
	if (*at != HASH_NONE)
		return &s->owned[*at];
	owned = ARRAY_ADD(s->owned, s->nowned);
	if (!owned)
		return NULL;
	*at = (uint32_t)(owned - s->owned);
	*owned = (struct owned){.lock = key, .waiter = stream, .owner = owner, .other = NO_STREAM};
	return owned;
}

/* The last sleep of the owner, as far as it was during the wait. */
static void take_sleep(const struct findings *f, const struct intervals *intervals,
		       struct owned *owned, int64_t since, int64_t clock)
{
	const struct interval_thread *t = &intervals->threads[owned->owner];
	enum time_use use = f->times.threads[owned->owner].use;
	int64_t from = t->off_at, to = clock, ns;

	if (from == INTERVAL_UNKNOWN || off_cpu_runnable(t->interval.why))
		return;
	if (use == TIME_RUNNING && t->interval.sleep >= 0)
		to = clock_sum(from, t->interval.sleep);
	else if (use < TIME_ASLEEP && t->woken_at != INTERVAL_UNKNOWN)
		to = t->woken_at;
	else if (use < TIME_ASLEEP || use == TIME_NONE)
		return;
	from = from < since ? since : from;
	ns = clock_distance(from, to);
	if (to > clock || ns <= owned->slept)
		return;
	owned->slept = ns;
	owned->slept_at = from;
	owned->call = t->interval.call;
}

int findings_end_owned(struct findings *f, const struct intervals *intervals, uint32_t stream,
		       int64_t clock)
{
	struct thread_walk *w = &f->state->threads[stream];
	const struct interval *wait = &intervals->threads[stream].interval;
	int64_t end = findings_clamp(f, clock), ns = clock_distance(w->owned_since, end);
	uint32_t owner = w->owner;
	struct owned *owned;

	w->owner = NO_STREAM;
	if (owner == NO_STREAM || ns <= 0)
		return 0;
	owned = owned_of(f, wait, stream, owner);
	if (!owned)
		return -ENOMEM;
	owned->waits++;
	owned->waited = clock_sum(owned->waited, ns);
	owned->times = times_sum(owned->times,
				 times_between(w->owner_times, findings_times(f, owner, clock)));
	if (stream != owned->waiter && owned->other == NO_STREAM)
		owned->other = stream;
	if (ns > owned->most) {
		if (stream != owned->waiter)
			owned->other = owned->waiter;
		owned->waiter = stream;
		owned->most = ns;
		owned->most_at = end;
		owned->object = wait->call;
		owned->begin = w->owned_since;
		owned->place = w->owned_place;
	}
	take_sleep(f, intervals, owned, w->owned_since, end);
	return 0;
}

/* The lock in the sentence, and the call in which its owner slept. */
static int put_texts(const struct findings *f, struct finding *finding, const struct owned *owned)
{
	const struct owner *owners = f->source->owners;
	const enum call_machine *machines = f->blocked.machines;

	finding->lock = sleep_object_text(&owned->object, machines[owned->waiter],
					  &owners[owned->waiter], owned->begin, owned->most_at);
	if (!finding->lock)
		return -ENOMEM;
	if (owned->place) {
		finding->place = strdup(f->blocked.places[owned->place]);
		if (!finding->place)
			return -ENOMEM;
	}
	if (owned->slept <= 0 || owned->call.call == CALL_UNKNOWN)
		return 0;
	finding->call =
		sleep_call_text(&owned->call, machines[owned->owner], &owners[owned->owner],
				owned->slept_at, clock_sum(owned->slept_at, owned->slept), false);
	finding_put(finding, NUMBER_CALL, owned->slept);
	return finding->call ? 0 : -ENOMEM;
}

static int add(struct findings *f, const struct group *group, const struct owned *owned)
{
	struct finding *finding =
		findings_add(f, FINDING_OWNER, owned->waited,
			     owned->other == NO_STREAM ? findings_thread(f, owned->waiter)
						       : findings_process(f, group->process));

	if (!finding)
		return -ENOMEM;
	finding->by = findings_thread(f, owned->owner);
	finding->waiter = owned->waiter;
	finding_put(finding, NUMBER_TIME, owned->waited);
	finding_put(finding, NUMBER_COUNT, (int64_t)owned->waits);
	finding_put(finding, NUMBER_MOST, owned->most);
	finding_put(finding, NUMBER_MOST_AT, clock_distance(f->start, owned->most_at));
	finding_put_times(finding, owned->times);
	return put_texts(f, finding, owned);
}

/* The locks and owners for which the threads of a process waited longest. */
int findings_of_owners(struct findings *f, const struct group *group)
{
	const struct findings_state *s = f->state;
	const struct owned *last = NULL;

	for (int found = 0; found < LOCKS_MOST; found++) {
		const struct owned *top = NULL;

		for (size_t i = 0; i < s->nowned; i++) {
			const struct owned *owned = &s->owned[i];
			bool later = !last || owned->waited < last->waited ||
				     (owned->waited == last->waited && owned > last);

			if (f->threads[owned->waiter].process == group->process && later &&
			    (!top || owned->waited > top->waited))
				top = owned;
		}
		if (!top || !findings_worth(f, top->waited))
			return 0;
		if (add(f, group, top))
			return -ENOMEM;
		last = top;
	}
	return 0;
}
