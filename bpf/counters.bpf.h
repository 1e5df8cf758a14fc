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

#include "compat.bpf.h"

/*
 * What is known of the session when a program is compiled: the usual ones have programs of their
 * own at switches, which are shorter by what they need not ask, and that counts (ebpf.md 5). With
 * `fixed` the rest is as in struct knobs, and what is not here is 0.
 */
struct shape {
	bool fixed;
	bool all, narrow, cgroup, cpu_list, interrupts, rings, queued, deferred;
};
#define KNOB(shape, knob) ((shape).fixed ? (shape).knob : knobs.knob)

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
		if (why < OFF_CPU_COUNT)
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

/*
 * CLOCK_MONOTONIC - the scheduler's clock, ns, looked at again where `prev` has just fallen asleep.
 * At such a switch the scheduler has read its clock shortly before; after a wake-up that preempts
 * it does not read it again. What lies between is in the difference, so the least one is taken, and
 * grows with time, faster than the clocks drift apart. One far from it (a clock was slewed) is
 * believed.
 */
static __noinline __attribute__((unused)) int counters_tune(struct task_struct *prev, __u64 clock)
{
	__s64 pair = clock - kernel_sched_clock(prev);
	__s64 since = clock - sched_offset_clock; /* below 0: another CPU was faster */
	__s64 offset = sched_offset + (since > 0 ? since >> SCHED_CREEP : 0);

	if (!sched_offset_clock || offset > pair || pair - offset > SCHED_STALE_NS)
		offset = pair;
	*(volatile __s64 *)&sched_offset = offset;
	*(volatile __u64 *)&sched_offset_clock = clock;
	return 0;
}

/* Is it time for that? */
static __always_inline bool counters_untuned(__u64 clock)
{
	return unlikely((__s64)(clock - *(volatile __u64 *)&sched_offset_clock) > SCHED_TUNE_NS);
}

/* The clock of a wake-up, ns, as the scheduler tells it by its own: the task has been `queued`
 * since, and had waited before on other queues. Never before it fell asleep. */
static __always_inline __u64 counters_queued(const struct thread_counters *c,
					     struct task_struct *task, __u64 queued)
{
	__u64 wake =
		queued + *(volatile __s64 *)&sched_offset - (task->sched_info.run_delay - c->delay);

	return (__s64)(wake - c->since) < 0 ? c->since : wake;
}

/* Is a thread that is counted off the CPU, asleep as far as its counters know? */
static __always_inline bool counters_asleep(const struct thread_counters *c)
{
	return c->use == THREAD_BLOCKED && !c->entered;
}

/* When a thread that waits for a CPU was woken, ns; 0: it sleeps, or that is not known: what no
 * program has seen (where wakers are told) is not told from the queue alone, in any mode. */
static __always_inline __u64 counters_woken(struct task_struct *task,
					    const struct task_state *task_state)
{
	__u64 wake = *(const volatile __u64 *)&task_state->wake_clock;
	__u64 queued = task->sched_info.last_queued;

	if (wake || !knobs.queued || !queued || !sched_offset_clock ||
	    (knobs.interrupts && task_state->waker_tid == WAKER_UNKNOWN) ||
	    !counters_asleep(&task_state->counters))
		return wake;
	return counters_queued(&task_state->counters, task, queued);
}

/* Where a thread that is counted is, and how it came there. */
struct stay {
	__u64 entered, wake; /* as in thread_counters */
	__s32 on;
};

/*
 * Of one that leaves. With knobs.deferred its counters have not learnt when it came to this CPU, of
 * which the CPU's state knows, nor when it was woken: the scheduler has added up how long it
 * waited.
 */
static __always_inline struct stay counters_stay(struct cpu_state *state, __u32 cpu,
						 const struct thread_counters *c,
						 struct task_struct *task, bool deferred)
{
	struct stay s = {.entered = c->entered, .wake = c->wake, .on = c->on};

	if (!deferred)
		return s;
	if (state->task == (__u64)task && !s.entered) {
		s.on = cpu;
		s.entered = state->entered;
	}
	if (!s.entered || c->use != THREAD_BLOCKED)
		return s;
	s.wake = counters_queued(c, task, task->sched_info.last_arrival);
	if ((__s64)(s.wake - s.entered) > 0)
		s.wake = s.entered;
	return s;
}

/* With knobs.deferred: the counters of who runs on this CPU learn that, too. */
static __always_inline void counters_recall(struct cpu_state *state, __u32 cpu,
					    struct thread_counters *c, struct task_struct *task)
{
	struct stay s;

	if (!knobs.deferred)
		return;
	s = counters_stay(state, cpu, c, task, true);
	counters_open(&c->seq);
	c->entered = s.entered;
	c->wake = s.wake;
	c->on = s.on;
	counters_shut(&c->seq);
}

/* What it does from `clock` on. */
static __always_inline void counters_turn(bool queued, struct thread_counters *c,
					  struct task_struct *task, enum thread_use use,
					  __u64 clock)
{
	c->use = use;
	c->since = clock;
	c->entered = 0;
	if (queued)
		c->delay = task->sched_info.run_delay;
}

static __always_inline void counters_do(struct thread_counters *c, struct task_struct *task,
					enum thread_use use, __u64 clock)
{
	counters_turn(knobs.queued, c, task, use, clock);
}

/*
 * A thread leaves the CPU asleep or preempted, as nearly all do: it came from sleep or from a
 * queue, and nothing of that lies outside of the window. False: it is something else. The same as
 * the general way, which follows.
 */
static __always_inline bool counters_depart(const struct shape shape, struct window w,
					    struct thread_counters *c, struct stay s,
					    struct task_struct *task, __u16 why, __u64 clock)
{
	__u64 since = c->since, wake = since;
	enum thread_use use = THREAD_BLOCKED;

	if (unlikely(!s.entered || since <= w.begin || clock > w.end || c->cpu != s.on ||
		     why == OFF_CPU_YIELDED || why == OFF_CPU_DEAD ||
		     (c->use != THREAD_BLOCKED && c->use != THREAD_RUNNABLE)))
		return false;
	counters_open(&c->seq);
	c->active_ns += clock - s.entered;
	if (KNOB(shape, rings) && s.wake)
		c->events_seen++;
	if (likely(c->use == THREAD_BLOCKED)) {
		wake = s.wake;
		if (likely(wake >= since))
			c->wakeups++;
		else
			wake = s.entered;
		if (likely(c->why < OFF_CPU_COUNT))
			c->blocked_ns[c->why] += wake - since;
	}
	c->runnable_ns += s.entered - wake;
	if (why == OFF_CPU_PREEMPTED) {
		use = THREAD_RUNNABLE;
		c->switches_preempted++;
	} else {
		c->why = why;
		c->switches_voluntary++;
	}
	counters_turn(KNOB(shape, queued), c, task, use, clock);
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
	if (likely(why != OFF_CPU_PREEMPTED && why != OFF_CPU_YIELDED && why != OFF_CPU_DEAD)) {
		c->why = why;
		c->switches_voluntary += counts;
	} else if (why == OFF_CPU_DEAD) {
		use = THREAD_DEAD;
	} else {
		use = THREAD_RUNNABLE;
		c->switches_preempted += counts;
		c->yields += counts && why == OFF_CPU_YIELDED;
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
	for (i = 0; i < OFF_CPU_COUNT; i++)
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
		c->why = OFF_CPU_UNKNOWN;
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
static __always_inline bool cost_timed(__u64 run)
{
	return unlikely(!((__u32)run * 0x9e3779b9u >> 26));
}

static __always_inline __u64 cost_begin(struct cpu_state *state, enum program_group group)
{
	return cost_timed(++state->runs[group]) ? bpf_ktime_get_ns() : 0;
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
