// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* record_switch_parts: the programs of record_switch.bpf.c, with the parts of --why. */
#define PARTS 1
#include "bpf/why/at_switch.bpf.h"
#include "bpf/why/user_copy.bpf.h"
#include "bpf/record_switch.bpf.c"

/* --why=stack,wakers. */
SEC("tp_btf/sched_waking")
int BPF_PROG(stack_waking, struct task_struct *task)
{
	TIMED(PROGRAMS_WAKE, on_waking_stack, ctx, task);
}
