// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * sched: who leaves a CPU, who enters it, and who woke the one that enters.
 *
 * One record per switch, and what it means for the counters. A wake-up has none of its own: waker
 * (sched_waking, in the context of the waker) and clock (sched_wakeup, when the task is on a run
 * queue) wait in the storage of the task until the switch that brings it in takes them along. All
 * of this runs for every switch of the machine, so it asks first whether anyone is wanted.
 * Specification: ebpf.md 8.1, 8.2.
 */
#include "counters.bpf.h"
#include "emit.bpf.h"
#include "target.bpf.h"
#include "task.bpf.h"

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
static __always_inline struct task_state *switched(struct cpu_state *state, __u32 cpu,
						   struct task_struct *task)
{
	struct task_state *task_state = task_state_of(task);

	if (likely(task_state) || !knobs.all)
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
static __noinline int leave_otherwise(struct task_struct *task, struct task_state *task_state,
				      __u16 why, __u64 clock)
{
	struct thread_counters *c = &task_state->counters;

	counters_leave(counters_window(), c, task, why, clock);
	if (why == WHY_DEAD)
		counters_bury(task, task_state, clock);
	return 0;
}

static __noinline int renumber(struct task_struct *task, struct task_state *task_state, __u64 clock)
{
	counters_renumber(task, task_state, clock);
	return 0;
}

static __always_inline void count_leaving(struct window w, struct task_struct *task,
					  struct task_state *task_state, __u16 why,
					  enum outcome outcome, __u64 clock)
{
	struct thread_counters *c = &task_state->counters;

	counters_event(c, outcome);
	if (unlikely(!counters_sleep(w, c, task, why, clock)))
		leave_otherwise(task, task_state, why, clock);
	if (unlikely(c->tid != (__u32)task->pid) && !(task->flags & PF_EXITING))
		renumber(task, task_state, clock);
}

static __always_inline void count_entering(struct window w, struct task_struct *task,
					   struct task_state *task_state, __u32 cpu, __u64 wake,
					   enum outcome outcome, __u64 clock)
{
	struct thread_counters *c = &task_state->counters;

	if (wake)
		counters_unsent(c, outcome);
	counters_enter(c, task, cpu, wake, clock);
	/* Elsewhere it could take another tid; else it does so where it is seen. */
	if (knobs.cpu_list && c->tid != (__u32)task->pid && !(task->flags & PF_EXITING)) {
		counters_charge(w, c, clock);
		renumber(task, task_state, clock);
	}
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

		counters_open(&c->seq);
		counters_recall(state, cpu, c, task);
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

static __always_inline int on_switch(struct cpu_state *state, __u32 cpu, bool preempt,
				     struct task_struct *prev, struct task_struct *next,
				     __u32 prev_state)
{
	struct task_state *leaving = NULL, *entering = NULL;
	struct record_switch *record = NULL;
	enum outcome outcome;
	enum cpu_use use;
	__u32 prev_id = 0, next_id = 0;
	bool leaves = false, enters = false, elsewhere = false;
	bool dead = prev_state & STATE_DEAD && !preempt;
	__s32 waker_tid = 0;
	const struct window w = counters_window();
	__u64 wake_clock = 0, clock;
	__u16 why;

	state->events[EVENT_SWITCH].seen++;
	if (knobs.interrupts)
		state->interrupt = 0;
	if (likely(prev->pid)) {
		leaving = switched(state, cpu, prev);
		if (likely(leaving)) {
			prev_id = leaving->id;
			leaves = leaving->wanted;
			if (unlikely(dead))
				target_gone(leaving);
		}
	}
	if (likely(next->pid) && !knobs.deferred) {
		entering = switched(state, cpu, next);
		if (likely(entering)) {
			if (knobs.cgroup)
				look_again(state, cpu, next, entering);
			next_id = entering->id;
			enters = entering->wanted;
			wake_clock = entering->wake_clock;
			if (wake_clock) {
				waker_tid = entering->waker_tid;
				entering->waker_tid = WAKER_UNKNOWN; /* of this wake-up alone */
				entering->wake_clock = 0;
			}
			if (knobs.cpu_list) {
				elsewhere = entering->elsewhere;
				entering->elsewhere = !state->recorded;
			}
		}
	}
	if (wake_clock)
		state->events[EVENT_WAKE].seen++;

	if (((!knobs.all || knobs.narrow) && !leaves && !enters) ||
	    (knobs.cpu_list && !state->recorded)) {
		if (knobs.rings) {
			state->events[EVENT_SWITCH].filtered++;
			if (wake_clock)
				state->events[EVENT_WAKE].filtered++;
		}
		if (knobs.cpu_list && !state->recorded)
			switch_elsewhere(leaving, next, entering);
		if (unlikely(dead) && leaving)
			counters_end(prev, leaving);
		return 0;
	}

	why = kernel_why(preempt, prev_state, prev);
	outcome = OUTCOME_SENT;
	if (!knobs.rings) {
		outcome = OUTCOME_FILTERED; /* as all is, which need not be counted */
	} else if (!kind_wanted(EVENT_SWITCH)) {
		outcome = OUTCOME_FILTERED;
		state->events[EVENT_SWITCH].filtered++;
		if (wake_clock)
			state->events[EVENT_WAKE].filtered++;
	} else if (knobs.sample_of > 1 && !prev_id && !next_id && (leaves || enters)) {
		outcome = OUTCOME_SAMPLED;
		state->events[EVENT_SWITCH].sampled++;
		if (wake_clock)
			state->events[EVENT_WAKE].sampled++;
	} else {
		record = emit_begin(state, cpu, RECORD_SWITCH, EVENT_SWITCH, sizeof(*record));
		if (unlikely(!record)) {
			outcome = OUTCOME_FULL;
			if (wake_clock)
				emit_lost(state, EVENT_WAKE);
		}
	}
	if (likely(record)) {
		clock = record->head.clock;
		record->head.flags = elsewhere ? SWITCH_NEXT_ELSEWHERE : 0;
		record->head.why = why;
		record->head.id = prev_id;
		record->prev_tid = prev->pid;
		record->prev_pid = prev->tgid;
		record->next_id = next_id;
		record->next_tid = next->pid;
		record->next_pid = next->tgid;
		record->waker_tid = waker_tid;
		record->wake_clock = wake_clock;
		emit_end(state);
	} else {
		clock = bpf_ktime_get_ns();
	}
	if (leaving && leaves)
		counters_recall(state, cpu, &leaving->counters, prev);
	if (knobs.deferred)
		take_turns(state, cpu, prev, next, clock);
	use = leaves ? CPU_THREAD : prev->pid || !knobs.all || knobs.narrow ? CPU_OTHER : CPU_IDLE;
	if (unlikely(state->counters.use != use ||
		     (leaving && leaves && !counters_on(&leaving->counters, cpu))))
		state->counters.use = CPU_UNKNOWN; /* there was a switch that was not seen */
	if (leaving && leaves)
		count_leaving(w, prev, leaving, why, outcome, clock);
	else if (unlikely(dead) && leaving)
		counters_end(prev, leaving);
	if (entering && enters)
		count_entering(w, next, entering, cpu, wake_clock, outcome, clock);
	counters_cpu(w, state,
		     enters || (knobs.deferred && next->pid)   ? CPU_THREAD
		     : next->pid || !knobs.all || knobs.narrow ? CPU_OTHER
							       : CPU_IDLE,
		     clock);
	state->counters.switches += counters_counts(w, clock);
	return 0;
}

static __always_inline int timed_switch(bool preempt, struct task_struct *prev,
					struct task_struct *next, __u32 prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = cpu_state(cpu);
	__u64 begin;

	if (unlikely(!state))
		return 0;
	begin = cost_begin(state, PROGRAMS_SWITCH);
	on_switch(state, cpu, preempt, prev, next, prev_state);
	cost_end(state, PROGRAMS_SWITCH, begin);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return timed_switch(preempt, prev, next, prev_state);
}

/* 9c2136be0878 (5.18) added the argument prev_state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch_5_17, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return timed_switch(preempt, prev, next, kernel_task_state(prev));
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
	if (wakee)
		wakee->waker_tid = waker_here(state, wakee->softirqs);
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
