/* SPDX-License-Identifier: MIT */
/* rank_sums: sums of time by rank, thread, place and phase. Specification: efficiency.md 1, 3. */
#include "trace/efficiency/rank_walk.h"

#include <errno.h>
#include <stdlib.h>

#define SCOPES 2 /* the whole window, the present phase */

static struct phase_times *scope_of(struct rank_times *t, const struct rank_walk *r, int scope)
{
	if (!scope)
		return &t->whole;
	return r->phase == NO_PHASE ? NULL : &t->phases[r->phase];
}

static void add(int64_t *to, int64_t ns)
{
	*to = clock_sum(*to, ns);
}

void sum_window(struct rank_times *t, struct rank_walk *r, int64_t clock)
{
	int64_t ns = clock_distance(r->since, clock);

	r->since = clock;
	if (!r->open)
		return;
	for (int scope = 0; scope < SCOPES; scope++) {
		struct phase_times *phase = scope_of(t, r, scope);
		struct rank_sums *sums;

		if (!phase)
			continue;
		sums = &phase->ranks[r - t->ranks];
		add(&sums->window, ns);
		if (r->region)
			continue;
		add(t->list[r->master].place == PLACE_MPI ? &sums->outside_mpi
							  : &sums->outside_serial,
		    ns);
	}
}

/* ns of `n` threads, clamped: a hostile trace may exceed the range. */
static int64_t of_threads(int64_t n, int64_t ns)
{
	int64_t product;

	if (__builtin_mul_overflow(n, ns, &product))
		return ns < 0 ? INT64_MIN : INT64_MAX;
	return product;
}

/* The time of the thread by state since its last reading, which was at its `since`. */
static struct place_times read_unit(const struct rank_times *t, struct unit_walk *u, int64_t clock)
{
	int64_t ns[TIME_CLASSES];
	struct place_times now, part;

	thread_times_read(&t->times, u->stream, clock, ns);
	now = (struct place_times){ns[CLASS_RUNNING],
				   clock_sum(ns[CLASS_RUNNABLE], ns[CLASS_THROTTLED]),
				   ns[CLASS_ASLEEP], 0};
	part = (struct place_times){clock_distance(u->base.run, now.run),
				    clock_distance(u->base.wait, now.wait),
				    clock_distance(u->base.sleep, now.sleep), 0};
	/* before its first fact a thread has no state: the rest is unknown, too */
	part.unknown = clock_distance(place_sum(&part), clock_distance(u->since, clock));
	u->base = now;
	u->since = clock;
	return part;
}

static void place_add(struct place_times *to, const struct place_times *part)
{
	add(&to->run, part->run);
	add(&to->wait, part->wait);
	add(&to->sleep, part->sleep);
	add(&to->unknown, part->unknown);
}

void sum_unit(struct rank_times *t, uint32_t unit, int64_t clock)
{
	struct unit_walk *u = &t->list[unit];
	struct rank_walk *r = &t->ranks[u->rank];
	struct place_times part = read_unit(t, u, clock);
	int64_t ns = place_sum(&part);

	if (u->place == PLACE_NONE)
		return;
	for (int scope = 0; scope < SCOPES; scope++) {
		struct phase_times *phase = scope_of(t, r, scope);
		struct unit_times *times;

		if (!phase)
			continue;
		times = &phase->units[unit];
		place_add(u->place == PLACE_MPI ? &times->mpi : &times->useful, &part);
		if (r->region)
			add(&u->busy[scope], ns);
		else if (u->place == PLACE_MPI && unit != r->master)
			add(t->list[r->master].place == PLACE_MPI ? &times->outside_mpi
								  : &times->outside_serial,
			    ns);
	}
}

void sum_units(struct rank_times *t, const struct rank_walk *r, int64_t clock)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (t->list[r->first + i].place != PLACE_NONE)
			sum_unit(t, r->first + i, clock);
}

/* ---- regions ---- */

/* A region, or the part of it in a phase, ends: adds up what its threads were idle. */
static void close_region(struct rank_times *t, struct rank_walk *r, int scope, int64_t clock)
{
	int64_t length = clock_distance(r->region_since[scope], clock), least = length, members = 0;
	struct phase_times *phase = scope_of(t, r, scope);
	struct rank_sums *sums = phase ? &phase->ranks[r - t->ranks] : NULL;

	for (uint32_t i = r->first; i < r->first + r->n; i++) {
		int64_t idle = clock_distance(t->list[i].busy[scope], length);

		if ((!t->list[i].member && i != r->master) || !sums)
			continue;
		members++;
		least = idle < least ? idle : least;
	}
	for (uint32_t i = r->first; i < r->first + r->n; i++) {
		int64_t idle = clock_distance(t->list[i].busy[scope], length);

		t->list[i].busy[scope] = 0;
		if (sums && (t->list[i].member || i == r->master))
			add(&sums->imbalance, clock_distance(least, idle));
	}
	r->region_since[scope] = clock;
	if (!sums)
		return;
	add(&sums->least, least);
	add(&sums->beyond, clock_distance(least, length));
	add(&sums->members_beyond, of_threads(members, clock_distance(least, length)));
}

void region_begin(struct rank_times *t, struct rank_walk *r, int64_t clock)
{
	sum_window(t, r, clock);
	sum_units(t, r, clock);
	r->region = 1;
	r->region_since[0] = r->region_since[1] = clock;
	for (uint32_t i = r->first; i < r->first + r->n; i++)
		t->list[i].member |= t->list[i].microtasks > 0;
}

void region_end(struct rank_times *t, struct rank_walk *r, int64_t clock)
{
	sum_window(t, r, clock);
	sum_units(t, r, clock);
	for (int scope = 0; scope < SCOPES; scope++)
		close_region(t, r, scope, clock);
	r->region = 0;
}

/* ---- phases ---- */

int phase_init(const struct rank_times *t, struct phase_times *phase)
{
	phase->ranks = calloc(t->nranks + 1, sizeof(*phase->ranks));
	phase->units = calloc(t->nunits + 1, sizeof(*phase->units));
	return phase->ranks && phase->units ? 0 : -ENOMEM;
}

void phase_fini(struct phase_times *phase)
{
	free(phase->ranks);
	free(phase->units);
}

void phase_switch(struct rank_times *t, struct rank_walk *r, uint32_t phase, int64_t clock)
{
	if (r->phase == phase)
		return;
	sum_window(t, r, clock);
	sum_units(t, r, clock);
	if (r->region)
		close_region(t, r, 1, clock);
	r->phase = phase;
}

/* ---- figures ---- */

void rank_times_figures(const struct rank_times *t, const struct phase_times *phase, size_t rank,
			bool teams, struct rank_figures *f)
{
	const struct rank_walk *r = &t->ranks[t->kept[rank]];
	const struct rank_sums *sums = &phase->ranks[t->kept[rank]];
	const struct unit_times *master = &phase->units[r->master];

	*f = (struct rank_figures){.team = 1, .window = sums->window};
	if (!teams) {
		f->mpi = master->mpi;
		f->useful.unknown = clock_distance(place_sum(&f->mpi), f->window);
		f->useful_most = f->useful.unknown;
		return;
	}
	for (uint32_t i = r->first; i < r->first + r->n; i++) {
		const struct unit_times *u = &phase->units[i];

		if (!t->list[i].member && i != r->master)
			continue;
		f->team += i != r->master;
		place_add(&f->useful, &u->useful);
		place_add(&f->mpi, &u->mpi);
		if (place_sum(&u->useful) > f->useful_most)
			f->useful_most = place_sum(&u->useful);
		if (u->useful.run > f->run_most)
			f->run_most = u->useful.run;
		if (i == r->master)
			continue;
		add(&f->idle, clock_distance(u->outside_mpi, sums->outside_mpi));
		add(&f->serial, clock_distance(u->outside_serial, sums->outside_serial));
	}
	f->imbalance =
		clock_sum(sums->imbalance,
			  clock_distance(sums->members_beyond, of_threads(f->team, sums->beyond)));
	f->scheduling = of_threads(f->team, sums->least);
}
