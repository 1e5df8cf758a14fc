// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * sched: who leaves a CPU, who enters it, and who woke the one that enters.
 *
 * One record per switch, and what it means for the counters. A wake-up has none of its own: its
 * waker (sched_waking, in the context of the waker) waits in the storage of the task until the
 * switch that brings it in takes it along, and its clock is the one at which the scheduler put the
 * task on its queue, turned into ours there; or (knobs.queued not set) that of sched_wakeup, which
 * waits like the waker. All of this runs for every switch of the machine, so it asks first whether
 * anyone is wanted.
 * Specification: ebpf.md 8.1, 8.2.
 */
#include "counters.bpf.h"
#include "emit.bpf.h"
#include "target.bpf.h"
#include "task_record.bpf.h"

/*
 * A task of a system-wide session without storage was born where no program ran. The
 * storage is made here, if the kernel can do that under the scheduler's locks.
 */
static __noinline int first_sight(struct cpu_state *state, __u32 cpu, struct task_struct *task)
{
	struct task_state *task_state;
	char comm[RECORD_COMM_SIZE] = {};

	if (!kernel_can_make_storage_anywhere())
		return 0;
	task_state = target_add(task);
	if (!task_state)
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	if (target_update(task, task_state, comm)) {
		counters_begin(counters_window(), &task_state->counters, task, THREAD_NONE, -1, 0);
		task_sight(state, cpu, task, task_state, comm);
	}
	return 0;
}

/* The cgroup of a task may have changed while it was off the CPU. */
static __noinline int look_again(struct cpu_state *state, __u32 cpu, struct task_struct *task,
				 struct task_state *task_state)
{
	char comm[RECORD_COMM_SIZE] = {};

	if (task_state->css_set == target_css_set(task))
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	if (!target_update(task, task_state, comm))
		return 0;
	if (task_state->wanted)
		counters_begin(counters_window(), &task_state->counters, task, THREAD_NONE, -1, 0);
	task_sight(state, cpu, task, task_state, comm);
	return 0;
}

/* The storage of a task that takes part in a switch. The idle task has none. */
static __always_inline struct task_state *
switched(const struct shape shape, struct cpu_state *state, __u32 cpu, struct task_struct *task)
{
	struct task_state *task_state =
		KNOB(shape, all) ? bpf_task_storage_get(&tasks, task, 0, 0) : task_state_of(task);

	if (likely(task_state) || !KNOB(shape, all))
		return task_state;
	first_sight(state, cpu, task);
	return bpf_task_storage_get(&tasks, task, 0, 0);
}

/* A switch where nothing is recorded (-C): what the two do from here on is not known. */
static __noinline int switch_elsewhere(struct task_state *leaving, struct task_struct *next,
				       struct task_state *entering)
{
	/* Its coming may not have been seen. */
	if (leaving)
		leaving->elsewhere = 1;
	if (entering && entering->wanted && entering->counters.use > THREAD_UNKNOWN)
		counters_lose(counters_window(), &entering->counters, next, bpf_ktime_get_ns());
	return 0;
}

/* What is not the usual case. */
static __noinline int leave_otherwise(struct cpu_state *state, struct task_struct *task,
				      struct task_state *task_state, __u16 why, __u64 clock)
{
	struct thread_counters *c = &task_state->counters;

	counters_recall(state, bpf_get_smp_processor_id(), c, task);
	counters_leave(counters_window(), c, task, why, clock);
	if (why == OFF_CPU_DEAD)
		counters_bury(task, task_state, clock);
	return 0;
}

static __noinline int renumber(struct task_struct *task, struct task_state *task_state, __u64 clock)
{
	counters_renumber(task, task_state, clock);
	return 0;
}

static __noinline int count_unsent(struct thread_counters *c, enum outcome outcome)
{
	counters_unsent(c, outcome);
	return 0;
}

static __always_inline void count_leaving(const struct shape shape, struct cpu_state *state,
					  __u32 cpu, struct task_struct *task,
					  struct task_state *task_state, __u16 why,
					  enum outcome outcome, __u64 clock)
{
	struct thread_counters *c = &task_state->counters;
	struct stay stay = counters_stay(state, cpu, c, task, KNOB(shape, deferred));

	if (unlikely(!stay.entered || stay.on != (__s32)cpu))
		state->counters.use = CPU_UNKNOWN; /* there was a switch that was not seen */
	if (KNOB(shape, rings))
		c->events_seen++;
	if (KNOB(shape, rings) && unlikely(outcome != OUTCOME_SENT))
		count_unsent(c, outcome);
	if (unlikely(!counters_depart(shape, counters_window(), c, stay, task, why, clock)))
		leave_otherwise(state, task, task_state, why, clock);
	if (unlikely(c->tid != (__u32)task->pid) && !(task->flags & PF_EXITING))
		renumber(task, task_state, clock);
}

/* Elsewhere it could take another tid; else it does so where it is seen. */
static __noinline int count_elsewhere(struct task_struct *task, struct task_state *task_state,
				      __u64 clock)
{
	struct thread_counters *c = &task_state->counters;

	if (c->tid == (__u32)task->pid || task->flags & PF_EXITING)
		return 0;
	counters_charge(counters_window(), c, clock);
	return renumber(task, task_state, clock);
}

static __always_inline void count_entering(const struct shape shape, struct task_struct *task,
					   struct task_state *task_state, __u32 cpu, __u64 wake,
					   enum outcome outcome, __u64 clock)
{
	struct thread_counters *c = &task_state->counters;

	if (KNOB(shape, rings) && unlikely(outcome != OUTCOME_SENT) && wake)
		count_unsent(c, outcome);
	counters_enter(c, task, cpu, wake, clock);
	if (KNOB(shape, cpu_list))
		count_elsewhere(task, task_state, clock);
}

/* 6.2 */
extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;

/*
 * Whom the CPU's state shows has left it, and that was not seen: what it has done since it came is
 * not known. Without the functions to find it (before 6.2) it seems to sleep on.
 */
static __noinline int left_unseen(struct cpu_state *state, __u32 cpu)
{
	struct task_struct *task;
	struct task_state *task_state;

	if (!bpf_task_from_pid || !bpf_task_release)
		return 0;
	task = bpf_task_from_pid(state->tid);
	if (!task)
		return 0;
	task_state = bpf_task_storage_get(&tasks, task, 0, 0);
	if (task_state && (__u64)task == state->task && !task->on_cpu &&
	    task_state->counters.since < state->entered) {
		struct thread_counters *c = &task_state->counters;

		counters_recall(state, cpu, c, task);
		counters_open(&c->seq);
		counters_unseen(c, task, state->entered);
		counters_shut(&c->seq);
	}
	bpf_task_release(task);
	return 0;
}

/* With knobs.deferred: the CPU's state learns that `next` has come. */
static __always_inline void take_turns(struct cpu_state *state, __u32 cpu, struct task_struct *prev,
				       struct task_struct *next, __u64 clock)
{
	if (unlikely(state->task != (__u64)prev) && state->tid)
		left_unseen(state, cpu);
	counters_open(&state->counters.seq);
	state->task = (__u64)next;
	state->tid = next->pid;
	state->entered = clock;
	counters_shut(&state->counters.seq);
}

/* A task that leaves for this reason has fallen asleep. */
static __always_inline bool sleeps(__u16 why)
{
	return !off_cpu_runnable(why);
}

/* A switch that is not recorded: of others, or on a CPU that nothing is told of. */
static __always_inline int pass_over(struct cpu_state *state, struct task_struct *prev,
				     struct task_state *leaving, struct task_struct *next,
				     struct task_state *entering, bool dead, bool wakes)
{
	if (knobs.rings) {
		state->events[EVENT_SWITCH].filtered++;
		if (wakes)
			state->events[EVENT_WAKE].filtered++;
	}
	if (knobs.cpu_list && !state->recorded)
		switch_elsewhere(leaving, next, entering);
	if (dead && leaving)
		counters_end(prev, leaving);
	return 0;
}

static __always_inline int on_switch(const struct shape shape, struct cpu_state *state, __u32 cpu,
				     bool preempt, struct task_struct *prev,
				     struct task_struct *next, __u32 prev_state)
{
	const bool all = KNOB(shape, all) && !KNOB(shape, narrow);
	/* Of a summary it is asked at once: less is to be kept till later. */
	__u16 why = shape.deferred ? kernel_why(preempt, prev_state, prev) : OFF_CPU_UNKNOWN;
	const bool dead = shape.deferred ? unlikely(why == OFF_CPU_DEAD)
					 : unlikely(prev_state & STATE_DEAD) && !preempt;
	struct task_state *leaving = NULL, *entering = NULL;
	struct record_switch *record = NULL;
	enum outcome outcome = OUTCOME_SENT;
	enum cpu_use was, use;
	struct window w;
	__u32 leaves = 0, enters = 0; /* not 0: it is counted */
	bool elsewhere = false;
	__u64 wakes = 0; /* not 0: next was woken */
	__s32 waker_tid = 0;
	__u64 wake_clock = 0, clock;

	if (KNOB(shape, rings)) /* else the runs tell */
		state->events[EVENT_SWITCH].seen++;
	if (KNOB(shape, interrupts))
		state->interrupt = 0;
	if (likely(prev->pid)) {
		leaving = switched(shape, state, cpu, prev);
		if (likely(leaving)) {
			leaves = leaving->wanted;
			if (dead)
				target_gone(leaving);
		}
	}
	if (likely(next->pid) && !KNOB(shape, deferred)) {
		entering = switched(shape, state, cpu, next);
		if (likely(entering)) {
			if (KNOB(shape, cgroup))
				look_again(state, cpu, next, entering);
			enters = entering->wanted;
			wake_clock = entering->wake_clock;
			wakes = wake_clock;
			if (KNOB(shape, queued) && likely(!wakes) && enters &&
			    counters_asleep(&entering->counters) &&
			    (entering->waker_tid != WAKER_UNKNOWN || !KNOB(shape, interrupts)))
				wakes = next->sched_info.last_queued;
			if (wakes) {
				waker_tid = entering->waker_tid;
				entering->waker_tid = WAKER_UNKNOWN; /* of this wake-up alone */
				entering->wake_clock = 0;
				state->events[EVENT_WAKE].seen++;
			}
			if (KNOB(shape, cpu_list)) {
				elsewhere = entering->elsewhere;
				entering->elsewhere = !state->recorded;
			}
		}
	}

	/* Of all that sleeps the recorder is sure to be seen. */
	if (!all && KNOB(shape, queued) && unlikely((__u32)prev->tgid == recorder) && prev_state &&
	    !preempt)
		counters_tune(prev, bpf_ktime_get_ns());
	if ((!all && !leaves && !enters) || (KNOB(shape, cpu_list) && !state->recorded))
		return pass_over(state, prev, leaving, next, entering, dead, wakes);

	if (!shape.deferred)
		why = forget(kernel_why(preempt, prev_state, prev), prev->tgid);
	if (!KNOB(shape, rings)) {
		outcome = OUTCOME_FILTERED; /* as all is, which need not be counted */
	} else if (!shape.fixed && !kind_wanted(EVENT_SWITCH)) {
		outcome = OUTCOME_FILTERED;
		state->events[EVENT_SWITCH].filtered++;
		if (wakes)
			state->events[EVENT_WAKE].filtered++;
	} else if (!shape.fixed && knobs.sample_of > 1 && (leaves || enters) &&
		   !(leaving && leaving->id) && !(entering && entering->id)) {
		outcome = OUTCOME_SAMPLED;
		state->events[EVENT_SWITCH].sampled++;
		if (wakes)
			state->events[EVENT_WAKE].sampled++;
	} else {
		record = emit_begin(state, cpu, RECORD_SWITCH, EVENT_SWITCH, sizeof(*record));
		if (unlikely(!record)) {
			outcome = OUTCOME_FULL;
			if (wakes)
				emit_lost(state, EVENT_WAKE);
		}
	}
	clock = likely(record) ? record->head.clock : bpf_ktime_get_ns();
	if (KNOB(shape, queued) && counters_untuned(clock) && sleeps(why))
		counters_tune(prev, clock);
	if (KNOB(shape, queued) && wakes && likely(!wake_clock)) {
		wake_clock =
			counters_queued(&entering->counters, next, next->sched_info.last_queued);
		if (wake_clock > clock)
			wake_clock = clock;
	}
	if (likely(record)) {
		record->head.flags = elsewhere ? SWITCH_NEXT_ELSEWHERE : 0;
		record->head.why = why;
		record->head.id = leaving ? leaving->id : 0;
		record->prev_tid = prev->pid;
		record->prev_pid = prev->tgid;
		record->next_id = entering ? entering->id : 0;
		record->next_tid = next->pid;
		record->next_pid = next->tgid;
		record->waker_tid = waker_tid;
		record->wake_clock = wake_clock;
		emit_end(state);
	}
	was = leaves ? CPU_THREAD : prev->pid || !all ? CPU_OTHER : CPU_IDLE;
	if (unlikely(state->counters.use != was))
		state->counters.use = CPU_UNKNOWN; /* there was a switch that was not seen */
	if (leaving && leaves)
		count_leaving(shape, state, cpu, prev, leaving, why, outcome, clock);
	else if (dead && leaving)
		counters_end(prev, leaving);
	if (KNOB(shape, deferred))
		take_turns(state, cpu, prev, next, clock);
	if (entering && enters)
		count_entering(shape, next, entering, cpu, wake_clock, outcome, clock);
	w = counters_window(); /* read again rather than kept */
	use = enters || (KNOB(shape, deferred) && next->pid) ? CPU_THREAD
	      : next->pid || !all			     ? CPU_OTHER
							     : CPU_IDLE;
	counters_cpu(w, state, use, clock);
	state->counters.switches += counters_counts(w, clock);
	return 0;
}

static __always_inline int timed_switch(const struct shape shape, bool preempt,
					struct task_struct *prev, struct task_struct *next,
					__u32 prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = cpu_state(cpu);

	if (unlikely(!state))
		return 0;
	/* No other switch comes in between: what is remembered need not be kept on the stack. */
	if (cost_timed(++state->runs[PROGRAMS_SWITCH]))
		state->switch_begin = bpf_ktime_get_ns();
	on_switch(shape, state, cpu, preempt, prev, next, prev_state);
	if (cost_timed(state->runs[PROGRAMS_SWITCH]))
		cost_end(state, PROGRAMS_SWITCH, state->switch_begin);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	const struct shape any = {};

	return timed_switch(any, preempt, prev, next, prev_state);
}

/* -a, and all is recorded. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch_full, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	const struct shape full = {
		.fixed = true, .all = true, .interrupts = true, .rings = true, .queued = true};

	return timed_switch(full, preempt, prev, next, prev_state);
}

/* -a --mode summary */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch_summary, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	const struct shape summary = {.fixed = true, .all = true, .queued = true, .deferred = true};

	return timed_switch(summary, preempt, prev, next, prev_state);
}

/* 9c2136be0878 (5.18) added the argument prev_state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch_5_17, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	const struct shape any = {};

	return timed_switch(any, preempt, prev, next, kernel_task_state(prev));
}

/*
 * Whoever is interrupted is not the waker; nor is the idle task, which wakes no one itself. The
 * depth tells of handlers. What is done around them is told by the stack, or, in an interrupt of
 * user code, which needs no other stack, by there being no system call: ksoftirqd is woken there.
 */
static __always_inline __s32 waker_here(struct cpu_state *state, bool wakes_ksoftirqd)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!knobs.interrupts)
		return WAKER_UNKNOWN;
	if (state->interrupt || !task->pid || !kernel_on_own_stack(task))
		return WAKER_INTERRUPT;
	if (wakes_ksoftirqd && knobs.registers && !kernel_is_kthread(task) &&
	    kernel_system_call(task) == -1)
		return WAKER_INTERRUPT;
	return task->pid;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct cpu_state *state = cpu_state(bpf_get_smp_processor_id());
	struct task_state *wakee = task_state_of(task);
	__u64 begin;

	if (!state)
		return 0;
	begin = cost_begin(state, PROGRAMS_WAKE);
	if (wakee) {
		wakee->waker_tid = waker_here(state, wakee->softirqs);
		if (knobs.queued && unlikely(task->sched_info.last_queued) && !task->on_cpu)
			wakee->wake_clock = bpf_ktime_get_ns(); /* it counts as queued, asleep */
	}
	cost_end(state, PROGRAMS_WAKE, begin);
	return 0;
}

/*
 * A wake-up of a task on a CPU has kept it from sleeping, and means nothing: the lock that is held
 * here is the one of a switch, so on_cpu says exactly whether it is between its switches. One that
 * finds another before it, which has not taken effect, takes its place.
 */
static __always_inline void on_wakeup(struct cpu_state *state, struct task_struct *task, bool new)
{
	struct task_state *wakee = task_state_of(task);

	if (!wakee || (!new && task->on_cpu)) {
		state->events[EVENT_WAKE].seen++;
		state->events[EVENT_WAKE].filtered++;
		return;
	}
	if (wakee->wake_clock) {
		state->events[EVENT_WAKE].seen++;
		state->events[EVENT_WAKE].filtered++;
	}
	if (new) /* by its creator; no sched_waking comes before */
		wakee->waker_tid = waker_here(state, false);
	wakee->wake_clock = bpf_ktime_get_ns();
}

static __always_inline int timed_wakeup(struct task_struct *task, bool new)
{
	struct cpu_state *state = cpu_state(bpf_get_smp_processor_id());
	__u64 begin;

	if (!state)
		return 0;
	begin = cost_begin(state, PROGRAMS_WAKE);
	on_wakeup(state, task, new);
	cost_end(state, PROGRAMS_WAKE, begin);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *task)
{
	return timed_wakeup(task, false);
}

/* The first wake-up of a new task. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *task)
{
	return timed_wakeup(task, true);
}
