/* SPDX-License-Identifier: MIT */
/*
 * culprits: the threads that ran while other threads waited for a CPU.
 *
 *   CPU 0      │ a │      b       │ idle │ v ...
 *   thread v       └── waits for CPU 0 ──┘          b: 14, idle: 6, of a wait of 20
 *
 * In: a walk over a trace (intervals.h), event by event; out: for each victim and each culprit the
 * time that the culprit ran on the CPU on whose queue the victim stood. A wait begins with a
 * preemption, a yield, a wake-up or a birth. A victim stands on the queue of the CPU of its last
 * OHx or OAs. The recorder writes OAs with the clock of the last move; where it cannot know it
 * (ovni-bpf --wakeup-clock tracepoint, -C), at the switch-in. Then a woken thread, and one that the
 * stopper ("migration/N") drove out, stands on the queue of the new CPU from the beginning; any
 * other thread stands on the queue of its old CPU. A newborn stands on the queue of its OHx.
 *
 * Invariant: the charges of each wait, those to CULPRIT_IDLE, CULPRIT_UNKNOWN and CULPRIT_QUOTA
 * included, add up to the wait, in ns. Charges that the trace does not prove are charged to
 * CULPRIT_UNKNOWN: a CPU counts as idle only where the recorder saw all of its threads.
 *
 * Memory follows threads and CPUs; a walk costs one step per run on a queue's CPU and thread on
 * that queue. Of the pairs a victim keeps at least CULPRITS_LEAST, and all in a trace of up to
 * 1,000 threads. Where more threads ran while it waited, those with the least time are summed up
 * under CULPRIT_OTHERS. If none of them had an eighth of the wait, all are, until the wait has
 * doubled: most threads of a large trace have such waits, and each run that is charged to a pair
 * costs a cache miss. The sums stay exact, and a culprit that returns after that lacks its time
 * before (culprits_missing()). Specification: efficiency.md 2.3; event-mapping.md, "The thread
 * state machine".
 */
#ifndef TRACE_ANALYSIS_CULPRITS_H
#define TRACE_ANALYSIS_CULPRITS_H

#include "trace/states/waits.h"
#include "trace/base/hash.h"

/* A culprit is a stream (0 or more), one of these, or a thread without a stream. */
#define CULPRIT_IDLE	  (-1)
#define CULPRIT_UNKNOWN	  (-2) /* a thread that is not recorded, idle, or lost events */
#define CULPRIT_QUOTA	  (-3) /* the CPU quota of a cgroup */
#define CULPRIT_OTHERS	  (-4) /* less the class: threads that are summed up, of each class */
#define CULPRIT_CLASSES	  8
#define CULPRIT_TID(tid)  (-16 - (int64_t)(tid)) /* took the CPU; its time is not known */
#define CULPRIT_IS_TID(c) ((c) <= -16)
#define CULPRIT_TID_OF(c) ((int32_t)(-16 - (c)))

#define CULPRITS_MOST  (1u << 20) /* pairs of all victims, unless that is fewer than */
#define CULPRITS_LEAST 64	  /* for each of them */

struct culprit_pair {	 /* CULPRIT_OTHERS has no `waits`, `max` and `max_at` */
	uint32_t victim; /* stream */
	uint32_t first;	 /* preemptions and yields in which it got the CPU of the victim */
	uint32_t waits;	 /* of the victim, to which it was charged for at least 1 ns; */
	int64_t ns;	 /* it ran while the victim waited */
	int64_t max;	 /* ns, the largest charge for one wait, */
	int64_t max_at;	 /* the clock at which that wait began, or INTERVAL_UNKNOWN without one */
	int64_t culprit; /* see above */
};

struct victim_waits { /* of one thread, by cause */
	int64_t ns[WAIT_CAUSES];
};

/* The party of a thread: a number of its process, and two properties. */
#define PARTY_RANKED (1u << 30) /* has a rank */
#define PARTY_KERNEL (1u << 31)
#define PARTY_GROUP  (PARTY_RANKED - 1)
enum party_class {
	PARTY_OWN,     /* a thread of the process of the victim */
	PARTY_OF_RANK, /* of another process; both have a rank */
	PARTY_OTHER,
	PARTY_OF_KERNEL,
	PARTY_UNKNOWN = 5 /* a thread without a stream */
};

/* The class of a culprit. */
static inline unsigned party_class(uint32_t victim, uint32_t culprit)
{
	if (!((victim ^ culprit) & PARTY_GROUP))
		return PARTY_OWN;
	if (culprit & PARTY_KERNEL)
		return PARTY_OF_KERNEL;
	return victim & culprit & PARTY_RANKED ? PARTY_OF_RANK : PARTY_OTHER;
}

struct culprits {
	struct culprit_pair *pairs; /* after culprits_finish(), by victim */
	size_t npairs;
	struct victim_waits *waits; /* of each stream */

	/* May be set after culprits_init(). The class of a culprit, below CULPRIT_CLASSES: culprits
	 * that a victim has no pair for are summed up by class. NULL: there is one class. */
	unsigned (*class_of)(const void *arg, uint32_t victim, int64_t culprit);
	const void *class_arg;
	/* Or the party of each stream, for classes that do not change: enum party_class. */
	const uint32_t *parties;
	bool detailed; /* so may this: the pairs get `waits`, `max` and `max_at` */

	/* private */
	const struct source *source;
	struct victim *threads;	  /* of each stream, and */
	struct victim_sums *sums; /* of threads without a pair (victim_pairs.h) */
	uint32_t *waits_on;	  /* of each stream: index of a queue, or none */
	struct queue *queues;	  /* of each CPU that the metadata declares */
	size_t nqueues;
	uint32_t *looms; /* of each stream, from 0 */
	uint32_t nlooms;
	uint32_t *gaps; /* of each loom: marks of lost events that are open */
	struct hash queue_of;
	struct slot *scratch; /* for the table of one victim */
	struct detail *scratch_details;
	uint32_t scratch_room;
	uint32_t most;	     /* pairs of a victim */
	int64_t first, last; /* clocks: only the part of a wait between them counts */
	int64_t now;
};

/*
 * Reads the metadata of all streams of `source`, which must stay until culprits_fini(). Only the
 * parts of waits between the clocks `first` and `last` are charged (INT64_MIN, INT64_MAX: all).
 * Returns 0, or -errno after one message; culprits_fini() must follow in both cases.
 */
int culprits_init(struct culprits *culprits, const struct source *source, int64_t first,
		  int64_t last) __attribute__((warn_unused_result));

/*
 * Before the walk: no wait of any thread is charged, until culprits_select() says so for a thread.
 * It does so from the clock of the present event on, also in the middle of a wait. Returns 0 or
 * -ENOMEM.
 */
void culprits_select_none(struct culprits *culprits);
int culprits_select(struct culprits *culprits, const struct intervals *intervals, uint32_t stream,
		    bool charged, int64_t clock) __attribute__((warn_unused_result));

/* One event of a walk, after its effect (interval_listener.event). Returns 0 or -ENOMEM. */
int culprits_step(struct culprits *culprits, const struct intervals *intervals, uint32_t stream,
		  const struct event *ev) __attribute__((warn_unused_result));

/* For interval_listener.prefetch. */
void culprits_prefetch(const struct culprits *culprits, uint32_t stream, bool soon);

/* After the walk: ends the waits that are open at its end. Returns 0 or -ENOMEM. */
int culprits_finish(struct culprits *culprits, const struct intervals *intervals)
	__attribute__((warn_unused_result));

/* ns that a pair of the victim may lack at most, because they were summed up before: 0 if none
 * were.
 */
int64_t culprits_missing(const struct culprits *culprits, uint32_t victim);
/* ns that the thread of a stream waited for a CPU, whatever the cause. */
int64_t culprits_waited(const struct culprits *culprits, uint32_t victim);

void culprits_fini(struct culprits *culprits);

#endif
