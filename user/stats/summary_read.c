/* SPDX-License-Identifier: MIT */
/* summary_read: see summary_read.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/host/clock.h"
#include "user/stats/summary_read.h"
#include "user/kernel/bpf_load.h"
#include "bpf/ovni.skel.h"
#include "trace/base/log.h"

#define READ_TRIES  100 /* of a thread or a CPU that never stands still */
#define DYING_TRIES 100 /* ms for a thread between its exit and its last switch */

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

/* It is on a CPU: what it did till it entered that is added, as the kernel side does when it leaves
 * (bpf/counters.bpf.h). */
static void arrive(struct thread_figures *f, uint64_t t0, uint64_t t1)
{
	struct thread_counters *c = &f->counters;
	uint64_t wake = f->wake_clock, entered = c->entered;

	switch (c->use) {
	case THREAD_RUNNING:
		return;
	case THREAD_NONE:
		c->begin = entered;
		break;
	case THREAD_RUNNABLE:
		c->runnable_ns += within(c->since, entered, t0, t1);
		break;
	case THREAD_BLOCKED:
		if (wake && wake >= c->since) {
			c->runnable_ns += within(wake, entered, t0, t1);
			c->wakeups += wake > t0 && wake <= t1;
		} else {
			wake = entered;
		}
		c->blocked_ns[c->why % OFF_CPU_COUNT] += within(c->since, wake, t0, t1);
		break;
	default:
		c->unknown_ns += within(c->since, entered, t0, t1);
	}
	c->events_seen += c->wake != 0;
	c->migrations += c->cpu >= 0 && c->cpu != c->on && entered > t0 && entered <= t1;
	c->cpu = c->on;
	c->use = THREAD_RUNNING;
	c->since = entered;
}

void counters_settle(struct thread_figures *f, uint64_t t0, uint64_t t1)
{
	struct thread_counters *c = &f->counters;
	uint64_t ns, wake = f->wake_clock;

	if (c->entered)
		arrive(f, t0, t1);
	ns = within(c->since, f->clock, t0, t1);
	switch (c->use) {
	case THREAD_RUNNING:
		c->active_ns += ns;
		break;
	case THREAD_RUNNABLE:
		c->runnable_ns += ns;
		break;
	case THREAD_BLOCKED:
		if (wake && wake >= c->since && wake <= f->clock && wake <= t1) {
			c->blocked_ns[c->why % OFF_CPU_COUNT] += within(c->since, wake, t0, t1);
			c->runnable_ns += within(wake, f->clock, t0, t1);
			c->wakeups += wake > t0;
		} else {
			c->blocked_ns[c->why % OFF_CPU_COUNT] += ns;
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

	for (unsigned why = 0; why < OFF_CPU_COUNT; why++)
		ns += c->blocked_ns[why];
	return ns;
}

void counters_add(struct thread_counters *to, const struct thread_counters *c)
{
	to->threads += c->threads ? c->threads : 1;
	to->active_ns += c->active_ns;
	to->runnable_ns += c->runnable_ns;
	to->unknown_ns += c->unknown_ns;
	for (unsigned why = 0; why < OFF_CPU_COUNT; why++)
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

static void read_costs(const struct cpu_state *state, struct counters_cost costs[PROGRAM_GROUPS])
{
	for (unsigned group = 0; group < PROGRAM_GROUPS; group++)
		costs[group] = (struct counters_cost){
			.runs = state->runs[group],
			.timed_runs = state->costs[group].timed_runs,
			.timed_ns = state->costs[group].timed_ns,
		};
}

/* Are there threads to be counted that the iterator does not show? */
static bool sees_some(const struct counters *counters)
{
	const struct ovni__rodata *rodata = counters->links->skeleton->rodata;

	return rodata->knobs.all && rodata->knobs.pid_namespace;
}

int counters_open(struct counters *counters, const struct links *links, uint64_t t0,
		  const unsigned *cpus, unsigned ncpus)
{
	*counters = (struct counters){.links = links, .t0 = t0, .t1 = UINT64_MAX};
	counters->cpus = calloc(ncpus ? ncpus : 1, sizeof(*counters->cpus));
	if (!counters->cpus)
		return log_no_memory("the counters");
	counters->ncpus = ncpus;
	if (sees_some(counters))
		log_warn("inside a PID namespace the kernel lists the threads of that namespace "
			 "alone: the counters of all others are one sum (run ovni-bpf outside of "
			 "it)");
	for (unsigned i = 0; i < ncpus; i++) {
		counters->cpus[i].cpu = cpus[i];
		read_costs(&links->cpus[cpus[i]], counters->cpus[i].before);
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

static int read_cpu(struct counters *counters, struct counters_cpu *cpu)
{
	const struct cpu_state *state = &counters->links->cpus[cpu->cpu];
	uint32_t seq, tries = 0;

	do {
		if (tries++ == READ_TRIES)
			return -EAGAIN;
		seq = __atomic_load_n(&state->counters.seq, __ATOMIC_ACQUIRE);
		cpu->counters = *(const volatile struct cpu_counters *)&state->counters;
		cpu->task = *(const volatile __u64 *)&state->task;
		cpu->entered = *(const volatile __u64 *)&state->entered;
		cpu->clock = clock_now();
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (seq & 1 || seq != __atomic_load_n(&state->counters.seq, __ATOMIC_RELAXED));
	if (cpu->clock > counters->t1)
		cpu->clock = counters->t1;
	cpu->counters.ns[cpu->counters.use % CPU_USES] +=
		within(cpu->counters.since, cpu->clock, counters->t0, counters->t1);
	read_costs(state, cpu->costs);
	for (unsigned group = 0; group < PROGRAM_GROUPS; group++) {
		cpu->costs[group].runs -= cpu->before[group].runs;
		cpu->costs[group].timed_runs -= cpu->before[group].timed_runs;
		cpu->costs[group].timed_ns -= cpu->before[group].timed_ns;
	}
	return 0;
}

void counters_find_running(struct counters *counters, uint64_t then)
{
	for (size_t i = 0; i < counters->alive.n; i++) {
		struct thread_figures *f = &counters->alive.figures[i];
		struct thread_counters *c = &f->counters;

		for (unsigned k = 0; k < counters->ncpus && !c->entered; k++) {
			const struct counters_cpu *cpu = &counters->cpus[k];

			if (cpu->task == f->task && cpu->entered >= c->since) {
				c->entered = cpu->entered;
				c->on = (int32_t)cpu->cpu;
			}
		}
		if (!c->entered && f->clock > then)
			f->clock = c->since > then ? c->since : then;
	}
}

void counters_find_woken(struct counters *counters)
{
	for (size_t i = 0; i < counters->alive.n; i++) {
		struct thread_figures *f = &counters->alive.figures[i];
		const struct thread_counters *c = &f->counters;
		uint64_t until = f->last_queued ? f->last_queued : c->entered ? f->last_arrival : 0;

		if (!until || !counters->sched_known)
			continue; /* it sleeps */
		f->wake_clock =
			until + (uint64_t)counters->sched_offset - (f->run_delay - c->delay);
		if ((int64_t)(f->wake_clock - c->since) < 0)
			f->wake_clock = c->since;
		if (c->entered && f->wake_clock > c->entered)
			f->wake_clock = c->entered;
	}
}

/* One look at the CPUs, and one at the threads. */
static int look(struct counters *counters, size_t *unstable)
{
	uint64_t then = clock_now();
	int err = 0;

	for (unsigned i = 0; i < counters->ncpus && !err; i++)
		err = read_cpu(counters, &counters->cpus[i]);
	if (!err)
		err = iterate(counters, &counters->alive, unstable);
	if (!err && counters->links->deferred) {
		const struct ovni *kernel = counters->links->skeleton;

		counters->sched_offset = *(const volatile __s64 *)&kernel->data->sched_offset;
		counters->sched_known =
			*(const volatile __u64 *)&kernel->bss->sched_offset_clock != 0;
		counters_find_running(counters, then);
		counters_find_woken(counters);
	}
	return err;
}

/* Until all of them stand still. */
static int look_at_all(struct counters *counters)
{
	size_t unstable = 1;
	int err = 0;

	for (unsigned tries = 0; unstable && !err; tries++)
		err = tries == READ_TRIES ? -EAGAIN : look(counters, &unstable);
	if (err)
		log_error("cannot read the counters: %s", strerror(-err));
	counters->dead_then = counters->dead.n;
	return err;
}

static uint64_t active_of(const struct counters_list *list)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < list->n; i++)
		ns += list->figures[i].counters.active_ns;
	return ns;
}

/*
 * Inside a PID namespace the iterator shows its own threads alone. What the others have run is
 * known from the CPUs: it is in the sums, as that of one.
 */
static void add_unseen(struct counters *counters)
{
	uint64_t seen = active_of(&counters->dead) + active_of(&counters->alive) +
			counters->unlisted.active_ns + counters->idle.active_ns;
	struct thread_counters unseen = {0};

	for (unsigned i = 0; i < counters->ncpus; i++)
		unseen.active_ns += counters->cpus[i].counters.ns[CPU_THREAD];
	if (unseen.active_ns <= seen)
		return;
	unseen.active_ns -= seen;
	counters_add(&counters->idle, &unseen);
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
		if ((f->counters.use == THREAD_NONE && !f->counters.entered) ||
		    f->clock <= counters->t0)
			continue;
		counters_settle(f, counters->t0, counters->t1);
		if (busy(f) && kept < COUNTERS_LISTED_MAX)
			list->figures[kept++] = *f;
		else
			counters_add(&counters->idle, &f->counters);
	}
	list->n = kept;
	if (sees_some(counters))
		add_unseen(counters);
}

int counters_read(struct counters *counters)
{
	int err = look_at_all(counters);

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

/* Of dead threads that found no room on their CPU. */
static int read_sums(const struct counters *counters, struct thread_counters *all)
{
	size_t size = sizeof(struct thread_counters), possible = counters->links->npossible;
	int fd = bpf_map__fd(counters->links->skeleton->maps.dead_sums);
	uint8_t *sums = calloc(possible, size);
	__u32 zero = 0;
	int err = 0;

	*all = (struct thread_counters){0};
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
			counters_add(all, c);
	}
	free(sums);
	return err;
}

/* ---- the end ---- */

/* Who has died until now is in `dead` and not among the living; in `sums` if it found no room. */
static int read_dead(struct counters *counters, struct thread_counters *sums)
{
	int err = counters_fetch(counters);

	if (!err)
		err = leave_out_dead(counters);
	return err ? err : read_sums(counters, sums);
}

/* How much longer the CPUs ran threads than all threads together that we know of. */
static int find_missing(struct counters *counters, uint64_t *ns)
{
	struct thread_counters sums;
	uint64_t known, ran = 0;
	int err = read_dead(counters, &sums);

	if (err)
		return err;
	known = active_of(&counters->dead) + counters->unlisted.active_ns + sums.active_ns;
	for (size_t i = 0; i < counters->alive.n; i++) {
		struct thread_figures f = counters->alive.figures[i];

		if (f.clock > counters->t1)
			f.clock = counters->t1;
		counters_settle(&f, counters->t0, counters->t1);
		known += f.counters.active_ns;
	}
	for (unsigned i = 0; i < counters->ncpus; i++)
		ran += counters->cpus[i].counters.ns[CPU_THREAD];
	*ns = ran > known ? ran - known : 0;
	return 0;
}

int counters_look(struct counters *counters)
{
	static const struct timespec a_moment = {.tv_nsec = 1000000};
	int err = look_at_all(counters);
	uint64_t missing = 0;

	for (unsigned tries = 0; tries < DYING_TRIES && !err && !sees_some(counters); tries++) {
		err = find_missing(counters, &missing);
		if (err || !missing)
			break;
		nanosleep(&a_moment, NULL);
	}
	return err;
}

int counters_close(struct counters *counters)
{
	struct thread_counters sums;
	int err = read_dead(counters, &sums);

	if (err)
		return err;
	if (sums.threads)
		counters_add(&counters->unlisted, &sums);
	settle(counters);
	return 0;
}

void counters_free(struct counters *counters)
{
	free(counters->dead.figures);
	free(counters->alive.figures);
	free(counters->cpus);
	memset(counters, 0, sizeof(*counters));
}
