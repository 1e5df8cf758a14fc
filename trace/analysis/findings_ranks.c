/* SPDX-License-Identifier: MIT */
/*
 * findings on MPI: of each rank the time inside of MPI, and what each other rank did outside
 * meanwhile; the rank for which the others wait. Specification: efficiency.md 3.
 */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

#define FUNCTIONS 64 /* values of the channel of the mpi model */

struct rank {
	uint32_t process, stream; /* the thread that calls MPI */
	int64_t rank;
	unsigned depth;
	int function; /* of the outermost call */
	int64_t enter_clock;
	struct times enter;  /* at the outermost call */
	struct times inside; /* during all calls before */
	int64_t in_mpi;	     /* ns in MPI, but Init and Finalize */
	struct times mpi;    /* the same by use */
	int64_t functions[FUNCTIONS];
	struct times outside[FINDING_RANKS]; /* of each other rank, at the outermost call */
	struct times overlap[FINDING_RANKS]; /* of each other rank outside, during the calls */
};

static int compare_ranks(const void *pa, const void *pb)
{
	const struct rank *a = pa, *b = pb;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

/* The ranks of the first loom that has some: clocks of different looms may disagree. */
int findings_list_ranks(struct findings *f)
{
	struct findings_state *s = f->state;
	const char *loom = NULL;

	s->rank_of = calloc(f->nprocesses + 1, sizeof(*s->rank_of));
	if (!s->rank_of)
		return -ENOMEM;
	for (uint32_t p = 0; p < f->nprocesses; p++) {
		struct rank *rank;

		s->rank_of[p] = NO_STREAM;
		if (f->processes[p].rank < 0 || s->nranks > FINDING_RANKS)
			continue;
		loom = loom ? loom : findings_loom(f, p);
		if (strcmp(loom, findings_loom(f, p)) != 0)
			continue;
		rank = ARRAY_ADD(s->ranks, s->nranks);
		if (!rank)
			return -ENOMEM;
		*rank = (struct rank){
			.process = p, .stream = NO_STREAM, .rank = f->processes[p].rank};
	}
	if (s->nranks > FINDING_RANKS || s->nranks < 2) {
		free(s->ranks);
		s->ranks = NULL;
		s->nranks = 0;
		return 0;
	}
	qsort(s->ranks, s->nranks, sizeof(*s->ranks), compare_ranks);
	for (uint32_t i = 0; i < s->nranks; i++)
		s->rank_of[s->ranks[i].process] = i;
	return 0;
}

/* The time of a rank outside of MPI up to `clock`. */
static struct times rank_outside(const struct findings *f, const struct rank *rank, int64_t clock)
{
	uint32_t stream =
		rank->stream == NO_STREAM ? f->processes[rank->process].stream : rank->stream;
	struct times now = rank->depth ? rank->enter : findings_times(f, stream, clock);

	return times_between(rank->inside, now);
}

static void enter_mpi(struct findings *f, struct rank *rank, const struct event *ev, int function)
{
	const struct findings_state *s = f->state;

	if (rank->depth++)
		return;
	rank->function = function;
	rank->enter_clock = findings_clamp(f, ev->clock);
	rank->enter = findings_times(f, rank->stream, ev->clock);
	for (size_t i = 0; i < s->nranks; i++)
		rank->outside[i] = rank_outside(f, &s->ranks[i], ev->clock);
}

static void leave_mpi(struct findings *f, struct rank *rank, const struct event *ev)
{
	const struct findings_state *s = f->state;
	struct times spent;
	int64_t ns = clock_distance(rank->enter_clock, findings_clamp(f, ev->clock));

	if (!rank->depth || --rank->depth)
		return;
	spent = times_between(rank->enter, findings_times(f, rank->stream, ev->clock));
	rank->inside = times_sum(rank->inside, spent);
	if (rank->function < 4) /* Init and Finalize */
		return;
	rank->in_mpi = clock_sum(rank->in_mpi, ns);
	rank->mpi = times_sum(rank->mpi, spent);
	rank->functions[rank->function] = clock_sum(rank->functions[rank->function], ns);
	for (size_t i = 0; i < s->nranks; i++) {
		struct times now = rank_outside(f, &s->ranks[i], ev->clock);

		if (&s->ranks[i] != rank)
			rank->overlap[i] =
				times_sum(rank->overlap[i], times_between(rank->outside[i], now));
	}
}

/* A function of MPI begins or ends: a value of the channel of the mpi model. */
void findings_take_mpi(struct findings *f, uint32_t stream, const struct event *ev, int function,
		       bool begin)
{
	const struct findings_state *s = f->state;
	struct rank *rank;

	if (!s->nranks || s->rank_of[f->threads[stream].process] == NO_STREAM ||
	    function >= FUNCTIONS)
		return;
	rank = &s->ranks[s->rank_of[f->threads[stream].process]];
	if (rank->stream == NO_STREAM)
		rank->stream = stream;
	if (rank->stream != stream)
		return;
	if (begin)
		enter_mpi(f, rank, ev, function);
	else
		leave_mpi(f, rank, ev);
}

/* The rank for which each rank waits most, and the sum over the ranks that wait for it. */
int findings_of_late_ranks(struct findings *f)
{
	struct findings_state *s = f->state;

	for (size_t late = 0; late < s->nranks; late++) {
		struct times sum = {0}, mpi = {0};
		int64_t in_mpi = 0, ranks = 0, functions[FUNCTIONS] = {0};
		const struct rank *waiter = NULL;
		struct finding *finding;
		int function = 0;

		for (size_t r = 0; r < s->nranks; r++) {
			const struct rank *rank = &s->ranks[r];
			size_t most = r == 0;

			for (size_t i = 0; i < s->nranks; i++)
				if (i != r &&
				    clock_sum(rank->overlap[i].run, rank->overlap[i].wait) >
					    clock_sum(rank->overlap[most].run,
						      rank->overlap[most].wait))
					most = i;
			if (most != late || r == late ||
			    clock_sum(rank->overlap[late].run, rank->overlap[late].wait) <
				    rank->in_mpi / 2)
				continue;
			sum = times_sum(sum, rank->overlap[late]);
			mpi = times_sum(mpi, rank->mpi);
			in_mpi = clock_sum(in_mpi, rank->in_mpi);
			ranks++;
			waiter = waiter ? waiter : rank;
			for (int i = 0; i < FUNCTIONS; i++)
				functions[i] = clock_sum(functions[i], rank->functions[i]);
		}
		if (!waiter || !findings_worth(f, clock_sum(sum.run, sum.wait)))
			continue;
		for (int i = 0; i < FUNCTIONS; i++)
			if (functions[i] > functions[function])
				function = i;
		finding = findings_add(f, FINDING_LATE_RANK, clock_sum(sum.run, sum.wait),
				       findings_process(f, waiter->process));
		if (!finding)
			return -ENOMEM;
		finding->by = findings_process(f, s->ranks[late].process);
		finding_put(finding, NUMBER_TIME, in_mpi);
		finding_put(finding, NUMBER_BY, finding->cost);
		finding_put(finding, NUMBER_THREADS, ranks);
		finding_put(finding, NUMBER_FUNCTION, function);
		finding_put_times(finding, sum);
		finding_put(finding, NUMBER_MEAN, mpi.sleep);
	}
	return 0;
}
