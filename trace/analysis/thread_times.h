/* SPDX-License-Identifier: MIT */
/*
 * thread_times: the time of each thread by state and reason.
 *
 *   life = running + waiting for a CPU, by cause + asleep, by reason
 *
 * In: a walk over a trace (intervals.h), event by event; out: for each thread and each use of its
 * time the number of stays, their sum and the longest one. A life goes from OHx, of a newborn from
 * its creator's OHC, to OHe; the uses add up to the lives, in ns. Time before the first switch of a
 * thread that did not run at the start has the reason 0, "unknown"; the time for which the state of
 * the thread was not recorded is TIME_LOST. A stay that becomes unknown is known to be so only at
 * its end, but for runs with `ahead`. Specification: event-mapping.md, "The thread state machine",
 * payloads and "Losses".
 */
#ifndef TRACE_ANALYSIS_THREAD_TIMES_H
#define TRACE_ANALYSIS_THREAD_TIMES_H

#include "trace/states/waits.h"
#include "trace/base/array.h"

enum time_use {
	TIME_RUNNING,
	TIME_WAITING,				  /* + enum wait_cause */
	TIME_ASLEEP = TIME_WAITING + WAIT_CAUSES, /* + enum off_cpu: the reason */
	TIME_LOST = TIME_ASLEEP + OFF_CPU_LOST,	  /* in a gap, or around a switch that is missing */
	TIME_USES = TIME_ASLEEP + OFF_CPU_COUNT,
	TIME_NONE = TIME_USES /* not alive */
};

/* The uses in few words. */
enum time_class {
	CLASS_RUNNING,
	CLASS_RUNNABLE,
	CLASS_THROTTLED,
	CLASS_ASLEEP,
	CLASS_UNKNOWN, /* TIME_LOST, and before the first switch of the thread */
	TIME_CLASSES
};

struct time_stays {
	uint64_t count;
	int64_t ns, max, max_at; /* max_at: the clock at which the longest one began */
};

/* Adds one sum to another. */
static inline void time_stays_add(struct time_stays *to, const struct time_stays *stays)
{
	to->count += stays->count;
	to->ns = clock_sum(to->ns, stays->ns);
	if (stays->max > to->max) {
		to->max = stays->max;
		to->max_at = stays->max_at;
	}
}

struct thread_time { /* of one thread; the first line of the cache is touched at each change, */
	enum time_use use; /* the present one, */
	int64_t since;	   /* and when it began */
	int64_t known;	   /* private: the present run, as far as its end was searched */
	int64_t classes[TIME_CLASSES]; /* ns, up to `since` */
	uint64_t looked; /* and the second one at each run; private: where the search goes on */
	int64_t run_from, run_to; /* private: clocks of its last run */
	int64_t irq;		  /* ns of TIME_RUNNING that interrupts took (--why=irq); of a run
				     that the window cuts, the share by time */
	struct time_stays *stays; /* private: of the uses that it had: nstays of them */
	uint8_t nstays, at[TIME_USES]; /* private: place of a use in `stays`, from 1; 0: none */
} __attribute__((aligned(ARRAY_LINE)));

_Static_assert(offsetof(struct thread_time, looked) == ARRAY_LINE, "the second line of the cache");
_Static_assert(sizeof(struct thread_time) == 2 * ARRAY_LINE, "a large job has 64,000 of them");
_Static_assert(TIME_RUNNING == 0, "the sum of the runs is in it, too");

struct thread_times {
	struct thread_time *threads; /* of each stream */
	struct pool stays;	     /* private: of the threads */
	const struct source *source;
	int64_t first, last, now;
	/* Takes each stay when it ends, longer than 0 ns; or NULL. */
	void (*stay)(void *arg, uint32_t stream, enum time_use use, int64_t begin, int64_t end);
	void *arg;
	bool unsummed;	/* stays alone: sums and classes remain 0, and cost nothing */
	bool no_memory; /* stays are missing */
	/* Set before the walk: thread_times_read() is called only at events of the thread itself,
	 * and searches the end of the present run, which has its unknown time. */
	bool ahead;
};

/* Only the parts of lives between the clocks `first` and `last` count. Returns 0, or -ENOMEM after
 * one message; thread_times_fini() must follow in both cases. */
int thread_times_init(struct thread_times *times, const struct source *source, int64_t first,
		      int64_t last) __attribute__((warn_unused_result));

/* One event of a walk, after its effect (interval_listener.event). */
void thread_times_step(struct thread_times *times, const struct intervals *intervals,
		       uint32_t stream, const struct event *ev);

/* Before the step of an event OH? or KC?: ns that interrupts took from the run that it ends, or
 * that ended before it, with the clocks of the run; 0: none, or not recorded. */
int64_t thread_times_interrupts(const struct thread_times *times, const struct intervals *intervals,
				uint32_t stream, const struct event *ev, int64_t *from,
				int64_t *to);
/* The share of such ns in the part of the run between two clocks in it. */
int64_t thread_times_interrupts_share(int64_t ns, int64_t run, int64_t part);

/* For interval_listener.prefetch. */
static inline void thread_times_prefetch(const struct thread_times *times, uint32_t stream,
					 bool soon)
{
	const struct thread_time *t = &times->threads[stream];

	if (!soon) {
		__builtin_prefetch(t);
		__builtin_prefetch(&t->stays);
	} else if (t->use != TIME_NONE && t->at[t->use]) {
		__builtin_prefetch(&t->stays[t->at[t->use] - 1]);
	}
}

/* The stays of a thread in a use of its time. */
static inline const struct time_stays *thread_time_stays(const struct thread_time *t,
							 enum time_use use)
{
	static const struct time_stays none;

	return t->at[use] ? &t->stays[t->at[use] - 1] : &none;
}

/* ns of each class up to the present event of the walk, for differences between two events. */
void thread_times_read(const struct thread_times *times, uint32_t stream, int64_t clock,
		       int64_t classes[TIME_CLASSES]);

/* ns in TIME_LOST up to the present event of the walk. */
int64_t thread_times_lost(const struct thread_times *times, uint32_t stream, int64_t clock);

/* After the walk: ends the stays that are open at its end. */
void thread_times_finish(struct thread_times *times, const struct intervals *intervals);

/* The use of the time of a thread after the present event, but for a newborn: wait_newborn(). */
enum time_use time_use_now(const struct intervals *intervals, uint32_t stream);

enum time_class time_use_class(enum time_use use);

/* "running", "runnable", "throttled", "asleep" or "unknown", and the cause or reason in it, "" if
 * there is one.
 */
const char *time_use_state(enum time_use use);
const char *time_use_reason(enum time_use use);

void thread_times_fini(struct thread_times *times);

#endif
