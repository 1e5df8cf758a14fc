/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * counters: where the time of each thread and of each CPU goes, kept in the kernel.
 *
 * In: the moves of threads, with the clocks of their records (or, when there are none, of their
 * own); out: sums in the storage of each task and in the state of each CPU. They are taken before
 * filters on kinds, sampling and losses, and after those on threads and CPUs, so that every mode
 * gives the same figures. User code sets the window [window_begin, window_end] before either moment
 * comes. Each change is between two steps of `seq`, so that a reader on another CPU never takes
 * half of one. Invariants, in the window, exact: a thread's active + runnable + blocked + unknown
 * is the length of its life; a CPU's four uses add up to the window; the threads' active are the
 * CPUs' CPU_THREAD. Specification: loom.md 12.
 */
#ifndef BPF_COUNTERS_H
#define BPF_COUNTERS_H

#include "maps.bpf.h"

static __always_inline void counters_open(__u32 *seq)
{
	*(volatile __u32 *)seq = *seq + 1;
	barrier();
}

static __always_inline void counters_shut(__u32 *seq)
{
	barrier();
	*(volatile __u32 *)seq = *seq + 1;
}

struct window {
	__u64 begin, end; /* ns */
};

/* Read once by each run of a program. */
static __always_inline struct window counters_window(void)
{
	struct window w = {.begin = *(volatile __u64 *)&window_begin,
			   .end = *(volatile __u64 *)&window_end};

	return w;
}

/* How much of [from, to] lies in the window, ns. */
static __always_inline __u64 counters_within(struct window w, __u64 from, __u64 to)
{
	if (from < w.begin)
		from = w.begin;
	if (unlikely(to > w.end))
		to = w.end;
	return to > from ? to - from : 0;
}

static __always_inline bool counters_counts(struct window w, __u64 clock)
{
	return clock > w.begin && clock <= w.end;
}

/* The CPU does something else from `clock` on. */
static __always_inline void counters_cpu(struct window w, struct cpu_state *state, enum cpu_use use,
					 __u64 clock)
{
	struct cpu_counters *c = &state->counters;
	__u32 was = c->use;

	counters_open(&c->seq);
	if (was < CPU_USES)
		c->ns[was] += counters_within(w, c->since, clock);
	c->use = use;
	c->since = clock;
	counters_shut(&c->seq);
}

/* Is the thread counted as running on this CPU? */
static __always_inline bool counters_on(const struct thread_counters *c, __u32 cpu)
{
	return c->use == THREAD_RUNNING && (__u32)c->cpu == cpu;
}

/* A thread that is counted leaves the CPU, for this reason. */
static __always_inline void counters_leave(struct window w, struct thread_counters *c, __u16 why,
					   __u64 clock)
{
	bool counts = counters_counts(w, clock);
	__u64 ns = counters_within(w, c->since, clock);

	counters_open(&c->seq);
	if (likely(c->use == THREAD_RUNNING))
		c->active_ns += ns;
	else if (c->use == THREAD_NONE) /* it was not counted when it came */
		c->begin = clock;
	else
		c->unknown_ns += ns;
	if (why == WHY_PREEMPTED || why == WHY_YIELDED) {
		c->use = THREAD_RUNNABLE;
		c->switches_preempted += counts;
		c->yields += counts && why == WHY_YIELDED;
	} else if (why == WHY_DEAD) {
		c->use = THREAD_DEAD;
	} else {
		c->use = THREAD_BLOCKED;
		c->why = why;
		c->switches_voluntary += counts;
	}
	if (unlikely(clock <= w.begin))
		c->cpu = -1; /* as if it had never run: the streams do not know it either */
	c->since = clock;
	counters_shut(&c->seq);
}

/* The time off the CPU up to `clock`, of a thread that was woken at `wake` (0: not seen to be). */
static __always_inline void counters_wait(struct window w, struct thread_counters *c, __u64 wake,
					  __u64 clock)
{
	bool woken = wake && wake >= c->since;
	__u64 asleep = counters_within(w, c->since, woken ? wake : clock), why = c->why;

	switch (c->use) {
	case THREAD_NONE:
		c->begin = clock;
		break;
	case THREAD_RUNNABLE:
		c->runnable_ns += counters_within(w, c->since, clock);
		break;
	case THREAD_BLOCKED:
		if (why < WHY_KINDS)
			c->blocked_ns[why] += asleep;
		if (woken) {
			c->runnable_ns += counters_within(w, wake, clock);
			c->wakeups += counters_counts(w, wake);
		}
		break;
	default: /* a move that was not seen */
		c->unknown_ns += counters_within(w, c->since, clock);
	}
}

/* A thread that is counted gets this CPU. */
static __always_inline void counters_enter(struct window w, struct thread_counters *c, __u32 cpu,
					   __u64 wake, __u64 clock)
{
	counters_open(&c->seq);
	counters_wait(w, c, wake, clock);
	c->use = THREAD_RUNNING;
	c->migrations += c->cpu >= 0 && (__u32)c->cpu != cpu && counters_counts(w, clock);
	c->cpu = cpu;
	c->since = clock;
	counters_shut(&c->seq);
}

/* A thread that runs, and goes on running: up to `clock`. */
static __always_inline void counters_charge(struct window w, struct thread_counters *c, __u64 clock)
{
	counters_open(&c->seq);
	if (c->use == THREAD_RUNNING)
		c->active_ns += counters_within(w, c->since, clock);
	c->since = clock;
	counters_shut(&c->seq);
}

/*
 * It is no longer wanted, or was seen on a CPU that is not recorded (-C): what it does is not
 * known, and was not since it left its CPU.
 */
static __always_inline void counters_lose(struct window w, struct thread_counters *c, __u64 clock)
{
	__u64 ns = counters_within(w, c->since, clock);

	counters_open(&c->seq);
	if (c->use == THREAD_RUNNING)
		c->active_ns += ns;
	else if (c->use == THREAD_NONE)
		c->begin = clock;
	else
		c->unknown_ns += ns;
	c->use = THREAD_UNKNOWN;
	c->since = clock;
	counters_shut(&c->seq);
}

/* The sums of what has been counted, for threads that are no more. */
static __always_inline void counters_add(struct thread_counters *to,
					 const struct thread_counters *c)
{
	int i;

	to->active_ns += c->active_ns;
	to->runnable_ns += c->runnable_ns;
	to->unknown_ns += c->unknown_ns;
	for (i = 0; i < WHY_KINDS; i++)
		to->blocked_ns[i] += c->blocked_ns[i];
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
	to->threads++;
}

/*
 * The figures of a thread that ends at `clock` go to user code, which fetches them every now and
 * then. Many deaths in between find no room: then they are in the sums alone, of this CPU.
 */
static __noinline __attribute__((unused)) int
counters_bury(struct task_struct *task, struct task_state *task_state, __u64 clock)
{
	struct thread_figures figures = {};
	struct thread_counters *sums;
	__u32 zero = 0;

	if (clock <= *(volatile __u64 *)&window_begin)
		return 0;
	figures.id = task_state->own_id;
	figures.clock = clock;
	__builtin_memcpy(&figures.counters, &task_state->counters, sizeof(figures.counters));
	bpf_probe_read_kernel_str(figures.comm, sizeof(figures.comm), task->comm);
	if (!bpf_map_push_elem(&dead, &figures, 0))
		return 0;
	sums = bpf_map_lookup_elem(&dead_sums, &zero);
	if (sums)
		counters_add(sums, &task_state->counters);
	return 0;
}

/* The end of a task whose last switch is not counted: what was counted before must not go with it.
 */
static __noinline __attribute__((unused)) int counters_end(struct task_struct *task,
							   struct task_state *task_state)
{
	__u64 clock = bpf_ktime_get_ns();

	if (!task_state->own_id)
		return 0;
	if (task_state->wanted)
		counters_lose(counters_window(), &task_state->counters, clock);
	task_state->counters.use = THREAD_DEAD;
	counters_bury(task, task_state, clock);
	return 0;
}

/* Begins to count a task that has just become wanted; `use` is what it does at `clock`. */
static __always_inline void counters_begin(struct window w, struct thread_counters *c,
					   struct task_struct *task, enum thread_use use, __u16 why,
					   __s32 cpu, __u64 clock)
{
	counters_open(&c->seq);
	c->tid = task->pid;
	c->pid = task->tgid;
	c->cpu = cpu;
	if (c->use == THREAD_NONE) {
		c->begin = clock;
		c->since = clock;
		c->use = use;
		c->why = why;
	} else if (use == THREAD_RUNNING) { /* it was wanted before */
		c->unknown_ns += counters_within(w, c->since, clock);
		c->since = clock;
		c->use = use;
	}
	counters_shut(&c->seq);
}

/*
 * A thread that is not the leader and executes a program takes the leader's tid, and its stream:
 * what it was under the old one ends here. The caller has charged its time up to `clock`.
 */
static __always_inline void counters_renumber(struct task_struct *task,
					      struct task_state *task_state, __u64 clock)
{
	struct thread_counters *c = &task_state->counters;

	counters_bury(task, task_state, clock);
	counters_open(&c->seq);
	__builtin_memset(&c->active_ns, 0,
			 sizeof(*c) - __builtin_offsetof(struct thread_counters, active_ns));
	c->begin = clock;
	c->tid = task->pid;
	c->pid = task->tgid;
	counters_shut(&c->seq);
}

/* ---- what became of events, by the thread that made them ---- */

enum outcome { OUTCOME_SENT, OUTCOME_FILTERED, OUTCOME_SAMPLED, OUTCOME_FULL };

static __always_inline void counters_event(struct thread_counters *c, enum outcome outcome)
{
	if (!knobs.rings)
		return;
	c->events_seen++;
	c->events_filtered += outcome == OUTCOME_FILTERED;
	c->events_sampled += outcome == OUTCOME_SAMPLED;
	c->events_full += outcome == OUTCOME_FULL;
}

/* The same, of the task that is in this context, if it is counted. */
static __always_inline void counters_current(enum outcome outcome)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *task_state = bpf_task_storage_get(&tasks, task, 0, 0);

	if (task_state && task_state->wanted)
		counters_event(&task_state->counters, outcome);
}

/* ---- what our programs cost ---- */

/* A run begins. Returns the clock if it is to be timed, else 0. */
static __always_inline __u64 cost_begin(struct cpu_state *state, enum program_group group)
{
	struct program_cost *cost = &state->costs[group];

	if (likely(cost->runs++ != cost->next))
		return 0;
	return bpf_ktime_get_ns();
}

/* It ends. The next one to be timed is some 64 runs away, but not always as many: what alternates
 * must not be timed at every second turn. */
static __always_inline void cost_end(struct cpu_state *state, enum program_group group, __u64 begin)
{
	struct program_cost *cost = &state->costs[group];
	__u64 now;

	if (likely(!begin))
		return;
	now = bpf_ktime_get_ns();
	cost->timed_ns += now - begin;
	cost->timed_runs++;
	cost->next = cost->runs + 32 + (now >> 3) % 64;
}

#endif
