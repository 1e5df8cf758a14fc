// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * priority_tick: changes of the priority, and of the allowed CPUs, of a task that runs on
 * (--why=prio).
 *
 * The kernel has no tracepoint for them, and one at system calls slows down each call of the
 * machine. So each tick of a CPU compares the values of its task with those of its last record, as
 * each switch does (at_switch.bpf.h). A tick in the middle of another record leaves it to the next.
 */
#include "bpf/cost.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/why/at_switch.bpf.h"

static __always_inline void on_tick(struct cpu_state *cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->pid && !*(volatile __u32 *)&cpu->emits)
		priority_compare(cpu, task, task_state_of(task));
}

SEC("tp_btf/local_timer_exit")
int priority_tick(void *ctx)
{
	TIMED(PROGRAMS_INTERRUPT, on_tick);
}

/* On machines without that tracepoint the tick is one of the devices. */
SEC("tp_btf/irq_handler_exit")
int priority_tick_irq(void *ctx)
{
	TIMED(PROGRAMS_INTERRUPT, on_tick);
}
