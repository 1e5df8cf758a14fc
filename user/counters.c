/* SPDX-License-Identifier: MIT */
/* counters: see counters.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "counters.h"
#include "links.h"
#include "bpf/ovni.skel.h"
#include "trace/log.h"

#define READ_TRIES 100 /* of a thread or a CPU that never stands still */

/* ---- one thread ---- */

/* How much of [from, to] lies in the window. */
static uint64_t within(uint64_t from, uint64_t to, uint64_t t0, uint64_t t1)
{
	if (from < t0)
		from = t0;
	if (to > t1)
		to = t1;
	return to > from ? to - from : 0;
}

void counters_settle(struct thread_figures *f, uint64_t t0, uint64_t t1)
{
	struct thread_counters *c = &f->counters;
	uint64_t ns = within(c->since, f->clock, t0, t1), wake = f->wake_clock;

	switch (c->use) {
	case THREAD_RUNNING:
		c->active_ns += ns;
		break;
	case THREAD_RUNNABLE:
		c->runnable_ns += ns;
		break;
	case THREAD_BLOCKED:
		if (wake && wake >= c->since && wake <= f->clock && wake <= t1) {
			c->blocked_ns[c->why % WHY_KINDS] += within(c->since, wake, t0, t1);
			c->runnable_ns += within(wake, f->clock, t0, t1);
			c->wakeups += wake > t0;
		} else {
			c->blocked_ns[c->why % WHY_KINDS] += ns;
		}
		break;
	case THREAD_UNKNOWN:
		if (f->wanted)
			c->unknown_ns += ns;
		break;
	default:
		return;
	}
	/* One that is no longer wanted has ended with what was seen of it. */
	if (c->use == THREAD_UNKNOWN && !f->wanted)
		f->clock = c->since;
}

uint64_t counters_life(const struct thread_figures *f, uint64_t t0, uint64_t t1)
{
	if (f->counters.use == THREAD_NONE)
		return 0;
	return within(f->counters.begin, f->clock, t0, t1);
}

uint64_t counters_blocked(const struct thread_counters *c)
{
	uint64_t ns = 0;

	for (unsigned why = 0; why < WHY_KINDS; why++)
		ns += c->blocked_ns[why];
	return ns;
}

void counters_add(struct thread_counters *to, const struct thread_counters *c)
{
	to->threads += c->threads ? c->threads : 1;
	to->active_ns += c->active_ns;
	to->runnable_ns += c->runnable_ns;
	to->unknown_ns += c->unknown_ns;
	for (unsigned why = 0; why < WHY_KINDS; why++)
		to->blocked_ns[why] += c->blocked_ns[why];
	to->switches_voluntary += c->switches_voluntary;
	to->switches_preempted += c->switches_preempted;
	to->yields += c->yields;
	to->wakeups += c->wakeups;
	to->migrations += c->migrations;
	to->calls += c->calls;
	to->calls_ns += c->calls_ns;
	to->events_seen += c->events_seen;
	to->events_filtered += c->events_filtered;
	to->events_sampled += c->events_sampled;
	to->events_full += c->events_full;
}

/* Has it done anything in the window? */
static bool busy(const struct thread_figures *f)
{
	const struct thread_counters *c = &f->counters;

	return c->active_ns || c->wakeups || c->events_seen || c->calls || c->runnable_ns;
}

/* ---- lists ---- */

static int append(struct counters_list *list, const struct thread_figures *figures)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 256;
		struct thread_figures *grown = reallocarray(list->figures, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->figures = grown;
		list->room = room;
	}
	list->figures[list->n++] = *figures;
	return 0;
}

/* Without room in the list its sums are kept. */
static void bury(struct counters *counters, struct thread_figures *figures)
{
	if (figures->clock > counters->t1)
		figures->clock = counters->t1;
	if (counters->dead.n >= COUNTERS_LISTED_MAX || append(&counters->dead, figures))
		counters_add(&counters->unlisted, &figures->counters);
}

int counters_open(struct counters *counters, const struct links *links, uint64_t t0,
		  const unsigned *cpus, unsigned ncpus)
{
	*counters = (struct counters){.links = links, .t0 = t0, .t1 = UINT64_MAX};
	counters->cpus = calloc(ncpus ? ncpus : 1, sizeof(*counters->cpus));
	counters->before = calloc(ncpus ? ncpus : 1, sizeof(*counters->before));
	if (!counters->cpus || !counters->before)
		return log_no_memory("the counters");
	counters->ncpus = ncpus;
	for (unsigned i = 0; i < ncpus; i++) {
		counters->cpus[i].cpu = cpus[i];
		memcpy(counters->before[i], links->cpus[cpus[i]].costs,
		       sizeof(counters->before[i]));
	}
	return 0;
}

int counters_fetch(struct counters *counters)
{
	int fd = bpf_map__fd(counters->links->skeleton->maps.dead);
	struct thread_figures figures;

	while (!bpf_map_lookup_and_delete_elem(fd, NULL, &figures))
		bury(counters, &figures);
	if (errno == ENOENT)
		return 0;
	log_error("cannot read the counters of threads that have ended: %s", strerror(errno));
	return -errno;
}

/* ---- the living ---- */

/* All that the iterator tells, into `list`; how many did not stand still into *unstable. */
static int iterate(const struct counters *counters, struct counters_list *list, size_t *unstable)
{
	int fd = bpf_iter_create(bpf_link__fd(counters->links->counters)), err = 0;
	struct thread_figures some[64];
	ssize_t n;

	*unstable = 0;
	list->n = 0;
	if (fd < 0)
		return -errno;
	for (;;) {
		n = read(fd, some, sizeof(some)); /* whole ones only */
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		for (size_t i = 0; i < (size_t)n / sizeof(*some) && !err; i++) {
			*unstable += !some[i].clock;
			err = append(list, &some[i]);
		}
	}
	if (n < 0)
		err = -errno;
	close(fd);
	return err;
}

static int read_cpu(struct counters *counters, struct counters_cpu *cpu, unsigned i)
{
	const struct cpu_state *state = &counters->links->cpus[cpu->cpu];
	uint32_t seq, tries = 0;

	do {
		if (tries++ == READ_TRIES)
			return -EAGAIN;
		seq = __atomic_load_n(&state->counters.seq, __ATOMIC_ACQUIRE);
		cpu->counters = *(const volatile struct cpu_counters *)&state->counters;
		cpu->clock = clock_now();
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (seq & 1 || seq != __atomic_load_n(&state->counters.seq, __ATOMIC_RELAXED));
	if (cpu->clock > counters->t1)
		cpu->clock = counters->t1;
	cpu->counters.ns[cpu->counters.use % CPU_USES] +=
		within(cpu->counters.since, cpu->clock, counters->t0, counters->t1);
	for (unsigned group = 0; group < PROGRAM_GROUPS; group++) {
		const struct program_cost *now = &state->costs[group];
		const struct program_cost *before = &counters->before[i][group];

		cpu->costs[group] = (struct program_cost){
			.runs = now->runs - before->runs,
			.timed_runs = now->timed_runs - before->timed_runs,
			.timed_ns = now->timed_ns - before->timed_ns,
		};
	}
	return 0;
}

int counters_look(struct counters *counters)
{
	size_t unstable = 1;
	int err = 0;

	for (unsigned tries = 0; unstable && !err; tries++)
		err = tries == READ_TRIES ? -EAGAIN
					  : iterate(counters, &counters->alive, &unstable);
	for (unsigned i = 0; i < counters->ncpus && !err; i++)
		err = read_cpu(counters, &counters->cpus[i], i);
	if (err)
		log_error("cannot read the counters: %s", strerror(-err));
	counters->dead_then = counters->dead.n;
	return err;
}

/* Brings what was read to the moment that it holds at, and leaves out who did nothing. */
static void settle(struct counters *counters)
{
	struct counters_list *list = &counters->alive;
	size_t kept = 0;

	memset(&counters->idle, 0, sizeof(counters->idle));
	for (size_t i = 0; i < list->n; i++) {
		struct thread_figures *f = &list->figures[i];

		if (f->clock > counters->t1)
			f->clock = counters->t1;
		if (f->counters.use == THREAD_NONE || f->clock <= counters->t0)
			continue;
		counters_settle(f, counters->t0, counters->t1);
		if (busy(f) && kept < COUNTERS_LISTED_MAX)
			list->figures[kept++] = *f;
		else
			counters_add(&counters->idle, &f->counters);
	}
	list->n = kept;
}

int counters_read(struct counters *counters)
{
	int err = counters_look(counters);

	if (!err)
		settle(counters);
	return err;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Who was alive when we looked, and has died since, is among the dead. */
static int leave_out_dead(struct counters *counters)
{
	size_t n = counters->dead.n - counters->dead_then, kept = 0;
	struct counters_list *list = &counters->alive;
	uint32_t *ids = n ? malloc(n * sizeof(*ids)) : NULL;

	if (!n)
		return 0;
	if (!ids)
		return log_no_memory("the counters of threads that have ended");
	for (size_t i = 0; i < n; i++)
		ids[i] = counters->dead.figures[counters->dead_then + i].id;
	qsort(ids, n, sizeof(*ids), by_id);
	for (size_t i = 0; i < list->n; i++)
		if (!bsearch(&list->figures[i].id, ids, n, sizeof(*ids), by_id))
			list->figures[kept++] = list->figures[i];
	list->n = kept;
	free(ids);
	return 0;
}

/* Of threads that found no room on their CPU. */
static int fetch_sums(struct counters *counters)
{
	size_t size = sizeof(struct thread_counters), possible = counters->links->npossible;
	int fd = bpf_map__fd(counters->links->skeleton->maps.dead_sums);
	uint8_t *sums = calloc(possible, size);
	__u32 zero = 0;
	int err = 0;

	if (!sums)
		return log_no_memory("the counters of threads that have ended");
	if (bpf_map_lookup_elem(fd, &zero, sums)) {
		err = -errno;
		log_error("cannot read the counters of threads that have ended: %s",
			  strerror(-err));
	}
	for (size_t cpu = 0; cpu < possible && !err; cpu++) {
		struct thread_counters *c = (void *)(sums + cpu * size);

		if (c->threads)
			counters_add(&counters->unlisted, c);
	}
	free(sums);
	return err;
}

int counters_close(struct counters *counters)
{
	int err = counters_fetch(counters);

	if (!err)
		err = leave_out_dead(counters);
	if (!err)
		err = fetch_sums(counters);
	if (!err)
		settle(counters);
	return err;
}

void counters_free(struct counters *counters)
{
	free(counters->dead.figures);
	free(counters->alive.figures);
	free(counters->cpus);
	free(counters->before);
	memset(counters, 0, sizeof(*counters));
}
