// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * sched: who leaves a CPU, who enters it, and who woke the one that enters.
 *
 * One record per switch. A wake-up has none of its own: waker (sched_waking, in the context
 * of the waker) and clock (sched_wakeup, when the task is on a run queue) wait in the
 * storage of the task until the switch that brings it in takes them along. All of this
 * runs for every switch of the machine, so it asks first whether anyone is wanted.
 * Specification: ebpf.md 8.1, 8.2.
 */
#include "emit.bpf.h"
#include "target.bpf.h"
#include "task.bpf.h"

/*
 * A task of a system-wide session without storage was born where no program ran. The
 * storage is made here, if the kernel can do that under the scheduler's locks. Returns its id.
 */
static __noinline __u32 first_sight(struct cpu_state *state, __u32 cpu, struct task_struct *task)
{
	struct task_state *task_state;
	char comm[RECORD_COMM_SIZE] = {};

	if (!kernel_can_make_storage_anywhere())
		return 0;
	task_state = target_add(task);
	if (!task_state)
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	if (target_update(task, task_state, comm))
		task_emit(state, cpu, TASK_SEEN, task, task_state, comm);
	return task_state->id;
}

/* The cgroup of a task may have changed while it was off the CPU. */
static __noinline int look_again(struct cpu_state *state, __u32 cpu, struct task_struct *task,
				 struct task_state *task_state)
{
	char comm[RECORD_COMM_SIZE] = {};

	if (task_state->css_set == target_css_set(task))
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	if (target_update(task, task_state, comm))
		task_emit(state, cpu, TASK_SEEN, task, task_state, comm);
	return 0;
}

/* The id of the task that leaves, if it is not simply the one that entered this CPU last. */
static __noinline __u32 leaving_id(struct cpu_state *state, __u32 cpu, struct task_struct *task)
{
	struct task_state *task_state = task_state_of(task);

	if (task_state)
		return task_state->id;
	return knobs.all ? first_sight(state, cpu, task) : 0;
}

/* It leaves a CPU that is not recorded. Its coming may not have been seen. */
static __noinline int was_elsewhere(struct task_struct *task)
{
	struct task_state *task_state = task_state_of(task);

	if (task_state)
		task_state->elsewhere = 1;
	return 0;
}

static __noinline int last_switch(struct task_struct *task)
{
	struct task_state *task_state = task_state_of(task);

	if (task_state)
		target_gone(task_state);
	return 0;
}

static __always_inline int on_switch(bool preempt, struct task_struct *prev,
				     struct task_struct *next, __u32 prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = cpu_state(cpu);
	__u32 next_id = 0, prev_id = 0, next_tid, prev_tid;
	struct task_state *entering;
	struct record_switch *record;
	bool elsewhere = false;
	__s32 waker_tid = 0;
	__u64 wake_clock = 0;
	__u16 why;

	if (unlikely(!state))
		return 0;

	prev_tid = prev->pid;
	if (likely(prev_tid)) {
		prev_id = state->current_id;
		if (unlikely(!prev_id || state->current_tid != prev_tid || knobs.narrow))
			prev_id = leaving_id(state, cpu, prev);
		if (unlikely(prev_state & STATE_DEAD) && !knobs.all)
			last_switch(prev);
	}

	next_tid = next->pid;
	if (likely(next_tid)) {
		entering = task_state_of(next);
		if (likely(entering)) {
			if (knobs.cgroup)
				look_again(state, cpu, next, entering);
			next_id = entering->id;
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
		} else if (knobs.all) {
			next_id = first_sight(state, cpu, next);
		}
	}
	state->current_tid = next_tid;
	state->current_id = next_id;
	state->interrupt = 0;

	if ((!knobs.all || knobs.narrow) && !prev_id && !next_id)
		return 0;
	if (knobs.cpu_list && !state->recorded)
		return was_elsewhere(prev);

	why = kernel_why(preempt, prev_state, prev);
	record = emit_begin(state, cpu, RECORD_SWITCH, sizeof(*record));
	if (unlikely(!record))
		return 0;
	record->head.flags = elsewhere ? SWITCH_NEXT_ELSEWHERE : 0;
	record->head.why = why;
	record->head.id = prev_id;
	record->prev_tid = prev_tid;
	record->prev_pid = prev->tgid;
	record->next_id = next_id;
	record->next_tid = next_tid;
	record->next_pid = next->tgid;
	record->waker_tid = waker_tid;
	record->wake_clock = wake_clock;
	emit_end(state);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return on_switch(preempt, prev, next, prev_state);
}

/* 9c2136be0878 (5.18) added the argument prev_state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch_5_17, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return on_switch(preempt, prev, next, kernel_task_state(prev));
}

/*
 * Whoever is interrupted is not the waker; nor is the idle task, which wakes no one itself. The
 * depth tells of handlers. What is done around them is told by the stack, or, in an interrupt of
 * user code, which needs no other stack, by there being no system call: ksoftirqd is woken there.
 */
static __always_inline __s32 waker_here(bool wakes_ksoftirqd)
{
	struct cpu_state *state = cpu_state(bpf_get_smp_processor_id());
	struct task_struct *task = bpf_get_current_task_btf();

	if (!knobs.interrupts)
		return WAKER_UNKNOWN;
	if (!state || state->interrupt || !task->pid || !kernel_on_own_stack(task))
		return WAKER_INTERRUPT;
	if (wakes_ksoftirqd && knobs.registers && !kernel_is_kthread(task) && kernel_system_call(task) == -1)
		return WAKER_INTERRUPT;
	return task->pid;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct task_state *wakee = task_state_of(task);

	if (wakee)
		wakee->waker_tid = waker_here(wakee->softirqs);
	return 0;
}

/* A wake-up of a task on a CPU has kept it from sleeping, and means nothing: the lock that is held
 * here is the one of a switch, so on_cpu says exactly whether it is between its switches. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *task)
{
	struct task_state *wakee = task_state_of(task);

	if (wakee && !task->on_cpu)
		wakee->wake_clock = bpf_ktime_get_ns();
	return 0;
}

/* The first wake-up of a new task, by its creator; no sched_waking comes before. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *task)
{
	struct task_state *wakee = task_state_of(task);

	if (wakee) {
		wakee->waker_tid = waker_here(false);
		wakee->wake_clock = bpf_ktime_get_ns();
	}
	return 0;
}
