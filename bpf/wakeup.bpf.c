// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * wakeup: notes the waker of a task, and the clock of the wake-up where the scheduler's is not
 * used.
 *
 * A wake-up has no record. Its waker (sched_waking, in the context of the waker) and its clock wait
 * in the storage of the woken task for the switch at which it enters a CPU (record_switch.bpf.c).
 * Specification: ebpf.md 8.2.
 */
#include "cost.bpf.h"
#include "target.bpf.h"

/*
 * The current task, or WAKER_INTERRUPT. An interrupted task is not the waker, nor is the idle task,
 * which wakes no other itself. The depth of handlers shows most interrupts. The code around
 * handlers shows in the stack; or, in an interrupt of user code, which needs no other stack, in the
 * missing system call: ksoftirqd is woken there.
 */
static __always_inline __s32 current_waker(struct cpu_state *cpu, bool wakes_ksoftirqd)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!settings.interrupts)
		return WAKER_UNKNOWN;
	if (cpu->interrupt || !task->pid || !kernel_on_own_stack(task))
		return WAKER_INTERRUPT;
	if (wakes_ksoftirqd && settings.registers && !kernel_is_kthread(task) &&
	    kernel_system_call(task) == -1)
		return WAKER_INTERRUPT;
	return task->pid;
}

static __always_inline void on_waking(struct cpu_state *cpu, struct task_struct *task)
{
	struct task_state *wakee = task_state_of(task);

	if (!wakee)
		return;
	wakee->waker_tid = current_waker(cpu, wakee->ksoftirqd);
	/* asleep, but still on its queue (delayed dequeue): last_queued is not the wake-up */
	if (settings.wakeup_from_sched_info && unlikely(task->sched_info.last_queued) &&
	    !kernel_on_cpu(task))
		wakee->wake_clock = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	TIMED(PROGRAMS_WAKE, on_waking, task);
}

/*
 * A wake-up of a task on a CPU only keeps it from sleeping: it does not count. The kernel holds the
 * lock here that it also holds in a switch, so on_cpu is exact. A second wake-up before the task
 * runs replaces the first.
 */
static __always_inline void on_wakeup(struct cpu_state *cpu, struct task_struct *task, bool new)
{
	struct kind_counts *wakeups = &cpu->events[EVENT_WAKE];
	struct task_state *wakee = task_state_of(task);

	if (!wakee || (!new &&kernel_on_cpu(task))) {
		wakeups->seen++;
		wakeups->filtered++;
		return;
	}
	if (wakee->wake_clock) {
		wakeups->seen++;
		wakeups->filtered++;
	}
	if (new) /* by its creator; no sched_waking comes before */
		wakee->waker_tid = current_waker(cpu, false);
	wakee->wake_clock = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *task)
{
	TIMED(PROGRAMS_WAKE, on_wakeup, task, false);
}

/* The first wake-up of a new task. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *task)
{
	TIMED(PROGRAMS_WAKE, on_wakeup, task, true);
}
