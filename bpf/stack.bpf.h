/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stack: the kernel stack of a task that comes back after a long sleep (--why=stack).
 *
 * In: next at its switch-in, and when it fell asleep; out: a RECORD_STACK before the record of the
 * switch. While a task sleeps its stack does not change, so only a long sleep costs something. At
 * most STACKS_PER_SECOND of all threads and STACKS_PER_TASK of one are taken in a second; the
 * others are counted in the state of the CPU. The kernel leaves out its scheduler's own functions:
 * the first address is in the caller of schedule(). Specification: why.md A8, and part B.
 */
#ifndef BPF_STACK_H
#define BPF_STACK_H

#include "emit.bpf.h"
#include "user_stack.bpf.h"

#define STACKS_PER_SECOND 1000
#define STACKS_PER_TASK	  20
#define STACKS_COUNT	  31u /* bits of task_state.stacks: stacks in the second above them */
#define SECOND_NS	  1000000000ull

/* Counts one more stack of a task, and of all. Returns whether both limits permit it. */
static __always_inline bool stack_permitted(struct task_state *task_state)
{
	__u64 second = bpf_ktime_get_ns() / SECOND_NS;
	__u64 was = *(volatile __u64 *)&stacks_second; /* second << 32 | stacks in it */
	__u32 own = (__u32)second * (STACKS_COUNT + 1);

	if ((task_state->stacks & ~STACKS_COUNT) == own)
		own = task_state->stacks;
	if ((own & STACKS_COUNT) >= STACKS_PER_TASK)
		return false;
	if (was >> 32 != (__u32)second)
		__sync_val_compare_and_swap(&stacks_second, was, second << 32);
	if ((__u32)__sync_fetch_and_add(&stacks_second, 1) >= STACKS_PER_SECOND)
		return false;
	task_state->stacks = own + 1;
	return true;
}

/* The task slept from `slept` to `woken`, ns; the time before the window does not count. Returns
 * the number for user_stack_ask(), or 0. */
static __noinline int stack_send(struct cpu_state *cpu, struct task_state *task_state,
				 struct task_struct *task, __u64 slept, __u64 woken)
{
	__u64 begin = *(volatile __u64 *)&window_begin;
	struct record_stack *record;
	__u32 number = 0;
	long bytes;

	if (slept < begin)
		slept = begin;
	if (!task_state->id || woken < slept || woken - slept < settings.stack_ns)
		return 0;
	/* a stack without space in the ring is left out: no event is lost */
	if (!emit_possible(cpu, sizeof(*record)) || !stack_permitted(task_state)) {
		cpu->stacks_left_out++;
		return 0;
	}
	cpu->events[EVENT_OTHER].seen++;
	record = emit_begin(cpu, RECORD_STACK, EVENT_OTHER, sizeof(*record));
	if (!record)
		return 0;
	bytes = 0;
	if (settings.stack_parts & STACK_OF_KERNEL)
		bytes = bpf_get_task_stack(task, record->kernel, sizeof(record->kernel), 0);
	if (bytes < 0)
		bytes = 0;
	record->head.flags = bytes == sizeof(record->kernel) ? STACK_CUT : 0;
	record->head.why = 0;
	record->head.id = task_state->id;
	record->tid = task->pid;
	record->nkernel = (__u64)bytes / sizeof(record->kernel[0]);
	record->number = 0;
	record->pad = 0;
	if (settings.stack_parts & STACK_OF_USER)
		record->number = number = user_stack_number(task);
	emit_end(cpu);
	return (int)number;
}

#endif
