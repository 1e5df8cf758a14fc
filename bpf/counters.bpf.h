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

/* What the CPU does from `clock` on. */
static __always_inline void counters_cpu(struct window w, struct cpu_state *state, enum cpu_use use,
					 __u64 clock)
{
	struct cpu_counters *c = &state->counters;
	__u32 was = c->use;

	if (likely(was == use && c->since)) /* that goes on */
		return;
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
	return c->entered && (__u32)c->on == cpu;
}

/* A thread that runs: what it did till it entered its CPU is added to the sums. */
static __always_inline void counters_arrive(struct window w, struct thread_counters *c)
{
	__u64 entered = c->entered, since = c->since, wake;
	__u32 why = c->why;

	switch (c->use) {
	case THREAD_RUNNING: /* that was done before */
		return;
	case THREAD_NONE:
		c->begin = entered;
		break;
	case THREAD_RUNNABLE:
		c->runnable_ns += counters_within(w, since, entered);
		break;
	case THREAD_BLOCKED:
		wake = c->wake;
		if (wake >= since && wake) {
			c->runnable_ns += counters_within(w, wake, entered);
			c->wakeups += counters_counts(w, wake);
		} else {
			wake = entered;
		}
		if (why < WHY_KINDS)
			c->blocked_ns[why] += counters_within(w, since, wake);
		break;
	default: /* a move that was not seen */
		c->unknown_ns += counters_within(w, since, entered);
	}
	if (knobs.rings && c->wake)
		c->events_seen++;
	c->migrations += c->cpu >= 0 && c->cpu != c->on && counters_counts(w, entered);
	c->cpu = c->on;
	c->use = THREAD_RUNNING;
	c->since = entered;
}

/* What it does from `clock` on. */
static __always_inline void counters_do(struct thread_counters *c, struct task_struct *task,
					enum thread_use use, __u64 clock)
{
	c->use = use;
	c->since = clock;
	c->entered = 0;
	if (knobs.deferred)
		c->delay = task->sched_info.run_delay;
}

/*
 * A thread leaves the CPU asleep, as nearly all do: it came from sleep or from a queue, and nothing
 * of that lies outside of the window. False: it is something else. The same as the general way.
 */
static __always_inline bool counters_sleep(struct window w, struct thread_counters *c,
					   struct task_struct *task, __u16 why, __u64 clock)
{
	__u64 entered = c->entered, since = c->since, wake = since;

	if (unlikely(!entered || since <= w.begin || clock > w.end || c->cpu != c->on ||
		     why == WHY_PREEMPTED || why == WHY_YIELDED || why == WHY_DEAD ||
		     (c->use != THREAD_BLOCKED && c->use != THREAD_RUNNABLE)))
		return false;
	counters_open(&c->seq);
	if (likely(c->use == THREAD_BLOCKED)) {
		wake = c->wake;
		if (knobs.rings && wake)
			c->events_seen++;
		if (likely(wake >= since))
			c->wakeups++;
		else
			wake = entered;
		if (likely(c->why < WHY_KINDS))
			c->blocked_ns[c->why] += wake - since;
	}
	c->runnable_ns += entered - wake;
	c->active_ns += clock - entered;
	c->why = why;
	c->switches_voluntary++;
	counters_do(c, task, THREAD_BLOCKED, clock);
	counters_shut(&c->seq);
	return true;
}

/* A thread that is counted leaves the CPU, for this reason. */
static __always_inline void counters_leave(struct window w, struct thread_counters *c,
					   struct task_struct *task, __u16 why, __u64 clock)
{
	bool counts = counters_counts(w, clock);
	enum thread_use use = THREAD_BLOCKED;

	counters_open(&c->seq);
	if (likely(c->entered)) {
		counters_arrive(w, c);
		c->active_ns += counters_within(w, c->since, clock);
	} else if (c->use == THREAD_NONE) { /* it was not counted when it came */
		c->begin = clock;
	} else {
		c->unknown_ns += counters_within(w, c->since, clock);
	}
	if (likely(why != WHY_PREEMPTED && why != WHY_YIELDED && why != WHY_DEAD)) {
		c->why = why;
		c->switches_voluntary += counts;
	} else if (why == WHY_DEAD) {
		use = THREAD_DEAD;
	} else {
		use = THREAD_RUNNABLE;
		c->switches_preempted += counts;
		c->yields += counts && why == WHY_YIELDED;
	}
	if (unlikely(clock <= w.begin))
		c->cpu = -1; /* as if it had never run: the streams do not know it either */
	counters_do(c, task, use, clock);
	counters_shut(&c->seq);
}

/* It enters a CPU, and is on one: that it left it was not seen. */
static __noinline __attribute__((unused)) int counters_unseen(struct thread_counters *c,
							      struct task_struct *task, __u64 clock)
{
	const struct window w = counters_window();

	counters_arrive(w, c);
	c->unknown_ns += counters_within(w, c->since, clock);
	counters_do(c, task, THREAD_UNKNOWN, clock);
	return 0;
}

/* A thread that is counted gets this CPU, woken at `wake` (0: not seen to be). */
static __always_inline void counters_enter(struct thread_counters *c, struct task_struct *task,
					   __u32 cpu, __u64 wake, __u64 clock)
{
	counters_open(&c->seq);
	if (unlikely(c->entered))
		counters_unseen(c, task, clock);
	c->wake = wake;
	c->on = cpu;
	c->entered = clock;
	counters_shut(&c->seq);
}

/*
 * CLOCK_MONOTONIC - the scheduler's clock, ns. The latter is read before the former at each switch,
 * long before if somebody else had the machine in between: so the least difference of late is
 * taken.
 */
static __always_inline __s64 counters_offset(struct cpu_state *state, __s64 offset, __u64 clock)
{
	if (unlikely(!state->sched_offset_clock)) {
		state->sched_offset = offset;
		state->sched_offset_next = offset;
		state->sched_offset_clock = clock;
	}
	if (offset < state->sched_offset)
		state->sched_offset = offset;
	if (offset < state->sched_offset_next)
		state->sched_offset_next = offset;
	if (unlikely(clock - state->sched_offset_clock > SCHED_OFFSET_NS)) {
		state->sched_offset = state->sched_offset_next;
		state->sched_offset_next = offset;
		state->sched_offset_clock = clock;
	}
	return state->sched_offset;
}

/*
 * With knobs.deferred the counters of a thread do not learn at once when it came to this CPU, of
 * which the CPU's state knows, nor when it was woken: the scheduler has added up how long it
 * waited.
 */
static __always_inline void counters_recall(struct cpu_state *state, __u32 cpu,
					    struct thread_counters *c, struct task_struct *task)
{
	__u64 arrived, waited, wake;

	if (!knobs.deferred)
		return;
	if (state->task == (__u64)task && !c->entered) {
		c->on = cpu;
		c->entered = state->entered;
	}
	if (!c->entered || c->use == THREAD_RUNNING)
		return;
	arrived = task->sched_info.last_arrival;
	waited = task->sched_info.run_delay - c->delay;
	wake = arrived - waited + counters_offset(state, c->entered - arrived, c->entered);
	if ((__s64)(wake - c->since) < 0)
		wake = c->since;
	c->wake = (__s64)(wake - c->entered) < 0 ? wake : c->entered;
}

/* A thread that runs, and goes on running: up to `clock`. */
static __always_inline void counters_charge(struct window w, struct thread_counters *c, __u64 clock)
{
	counters_open(&c->seq);
	if (c->entered) {
		counters_arrive(w, c);
		c->active_ns += counters_within(w, c->since, clock);
		c->entered = clock;
	}
	c->since = clock;
	counters_shut(&c->seq);
}

/*
 * It is no longer wanted, or was seen on a CPU that is not recorded (-C): what it does is not
 * known, and was not since it left its CPU.
 */
static __always_inline void counters_lose(struct window w, struct thread_counters *c,
					  struct task_struct *task, __u64 clock)
{
	counters_open(&c->seq);
	if (c->entered) {
		counters_arrive(w, c);
		c->active_ns += counters_within(w, c->since, clock);
	} else if (c->use == THREAD_NONE) {
		c->begin = clock;
	} else {
		c->unknown_ns += counters_within(w, c->since, clock);
	}
	counters_do(c, task, THREAD_UNKNOWN, clock);
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
		counters_lose(counters_window(), &task_state->counters, task, clock);
	task_state->counters.use = THREAD_DEAD;
	counters_bury(task, task_state, clock);
	return 0;
}

/* Begins to count a task that has just become wanted; `use` is what it does at `clock`; with
 * THREAD_RUNNING it does so on `cpu`. */
static __always_inline void counters_begin(struct window w, struct thread_counters *c,
					   struct task_struct *task, enum thread_use use, __s32 cpu,
					   __u64 clock)
{
	counters_open(&c->seq);
	c->tid = task->pid;
	c->pid = task->tgid;
	c->cpu = cpu;
	if (c->use == THREAD_NONE) {
		c->begin = clock;
		c->why = WHY_UNKNOWN;
		counters_do(c, task, use, clock);
	} else if (use == THREAD_RUNNING) { /* it was wanted before */
		c->unknown_ns += counters_within(w, c->since, clock);
		counters_do(c, task, use, clock);
	}
	if (use == THREAD_RUNNING) {
		c->on = cpu;
		c->entered = clock;
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

/* Of one that is seen: a wake-up is so when its thread arrives. */
static __always_inline void counters_unsent(struct thread_counters *c, enum outcome outcome)
{
	if (!knobs.rings || likely(outcome == OUTCOME_SENT))
		return;
	c->events_filtered += outcome == OUTCOME_FILTERED;
	c->events_sampled += outcome == OUTCOME_SAMPLED;
	c->events_full += outcome == OUTCOME_FULL;
}

static __always_inline void counters_event(struct thread_counters *c, enum outcome outcome)
{
	if (knobs.rings)
		c->events_seen++;
	counters_unsent(c, outcome);
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

/* A run begins. Returns the clock if it is to be timed, else 0: one in 64 is, in steps of 34, 55
 * and 89 runs, since what alternates must not be timed at every second turn. */
static __always_inline __u64 cost_begin(struct cpu_state *state, enum program_group group)
{
	__u32 run = (__u32)++state->runs[group];

	if (likely(run * 0x9e3779b9u >> 26))
		return 0;
	return bpf_ktime_get_ns();
}

static __always_inline void cost_end(struct cpu_state *state, enum program_group group, __u64 begin)
{
	struct program_cost *cost = &state->costs[group];

	if (likely(!begin))
		return;
	cost->timed_ns += bpf_ktime_get_ns() - begin;
	cost->timed_runs++;
}

#endif
