/* SPDX-License-Identifier: MIT */
/*
 * victim_pairs: the culprits of one victim, during the walk; private to culprits.
 *
 * In: charges, of a culprit or of a class of culprits; out: for each culprit its time, as many as
 * fit (culprits.most), and the sums of each class beside them. Invariant: the pairs and the sums of
 * a victim add up to its charges, in ns. Where no culprit has a share of the time, all are summed
 * up until the time has doubled (victim_summed()); such a charge touches one line of the cache.
 */
#ifndef TRACE_ANALYSIS_VICTIM_PAIRS_H
#define TRACE_ANALYSIS_VICTIM_PAIRS_H

#include "trace/analysis/culprits.h"

/* A culprit in 32 bits: streams from 0, then the fixed ones (KEY_TIDS less 1 to 15), then 2^31 +
 * tid. */
#define KEY_TIDS  (1u << 31)
#define KEY_FIXED (KEY_TIDS - 16) /* CULPRIT_IDLE and below */
#define KEY_FREE  KEY_TIDS	  /* there is no tid 0 */
#define NO_SLOT	  UINT32_MAX

/* A pair during the walk. Small, because each wait touches many of them. */
struct slot {
	int64_t ns;
	uint32_t key, first;
};

struct detail {
	int64_t now_ns; /* the charge for the wait that was charged last, */
	int64_t now_at; /* and the clock at which it began */
	int64_t max, max_at;
	uint32_t waits;
	uint32_t wait; /* the number of that wait */
};

/* Culprits without a pair, by class. */
struct victim_sums {
	int64_t ns[CULPRIT_CLASSES];
	uint32_t first[CULPRIT_CLASSES];
} __attribute__((aligned(ARRAY_LINE)));

struct victim {		  /* a thread: on a CPU, waiting, or neither; two lines of the cache */
	uint32_t runs_on; /* index of a queue, or NO_QUEUE */
	int32_t cpu;	  /* the CPU looked up last, */
	uint32_t queue;	  /* and its queue */
	bool waits;
	bool left_out; /* its waits are not charged */
	enum wait_cause cause;
	int32_t taker; /* tid of the thread that got its CPU; -1: not known */
	uint32_t at;   /* position in the log */
	uint32_t wait; /* number of the wait, from 1 */
	int64_t begin; /* clock of the wait */
	int64_t since; /* clock up to which it is charged */
	/* Its pairs: a hash table. */
	int64_t charged;      /* ns, all charges; */
	int64_t charged_from; /* as long as they are less, all threads are summed up */
	struct slot *slots;
	uint32_t room, npairs;
	struct detail *details; /* of the same slots; NULL: not asked for */
	int64_t missing;	/* ns that one of them may lack at most */
} __attribute__((aligned(ARRAY_LINE)));

static inline uint32_t key_of(int64_t culprit)
{
	if (culprit >= 0)
		return (uint32_t)culprit;
	return CULPRIT_IS_TID(culprit) ? KEY_TIDS + (uint32_t)CULPRIT_TID_OF(culprit)
				       : KEY_TIDS + (uint32_t)culprit;
}

static inline bool key_is_stream(uint32_t key)
{
	return key < KEY_FIXED;
}

/* The class of the thread of a stream, for the sums of a victim. */
static inline unsigned victim_class(const struct culprits *c, uint32_t victim, uint32_t stream)
{
	if (c->parties)
		return party_class(c->parties[victim], c->parties[stream]);
	return c->class_of ? c->class_of(c->class_arg, victim, stream) : 0;
}

/* Whether charges to threads go to the sums, for a while. */
static inline bool victim_summed(const struct victim *v)
{
	return v->charged < v->charged_from;
}

/* Charges `ns` to a class of threads. */
static inline void victim_charge_class(struct culprits *c, uint32_t victim, unsigned class,
				       int64_t ns)
{
	struct victim *v = &c->threads[victim];
	int64_t *sum = &c->sums[victim].ns[class];

	*sum = clock_sum(*sum, ns);
	v->charged = clock_sum(v->charged, ns);
	v->missing = clock_sum(v->missing, ns);
}

/* Charges `ns`, if it is above 0, to a culprit. Returns 0 or -ENOMEM. */
int victim_charge(struct culprits *c, uint32_t victim, uint32_t key, int64_t ns);

/* Counts a culprit that got the CPU of the victim. Returns 0 or -ENOMEM. */
int victim_count_first(struct culprits *c, uint32_t victim, uint32_t key);

/* Lists the pairs and sums in culprits.pairs, and frees the tables. Returns 0 or -ENOMEM. */
int victims_list(struct culprits *c);

#endif
