/* SPDX-License-Identifier: MIT */
/*
 * wait_shares: who had the CPUs for which useful threads waited: the charges of culprits.h, which
 * are made only for useful time, added up by class. Specification: efficiency.md 2.3.
 */
#include "trace/efficiency/metrics.h"

#include <errno.h>
#include <stdlib.h>

const char *const wait_class_names[WAIT_CLASSES] = {
	[WAIT_FOR_OWN] = "same rank",
	[WAIT_FOR_RANK] = "other rank",
	[WAIT_FOR_OTHER] = "other process",
	[WAIT_FOR_KERNEL] = "kernel",
	[WAIT_FOR_IDLE] = "idle",
	[WAIT_FOR_QUOTA] = "CPU quota",
	[WAIT_FOR_UNKNOWN] = "not recorded",
};

unsigned wait_class_of(const void *times, uint32_t victim, int64_t culprit)
{
	const struct rank_times *t = times;
	uint32_t mine = t->unit_of[victim], its;

	if (culprit == CULPRIT_IDLE)
		return WAIT_FOR_IDLE;
	if (culprit == CULPRIT_QUOTA)
		return WAIT_FOR_QUOTA;
	if (culprit < 0 && culprit > CULPRIT_OTHERS - CULPRIT_CLASSES && culprit <= CULPRIT_OTHERS)
		return (unsigned)(CULPRIT_OTHERS - culprit);
	if (culprit < 0)
		return WAIT_FOR_UNKNOWN;
	if (t->kernel[culprit])
		return WAIT_FOR_KERNEL;
	its = t->unit_of[culprit];
	if (its == NO_UNIT)
		return WAIT_FOR_OTHER;
	if (mine != NO_UNIT && t->list[mine].rank == t->list[its].rank)
		return WAIT_FOR_OWN;
	/* without MPI each process may be a rank, and those without a region are none */
	return t->ranks[t->list[its].rank].has_mpi || t->ranks[t->list[its].rank].seen_fork
		       ? WAIT_FOR_RANK
		       : WAIT_FOR_OTHER;
}

/* A culprit in a class, with its charges. */
struct charge {
	enum wait_class class;
	int64_t culprit, ns;
	uint64_t first;
	uint32_t victim;
};

static int compare(const void *pa, const void *pb)
{
	const struct charge *a = pa, *b = pb;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return a->culprit < b->culprit ? -1 : a->culprit > b->culprit;
}

/* The charges of one culprit in one class. */
static void take_culprit(struct efficiency *e, const struct charge *charges, size_t n)
{
	struct wait_share *share = &e->waits[charges->class];
	int64_t ns = 0;

	for (size_t i = 0; i < n; i++)
		ns = clock_sum(ns, charges[i].ns);
	share->ns = clock_sum(share->ns, ns);
	if (ns <= share->most_ns || charges->culprit == CULPRIT_UNKNOWN ||
	    charges->culprit == CULPRIT_IDLE || charges->culprit == CULPRIT_QUOTA ||
	    (charges->culprit <= CULPRIT_OTHERS &&
	     charges->culprit > CULPRIT_OTHERS - CULPRIT_CLASSES))
		return;
	share->most_ns = ns;
	share->most = charges->culprit;
	share->victim = charges->victim;
}

/* The thread without a stream that took the CPU of a useful thread most often. */
static void take_first(struct efficiency *e, const struct charge *charges, size_t n, uint64_t *most)
{
	struct wait_share *share = &e->waits[WAIT_FOR_UNKNOWN];
	uint64_t first = 0;

	for (size_t i = 0; i < n; i++)
		first += charges[i].first;
	if (!CULPRIT_IS_TID(charges->culprit) || first <= *most)
		return;
	*most = first;
	share->most = charges->culprit;
	share->victim = charges->victim;
}

int wait_shares_compute(struct efficiency *e)
{
	const struct culprits *c = &e->times.culprits;
	struct charge *list = calloc(c->npairs + 1, sizeof(*list));
	uint64_t most = 0;
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (enum wait_class class = 0; class < WAIT_CLASSES; class ++)
		e->waits[class] = (struct wait_share){.most = CULPRIT_IDLE};
	for (size_t i = 0; i < c->npairs; i++) {
		const struct culprit_pair *p = &c->pairs[i];

		if (e->members[p->victim])
			list[n++] = (struct charge){
				(enum wait_class)wait_class_of(&e->times, p->victim, p->culprit),
				p->culprit, p->ns, p->first, p->victim};
	}
	qsort(list, n, sizeof(*list), compare);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n; end++)
			if (compare(&list[i], &list[end]) != 0)
				break;
		take_culprit(e, &list[i], end - i);
		take_first(e, &list[i], end - i, &most);
	}
	free(list);
	return 0;
}
