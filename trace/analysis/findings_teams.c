/* SPDX-License-Identifier: MIT */
/*
 * findings on balance: the work of the threads of a team, and of the ranks, without their waits
 * inside MPI and OpenMP. Specification: efficiency.md 3.
 */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <string.h>

#include "trace/catalog/catalog.h"

/* Whether the thread waits in a region of the OpenMP runtime (efficiency.md 3): 1, 0, or -1 for as
 * in the region around it. */
static int openmp_waits(const struct event *ev)
{
	switch (ev->category) {
	case 'B':
		return 1;
	case 'H':
		return 1; /* the loop in which a worker waits for work */
	case 'I':
		return ev->value == 'a' ? 1 : -1;
	case 'M':
		return ev->value == 'u' ? 0 : -1;
	case 'T':
		if (ev->value == '[' || ev->value == 'i')
			return 0;
		return ev->value == 't' || ev->value == 'w' ? 1 : -1;
	default:
		return -1;
	}
}

/* A region of MPI or OpenMP begins or ends: the thread waits while the innermost one says so. */
static void take_region(struct findings *f, uint32_t stream, const struct event *ev, bool begin,
			int waits)
{
	struct thread_walk *w = &f->state->threads[stream];
	bool before = w->regions & 1, after;
	int64_t run;

	if (begin) {
		after = waits < 0 ? before : waits;
		w->regions = w->regions << 1 | after;
		w->depth++;
	} else if (w->depth) {
		w->regions >>= 1;
		w->depth--;
	}
	after = w->regions & 1;
	if (before == after)
		return;
	run = findings_times(f, stream, ev->clock).run;
	if (after)
		w->idle_since = run;
	else
		f->threads[stream].idle_run =
			clock_sum(f->threads[stream].idle_run, clock_distance(w->idle_since, run));
}

int findings_take_model(struct findings *f, uint32_t stream, const struct event *ev)
{
	const struct catalog_event *event = catalog_find(event_mcv(ev), NULL);
	bool mpi = ev->model == 'M', begin;

	if (!event || !event->value ||
	    (event->action != ACTION_PUSH && event->action != ACTION_POP))
		return 0;
	begin = event->action == ACTION_PUSH;
	if (!mpi) {
		f->openmp = true;
		f->state->threads[stream].microtask |= begin && event_mcv(ev) == MCV('P', 'M', 'u');
		take_region(f, stream, ev, begin, openmp_waits(ev));
		return 0;
	}
	f->mpi = true;
	findings_take_mpi(f, stream, ev, event->value, begin);
	take_region(f, stream, ev, begin, 1);
	return 0;
}

/* ns of work on a CPU: outside of MPI and of the waits of a runtime. */
static int64_t work_of(const struct thread_use *use)
{
	return clock_distance(use->idle_run, use->run);
}

struct team {
	int64_t sum, most, first, last, last_first;
	int64_t n;
	uint32_t busiest;
};

static void team_add(struct team *team, uint32_t member, int64_t work, int64_t first, int64_t last)
{
	if (!team->n || first < team->first)
		team->first = first;
	if (!team->n || last > team->last)
		team->last = last;
	if (!team->n || first > team->last_first)
		team->last_first = first;
	if (!team->n || work > team->most) {
		team->most = work;
		team->busiest = member;
	}
	team->sum = clock_sum(team->sum, work);
	team->n++;
}

/* Whether a team that began together works unequally. */
static bool team_is_unequal(const struct findings *f, const struct team *team)
{
	int64_t span = clock_distance(team->first, team->last), mean;

	if (team->n < 2)
		return false;
	mean = team->sum / team->n;
	return clock_distance(team->first, team->last_first) <= span / 10 &&
	       team->most >= span / 5 && mean <= team->most / 100 * FINDING_BALANCE &&
	       findings_worth(f, clock_distance(mean, team->most));
}

static int add_imbalance(struct findings *f, enum finding_kind kind, const struct team *team,
			 struct finding_party who, struct finding_party busiest)
{
	int64_t mean = team->sum / team->n;
	struct finding *finding = findings_add(f, kind, clock_distance(mean, team->most), who);

	if (!finding)
		return -ENOMEM;
	finding->by = busiest;
	finding_put(finding, NUMBER_OF, clock_distance(team->first, team->last));
	finding_put(finding, NUMBER_TIME, finding->cost);
	finding_put(finding, NUMBER_THREADS, team->n);
	finding_put(finding, NUMBER_MOST, team->most);
	finding_put(finding, NUMBER_MEAN, mean);
	return 0;
}

/* The length of a name without the number at its end: "worker-12" is "worker". */
static size_t base_length(const char *name)
{
	size_t n = strlen(name);

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	while (n && strchr("-_/#.: ", name[n - 1]))
		n--;
	return n;
}

static bool same_base(const struct owner *a, const struct owner *b)
{
	const char *x = a->name ? a->name : "", *y = b->name ? b->name : "";
	size_t n = base_length(x);

	return n == base_length(y) && !strncmp(x, y, n);
}

/* The threads of one process that ran parallel regions, or, without such events, those that have
 * the name of the busiest one, but for a number at its end, and a tenth of its work. */
int findings_of_imbalance(struct findings *f, const struct group *group)
{
	const uint32_t *members = group->members;
	size_t n = group->n;
	struct team team = {0};
	uint32_t busiest = NO_STREAM;
	bool microtasks = false;

	for (size_t i = 0; i < n; i++) {
		if (busiest == NO_STREAM ||
		    work_of(&f->threads[members[i]]) > work_of(&f->threads[busiest]))
			busiest = members[i];
		microtasks |= f->state->threads[members[i]].microtask;
	}
	for (size_t i = 0; i < n; i++) {
		const struct thread_use *use = &f->threads[members[i]];

		if (microtasks ? !f->state->threads[members[i]].microtask
			       : !same_base(&f->source->owners[members[i]],
					    &f->source->owners[busiest]) ||
					 work_of(use) < work_of(&f->threads[busiest]) / 100 *
								FINDING_TEAM_PERCENT)
			continue;
		team_add(&team, members[i], work_of(use), use->first, use->last);
	}
	if (!team_is_unequal(f, &team))
		return 0;
	return add_imbalance(f, FINDING_IMBALANCE, &team,
			     findings_process(f, f->threads[busiest].process),
			     findings_thread(f, team.busiest));
}

int findings_of_rank_imbalance(struct findings *f)
{
	struct team team = {0};

	for (uint32_t p = 0; p < f->nprocesses; p++) {
		const struct process_use *process = &f->processes[p];
		const struct thread_use *use = &f->threads[process->stream];

		if (process->rank >= 0 && process->run)
			team_add(&team, p, clock_distance(process->idle_run, process->run),
				 use->first, use->last);
	}
	if (!team_is_unequal(f, &team))
		return 0;
	return add_imbalance(f, FINDING_RANK_IMBALANCE, &team, findings_process(f, team.busiest),
			     findings_process(f, team.busiest));
}
