// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * summary: adds up where the time of each thread and each CPU goes (--mode summary).
 *
 * No records: all sums stay in the kernel until user code reads them. Sums of a thread change when
 * it leaves its CPU. Two programs can be at switches: summary_switch, with programs at wake-ups
 * for the clocks of those; and summary_switch_lazy, when all threads are traced (-a without
 * filters): the state of the CPU remembers the thread that entered, the scheduler knows how long
 * that thread waited, and a switch touches only the thread that leaves.
 * User code sets the window before either end comes. summary.h has the invariants.
 * Specification: loom.md 12.
 */
#include "cost.bpf.h"
#include "sched_clock.bpf.h"
#include "summary.bpf.h"
#include "target.bpf.h"

struct cpu_summaries_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* possible CPUs; set before load */
	__type(key, __u32);
	__type(value, struct cpu_summary);
} cpu_summaries SEC(".maps");

/* Threads that have died, until user code takes them; by CPU, the sums of those without space. */
struct dead_map {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, DEAD_THREADS);
	__type(value, struct task_summary);
} dead SEC(".maps");

struct dead_sums_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_times);
} dead_sums SEC(".maps");

static __always_inline struct cpu_summary *this_cpu_summary(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpu_summaries, &cpu);
}

/* ---- times of a CPU ---- */

/* The use of the CPU from `clock` on. */
static __always_inline void cpu_uses(struct window w, struct cpu_summary *c, enum cpu_use use,
				     __u64 clock)
{
	__u32 was = c->use;
	__u64 ns;

	if (likely(was == use && c->since))
		return;
	sums_begin(&c->seq);
	ns = within(w, c->since, clock);
	barrier_var(was); /* Linux 6.1 forgets the comparison if it lies further from the access */
	if (was < CPU_USES)
		c->ns[was] += ns;
	c->use = use;
	c->since = clock;
	sums_end(&c->seq);
}

static __always_inline enum cpu_use use_of(const struct task_struct *task, bool traced)
{
	if (traced)
		return CPU_THREAD;
	return task->pid || !settings.all || settings.filters ? CPU_OTHER : CPU_IDLE;
}

/* ---- times of a thread ---- */

/* A thread on a CPU: adds its time up to when it entered that CPU. */
static __always_inline void add_before_entry(struct window w, struct task_summary *s)
{
	__u64 entered = s->entered, since = s->since, wake, ns;
	__u32 reason = s->reason, use = s->use;

	if (use == TIME_NONE && since && since <= w.begin)
		use = TIME_RUNNABLE; /* born before the window, with which its life begins */
	switch (use) {
	case TIME_RUNNING: /* done before */
		return;
	case TIME_NONE:
		s->begin = entered;
		break;
	case TIME_RUNNABLE:
		s->times.runnable_ns += within(w, since, entered);
		if (unlikely(reason == OFF_CPU_THROTTLED))
			s->times.throttled_ns += within(w, since, entered);
		break;
	case TIME_BLOCKED:
		wake = s->wake;
		if (wake >= since && wake) {
			s->times.runnable_ns += within(w, wake, entered);
			s->times.wakeups += in_window(w, wake);
		} else {
			wake = entered;
		}
		ns = within(w, since, wake);
		barrier_var(ns);     /* computed here, or it comes between */
		barrier_var(reason); /* as in cpu_uses() */
		if (reason < OFF_CPU_COUNT)
			s->times.blocked_ns[reason] += ns;
		break;
	default: /* a switch that was not seen */
		s->times.unknown_ns += within(w, since, entered);
	}
	s->times.migrations += s->cpu >= 0 && s->cpu != s->on && in_window(w, entered);
	s->cpu = s->on;
	s->use = TIME_RUNNING;
	s->since = entered;
}

/* The thread does `use` from `clock` on. */
static __always_inline void set_use(struct task_summary *s, struct task_struct *task,
				    enum time_state use, __u64 clock)
{
	s->use = use;
	s->since = clock;
	s->entered = 0;
	if (settings.wakeup_from_sched_info)
		s->delay = task->sched_info.run_delay;
}

/* Adds the time up to `clock` of a thread that runs, or whose state is not known. */
static __always_inline void add_until(struct window w, struct task_summary *s, __u64 clock)
{
	if (likely(s->entered)) {
		add_before_entry(w, s);
		s->times.active_ns += within(w, s->since, clock);
	} else if (s->use == TIME_NONE) { /* its entry was not seen */
		s->begin = clock;
	} else {
		s->times.unknown_ns += within(w, s->since, clock);
	}
}

/* A thread leaves its CPU for this reason. */
static __always_inline void thread_leaves(struct window w, struct task_summary *s,
					  struct task_struct *task, __u16 reason, __u64 clock)
{
	bool counts = in_window(w, clock);
	enum time_state use = TIME_BLOCKED;

	sums_begin(&s->seq);
	add_until(w, s, clock);
	s->reason = reason;
	if (reason == OFF_CPU_DEAD) {
		use = TIME_DEAD;
	} else if (falls_asleep(reason)) {
		s->times.switches_voluntary += counts;
	} else {
		use = TIME_RUNNABLE;
		s->times.switches_preempted += counts;
		s->times.yields += counts && reason == OFF_CPU_YIELDED;
	}
	if (unlikely(clock <= w.begin))
		s->cpu = -1; /* as if it had never run */
	set_use(s, task, use, clock);
	sums_end(&s->seq);
}

/* A thread on a CPU has left it unseen before `clock`. */
static __noinline int thread_left_unseen(struct task_summary *s, struct task_struct *task,
					 __u64 clock)
{
	const struct window w = read_window();

	add_before_entry(w, s);
	s->times.unknown_ns += within(w, s->since, clock);
	set_use(s, task, TIME_UNKNOWN, clock);
	return 0;
}

/* A thread enters this CPU, woken at `wake` (0: it was not). */
static __always_inline void thread_enters(struct task_summary *s, struct task_struct *task,
					  __u64 wake, __u64 clock)
{
	sums_begin(&s->seq);
	if (unlikely(s->entered))
		thread_left_unseen(s, task, clock);
	s->wake = wake;
	s->on = bpf_get_smp_processor_id();
	s->entered = clock;
	sums_end(&s->seq);
}

/* Adds the time of a running thread up to `clock`; the thread still runs. */
static __always_inline void account_running(struct window w, struct task_summary *s, __u64 clock)
{
	sums_begin(&s->seq);
	if (s->entered) {
		add_before_entry(w, s);
		s->times.active_ns += within(w, s->since, clock);
		s->entered = clock;
	}
	s->since = clock;
	sums_end(&s->seq);
}

/* Its state is not known from now on, and was not since it left its CPU: it is no longer traced, or
 * was seen on a CPU that is not recorded (-C). */
static __always_inline void mark_unknown(struct window w, struct task_summary *s,
					 struct task_struct *task, __u64 clock)
{
	sums_begin(&s->seq);
	add_until(w, s, clock);
	set_use(s, task, TIME_UNKNOWN, clock);
	sums_end(&s->seq);
}

/* ---- the life of a thread ---- */

static __always_inline void add_times(struct thread_times *to, const struct thread_times *t)
{
	int i;

	to->active_ns += t->active_ns;
	to->runnable_ns += t->runnable_ns;
	to->unknown_ns += t->unknown_ns;
	to->throttled_ns += t->throttled_ns;
	for (i = 0; i < OFF_CPU_COUNT; i++)
		to->blocked_ns[i] += t->blocked_ns[i];
	to->switches_voluntary += t->switches_voluntary;
	to->switches_preempted += t->switches_preempted;
	to->yields += t->yields;
	to->wakeups += t->wakeups;
	to->migrations += t->migrations;
	to->calls += t->calls;
	to->calls_ns += t->calls_ns;
	to->threads++;
}

/* Hands the times of a thread, complete up to its end at `since`, to user code. If too many wait
 * for that, they are added to the sums of this CPU. The queue copies them from the storage of the
 * thread: before Linux 6.13, all functions together have 512 bytes of stack. */
static __noinline int report_exit(struct task_struct *task, struct task_summary *s)
{
	struct thread_times *sums;
	__u32 zero = 0;

	if (s->since <= *(volatile __u64 *)&window_begin)
		return 0;
	bpf_probe_read_kernel_str(s->comm, sizeof(s->comm), task->comm);
	if (!bpf_map_push_elem(&dead, s, 0))
		return 0;
	sums = bpf_map_lookup_elem(&dead_sums, &zero);
	if (sums)
		add_times(sums, &s->times);
	return 0;
}

/* Ends a thread whose last switch is not counted. */
static __noinline int end_thread(struct task_struct *task, struct task_summary *s)
{
	__u64 clock = bpf_ktime_get_ns();

	if (s->traced)
		mark_unknown(read_window(), s, task, clock);
	s->use = TIME_DEAD;
	s->since = clock;
	report_exit(task, s);
	return 0;
}

/* A thread that is not the leader and calls exec() takes the leader's tid: its line under the old
 * one ends here. Its time up to `clock`, which is s->since, has been added. */
static __noinline int change_tid(struct task_struct *task, struct task_summary *s, __u64 clock)
{
	report_exit(task, s);
	sums_begin(&s->seq);
	__builtin_memset(&s->times, 0, sizeof(s->times));
	s->begin = clock;
	s->tid = task->pid;
	s->pid = task->tgid;
	sums_end(&s->seq);
	return 0;
}

static __always_inline bool tid_changed(const struct task_summary *s, struct task_struct *task)
{
	return unlikely(s->tid != (__u32)task->pid) && !(task->flags & PF_EXITING);
}

/*
 * Begins to add up times of a traced task: `use` holds from `clock` on. TIME_RUNNING is of the
 * current task. Otherwise nothing has been added yet, or the times stay as they are; user code does
 * not read a task without id.
 */
static __always_inline void begin_thread(struct task_struct *task, struct task_state *task_state,
					 enum time_state use, __u64 clock)
{
	struct task_summary *s =
		bpf_task_storage_get(&task_summaries, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!s)
		return;
	if (use == TIME_RUNNING) {
		sums_begin(&s->seq);
		if (s->use == TIME_NONE)
			s->begin = clock;
		else /* it was traced before */
			s->times.unknown_ns += within(read_window(), s->since, clock);
		set_use(s, task, use, clock);
		s->cpu = s->on = bpf_get_smp_processor_id();
		s->entered = clock;
		sums_end(&s->seq);
	} else if (s->use == TIME_NONE) {
		s->begin = clock;
		s->cpu = -1;
		set_use(s, task, use, clock);
	}
	s->tid = task->pid;
	s->pid = task->tgid;
	s->traced = 1;
	barrier();
	s->id = task_state->own_id;
}

/* Applies a change of task_state.traced to a task that is not the current one. If it is traced now,
 * its state is `use` from `clock` on. */
static __always_inline void follow_change(struct task_struct *task, struct task_state *task_state,
					  enum time_state use, __u64 clock)
{
	struct task_summary *s;

	if (task_state->traced) {
		begin_thread(task, task_state, use, clock);
		return;
	}
	s = summary_of(task);
	if (!s)
		return;
	mark_unknown(read_window(), s, task, bpf_ktime_get_ns());
	s->traced = 0;
}

/* ---- finding the tasks of a switch ---- */

static __noinline int find_new(struct task_struct *task)
{
	char comm[RECORD_COMM_SIZE] = {};
	struct task_state *task_state;

	if (bpf_task_storage_get(&tasks, task, 0, 0))
		return 0; /* known, and not traced */
	task_state = target_discover(task, comm);
	if (task_state)
		begin_thread(task, task_state, TIME_NONE, 0);
	return 0;
}

static __noinline int recheck_cgroup(struct task_struct *task)
{
	struct task_state *task_state = bpf_task_storage_get(&tasks, task, 0, 0);
	char comm[RECORD_COMM_SIZE] = {};

	if (task_state && target_recheck_cgroup(task, task_state, comm))
		follow_change(task, task_state, TIME_NONE, 0);
	return 0;
}

/* The times of a task that is switched out or in. With -a, begun at its first switch. NULL: the
 * idle task, or a task outside the target. */
static __always_inline struct task_summary *switched_task(struct task_struct *task)
{
	struct task_summary *s;

	if (unlikely(!task->pid) || (!settings.all && !task->bpf_storage))
		return NULL;
	s = summary_of(task);
	if (likely(s) || !settings.all)
		return s;
	find_new(task);
	return summary_of(task);
}

/* The task has left its CPU for the last time. */
static __noinline int task_gone(struct task_struct *task)
{
	struct task_state *task_state = bpf_task_storage_get(&tasks, task, 0, 0);

	if (task_state)
		target_gone(task_state);
	return 0;
}

/* ---- switches ---- */

/* A switch on a CPU that is not recorded (-C): the times of both are not known from here on. */
static __noinline int switch_elsewhere(struct task_struct *prev, struct task_summary *leaving,
				       struct task_struct *next, struct task_summary *entering,
				       bool dead)
{
	if (entering && entering->traced && entering->use > TIME_UNKNOWN)
		mark_unknown(read_window(), entering, next, bpf_ktime_get_ns());
	if (leaving && dead)
		end_thread(prev, leaving);
	return 0;
}

static __always_inline void on_switch(struct cpu_state *cpu, bool preempt, struct task_struct *prev,
				      struct task_struct *next, __u32 prev_state)
{
	__u16 reason = forget(off_cpu_reason(preempt, prev_state, prev), prev->tgid);
	struct task_summary *leaving, *entering;
	struct cpu_summary *sums = this_cpu_summary();
	bool leaves, enters;
	struct window w;
	__u64 clock;

	if (!sums)
		return;
	leaving = switched_task(prev);
	if (settings.cgroup && next->pid)
		recheck_cgroup(next);
	entering = switched_task(next);
	if (unlikely(reason == OFF_CPU_DEAD))
		task_gone(prev);
	if (cpu_left_out(cpu)) {
		switch_elsewhere(prev, leaving, next, entering, reason == OFF_CPU_DEAD);
		return;
	}
	leaves = leaving && leaving->traced;
	enters = entering && entering->traced;
	if (leaving && !leaves && reason == OFF_CPU_DEAD)
		end_thread(prev, leaving);
	if (!leaves && !enters && (!settings.all || settings.filters))
		return;
	w = read_window();
	clock = bpf_ktime_get_ns();
	if (unlikely(sums->use != use_of(prev, leaves)))
		sums->use = CPU_UNKNOWN; /* a switch was not seen */
	if (leaves) {
		if (unlikely(!leaving->entered || leaving->on != (__s32)bpf_get_smp_processor_id()))
			sums->use = CPU_UNKNOWN;
		thread_leaves(w, leaving, prev, reason, clock);
		if (unlikely(reason == OFF_CPU_DEAD))
			report_exit(prev, leaving);
		else if (tid_changed(leaving, prev))
			change_tid(prev, leaving, clock);
	}
	if (enters) {
		thread_enters(entering, next, entering->woken, clock);
		entering->woken = 0;
		if (settings.cpu_list && tid_changed(entering, next)) { /* changed elsewhere */
			account_running(w, entering, clock);
			change_tid(next, entering, clock);
		}
	}
	cpu_uses(w, sums, use_of(next, enters), clock);
	sums->switches += in_window(w, clock);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(summary_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	TIMED(PROGRAMS_SWITCH, on_switch, preempt, prev, next, prev_state);
}

/* 9c2136be0878 (5.18) added the argument prev_state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(summary_switch_5_17, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	TIMED(PROGRAMS_SWITCH, on_switch, preempt, prev, next, kernel_task_state(prev));
}

/* ---- wake-ups, for summary_switch ---- */

/* As in wakeup.bpf.c: a wake-up of a task on a CPU only keeps it from sleeping. */
static __always_inline void on_wakeup(struct cpu_state *cpu, struct task_struct *task, bool new)
{
	struct task_summary *s;

	cpu->events[EVENT_WAKE].seen++;
	s = settings.all || task->bpf_storage ? summary_of(task) : NULL;
	if (s && (new || !kernel_on_cpu(task)))
		s->woken = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(summary_wakeup, struct task_struct *task)
{
	TIMED(PROGRAMS_WAKE, on_wakeup, task, false);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(summary_wakeup_new, struct task_struct *task)
{
	TIMED(PROGRAMS_WAKE, on_wakeup, task, true);
}

/* ---- switches, lazily ---- */

/* For a task that runs on this CPU, notes in its times the clocks of its switch-in and of its
 * wake-up: the scheduler has added up its waiting time. */
static __always_inline void recall_entry(const struct cpu_summary *sums, struct task_summary *s,
					 struct task_struct *task)
{
	if (sums->task == (__u64)task && !s->entered) {
		s->on = bpf_get_smp_processor_id();
		s->entered = sums->entered;
	}
	if (!s->entered || s->use != TIME_BLOCKED)
		return;
	s->wake = wakeup_clock(task, task->sched_info.last_arrival, s->since, s->delay);
	if ((__s64)(s->wake - s->entered) > 0)
		s->wake = s->entered;
}

/*
 * The usual case of thread_leaves(): the thread was seen to enter, leaves asleep or preempted, came
 * from sleep or from a queue, no CPU quota stops or stopped it, and all of that is in the window.
 * False: another case.
 */
static __always_inline bool leaves_as_usual(struct window w, const struct cpu_summary *sums,
					    struct task_summary *s, struct task_struct *task,
					    __u16 reason, __u64 clock)
{
	__u64 since = s->since, wake = since, entered = sums->entered;
	__u32 was;

	if (unlikely(sums->task != (__u64)task || s->entered || since <= w.begin || clock > w.end ||
		     s->cpu != (__s32)bpf_get_smp_processor_id() || reason == OFF_CPU_YIELDED ||
		     reason == OFF_CPU_DEAD || reason == OFF_CPU_THROTTLED ||
		     s->reason == OFF_CPU_THROTTLED ||
		     (s->use != TIME_BLOCKED && s->use != TIME_RUNNABLE)))
		return false;
	sums_begin(&s->seq);
	s->times.active_ns += clock - entered;
	if (likely(s->use == TIME_BLOCKED)) {
		wake = wakeup_clock(task, task->sched_info.last_arrival, since, s->delay);
		if ((__s64)(wake - entered) > 0)
			wake = entered;
		s->times.wakeups++;
		was = s->reason;
		barrier_var(was); /* as in cpu_uses() */
		if (likely(was < OFF_CPU_COUNT))
			s->times.blocked_ns[was] += wake - since;
	}
	s->times.runnable_ns += entered - wake;
	if (reason == OFF_CPU_PREEMPTED) { /* keeps s->reason: only THROTTLED means anything then */
		s->use = TIME_RUNNABLE;
		s->times.switches_preempted++;
	} else {
		s->use = TIME_BLOCKED;
		s->reason = reason;
		s->times.switches_voluntary++;
	}
	s->since = clock;
	s->delay = task->sched_info.run_delay;
	sums_end(&s->seq);
	return true;
}

static __noinline int leaves_otherwise(const struct cpu_summary *sums, struct task_summary *s,
				       struct task_struct *task, __u16 reason, __u64 clock)
{
	recall_entry(sums, s, task);
	thread_leaves(read_window(), s, task, reason, clock);
	if (reason == OFF_CPU_DEAD)
		report_exit(task, s);
	return 0;
}

/* 6.2 */
extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;

/*
 * The thread that the CPU remembers has left it unseen: its time since it came is unknown. Without
 * the functions to find it (before 6.2) it seems to sleep on.
 */
static __noinline int left_unseen(struct cpu_summary *sums)
{
	struct task_struct *task;
	struct task_summary *s;

	if (!bpf_task_from_pid || !bpf_task_release)
		return 0;
	task = bpf_task_from_pid(sums->tid);
	if (!task)
		return 0;
	s = summary_of(task);
	if (s && (__u64)task == sums->task && !kernel_on_cpu(task) && s->since < sums->entered) {
		sums_begin(&s->seq);
		recall_entry(sums, s, task);
		thread_left_unseen(s, task, sums->entered);
		sums_end(&s->seq);
	}
	bpf_task_release(task);
	return 0;
}

static __always_inline void on_switch_lazy(struct cpu_state *cpu, bool preempt,
					   struct task_struct *prev, struct task_struct *next,
					   __u32 prev_state)
{
	/* Read first: fewer values are live across the rest. */
	__u16 reason = off_cpu_reason(preempt, prev_state, prev);
	struct cpu_summary *sums = this_cpu_summary();
	struct task_summary *leaving;
	struct window w;
	__u64 clock;

	if (!sums)
		return;
	leaving = switched_task(prev);
	clock = bpf_ktime_get_ns();
	w = read_window();
	if (falls_asleep(reason) && calibration_due(clock))
		calibrate(prev, clock);
	if (unlikely(sums->task != (__u64)prev)) /* a switch was not seen since the last one here */
		cpu_uses(w, sums, CPU_UNKNOWN, sums->entered);
	if (leaving) {
		if (unlikely(!leaves_as_usual(w, sums, leaving, prev, reason, clock)))
			leaves_otherwise(sums, leaving, prev, reason, clock);
		if (tid_changed(leaving, prev))
			change_tid(prev, leaving, clock);
	}
	if (unlikely(sums->task != (__u64)prev) && sums->tid)
		left_unseen(sums);
	sums_begin(&sums->seq);
	sums->task = (__u64)next;
	sums->tid = next->pid;
	sums->entered = clock;
	sums_end(&sums->seq);
	cpu_uses(w, sums, next->pid ? CPU_THREAD : CPU_IDLE, clock);
	sums->switches += in_window(w, clock);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(summary_switch_lazy, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	TIMED(PROGRAMS_SWITCH, on_switch_lazy, preempt, prev, next, prev_state);
}

/* ---- birth, exec, rename, death ---- */

static __always_inline void on_newtask(struct cpu_state *cpu, struct task_struct *task)
{
	struct task_struct *creator = bpf_get_current_task_btf();
	struct task_state *task_state, *parent;
	char comm[RECORD_COMM_SIZE] = {};

	cpu->events[EVENT_FORK].seen++;
	if (!task->pid)
		return;
	parent = bpf_task_storage_get(&tasks, creator, 0, 0);
	if (!target_inherited(creator, parent, task))
		return;
	task_state = target_add(task);
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	if (!task_state || !target_update(task, task_state, comm))
		return;
	begin_thread(task, task_state, kind_recorded(EVENT_SWITCH) ? TIME_NONE : TIME_UNKNOWN,
		     bpf_ktime_get_ns());
}

SEC("tp_btf/task_newtask")
int BPF_PROG(summary_newtask, struct task_struct *task)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, on_newtask, task);
}

/* The thread that runs here has a new name, and is traced or no longer traced because of it. */
static __always_inline void current_changed(struct cpu_state *cpu, struct task_struct *task,
					    struct task_state *task_state)
{
	struct cpu_summary *sums = this_cpu_summary();
	__u64 clock = bpf_ktime_get_ns();
	struct task_summary *s;

	if (!sums)
		return;
	if (task_state->traced) {
		begin_thread(task, task_state, TIME_RUNNING, clock);
	} else {
		s = summary_of(task);
		if (s) {
			mark_unknown(read_window(), s, task, clock);
			s->traced = 0;
		}
	}
	cpu_uses(read_window(), sums, task_state->traced ? CPU_THREAD : CPU_OTHER, clock);
}

/* The current thread has taken the tid of its leader (exec). */
static __always_inline void current_renumbered(struct task_struct *task)
{
	struct cpu_summary *sums = this_cpu_summary();
	struct task_summary *s = summary_of(task);
	__u64 clock;

	if (!sums || !s || !s->traced || task != bpf_get_current_task_btf() ||
	    !tid_changed(s, task))
		return;
	clock = bpf_ktime_get_ns();
	recall_entry(sums, s, task);
	account_running(read_window(), s, clock);
	change_tid(task, s, clock);
}

static __always_inline void on_rename(struct cpu_state *cpu, struct task_struct *task,
				      const char *name)
{
	struct task_state *task_state = task_state_of(task);
	char comm[RECORD_COMM_SIZE] = {};

	cpu->events[EVENT_RENAME].seen++;
	if (!task_state)
		return;
	bpf_probe_read_kernel_str(comm, sizeof(comm), name);
	if (!settings.use_comm || !target_update(task, task_state, comm))
		current_renumbered(task);
	else if (task == bpf_get_current_task_btf() && !cpu_left_out(cpu))
		current_changed(cpu, task, task_state);
	else
		follow_change(task, task_state, TIME_UNKNOWN, bpf_ktime_get_ns());
}

SEC("tp_btf/task_rename")
int BPF_PROG(summary_rename, struct task_struct *task, const char *name)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, on_rename, task, name);
}

static __always_inline void on_exec(struct cpu_state *cpu, struct task_struct *task)
{
	cpu->events[EVENT_EXEC].seen++;
	if (settings.all || task->bpf_storage)
		current_renumbered(task);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(summary_exec, struct task_struct *task)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, on_exec, task);
}

static __always_inline void on_exit(struct cpu_state *cpu, struct task_struct *task)
{
	struct task_summary *s;

	cpu->events[EVENT_EXIT].seen++;
	if (kind_recorded(EVENT_SWITCH) || (!settings.all && !task->bpf_storage))
		return;
	task_gone(task); /* its last switch is not seen */
	s = summary_of(task);
	if (s)
		end_thread(task, s);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(summary_exit, struct task_struct *task)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, on_exit, task);
}

/* ---- beginning and reading ---- */

/* Run by user code on each CPU when the window opens: the current task runs here. */
SEC("raw_tp")
int summary_snapshot(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_summary *sums = this_cpu_summary();
	struct cpu_state *cpu = this_cpu_state();
	struct window w = read_window();
	struct task_summary *s;
	bool traced;

	if (!sums || !cpu)
		return 0;
	cpu->snapshot_clock = bpf_ktime_get_ns();
	if (!kind_recorded(EVENT_SWITCH))
		return 1;
	sums_begin(&sums->seq);
	sums->task = (__u64)task;
	sums->tid = task->pid;
	sums->entered = cpu->snapshot_clock;
	sums_end(&sums->seq);
	s = task->pid ? summary_of(task) : NULL;
	traced = s && s->traced && !cpu_left_out(cpu);
	if (traced && !s->entered) {
		thread_enters(s, task, 0, cpu->snapshot_clock);
		account_running(w, s, cpu->snapshot_clock);
	}
	cpu_uses(w, sums, use_of(task, traced), cpu->snapshot_clock);
	return 1;
}

/* Marks the existing tasks of the target. One that runs is handled by the snapshot of its CPU. */
SEC("iter/task")
int summary_find_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	char comm[RECORD_COMM_SIZE] = {};
	struct task_state *task_state;
	enum time_state use;

	recorder = bpf_get_current_task_btf()->tgid; /* which reads this iterator */
	if (!task || task->exit_state || !target_named(task))
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	task_state = target_mark(task);
	if (!task_state)
		return 0;
	use = kernel_task_state(task) ? TIME_BLOCKED : TIME_RUNNABLE;
	if (!kind_recorded(EVENT_SWITCH))
		use = TIME_UNKNOWN;
	if (target_update(task, task_state, comm))
		begin_thread(task, task_state, use, 0);
	/* Its last switch may have come before it was marked. */
	if (task->exit_state || kernel_task_state(task) & STATE_DEAD)
		target_gone(task_state);
	return 0;
}

#define READ_TRIES 16

/* Copies the times of a thread, on whatever CPU it runs. Returns the clock at which they hold; 0:
 * they changed during each try. */
static __always_inline __u64 read_times(struct summary_thread *to, struct task_struct *task,
					struct task_summary *s)
{
	int i;

	for (i = 0; i < READ_TRIES; i++) {
		__u32 seq = *(volatile __u32 *)&s->seq;
		__u64 clock;

		barrier();
		__builtin_memcpy(&to->state, s, sizeof(to->state));
		if (settings.wakeup_from_sched_info) {
			to->run_delay = task->sched_info.run_delay;
			to->last_arrival = task->sched_info.last_arrival;
			to->last_queued = task->sched_info.last_queued;
		}
		barrier();
		clock = bpf_ktime_get_ns();
		if (!(seq & 1) && seq == *(volatile __u32 *)&s->seq)
			return clock;
	}
	return 0;
}

/* The times of all live threads. Those with the clock 0 must be read again. */
SEC("iter/task")
int summary_read(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct summary_thread thread = {};
	struct task_summary *s;

	if (!task)
		return 0;
	s = summary_of(task);
	if (!s || !s->id)
		return 0;
	thread.clock = read_times(&thread, task, s);
	if (thread.state.use == TIME_DEAD)
		return 0;
	thread.task = (__u64)task;
	bpf_probe_read_kernel_str(thread.state.comm, sizeof(thread.state.comm), task->comm);
	bpf_seq_write(ctx->meta->seq, &thread, sizeof(thread));
	return 0;
}
