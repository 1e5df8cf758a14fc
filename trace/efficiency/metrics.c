/* SPDX-License-Identifier: MIT */
/* metrics: the formulas of efficiency.md 2. */
#include "trace/efficiency/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_PERCENT 1 /* of the useful time: with more the OS factors are bounds */

const char *const metric_names[METRICS] = {
	[METRIC_TRUE_PE] = "true_parallel_efficiency",
	[METRIC_PE] = "parallel_efficiency",
	[METRIC_LB] = "load_balance",
	[METRIC_LB_IN] = "load_balance_in_nodes",
	[METRIC_LB_OUT] = "load_balance_between_nodes",
	[METRIC_COMM] = "communication_efficiency",
	[METRIC_MPI_PE] = "mpi_parallel_efficiency",
	[METRIC_MPI_LB] = "mpi_load_balance",
	[METRIC_MPI_COMM] = "mpi_communication_efficiency",
	[METRIC_OMP_PE] = "openmp_parallel_efficiency",
	[METRIC_OMP_SERIAL] = "openmp_serial_efficiency",
	[METRIC_OMP_LB] = "openmp_load_balance",
	[METRIC_OMP_SCHEDULING] = "openmp_scheduling_efficiency",
	[METRIC_ON_CPU] = "on_cpu_efficiency",
	[METRIC_OS] = "os_efficiency",
	[METRIC_BLOCKING] = "blocking_efficiency",
	[METRIC_TRUE_LB] = "true_load_balance",
	[METRIC_OS_LOSS] = "os_loss",
	[METRIC_TRANSFER_STAR] = "transfer_estimate",
	[METRIC_SERIAL_STAR] = "serialisation_estimate",
	[METRIC_WAIT_LAST] = "wait_for_last",
	[METRIC_MPI_ON_CPU] = "mpi_on_cpu",
	[METRIC_MPI_RUNNABLE] = "mpi_runnable",
	[METRIC_INTERRUPTS] = "interrupts",
	[METRIC_SERIALISATION] = "serialisation_efficiency",
	[METRIC_TRANSFER] = "transfer_efficiency",
	[METRIC_IPC] = "ipc_scaling",
	[METRIC_FREQUENCY] = "frequency_scaling",
	[METRIC_SCALING] = "computation_scaling",
	[METRIC_GLOBAL] = "global_efficiency",
};

/* ---- one value ---- */

static void put(struct metric_set *set, enum metric metric, double value)
{
	set->list[metric] = (struct metric_value){.value = value};
}

static void refuse(struct metric_set *set, enum metric metric, const char *reason)
{
	set->list[metric] = (struct metric_value){.reason = reason};
}

static void put_bound(struct metric_set *set, enum metric metric, double low, double high)
{
	set->list[metric] = (struct metric_value){.value = low, .high = high, .bound = true};
}

/* part / whole; a reason where the whole is 0. */
static void put_ratio(struct metric_set *set, enum metric metric, double part, double whole,
		      const char *none)
{
	if (whole > 0)
		put(set, metric, part / whole);
	else
		refuse(set, metric, none);
}

/* The first reason of two. */
static const char *either(const struct efficiency *e, enum refusal a, enum refusal b)
{
	if (*e->refused[a])
		return e->refused[a];
	return *e->refused[b] ? e->refused[b] : NULL;
}

/* ---- sums over ranks ---- */

/* What the formulas need of all ranks. */
struct sums {
	double elapsed, units;
	double useful, run, wait, sleep, unknown;
	double mpi, mpi_run, mpi_wait;
	double serial, imbalance, scheduling, idle;
	double useful_most, run_most; /* of one unit */
	double outside;		      /* U + S + L + D: outside of MPI; */
	double outside_mean_most;     /* of a rank, by its team, the most; */
	double node_mean_most;	      /* the same mean of a node */
};

static void add_place(struct place_times *to, const struct place_times *from)
{
	to->run = clock_sum(to->run, from->run);
	to->wait = clock_sum(to->wait, from->wait);
	to->sleep = clock_sum(to->sleep, from->sleep);
	to->unknown = clock_sum(to->unknown, from->unknown);
}

static void add_figures(struct rank_figures *sum, const struct rank_figures *f)
{
	sum->team += f->team;
	sum->window = sum->window > f->window ? sum->window : f->window;
	add_place(&sum->useful, &f->useful);
	add_place(&sum->mpi, &f->mpi);
	sum->idle = clock_sum(sum->idle, f->idle);
	sum->serial = clock_sum(sum->serial, f->serial);
	sum->imbalance = clock_sum(sum->imbalance, f->imbalance);
	sum->scheduling = clock_sum(sum->scheduling, f->scheduling);
	if (f->useful_most > sum->useful_most)
		sum->useful_most = f->useful_most;
	if (f->run_most > sum->run_most)
		sum->run_most = f->run_most;
}

static void sum_ranks(struct efficiency *e, const struct phase_times *phase, struct metric_set *set,
		      struct sums *s)
{
	set->sum = (struct rank_figures){.team = 0};
	*s = (struct sums){.elapsed = 0};
	memset(e->nodes, 0, e->nnodes * sizeof(*e->nodes));
	for (size_t i = 0; i < e->times.nkept; i++) {
		struct node_sum *node = &e->nodes[e->times.ranks[e->times.kept[i]].node];
		struct rank_figures f;
		double outside;

		rank_times_figures(&e->times, phase, i, e->teams, &f);
		add_figures(&set->sum, &f);
		outside = (double)place_sum(&f.useful) + (double)f.serial + (double)f.imbalance +
			  (double)f.scheduling;
		s->outside += outside;
		node->outside += outside;
		node->units += (double)f.team;
		if (outside / (double)f.team > s->outside_mean_most)
			s->outside_mean_most = outside / (double)f.team;
	}
	for (uint32_t n = 0; n < e->nnodes; n++)
		if (e->nodes[n].outside > s->node_mean_most * e->nodes[n].units)
			s->node_mean_most = e->nodes[n].outside / e->nodes[n].units;
	s->elapsed = (double)set->sum.window;
	s->units = (double)set->sum.team;
	s->useful = (double)place_sum(&set->sum.useful);
	s->run = (double)set->sum.useful.run;
	s->wait = (double)set->sum.useful.wait;
	s->unknown = (double)set->sum.useful.unknown;
	s->mpi = (double)place_sum(&set->sum.mpi);
	s->mpi_run = (double)set->sum.mpi.run;
	s->mpi_wait = (double)set->sum.mpi.wait;
	s->idle = (double)set->sum.idle;
	s->serial = (double)set->sum.serial;
	s->imbalance = (double)set->sum.imbalance;
	s->scheduling = (double)set->sum.scheduling;
	s->useful_most = (double)set->sum.useful_most;
	s->run_most = (double)set->sum.run_most;
	set->elapsed = set->sum.window;
	set->units = set->sum.team;
}

/* ---- the formulas ---- */

static const char no_time[] = "no time passed";
static const char no_useful[] = "no time was useful";

static void put_parallel(const struct efficiency *e, const struct sums *s, struct metric_set *set)
{
	/* of a program without MPI, the factors of its threads */
	bool alone =
		!e->times.mpi && e->times.nkept == 1 && e->times.ranks[*e->times.kept].rank < 0;
	const char *reason = either(e, REFUSED_USEFUL, alone ? REFUSED_USEFUL : REFUSED_MPI);

	if (reason) {
		refuse(set, METRIC_PE, reason);
		refuse(set, METRIC_LB, reason);
		refuse(set, METRIC_COMM, reason);
		return;
	}
	put_ratio(set, METRIC_PE, s->useful, s->units * s->elapsed, no_time);
	if (e->times.settings->talp)
		put_ratio(set, METRIC_PE, s->useful,
			  s->useful + s->mpi + s->imbalance + s->scheduling + s->serial + s->idle,
			  no_time);
	put_ratio(set, METRIC_LB, s->useful, s->units * s->useful_most, no_useful);
	put_ratio(set, METRIC_COMM, s->useful_most, s->elapsed, no_time);
}

static void put_mpi(const struct efficiency *e, const struct sums *s, struct metric_set *set)
{
	static const char no_outside[] = "no time was outside of MPI";
	const char *reason = *e->refused[REFUSED_MPI] ? e->refused[REFUSED_MPI] : NULL;
	const char *nodes = either(e, REFUSED_MPI, REFUSED_NODES);

	if (reason) {
		refuse(set, METRIC_MPI_PE, reason);
		refuse(set, METRIC_MPI_LB, reason);
		refuse(set, METRIC_MPI_COMM, reason);
	} else {
		put_ratio(set, METRIC_MPI_PE, s->outside, s->units * s->elapsed, no_time);
		put_ratio(set, METRIC_MPI_LB, s->outside, s->units * s->outside_mean_most,
			  no_outside);
		put_ratio(set, METRIC_MPI_COMM, s->outside_mean_most, s->elapsed, no_time);
	}
	if (nodes) {
		refuse(set, METRIC_LB_IN, nodes);
		refuse(set, METRIC_LB_OUT, nodes);
	} else {
		put_ratio(set, METRIC_LB_IN, s->node_mean_most, s->outside_mean_most, no_outside);
		put_ratio(set, METRIC_LB_OUT, s->outside, s->units * s->node_mean_most, no_outside);
	}
}

static void put_openmp(const struct efficiency *e, const struct sums *s, struct metric_set *set)
{
	const char *reason = *e->refused[REFUSED_OPENMP] ? e->refused[REFUSED_OPENMP] : NULL;
	double u = s->useful, c = s->mpi, l = s->imbalance, d = s->scheduling, ser = s->serial;

	if (reason) {
		refuse(set, METRIC_OMP_PE, reason);
		refuse(set, METRIC_OMP_SERIAL, reason);
		refuse(set, METRIC_OMP_LB, reason);
		refuse(set, METRIC_OMP_SCHEDULING, reason);
	} else if (e->times.settings->talp) {
		ser += s->idle; /* and C counts as work: as TALP does */
		put_ratio(set, METRIC_OMP_PE, u + c, u + c + l + d + ser, no_time);
		put_ratio(set, METRIC_OMP_SERIAL, u + c, u + c + ser, no_time);
		put_ratio(set, METRIC_OMP_LB, u + c + ser, u + c + ser + l, no_time);
		put_ratio(set, METRIC_OMP_SCHEDULING, u + c + ser + l, u + c + ser + l + d,
			  no_time);
	} else {
		put_ratio(set, METRIC_OMP_PE, u, u + ser + l + d, no_useful);
		put_ratio(set, METRIC_OMP_SERIAL, u + d + l, u + d + l + ser, no_useful);
		put_ratio(set, METRIC_OMP_LB, u + d, u + d + l, no_useful);
		put_ratio(set, METRIC_OMP_SCHEDULING, u, u + d, no_useful);
	}
}

/* A factor from the known part alone, to the one if all unknown time was run time. */
static void put_known(struct metric_set *set, enum metric metric, const struct sums *s, double low,
		      double low_of, double high, double high_of)
{
	if (low_of <= 0 || high_of <= 0)
		refuse(set, metric, no_useful);
	else if (s->unknown * 100 > s->useful * UNKNOWN_PERCENT)
		put_bound(set, metric, low / low_of, high / high_of);
	else
		put(set, metric, low / low_of);
}

static void put_os(const struct efficiency *e, const struct sums *s, struct metric_set *set)
{
	static const enum metric all[] = {METRIC_ON_CPU, METRIC_OS, METRIC_BLOCKING};
	const char *reason = either(e, REFUSED_USEFUL, REFUSED_OS);
	double run = s->run, wait = s->wait, lost = s->unknown;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && reason; i++)
		refuse(set, all[i], reason);
	if (!reason) {
		put_known(set, METRIC_ON_CPU, s, run, s->useful, run + lost, s->useful);
		put_known(set, METRIC_BLOCKING, s, run + wait, s->useful, run + wait + lost,
			  s->useful);
		put_known(set, METRIC_OS, s, run,
			  s->unknown * 100 > s->useful * UNKNOWN_PERCENT ? run + wait + lost
									 : run + wait,
			  run + lost, run + wait + lost);
		if (run + wait <= 0)
			refuse(set, METRIC_OS, "no useful thread wanted a CPU");
	}
	reason = reason ? reason : set->list[METRIC_PE].reason;
	if (reason) {
		refuse(set, METRIC_TRUE_LB, reason);
		refuse(set, METRIC_TRUE_PE, reason);
	} else {
		put_known(set, METRIC_TRUE_PE, s, run, s->units * s->elapsed, run + lost,
			  s->units * s->elapsed);
		put_ratio(set, METRIC_TRUE_LB, run, s->units * s->run_most, no_useful);
		if (set->list[METRIC_TRUE_PE].bound)
			refuse(set, METRIC_TRUE_LB, "more than 1 % of the useful time is unknown");
	}
	reason = either(e, REFUSED_MPI, REFUSED_OS);
	if (!e->teams && !reason && *e->refused[REFUSED_USEFUL])
		reason = e->refused[REFUSED_USEFUL];
	if (reason) {
		refuse(set, METRIC_MPI_ON_CPU, reason);
		refuse(set, METRIC_MPI_RUNNABLE, reason);
	} else {
		put_ratio(set, METRIC_MPI_ON_CPU, s->mpi_run, s->mpi, "no time was in MPI");
		put_ratio(set, METRIC_MPI_RUNNABLE, s->mpi_wait, s->mpi, "no time was in MPI");
	}
}

static void put_stars(const struct efficiency *e, const struct sums *s, struct metric_set *set)
{
	const struct collectives *c = &e->times.collectives;
	const char *reason = either(e, REFUSED_MPI, REFUSED_STARS);
	const struct metric_value *comm = &set->list[METRIC_MPI_COMM];

	if (reason) {
		refuse(set, METRIC_TRANSFER_STAR, reason);
		refuse(set, METRIC_SERIAL_STAR, reason);
		refuse(set, METRIC_WAIT_LAST, reason);
	} else {
		put_ratio(set, METRIC_TRANSFER_STAR, s->elapsed - (double)c->transfer, s->elapsed,
			  no_time);
		put_ratio(set, METRIC_SERIAL_STAR, comm->value * s->elapsed,
			  s->elapsed - (double)c->transfer, no_time);
		put_ratio(set, METRIC_WAIT_LAST, (double)c->wait, s->mpi, "no time was in MPI");
	}
	reason = reason ? reason : either(e, REFUSED_USEFUL, REFUSED_OS);
	if (reason)
		refuse(set, METRIC_OS_LOSS, reason);
	else
		put_ratio(set, METRIC_OS_LOSS, (double)c->os_loss, s->elapsed, no_time);
}

static void put_never(struct metric_set *set)
{
	static const char network[] = "it needs a simulation of the network";
	static const char counters[] = "the trace has no hardware counters";
	static const char reference[] = "it needs a second run to compare with";

	refuse(set, METRIC_SERIALISATION, network);
	refuse(set, METRIC_TRANSFER, network);
	refuse(set, METRIC_IPC, counters);
	refuse(set, METRIC_FREQUENCY, counters);
	refuse(set, METRIC_SCALING, reference);
	refuse(set, METRIC_GLOBAL, reference);
	refuse(set, METRIC_INTERRUPTS, "not recorded");
}

void efficiency_phase(struct efficiency *e, const struct phase_times *phase, struct metric_set *set)
{
	struct sums s;

	*set = (struct metric_set){.elapsed = 0};
	sum_ranks(e, phase, set, &s);
	put_parallel(e, &s, set);
	put_mpi(e, &s, set);
	put_openmp(e, &s, set);
	put_os(e, &s, set);
	put_stars(e, &s, set);
	put_never(set);
	for (enum metric metric = 0; metric < METRICS && *e->refused[REFUSED_ALL]; metric++)
		refuse(set, metric, e->refused[REFUSED_ALL]);
	for (enum metric metric = METRIC_OS_LOSS; metric <= METRIC_WAIT_LAST; metric++)
		if (phase != &e->times.whole && !set->list[metric].reason)
			refuse(set, metric, "it is of the whole window");
}

/* ---- the whole ---- */

static int list_members(struct efficiency *e)
{
	const struct rank_times *t = &e->times;

	e->members = calloc(t->source->trace.nstreams + 1, sizeof(*e->members));
	if (!e->members)
		return -ENOMEM;
	for (size_t i = 0; i < t->nkept; i++) {
		const struct rank_walk *r = &t->ranks[t->kept[i]];

		for (uint32_t unit = r->first; unit < r->first + r->n; unit++) {
			const struct unit_walk *u = &t->list[unit];

			if (unit == r->master || (e->teams && u->member)) {
				e->members[u->stream] = true;
				continue;
			}
			e->helpers++;
			e->helpers_run = clock_sum(
				e->helpers_run,
				thread_time_stays(&t->times.threads[u->stream], TIME_RUNNING)->ns);
		}
	}
	return 0;
}

int efficiency_compute(struct efficiency *e)
{
	int err;

	e->nnodes = e->times.nnodes;
	e->nodes = calloc(e->nnodes + 1, sizeof(*e->nodes));
	if (!e->nodes)
		return -ENOMEM;
	efficiency_refuse(e);
	e->teams = !*e->refused[REFUSED_OPENMP] || !e->times.forks;
	err = list_members(e);
	if (err)
		return err;
	efficiency_phase(e, &e->times.whole, &e->whole);
	return wait_shares_compute(e);
}

static int take_event(void *arg, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	return rank_times_step(&((struct efficiency *)arg)->times, intervals, stream, ev);
}

static void prefetch(const void *arg, uint32_t stream, bool soon)
{
	rank_times_prefetch(&((const struct efficiency *)arg)->times, stream, soon);
}

int efficiency_read(struct efficiency *e, const struct source *source,
		    const struct efficiency_settings *settings)
{
	static const struct interval_listener listener = {.event = take_event,
							  .prefetch = prefetch};
	struct intervals intervals = {0};
	int err, walked;

	*e = (struct efficiency){.nnodes = 0};
	err = rank_times_init(&e->times, source, settings);
	if (err)
		return err;
	e->times.culprits.class_of = wait_class_of;
	e->times.culprits.class_arg = &e->times;
	walked = intervals_walk(&intervals, source, &listener, e);
	if (!intervals.threads || walked == -ENOMEM || walked == -E2BIG) {
		intervals_fini(&intervals);
		return walked;
	}
	/* of a damaged trace, the part before the damage */
	err = rank_times_finish(&e->times, &intervals);
	if (!err)
		err = efficiency_compute(e);
	intervals_fini(&intervals);
	return err ? err : walked;
}

void efficiency_fini(struct efficiency *e)
{
	rank_times_fini(&e->times);
	free(e->members);
	free(e->nodes);
	*e = (struct efficiency){.nnodes = 0};
}
