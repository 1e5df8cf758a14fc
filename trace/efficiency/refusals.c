/* SPDX-License-Identifier: MIT */
/* refusals: the reasons why factors are not available. Specification: efficiency.md 6. */
#include "trace/efficiency/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trace/base/text.h"

/* The first reason stays. */
__attribute__((format(printf, 3, 4))) static void refuse(struct efficiency *e, enum refusal refusal,
							 const char *format, ...)
{
	va_list args;

	if (*e->refused[refusal])
		return;
	va_start(args, format);
	vsnprintf(e->refused[refusal], REFUSAL_TEXT, format, args);
	va_end(args);
}

static const struct owner *owner_of(const struct rank_times *t, const struct rank_walk *r)
{
	return &t->source->owners[t->list[r->first].stream];
}

/* Windows that the recording does not have as a whole. */
static void check_windows(struct efficiency *e)
{
	const struct rank_times *t = &e->times;

	for (size_t i = 0; i < t->nkept && t->mpi; i++) {
		const struct rank_walk *r = &t->ranks[t->kept[i]];

		if (t->settings->recording)
			continue;
		if (!r->has_init)
			refuse(e, REFUSED_ALL,
			       "the recording began after MPI_Init of rank %" PRId64
			       " (--window recording takes the recorded part)",
			       r->rank);
		else if (!r->began)
			refuse(e, REFUSED_ALL,
			       "the recording ended in MPI_Init of rank %" PRId64
			       " (--window recording takes the recorded part)",
			       r->rank);
		else if (!r->ended)
			refuse(e, REFUSED_ALL,
			       "the recording ended before MPI_Finalize of rank %" PRId64
			       " (--window recording takes the recorded part)",
			       r->rank);
	}
}

static void check_all(struct efficiency *e)
{
	const struct rank_times *t = &e->times;
	bool ranked = t->nranks && t->ranks->rank >= 0;

	if (!t->nkept && ranked)
		refuse(e, REFUSED_ALL,
		       "calls of MPI are not recorded (--api mpi), and no rank has a parallel "
		       "region of OpenMP");
	if (!t->nkept)
		refuse(e, REFUSED_ALL,
		       "no process has a rank, and none has a parallel region of OpenMP");
	if (t->no_switches)
		refuse(e, REFUSED_ALL, "switches are not recorded (--events without switch)");
	check_windows(e);
}

/* Ranks that are missing, or there twice. */
static void check_ranks(struct efficiency *e)
{
	const struct rank_times *t = &e->times;
	int64_t expected = 0, found = 0;

	for (size_t i = 0; i < t->nkept; i++) {
		const struct rank_walk *r = &t->ranks[t->kept[i]];
		const struct rank_walk *before = i ? &t->ranks[t->kept[i - 1]] : NULL;

		if (before && before->app_id == r->app_id && before->rank == r->rank) {
			if (r->rank < 0)
				refuse(e, REFUSED_MPI,
				       "processes %" PRId64 " and %" PRId64 " have no rank",
				       owner_of(t, before)->pid, owner_of(t, r)->pid);
			else
				refuse(e, REFUSED_MPI,
				       "rank %" PRId64 " is there twice: processes %" PRId64
				       " and %" PRId64,
				       r->rank, owner_of(t, before)->pid, owner_of(t, r)->pid);
			continue;
		}
		found++;
		if (!before || before->app_id != r->app_id)
			expected += r->nranks > 0 ? r->nranks : 0;
	}
	if (found < expected && !t->settings->partial)
		refuse(e, REFUSED_MPI,
		       "%" PRId64 " of %" PRId64 " ranks are in the trace "
		       "(--partial takes these)",
		       found, expected);
	if (found < expected)
		refuse(e, REFUSED_STARS, "%" PRId64 " of %" PRId64 " ranks are in the trace", found,
		       expected);
}

static void check_mpi(struct efficiency *e)
{
	const struct rank_times *t = &e->times;

	if (!t->mpi)
		refuse(e, REFUSED_MPI, "calls of MPI are not recorded (--api mpi)");
	if (t->dropped)
		refuse(e, REFUSED_MPI,
		       "the recorder left out %" PRIu64 " %s (--max-rate, --sample-calls)",
		       t->dropped, plural(t->dropped, "call", "calls"));
	/* a call that is not recorded would count as useful */
	if ((!t->mpi && t->nkept && t->ranks[*t->kept].rank >= 0) || t->dropped)
		refuse(e, REFUSED_USEFUL, "%.*s", REFUSAL_TEXT - 1, e->refused[REFUSED_MPI]);
	check_ranks(e);
	for (size_t i = 0; i < t->nkept; i++)
		if (!*owner_of(t, &t->ranks[t->kept[i]])->loom)
			refuse(e, REFUSED_NODES, "rank %" PRId64 " has no node",
			       t->ranks[t->kept[i]].rank);
}

static void check_openmp(struct efficiency *e)
{
	const struct rank_times *t = &e->times;

	if (!t->openmp)
		refuse(e, REFUSED_OPENMP, "OpenMP is not recorded (--api openmp)");
	if (!t->forks)
		refuse(e, REFUSED_OPENMP, "no rank has a parallel region in its window");
	if (!t->microtasks)
		refuse(e, REFUSED_OPENMP,
		       "the work in parallel regions is not recorded: the program has no symbols");
	if (t->dropped)
		refuse(e, REFUSED_OPENMP,
		       "the recorder left out %" PRIu64 " %s (--max-rate, --sample-calls)",
		       t->dropped, plural(t->dropped, "call", "calls"));
	for (size_t i = 0; i < t->nkept; i++) {
		const struct rank_walk *r = &t->ranks[t->kept[i]];
		int64_t pid = owner_of(t, r)->pid;

		if (r->nested)
			refuse(e, REFUSED_OPENMP,
			       "process %" PRId64 " has nested parallel regions, or regions of "
			       "several threads",
			       pid);
		if (r->left)
			refuse(e, REFUSED_OPENMP,
			       "a thread of process %" PRId64 " left its team within a region",
			       pid);
	}
	if (t->forks && *e->refused[REFUSED_OPENMP])
		refuse(e, REFUSED_USEFUL, "%.*s", REFUSAL_TEXT - 1, e->refused[REFUSED_OPENMP]);
}

static void check_os(struct efficiency *e)
{
	const struct rank_times *t = &e->times;

	for (size_t i = 0; i < t->nkept; i++)
		if (t->ranks[t->kept[i]].kernel)
			refuse(e, REFUSED_OS,
			       "the trace has no wake-ups: its states are those of --kernel-model");
	if (t->sampled)
		refuse(e, REFUSED_OS, "not all threads are recorded (-t, --sample)");
}

/* The longest window by its collectives, ns. */
static double mean_phase(const struct efficiency *e)
{
	const struct rank_times *t = &e->times;
	int64_t longest = 0;

	for (size_t i = 0; i < t->nkept; i++) {
		const struct rank_walk *r = &t->ranks[t->kept[i]];
		int64_t ns = clock_distance(r->begin, r->end);

		longest = ns > longest ? ns : longest;
	}
	return (double)longest / (double)t->collectives.instances;
}

static void check_stars(struct efficiency *e)
{
	static const char *const reasons[] = {
		[COLLECTIVES_NONE] = "the program calls no collective of all ranks",
		[COLLECTIVES_OTHERS] = "not all calls are collectives of all ranks",
		[COLLECTIVES_GROUP] =
			"a collective has a communicator that is not MPI_COMM_WORLD (--api "
			"mpi-messages knows copies of it)",
		[COLLECTIVES_DIFFERENT] = "the ranks call different sequences of collectives",
		[COLLECTIVES_CLOCKS] =
			"a rank leaves a collective before another one enters it: it is not of all "
			"ranks, or the clocks of the nodes differ",
		[COLLECTIVES_SEVERAL] = "several threads of a rank call MPI",
	};
	const struct collectives *c = &e->times.collectives;
	enum collectives_fault fault = c->fault;

	if (e->times.settings->part)
		refuse(e, REFUSED_STARS, "only a part of the recording counts (--from, --to)");
	if (e->times.settings->recording)
		refuse(e, REFUSED_STARS, "the windows are those of the recording (--window)");
	if (fault)
		refuse(e, REFUSED_STARS, "%s", reasons[fault]);
	else if (e->times.nnodes > 1 && 100.0 * (double)c->clock_bound > mean_phase(e))
		refuse(e, REFUSED_STARS,
		       "the clocks of the nodes agree within %.3f us (clock-offsets.txt), which is "
		       "more than 1 %% of the mean phase",
		       (double)c->clock_bound / 1e3);
}

void efficiency_refuse(struct efficiency *e)
{
	check_all(e);
	check_mpi(e);
	check_openmp(e);
	check_os(e);
	check_stars(e);
}
