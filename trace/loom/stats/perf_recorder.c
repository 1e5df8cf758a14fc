/* SPDX-License-Identifier: MIT */
/*
 * stats_recorder: the recorder's statistics (schema ovni-bpf-perf) held against themselves.
 *
 * Every nanosecond of a thread, of a CPU and of the whole is in one of its states; processes are
 * the sums of their threads, the run is that of all, and what threads were active is what CPUs were
 * active for them. Specification: loom.md 12.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/loom/stats/run_stats_load.h"

#define LLU(v) ((unsigned long long)(v))

typedef unsigned __int128 u128;

static uint64_t value(const struct stats_snapshot *s, enum stats_counter c)
{
	return stats_has(s, c) ? s->counters[c] : 0;
}

/* ---- P3: what the metrics have to be ---- */

static double quotient(u128 part, u128 whole)
{
	return whole ? (double)part / (double)whole : 0.0;
}

static double or_null(u128 part, u128 whole)
{
	return whole ? quotient(part, whole) : (double)NAN;
}

static void wanted_of_cpu(const struct stats_snapshot *s, double out[STATS_NMETRICS])
{
	uint64_t total = value(s, STATS_TOTAL_NS), active = value(s, STATS_ACTIVE_NS);
	u128 busy = (u128)active + value(s, STATS_OTHER_NS);

	out[STATS_M_UTILIZATION] = quotient(busy, total);
	out[STATS_M_INPUT_STALL] = quotient(value(s, STATS_IDLE_NS), total);
	out[STATS_M_THROUGHPUT] = or_null(value(s, STATS_SWITCHES), active);
	out[STATS_M_TRACED_SHARE] = quotient(active, busy);
	out[STATS_M_OVERHEAD] = quotient(value(s, STATS_PROG_NS), total);
}

void stats_wanted_recorder(const struct stats_snapshot *s, double out[STATS_NMETRICS])
{
	uint64_t total = value(s, STATS_TOTAL_NS), active = value(s, STATS_ACTIVE_NS);
	u128 cpus = (u128)value(s, STATS_WINDOW_NS) * value(s, STATS_CPUS);

	out[STATS_M_UTILIZATION] = quotient(active, total);
	out[STATS_M_INPUT_STALL] = quotient(value(s, STATS_BLOCKED_NS), total);
	out[STATS_M_OUTPUT_STALL] = quotient(value(s, STATS_RUNNABLE_NS), total);
	out[STATS_M_UNKNOWN] = quotient(value(s, STATS_UNKNOWN_NS), total);
	out[STATS_M_THROUGHPUT] = or_null(value(s, STATS_WAKEUPS), active);
	out[STATS_M_CALL_THROUGHPUT] = or_null(value(s, STATS_CALLS), active);
	out[STATS_M_MEAN_WAIT] =
		or_null(value(s, STATS_RUNNABLE_NS),
			(u128)value(s, STATS_WAKEUPS) + value(s, STATS_SWITCHES_PREEMPTED));
	out[STATS_M_DROP_RATIO] =
		quotient(value(s, STATS_EVENTS_DROPPED), value(s, STATS_EVENTS_SEEN));
	if (s->scope == STATS_CPU)
		wanted_of_cpu(s, out);
	if (s->scope == STATS_RUN) {
		out[STATS_M_UTILIZATION] = quotient(value(s, STATS_CPU_ACTIVE_NS), cpus);
		out[STATS_M_TRACED_SHARE] = quotient(value(s, STATS_CPU_ACTIVE_NS),
						     (u128)value(s, STATS_CPU_ACTIVE_NS) +
							     value(s, STATS_CPU_OTHER_NS));
		out[STATS_M_OVERHEAD] = quotient(value(s, STATS_PROG_NS), cpus);
	}
}

/* ---- P5: states ---- */

/* Has it all states of its scope? (If not, P2 has said it.) A CPU need not have an unknown one. */
bool stats_has_states(const struct stats_snapshot *s)
{
	static const uint64_t of_thread = 1ull << STATS_TOTAL_NS | 1ull << STATS_ACTIVE_NS |
					  1ull << STATS_RUNNABLE_NS | 1ull << STATS_BLOCKED_NS;
	static const uint64_t of_cpu = 1ull << STATS_TOTAL_NS | 1ull << STATS_ACTIVE_NS |
				       1ull << STATS_OTHER_NS | 1ull << STATS_IDLE_NS;
	uint64_t wanted = s->scope == STATS_CPU ? of_cpu : of_thread;

	return (s->has_counter & wanted) == wanted;
}

static void check_states(const struct run_stats *p, const struct stats_snapshot *s,
			 struct loom_violations *f)
{
	u128 accounted = (u128)value(s, STATS_ACTIVE_NS) + value(s, STATS_UNKNOWN_NS);
	struct loom_place place = stats_place(p, s);
	char called[96];

	if (s->scope == STATS_CPU)
		accounted += (u128)value(s, STATS_OTHER_NS) + value(s, STATS_IDLE_NS);
	else
		accounted += (u128)value(s, STATS_RUNNABLE_NS) + value(s, STATS_BLOCKED_NS);
	if (stats_has_states(s) && accounted != value(s, STATS_TOTAL_NS))
		loom_violation_add(f, LOOM_P5, &place, "%s: the states add up to %llu ns of %llu",
				   stats_called(s, called, sizeof(called)), LLU(accounted),
				   LLU(value(s, STATS_TOTAL_NS)));
}

/* ---- P4: sums ---- */

static const enum stats_counter of_threads[] = {
	STATS_TOTAL_NS,	  STATS_ACTIVE_NS,  STATS_RUNNABLE_NS,
	STATS_BLOCKED_NS, STATS_UNKNOWN_NS, STATS_SWITCHES_VOLUNTARY,
	STATS_WAKEUPS,	  STATS_MIGRATIONS, STATS_SWITCHES_PREEMPTED,
	STATS_CALLS,
};

#define NTHREAD_SUMS (sizeof(of_threads) / sizeof(of_threads[0]))

static void sums_differ(const struct run_stats *p, const struct stats_snapshot *s,
			enum stats_counter c, u128 sum, const char *of, struct loom_violations *f)
{
	struct loom_place place = stats_place(p, s);
	char called[96];

	if (stats_has(s, c) && value(s, c) != sum)
		loom_violation_add(f, LOOM_P4, &place, "%s: %s %llu but %s sum to %llu",
				   stats_called(s, called, sizeof(called)), stats_counter_names[c],
				   LLU(value(s, c)), of, LLU(sum));
}

/* Threads by process, and processes among them where their pid is. */
static int by_pid(const void *a, const void *b)
{
	const struct stats_snapshot *x = *(const struct stats_snapshot *const *)a;
	const struct stats_snapshot *y = *(const struct stats_snapshot *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->scope != y->scope)
		return x->scope == STATS_PROCESS ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* A process is the sum of the threads with its pid, as far as all of them are listed. */
static int check_processes(const struct run_stats *p, struct loom_violations *f)
{
	const struct stats_snapshot **sorted = calloc(p->nsnapshots + 1, sizeof(*sorted));
	size_t n = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < p->nsnapshots; i++) {
		const struct stats_snapshot *s = &p->snapshots[i];

		if (s->is_last && (s->scope == STATS_THREAD || s->scope == STATS_PROCESS))
			sorted[n++] = s;
	}
	qsort(sorted, n, sizeof(*sorted), by_pid);
	for (size_t i = 0; i < n; i++) {
		size_t end = i + 1;
		u128 sums[NTHREAD_SUMS] = {0};
		bool whole = true;

		/* two processes of one pid, one after the other, are told apart by nobody */
		if (sorted[i]->scope != STATS_PROCESS ||
		    (end < n && sorted[end]->pid == sorted[i]->pid &&
		     sorted[end]->scope == STATS_PROCESS)) {
			while (end < n && sorted[end]->pid == sorted[i]->pid)
				end++;
			i = end - 1;
			continue;
		}
		for (; end < n && sorted[end]->pid == sorted[i]->pid; end++) {
			whole &= stats_has_states(sorted[end]);
			for (size_t k = 0; k < NTHREAD_SUMS; k++)
				sums[k] += value(sorted[end], of_threads[k]);
		}
		for (size_t k = 0; k < NTHREAD_SUMS && whole && end > i + 1; k++)
			sums_differ(p, sorted[i], of_threads[k], sums[k], "its threads", f);
		i = end - 1;
	}
	free(sorted);
	return 0;
}

/* The run is the sum of all threads, and of all CPUs. */
static void check_run(const struct run_stats *p, const struct stats_snapshot *run,
		      struct loom_violations *f)
{
	static const struct {
		enum stats_counter of_run, of_cpu;
	} pairs[] = {
		{STATS_CPU_ACTIVE_NS, STATS_ACTIVE_NS}, {STATS_CPU_OTHER_NS, STATS_OTHER_NS},
		{STATS_CPU_IDLE_NS, STATS_IDLE_NS},	{STATS_CPU_UNKNOWN_NS, STATS_UNKNOWN_NS},
		{STATS_SWITCHES, STATS_SWITCHES},	{STATS_PROG_NS, STATS_PROG_NS},
		{STATS_PROG_RUNS, STATS_PROG_RUNS},
	};
	size_t nthreads = 0, ncpus = 0;
	u128 sums[STATS_NCOUNTERS] = {0}, cpus[STATS_NCOUNTERS] = {0};
	bool whole = true;

	for (size_t i = 0; i < p->nsnapshots; i++) {
		const struct stats_snapshot *s = &p->snapshots[i];

		if (!s->is_last || (s->scope != STATS_THREAD && s->scope != STATS_CPU))
			continue;
		whole &= stats_has_states(s);
		nthreads += s->scope == STATS_THREAD;
		ncpus += s->scope == STATS_CPU;
		for (int c = 0; c < STATS_NCOUNTERS; c++)
			*(s->scope == STATS_CPU ? &cpus[c] : &sums[c]) +=
				value(s, (enum stats_counter)c);
	}
	if (!whole)
		return; /* what is missing has been said */
	for (int c = 0; c < STATS_NCOUNTERS && p->has_unlisted; c++)
		sums[c] += value(&p->unlisted, (enum stats_counter)c);
	for (size_t k = 0; k < NTHREAD_SUMS && nthreads > 0; k++)
		sums_differ(p, run, of_threads[k], sums[of_threads[k]], "the threads", f);
	for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]) && ncpus > 0; k++)
		sums_differ(p, run, pairs[k].of_run, cpus[pairs[k].of_cpu], "the CPUs", f);
	/* who ran where a switch was not seen is known of the thread, and not of the CPU */
	if (nthreads > 0 && ncpus > 0 && stats_has(run, STATS_CPU_ACTIVE_NS) &&
	    (sums[STATS_ACTIVE_NS] < cpus[STATS_ACTIVE_NS] ||
	     sums[STATS_ACTIVE_NS] - cpus[STATS_ACTIVE_NS] > cpus[STATS_UNKNOWN_NS]))
		sums_differ(p, run, STATS_CPU_ACTIVE_NS, sums[STATS_ACTIVE_NS],
			    "active_ns of the threads", f);
}

/* ---- P10: events by CPU and kind ---- */

static void check_matrix(const struct run_stats *p, struct loom_violations *f)
{
	const struct stats_account *m = &p->matrix, *e = &p->events;
	struct loom_place place = stats_place(p, NULL);

	if (p->matrix_open > 0)
		loom_violation_add(f, LOOM_P10, &place,
				   "events: %llu of the accounts by CPU and kind do not close",
				   LLU(p->matrix_open));
	if (p->has_matrix && (m->seen.v != e->seen.v || m->written.v != e->written.v ||
			      m->filtered.v != e->filtered.v ||
			      m->sampled_out.v != e->sampled_out.v || m->dropped.v != e->dropped.v))
		loom_violation_add(
			f, LOOM_P10, &place,
			"events: the accounts by CPU and kind sum to %llu seen, %llu written, %llu "
			"dropped: not the account of all",
			LLU(m->seen.v), LLU(m->written.v), LLU(m->dropped.v));
}

int stats_check_recorder(const struct run_stats *p, struct loom_violations *f)
{
	int err = 0;

	for (size_t i = 0; i < p->nsnapshots; i++) {
		const struct stats_snapshot *s = &p->snapshots[i];

		check_states(p, s, f);
		if (s->is_last && s->scope == STATS_RUN)
			check_run(p, s, f);
	}
	if (!p->has_unlisted || value(&p->unlisted, STATS_THREADS) == 0)
		err = check_processes(p, f);
	check_matrix(p, f);
	return err;
}
