/* SPDX-License-Identifier: MIT */
/*
 * findings_rules: the state that the findings_*.c share during the walk, and their functions.
 *
 * Each findings_*.c takes its events during the walk and adds its findings at the end: waits,
 * locks, ranks, teams, periods, the path to the end. findings.c walks and sorts. Functions return 0
 * or -ENOMEM.
 */
#ifndef TRACE_ANALYSIS_FINDINGS_RULES_H
#define TRACE_ANALYSIS_FINDINGS_RULES_H

#include "trace/analysis/findings.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"

#define NO_STREAM UINT32_MAX

/* The time of a thread by its use at one moment: ns. */
struct times {
	int64_t run, wait, sleep;
};

/* What a mark of --api pthread means. */
enum mark_role { ROLE_NONE, ROLE_LOCK, ROLE_RELEASE, ROLE_OTHER, ROLE_HELD };

struct thread_walk {	/* of one thread; switches touch it only in traces with marks or owners */
	uint32_t owner; /* of the lock on which it sleeps: stream; NO_STREAM: none */
	enum mark_role inside; /* of --api pthread */

	/* regions of a runtime: a bit for each open one, 1 = the thread waits in it */
	uint64_t regions;
	unsigned depth;
	int64_t idle_since; /* run time when the waiting began */
	bool microtask;	    /* executed one: is in the team */

	/* the present sleep on a lock with an owner: */
	int64_t owned_since;
	struct times owner_times; /* then */
	uint32_t owned_place;	  /* of blocked_place_of() */

	/* marks of --api pthread */
	int64_t released; /* clock of the end of its last release */
	unsigned held;
	struct times held_times; /* then */
	struct times last_hold;	 /* parts of the last hold that has ended */
	bool last_valid;	 /* it was the only mutex of the thread */
} __attribute__((aligned(ARRAY_LINE)));

struct findings_state { /* of the walk */
	struct thread_walk *threads;
	uint32_t *parties;	 /* of each stream (culprits.h); the group is its process */
	struct hash processes;	 /* (loom, pid) */
	struct mark_name *marks; /* sorted by type and value after the first event */
	size_t nmarks;
	bool sorted;
	struct holder *holders;
	size_t nholders;
	uint32_t *holder_of; /* index in holders, of each stream */
	bool owners;	     /* the recording has the owners of locks */
	struct owned *owned;
	size_t nowned;
	struct hash owned_at;
	struct rank *ranks; /* sorted by rank; NULL: none, or too many */
	size_t nranks;
	uint32_t *rank_of;		   /* index in ranks, of each process */
	const struct intervals *intervals; /* of the walk */
	const struct event *ev;		   /* the present one; NULL: the walk has ended */
	uint32_t *pairs;	    /* indices of culprits.pairs, by the process of the victim */
	int64_t *sums;		    /* ns, of each stream as a culprit; all 0 between two rules */
	uint64_t words;		    /* of the recorder's command line, as a number; 0: not known */
	bool ended;		    /* the recording has a command, and ended with it */
	struct critical_path *path; /* NULL: not computed */
	bool with_messages;	    /* the trace has the marks of --api mpi-messages */
	struct messages *messages;  /* NULL: none */
};

/* The streams of a process. */
struct group {
	uint32_t process;
	const uint32_t *members;
	size_t n;
};

/* The clock, or the nearest one within the part that counts. */
static inline int64_t findings_clamp(const struct findings *f, int64_t clock)
{
	if (clock < f->first)
		return f->first;
	return clock > f->last ? f->last : clock;
}

static inline struct times times_between(struct times from, struct times to)
{
	return (struct times){clock_distance(from.run, to.run), clock_distance(from.wait, to.wait),
			      clock_distance(from.sleep, to.sleep)};
}

static inline struct times times_sum(struct times a, struct times b)
{
	return (struct times){clock_sum(a.run, b.run), clock_sum(a.wait, b.wait),
			      clock_sum(a.sleep, b.sleep)};
}

static inline void finding_put(struct finding *finding, enum finding_number number, int64_t value)
{
	finding->numbers[number] = value;
	finding->has |= 1u << number;
}

static inline void finding_put_times(struct finding *finding, struct times times)
{
	finding_put(finding, NUMBER_RUN, times.run);
	finding_put(finding, NUMBER_WAIT, times.wait);
	finding_put(finding, NUMBER_SLEEP, times.sleep);
}

/* findings.c */

/* The time of a thread by its use, up to `clock`. */
struct times findings_times(const struct findings *f, uint32_t stream, int64_t clock);
struct finding_party findings_thread(const struct findings *f, uint32_t stream);
struct finding_party findings_process(const struct findings *f, uint32_t process);
/* Adds a finding; NULL without memory. */
struct finding *findings_add(struct findings *f, enum finding_kind kind, int64_t cost,
			     struct finding_party who);
const char *findings_loom(const struct findings *f, uint32_t process);
/* The parent of a process, or HASH_NONE. */
uint32_t findings_parent(const struct findings *f, uint32_t process);

/* findings_path.c */

int findings_begin_path(struct findings *f);
int findings_take_path(struct findings *f, const struct intervals *intervals, uint32_t stream,
		       const struct event *ev);
int findings_of_path(struct findings *f, const struct intervals *intervals);
void findings_end_path(struct findings *f);

/* findings_waits.c */

int findings_list_parties(struct findings *f);
int findings_take_charges(struct findings *f);
int findings_of_waits(struct findings *f, const struct group *group);
int findings_of_sums(struct findings *f, const struct group *group);
int findings_of_steal(struct findings *f);
int findings_of_irqs(struct findings *f, const struct group *group);

/* findings_locks.c */

int findings_add_marks(struct findings_state *s, const struct json *mark);
void findings_sort_marks(struct findings_state *s);
int findings_end_lock_sleep(struct findings *f, const struct intervals *intervals, uint32_t stream,
			    int64_t clock, int32_t waker);
void findings_take_mark(struct findings *f, uint32_t stream, const struct event *ev);
int findings_of_locks(struct findings *f, const struct group *group);

/* findings_owners.c */

/* A thread falls asleep in a call; a thread with an owner (thread_walk.owner) sleeps no longer. The
 * times of findings are those up to this event. */
void findings_begin_owned(struct findings *f, const struct intervals *intervals, uint32_t stream,
			  const struct event *ev);
int findings_end_owned(struct findings *f, const struct intervals *intervals, uint32_t stream,
		       int64_t clock);
int findings_of_owners(struct findings *f, const struct group *group);

/* findings_ranks.c */

int findings_list_ranks(struct findings *f);
void findings_take_mpi(struct findings *f, uint32_t stream, const struct event *ev, int function,
		       bool begin);
int findings_of_late_ranks(struct findings *f);

/* findings_messages.c: they take the events by messages_step() */

int findings_begin_messages(struct findings *f);
int findings_of_messages(struct findings *f);
void findings_end_messages(struct findings *f);

/* findings_teams.c */

int findings_take_model(struct findings *f, uint32_t stream, const struct event *ev);
int findings_of_imbalance(struct findings *f, const struct group *group);
int findings_of_rank_imbalance(struct findings *f);

/* findings_periods.c */

int findings_begin_periods(struct findings *f);
int findings_settle_periods(struct findings *f); /* after the walk; 0 or -ENOMEM */
void findings_prefetch_period(const struct findings *f, uint32_t stream, bool soon);
void findings_take_life(const struct findings *f, uint32_t stream, struct thread_use *use);
void findings_end_periods(struct findings *f);
int findings_of_jitter(struct findings *f, uint32_t stream);

#endif
