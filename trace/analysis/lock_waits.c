/* SPDX-License-Identifier: MIT */
#include "trace/analysis/lock_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

/* The object on which the thread of a stream sleeps in its present or last sleep, made at its first
 * wait; LOCK_NO_OBJECT: it is in no futex. */
static uint32_t object_of(struct locks *locks, uint32_t stream)
{
	const struct intervals *intervals = locks->intervals;
	const struct sleep_call *call = &intervals->threads[stream].interval.call;
	struct hash_key key = {.a = call->object,
			       .b = (uint64_t)intervals->source->owners[stream].pid,
			       .c = intervals->walk.looms[stream]};
	struct lock_object *added;
	uint32_t *at;

	if (call->kernel_lock)
		key.b = UINT64_MAX; /* of no process */
	else if (!call->with_object || call->call == CALL_NONE ||
		 call_object(locks->machines[stream], call->call) != CALL_OBJECT_ADDRESS)
		return LOCK_NO_OBJECT;
	at = hash_at(&locks->object_at, key);
	if (!at)
		goto no_memory;
	if (*at != HASH_NONE)
		return *at;
	added = ARRAY_ADD(locks->objects, locks->nobjects);
	if (!added)
		goto no_memory;
	*added = (struct lock_object){
		.address = call->object, .kernel = call->kernel_lock, .stream = stream};
	return *at = (uint32_t)(added - locks->objects);
no_memory:
	locks->no_memory = true;
	return LOCK_NO_OBJECT;
}

static void add_share(struct locks *locks, uint32_t object, int32_t owner, int64_t ns)
{
	struct hash_key key = {.a = object, .c = (uint32_t)owner};
	uint32_t *at = hash_at(&locks->share_at, key);
	struct lock_share *share;

	if (!at)
		goto no_memory;
	if (*at == HASH_NONE) {
		share = ARRAY_ADD(locks->shares, locks->nshares);
		if (!share)
			goto no_memory;
		*share = (struct lock_share){.object = object, .owner = owner};
		*at = (uint32_t)(share - locks->shares);
	}
	share = &locks->shares[*at];
	share->waits++;
	share->ns = clock_sum(share->ns, ns);
	return;
no_memory:
	locks->no_memory = true;
}

static void add_waiter(struct locks *locks, uint32_t object, uint32_t stream)
{
	uint32_t *at = hash_at(&locks->waiter_at, (struct hash_key){.a = object, .c = stream});

	if (!at) {
		locks->no_memory = true;
	} else if (*at == HASH_NONE) {
		*at = locks->nwaiters++;
		locks->objects[object].threads++;
	}
}

/* Counts a stay that ends, if it is a wait for a lock. The event at its end has the owner. */
static void stay(void *arg, uint32_t stream, enum time_use use, int64_t begin, int64_t end)
{
	struct locks *locks = arg;
	int64_t ns = clock_distance(begin, end);
	struct lock_object *object;
	uint32_t at;

	if (use < TIME_ASLEEP || use == TIME_LOST || (locks->streams && !locks->streams[stream]))
		return;
	at = object_of(locks, stream);
	if (at == LOCK_NO_OBJECT)
		return;
	object = &locks->objects[at];
	object->waits.count++;
	object->waits.ns = clock_sum(object->waits.ns, ns);
	if (ns > object->waits.max) {
		object->waits.max = ns;
		object->waits.max_at = begin;
	}
	add_share(locks, at, locks->ev ? sleep_lock_owner(locks->ev) : LOCK_OWNER_UNKNOWN, ns);
	add_waiter(locks, at, stream);
}

/* How many threads wait for an object at once. */
static void count_waiting(struct locks *locks, uint32_t stream)
{
	enum time_use use = locks->times.threads[stream].use;
	bool asleep = use >= TIME_ASLEEP && use < TIME_NONE && use != TIME_LOST &&
		      (!locks->streams || locks->streams[stream]);
	uint32_t at = asleep ? object_of(locks, stream) : LOCK_NO_OBJECT;
	struct lock_object *object;

	if (at == locks->present[stream])
		return;
	if (locks->present[stream] != LOCK_NO_OBJECT)
		locks->objects[locks->present[stream]].waiting--;
	locks->present[stream] = at;
	if (at == LOCK_NO_OBJECT)
		return;
	object = &locks->objects[at];
	object->queued += object->waiting++ != 0;
	if (object->waiting > object->most)
		object->most = object->waiting;
}

int locks_init(struct locks *locks, const struct source *source, int64_t first, int64_t last)
{
	size_t n = source->trace.nstreams;
	int err;

	*locks = (struct locks){0};
	err = thread_times_init(&locks->times, source, first, last);
	if (err)
		return err;
	locks->times.stay = stay;
	locks->times.arg = locks;
	locks->times.unsummed = true;
	locks->machines = sleep_machines(source);
	if (!locks->machines)
		return -ENOMEM;
	locks->present = malloc((n + 1) * sizeof(*locks->present));
	if (!locks->present)
		return log_no_memory("for %zu threads of %s", n, source->trace.path);
	for (size_t i = 0; i < n; i++)
		locks->present[i] = LOCK_NO_OBJECT;
	return 0;
}

int locks_step(struct locks *locks, const struct intervals *intervals, uint32_t stream,
	       const struct event *ev)
{
	locks->intervals = intervals;
	locks->ev = ev;
	thread_times_step(&locks->times, intervals, stream, ev);
	count_waiting(locks, stream);
	return locks->no_memory ? -ENOMEM : 0;
}

int locks_finish(struct locks *locks, const struct intervals *intervals)
{
	locks->intervals = intervals;
	locks->ev = NULL;
	thread_times_finish(&locks->times, intervals);
	return locks->no_memory ? -ENOMEM : 0;
}

void locks_fini(struct locks *locks)
{
	thread_times_fini(&locks->times);
	free(locks->objects);
	free(locks->shares);
	free(locks->machines);
	free(locks->present);
	hash_free(&locks->object_at);
	hash_free(&locks->share_at);
	hash_free(&locks->waiter_at);
	memset(locks, 0, sizeof(*locks));
}
