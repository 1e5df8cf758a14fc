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
 * storage is made here, if the kernel can do that under the scheduler's locks.
 */
static __always_inline struct task_state *first_sight(struct cpu_state *state, __u32 cpu,
						      struct task_struct *task)
{
	struct task_state *task_state;
	char comm[RECORD_COMM_SIZE] = {};

	if (!kernel_can_make_storage_anywhere())
		return NULL;
	task_state = target_add(task);
	if (!task_state)
		return NULL;
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	if (target_update(task, task_state, comm))
		task_emit(state, cpu, TASK_SEEN, task, task_state, comm);
	return task_state;
}

/* The cgroup of a task may have changed while it was off the CPU. */
static __always_inline void look_again(struct cpu_state *state, __u32 cpu, struct task_struct *task,
				       struct task_state *task_state)
{
	char comm[RECORD_COMM_SIZE] = {};

	if (task_state->css_set == target_css_set(task))
		return;
	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	if (target_update(task, task_state, comm))
		task_emit(state, cpu, TASK_SEEN, task, task_state, comm);
}

static __always_inline int on_switch(bool preempt, struct task_struct *prev,
				     struct task_struct *next, __u32 prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = cpu_state(cpu);
	struct task_state *leaving, *entering;
	struct record_switch *record;
	__u32 next_id = 0, prev_id = 0, next_tid, prev_tid;
	__s32 waker_tid = 0;
	__u64 wake_clock = 0;
	bool resched, elsewhere = false;
	__u16 why;

	if (!state)
		return 0;
	next_tid = next->pid;
	prev_tid = prev->pid;
	leaving = task_state_of(prev);
	entering = task_state_of(next);
	if (knobs.all) {
		if (unlikely(!leaving) && prev_tid)
			leaving = first_sight(state, cpu, prev);
		if (unlikely(!entering) && next_tid)
			entering = first_sight(state, cpu, next);
	}
	resched = state->resched;
	state->resched = 0;
	state->interrupt = 0;
	why = kernel_why(preempt, prev_state, resched || !knobs.reschedules, prev);

	if (leaving) {
		prev_id = leaving->id;
		if (leaving->wake_clock) /* it was woken before it slept */
			leaving->wake_clock = 0;
		if (unlikely(why == WHY_DEAD))
			target_gone(leaving);
	}
	if (entering) {
		if (knobs.cgroup)
			look_again(state, cpu, next, entering);
		next_id = entering->id;
		wake_clock = entering->wake_clock;
		if (wake_clock) {
			waker_tid = entering->waker_tid;
			entering->wake_clock = 0;
		}
		if (knobs.cpu_list) {
			elsewhere = entering->elsewhere;
			entering->elsewhere = !state->recorded;
		}
	}
	if ((!knobs.all || knobs.narrow) && !prev_id && !next_id)
		return 0;
	if (knobs.cpu_list && !state->recorded)
		return 0;

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
	emit_end(record);
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

/* Whoever is interrupted is not the waker; nor is the idle task, which wakes no one itself. */
static __always_inline __s32 waker_here(void)
{
	struct cpu_state *state = cpu_state(bpf_get_smp_processor_id());
	__s32 tid;

	if (!knobs.interrupts)
		return WAKER_UNKNOWN;
	if (!state || state->interrupt)
		return WAKER_INTERRUPT;
	tid = (__s32)bpf_get_current_pid_tgid();
	return tid ? tid : WAKER_INTERRUPT;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct task_state *wakee = task_state_of(task);

	if (wakee)
		wakee->waker_tid = waker_here();
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *task)
{
	struct task_state *wakee = task_state_of(task);

	if (wakee)
		wakee->wake_clock = bpf_ktime_get_ns();
	return 0;
}

/* The first wake-up of a new task, by its creator; no sched_waking comes before. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *task)
{
	struct task_state *wakee = task_state_of(task);

	if (wakee) {
		wakee->waker_tid = waker_here();
		wakee->wake_clock = bpf_ktime_get_ns();
	}
	return 0;
}

/* Asked for: what leaves this CPU next, still runnable, was preempted and did not yield. */
SEC("tp_btf/sched_set_need_resched_tp")
int BPF_PROG(sched_set_need_resched, struct task_struct *task, int cpu)
{
	struct cpu_state *state = cpu_state(cpu);

	if (state)
		state->resched = 1;
	return 0;
}
