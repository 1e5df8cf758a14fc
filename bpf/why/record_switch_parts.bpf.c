// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* record_switch_parts: the programs of record_switch.bpf.c, with the parts of --why. */
#define PARTS 1
#include "bpf/why/at_switch.bpf.h"
#include "bpf/why/user_copy.bpf.h"
#include "bpf/record_switch.bpf.c"

/* --why=stack=user: has user code read the mappings of a process. */
static __always_inline void send_process(struct cpu_state *cpu, struct task_struct *task)
{
	struct task_state *task_state = task_state_of(bpf_get_current_task_btf());
	struct user_stack *record;

	(void)cpu;
	if (!task_state || !task_state->traced || task->pid != task->tgid || !has_user_code(task))
		return;
	record = bpf_ringbuf_reserve(&user_stack_ring, USER_STACK_PROCESS_SIZE, 0);
	if (!record)
		return;
	record->clock = bpf_ktime_get_ns();
	record->number = 0;
	record->pid = task->tgid;
	record->tid = task->pid;
	record->bytes = 0;
	bpf_ringbuf_submit(record, 0);
}

SEC("tp_btf/task_newtask")
int BPF_PROG(stack_newtask, struct task_struct *task)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, send_process, task);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(stack_exec, struct task_struct *task)
{
	TIMED_IN_TASK(PROGRAMS_LIFE, send_process, task);
}

/* --why=stack,wakers. */
SEC("tp_btf/sched_waking")
int BPF_PROG(stack_waking, struct task_struct *task)
{
	TIMED(PROGRAMS_WAKE, on_waking_stack, ctx, task);
}
