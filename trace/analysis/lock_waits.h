/* SPDX-License-Identifier: MIT */
/*
 * lock_waits: the waits of threads on futexes, by object and owner.
 *
 *   worker 1   ░░░░░░░░░░░░░░░░░░                 waits 18 for the mutex, of the holder
 *   worker 2       ░░░░░░░░░░░░░░░░░░░            waits 19, queued behind worker 1
 *   holder     ·····················              asleep with the mutex
 *
 * In: a walk over a trace (intervals.h), event by event; out: for each object the waits, and for
 * each of its owners the waits that it was the owner in. An object is an address in a process; the
 * same operation waits for locks, condition variables, semaphores and joins: these have no owner.
 * Invariant: the times of all objects add up to the time that the threads are asleep in futex, as
 * thread_times.h has it; the times of the owners of an object add up to its time.
 * Specification: why.md, part B; event-mapping.md "The owner of a lock".
 */
#ifndef TRACE_ANALYSIS_LOCK_WAITS_H
#define TRACE_ANALYSIS_LOCK_WAITS_H

#include "trace/analysis/thread_times.h"
#include "trace/base/hash.h"

#define LOCK_NO_OBJECT UINT32_MAX

struct lock_object {
	uint64_t address;
	bool kernel;	 /* a lock of the kernel: the address is a number */
	uint32_t stream; /* of the first thread that waited: its process has the address */
	struct time_stays waits;
	uint32_t threads;	/* that waited */
	uint32_t waiting, most; /* at the present event; and at once, the most */
	uint64_t queued;	/* waits that began while another thread waited */
};

/* The waits for an object while one thread was its owner. */
struct lock_share {
	uint32_t object;
	int32_t owner; /* tid; LOCK_OWNER_NONE, LOCK_OWNER_UNKNOWN */
	uint64_t waits;
	int64_t ns;
};

struct locks {
	struct thread_times times;
	struct lock_object *objects;
	size_t nobjects;
	struct lock_share *shares; /* in the order of their first waits */
	size_t nshares;
	const bool *streams;	     /* the waiters that count, by stream; NULL: all */
	enum call_machine *machines; /* of each stream */
	uint32_t *present;	     /* of each stream: the object it waits for; LOCK_NO_OBJECT */
	struct hash object_at, share_at, waiter_at;
	uint32_t nwaiters;
	const struct intervals *intervals;
	const struct event *ev; /* the present one; NULL: the walk has ended */
	bool no_memory;
};

/* Only waits between the clocks `first` and `last` count. The struct must stay where it is. Returns
 * 0, or -ENOMEM after one message; locks_fini() must follow in both cases. */
int locks_init(struct locks *locks, const struct source *source, int64_t first, int64_t last)
	__attribute__((warn_unused_result));

/* One event of a walk, after its effect (interval_listener.event). Returns 0 or -ENOMEM. */
int locks_step(struct locks *locks, const struct intervals *intervals, uint32_t stream,
	       const struct event *ev) __attribute__((warn_unused_result));

/* After the walk: ends the open waits. Returns 0 or -ENOMEM. */
int locks_finish(struct locks *locks, const struct intervals *intervals)
	__attribute__((warn_unused_result));

void locks_fini(struct locks *locks);

#endif
