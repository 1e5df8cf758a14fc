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
#include "user/kernel/bpf_load.h"
#include "user/stats/summary_read.h"
#include "bpf/ovni.skel.h"
#include "trace/base/array.h"
#include "trace/base/log.h"

#define READ_TRIES  100 /* of a thread or a CPU whose times change constantly */
#define DYING_TRIES 100 /* ms for a thread between its exit and its last switch */

/* ---- one thread ---- */

/* Of a thread on a CPU: adds its time up to when it entered that CPU, as the program does at its
 * next switch (bpf/summary.bpf.c). */
static void add_before_entry(struct task_summary *s, uint64_t t0, uint64_t t1)
{
	uint64_t wake = s->wake, entered = s->entered;

	switch (s->use) {
	case TIME_RUNNING:
		return;
	case TIME_NONE:
		s->begin = entered;
		break;
	case TIME_RUNNABLE:
		s->times.runnable_ns += time_within(s->since, entered, t0, t1);
		if (s->reason == OFF_CPU_THROTTLED)
			s->times.throttled_ns += time_within(s->since, entered, t0, t1);
		break;
	case TIME_BLOCKED:
		if (wake && wake >= s->since) {
			s->times.runnable_ns += time_within(wake, entered, t0, t1);
			s->times.wakeups += wake > t0 && wake <= t1;
		} else {
			wake = entered;
		}
		s->times.blocked_ns[s->reason % OFF_CPU_COUNT] +=
			time_within(s->since, wake, t0, t1);
		break;
	default:
		s->times.unknown_ns += time_within(s->since, entered, t0, t1);
	}
	s->times.migrations += s->cpu >= 0 && s->cpu != s->on && entered > t0 && entered <= t1;
	s->cpu = s->on;
	s->use = TIME_RUNNING;
	s->since = entered;
}

/* A thread that was born before the window, and has not entered a CPU since. */
static bool born_before(const struct task_summary *s, uint64_t t0)
{
	return s->use == TIME_NONE && s->since && s->since <= t0;
}

struct thread_stats summary_settle(const struct summary_thread *thread, uint64_t t0, uint64_t t1)
{
	struct task_summary s = thread->state;
	uint64_t clock = thread->clock < t1 ? thread->clock : t1, wake, ns;
	struct thread_stats line;

	if (born_before(&s, t0))
		s.use = TIME_RUNNABLE;
	if (s.entered)
		add_before_entry(&s, t0, t1);
	wake = s.wake ? s.wake : s.woken;
	ns = time_within(s.since, clock, t0, t1);
	switch (s.use) {
	case TIME_RUNNING:
		s.times.active_ns += ns;
		break;
	case TIME_RUNNABLE:
		s.times.runnable_ns += ns;
		if (s.reason == OFF_CPU_THROTTLED)
			s.times.throttled_ns += ns;
		break;
	case TIME_BLOCKED:
		if (wake && wake >= s.since && wake <= clock) {
			s.times.runnable_ns += time_within(wake, clock, t0, t1);
			s.times.wakeups += wake > t0;
			ns = time_within(s.since, wake, t0, t1);
		}
		s.times.blocked_ns[s.reason % OFF_CPU_COUNT] += ns;
		break;
	case TIME_UNKNOWN:
		if (s.traced)
			s.times.unknown_ns += ns;
		else /* it has ended when it was no longer traced */
			clock = s.since < t1 ? s.since : t1;
		break;
	default:
		break;
	}
	line = (struct thread_stats){
		.pid = s.pid,
		.tid = s.tid,
		.alive = s.use != TIME_DEAD,
		.begin = s.begin > t0 ? s.begin : t0,
		.end = clock,
		.times = s.times,
	};
	memcpy(line.comm, s.comm, sizeof(line.comm));
	return line;
}

/* ---- the dead ---- */

static int note_id(struct summary *summary, uint32_t id)
{
	uint32_t *dead = ARRAY_ADD(summary->dead_ids, summary->ndead_ids);

	if (!dead)
		return log_no_memory("for the times of threads that have ended");
	*dead = id;
	return 0;
}

static void handle_dead(struct summary *summary, const struct task_summary *state)
{
	struct summary_thread thread = {.clock = state->since, .state = *state};
	struct thread_stats line;

	thread.state.use = TIME_DEAD; /* also one that continues under another tid (exec) */
	thread.state.entered = 0;
	line = summary_settle(&thread, summary->t0, summary->t1);
	thread_times_add(&summary->dead_sums, &line.times);
	time_stats_add_ended(&summary->dead, &line, TIME_STATS_ENDED_MAX);
}

int summary_fetch(struct summary *summary)
{
	int fd = bpf_map__fd(summary->bpf->skeleton->maps.dead), err;
	struct task_summary state;

	while (!bpf_map_lookup_and_delete_elem(fd, NULL, &state)) {
		handle_dead(summary, &state);
		/* before the end, the next reading of the living comes later than this */
		err = state.use == TIME_DEAD && summary->t1 != UINT64_MAX
			      ? note_id(summary, state.id)
			      : 0;
		if (err)
			return err;
	}
	if (errno == ENOENT)
		return 0;
	log_error("cannot read the times of threads that have ended: %s", strerror(errno));
	return -errno;
}

/* ---- the living ---- */

/* Reads all live threads; how many of them changed during the copy into *unstable. */
static int read_threads(struct summary *summary, size_t *unstable)
{
	int fd = bpf_iter_create(bpf_link__fd(summary->bpf->iterator)), err = 0;
	struct summary_thread some[32];
	ssize_t n;

	*unstable = 0;
	summary->nalive = 0;
	if (fd < 0)
		return -errno;
	for (;;) {
		n = read(fd, some, sizeof(some)); /* whole ones only */
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			goto out;
		for (size_t i = 0; i < (size_t)n / sizeof(*some); i++) {
			struct summary_thread *alive = ARRAY_ADD(summary->alive, summary->nalive);

			err = alive ? 0 : -ENOMEM;
			if (err)
				goto out;
			*alive = some[i];
			*unstable += !some[i].clock;
		}
	}
out:
	close(fd);
	return err;
}

static int read_cpu(const struct summary *summary, struct summary_cpu *cpu)
{
	const struct cpu_summary *sums = &summary->bpf->cpu_summaries[cpu->cpu];
	uint32_t seq, tries = 0;

	do {
		if (tries++ == READ_TRIES)
			return -EAGAIN;
		seq = __atomic_load_n(&sums->seq, __ATOMIC_ACQUIRE);
		cpu->sums = *(const volatile struct cpu_summary *)sums;
		cpu->clock = clock_now();
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (seq & 1 || seq != __atomic_load_n(&sums->seq, __ATOMIC_RELAXED));
	if (cpu->clock > summary->t1)
		cpu->clock = summary->t1;
	cpu->sums.ns[cpu->sums.use % CPU_USES] +=
		time_within(cpu->sums.since, cpu->clock, summary->t0, summary->t1);
	return 0;
}

void summary_find_running(struct summary *summary, uint64_t then)
{
	for (size_t i = 0; i < summary->nalive; i++) {
		struct summary_thread *thread = &summary->alive[i];
		struct task_summary *s = &thread->state;

		for (unsigned k = 0; k < summary->ncpus && !s->entered; k++) {
			const struct summary_cpu *cpu = &summary->cpus[k];

			if (cpu->sums.task == thread->task && cpu->sums.entered >= s->since) {
				s->entered = cpu->sums.entered;
				s->on = (int32_t)cpu->cpu;
			}
		}
		if (!s->entered && thread->clock > then)
			thread->clock = s->since > then ? s->since : then;
	}
}

void summary_find_woken(struct summary *summary)
{
	for (size_t i = 0; i < summary->nalive; i++) {
		struct summary_thread *thread = &summary->alive[i];
		struct task_summary *s = &thread->state;
		uint64_t until = s->entered ? thread->last_arrival : 0;

		if (thread->last_queued)
			until = thread->last_queued;
		if (!until || !summary->sched_known)
			continue; /* it sleeps */
		s->wake = until + (uint64_t)summary->sched_offset - (thread->run_delay - s->delay);
		if ((int64_t)(s->wake - s->since) < 0)
			s->wake = s->since;
		if (s->entered && s->wake > s->entered)
			s->wake = s->entered;
	}
}

/* Reads the CPUs and the threads once. */
static int read_once(struct summary *summary, size_t *unstable)
{
	const struct ovni *kernel = summary->bpf->skeleton;
	uint64_t then = clock_now();
	int err;

	for (unsigned i = 0; i < summary->ncpus; i++) {
		err = read_cpu(summary, &summary->cpus[i]);
		if (err)
			return err;
	}
	err = read_threads(summary, unstable);
	if (err || !summary->bpf->lazy_summary)
		return err;
	summary->sched_offset = *(const volatile __s64 *)&kernel->data->sched_offset;
	summary->sched_known = *(const volatile __u64 *)&kernel->bss->sched_offset_clock != 0;
	summary_find_running(summary, then);
	summary_find_woken(summary);
	return 0;
}

/* Reads until no thread changes during the copy. */
static int read_all(struct summary *summary)
{
	size_t unstable = 1;
	int err = 0;

	summary->ndead_ids = 0;
	for (unsigned tries = 0; unstable; tries++) {
		err = tries == READ_TRIES ? -EAGAIN : read_once(summary, &unstable);
		if (err) {
			log_error("cannot read the times of the threads: %s", strerror(-err));
			return err;
		}
	}
	return 0;
}

/* ---- the sums ---- */

/* Inside a PID namespace the iterator lists its own threads only. */
static bool sees_some(const struct summary *summary)
{
	const struct ovni__rodata *rodata = summary->bpf->skeleton->rodata;

	return rodata->settings.all && rodata->settings.pid_namespace;
}

static uint64_t listed_active(const struct time_stats *stats)
{
	uint64_t ns = stats->unlisted.active_ns;

	for (size_t i = 0; i < stats->nthreads; i++)
		ns += stats->threads[i].times.active_ns;
	return ns;
}

static uint64_t cpus_active(const struct summary *summary)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < summary->ncpus; i++)
		ns += summary->cpus[i].sums.ns[CPU_THREAD];
	return ns;
}

/* Adds live threads and CPUs to the lines of the dead. */
static int add_living(const struct summary *summary, struct time_stats *stats)
{
	struct thread_times unseen = {0};
	struct thread_stats line;
	uint64_t known;

	stats->cpus = calloc(summary->ncpus + 1, sizeof(*stats->cpus));
	if (!stats->cpus)
		return log_no_memory("for the times of the CPUs");
	for (unsigned i = 0; i < summary->ncpus; i++) {
		const struct summary_cpu *cpu = &summary->cpus[i];

		stats->cpus[i] = (struct cpu_stats){
			.cpu = cpu->cpu, .end = cpu->clock, .switches = cpu->sums.switches};
		memcpy(stats->cpus[i].ns, cpu->sums.ns, sizeof(stats->cpus[i].ns));
	}
	stats->ncpus = summary->ncpus;
	for (size_t i = 0; i < summary->nalive; i++) {
		const struct summary_thread *thread = &summary->alive[i];

		if ((thread->state.use == TIME_NONE && !thread->state.entered &&
		     !born_before(&thread->state, summary->t0)) ||
		    thread->clock <= summary->t0)
			continue;
		line = summary_settle(thread, summary->t0, summary->t1);
		time_stats_add(stats, &line);
	}
	if (!sees_some(summary))
		return 0;
	/* The CPUs know how long the threads ran that the iterator does not list. */
	known = listed_active(stats);
	unseen.active_ns = cpus_active(summary);
	if (unseen.active_ns <= known)
		return 0;
	unseen.active_ns -= known;
	thread_times_add(&stats->unlisted, &unseen);
	return 0;
}

int summary_now(struct summary *summary, struct time_stats *stats)
{
	int err = read_all(summary);

	*stats = (struct time_stats){.t0 = summary->t0, .unlisted = summary->dead_sums};
	return err ? err : add_living(summary, stats);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Removes threads from the living that have died since they were read. */
static void remove_dead(struct summary *summary)
{
	size_t kept = 0;

	if (!summary->ndead_ids)
		return;
	qsort(summary->dead_ids, summary->ndead_ids, sizeof(*summary->dead_ids), by_number);
	for (size_t i = 0; i < summary->nalive; i++)
		if (!bsearch(&summary->alive[i].state.id, summary->dead_ids, summary->ndead_ids,
			     sizeof(*summary->dead_ids), by_number))
			summary->alive[kept++] = summary->alive[i];
	summary->nalive = kept;
}

/* The sums of dead threads that found no space in the queue. */
static int read_dead_sums(const struct summary *summary, struct thread_times *all)
{
	size_t size = sizeof(struct thread_times), possible = summary->bpf->npossible;
	int fd = bpf_map__fd(summary->bpf->skeleton->maps.dead_sums), err = 0;
	struct thread_times *sums = calloc(possible, size);
	__u32 zero = 0;

	*all = (struct thread_times){0};
	if (!sums)
		return log_no_memory("for the times of threads that have ended");
	if (bpf_map_lookup_elem(fd, &zero, sums)) {
		err = -errno;
		log_error("cannot read the times of threads that have ended: %s", strerror(-err));
		goto out;
	}
	for (size_t cpu = 0; cpu < possible; cpu++)
		if (sums[cpu].threads)
			thread_times_add(all, &sums[cpu]);
out:
	free(sums);
	return err;
}

/* Reads the threads that have died since the last call, and into *sums the sums of the threads that
 * were not queued. */
static int read_dead(struct summary *summary, struct thread_times *sums)
{
	int err = summary_fetch(summary);

	if (err)
		return err;
	remove_dead(summary);
	return read_dead_sums(summary, sums);
}

/* How much longer the CPUs ran traced threads than all known threads together, ns. */
static int find_missing(struct summary *summary, uint64_t *ns)
{
	struct thread_times sums;
	uint64_t known, ran;
	int err = read_dead(summary, &sums);

	if (err)
		return err;
	known = summary->dead_sums.active_ns + sums.active_ns;
	for (size_t i = 0; i < summary->nalive; i++)
		known += summary_settle(&summary->alive[i], summary->t0, summary->t1)
				 .times.active_ns;
	ran = cpus_active(summary);
	*ns = ran > known ? ran - known : 0;
	return 0;
}

int summary_stop(struct summary *summary, uint64_t t1)
{
	static const struct timespec one_ms = {.tv_nsec = 1000000};
	uint64_t missing = 1;
	int err;

	summary->t1 = t1;
	err = read_all(summary);
	if (err || sees_some(summary))
		return err;
	for (unsigned tries = 0; tries < DYING_TRIES && missing; tries++) {
		if (tries)
			nanosleep(&one_ms, NULL);
		err = find_missing(summary, &missing);
		if (err)
			return err;
	}
	return 0;
}

int summary_end(struct summary *summary, struct time_stats *stats)
{
	struct thread_times sums;
	int err = read_dead(summary, &sums);

	*stats = (struct time_stats){0};
	if (err)
		return err;
	*stats = summary->dead;
	stats->t0 = summary->t0;
	summary->dead = (struct time_stats){0};
	if (sums.threads)
		thread_times_add(&stats->unlisted, &sums);
	return add_living(summary, stats);
}

int summary_open(struct summary *summary, const struct bpf_load *bpf, uint64_t t0,
		 const unsigned *cpus, unsigned ncpus)
{
	*summary = (struct summary){.bpf = bpf, .t0 = t0, .t1 = UINT64_MAX};
	summary->cpus = calloc(ncpus + 1, sizeof(*summary->cpus));
	if (!summary->cpus)
		return log_no_memory("for the times of the CPUs");
	summary->ncpus = ncpus;
	for (unsigned i = 0; i < ncpus; i++)
		summary->cpus[i].cpu = cpus[i];
	if (sees_some(summary))
		log_warn("inside a PID namespace the kernel lists only the threads of that "
			 "namespace: all others are one sum (run ovni-bpf outside of it)");
	return 0;
}

void summary_free(struct summary *summary)
{
	time_stats_free(&summary->dead);
	free(summary->dead_ids);
	free(summary->alive);
	free(summary->cpus);
	memset(summary, 0, sizeof(*summary));
}
