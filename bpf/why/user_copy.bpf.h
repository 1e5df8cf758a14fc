/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * user_copy: the stack of the user code of a task that comes back after a long sleep, on kernels
 * without task work (--why=stack=user before Linux 6.18; user_stack.bpf.h has the other way).
 *
 * In: prev at each switch-out for a sleep, while its memory can be read; out: a copy of the top of
 * its stack in its storage, and at the end of a long sleep a struct user_stack in the ring of
 * these. The registers need no copy: the kernel keeps them. The stack of a waker is sent at once.
 * Nothing here may fault: what is not in memory is left out. Specification: why.md A8, and part B.
 */
#ifndef BPF_WHY_USER_COPY_H
#define BPF_WHY_USER_COPY_H

#include "bpf/user_stack.bpf.h"

#define page_of(address) ((address) & ~(__u64)(PAGE - 1))

/* Reads up to the end of the page of `from`. Returns the bytes; 0: it cannot be read. */
static __always_inline __u32 copy_in_page(void *to, __u64 from)
{
	__u32 bytes = PAGE - (from & (PAGE - 1));

	if (bytes > USER_COPY_MAX)
		bytes = USER_COPY_MAX;
	return bpf_probe_read_user(to, bytes, (void *)from) ? 0 : bytes;
}

/* Copies the stack of the current task, with the stack pointer `sp`, into record->stack. A read
 * that fails takes a microsecond: `*absent` is the page that failed last, as the end of a stack
 * does. */
static __always_inline void copy_stack(struct user_stack *record, __u64 sp, __u64 *absent)
{
	__u64 from = sp - USER_STACK_BELOW, last = page_of(from + USER_COPY_MAX - 1);

	record->from = from;
	record->bytes = USER_COPY_MAX;
	if (last != *absent) {
		if (!bpf_probe_read_user(record->stack, USER_COPY_MAX, (void *)from))
			return;
		*absent = last;
	}
	record->bytes = copy_in_page(record->stack, from);
	if (record->bytes || page_of(from) == page_of(sp))
		return;
	/* nothing was ever written below the stack pointer */
	record->from = sp;
	record->bytes = copy_in_page(record->stack, sp);
}

/* Fills in what is known without the memory of the task. */
static __always_inline void fill_user_stack(struct user_stack *record, struct task_struct *task,
					    __u32 number)
{
	record->clock = bpf_ktime_get_ns();
	record->number = number;
	record->pid = task->tgid;
	record->tid = task->pid;
	put_registers(record->registers, user_registers(task));
}

/* Is it in execve() or execveat()? Then its memory may soon be that of another program. */
static __always_inline bool executes(struct task_struct *task)
{
	long call = kernel_system_call(task);

#if defined(__TARGET_ARCH_x86)
	return call == 59 || call == 322;
#else
	return call == 221 || call == 281;
#endif
}

/* The number grows before each sched_switch, and does not until the next one. */
static __always_inline __u64 switches_of(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* The current task leaves its CPU. Without space for the copy there is none. */
static __noinline int user_copy_keep(struct task_struct *task)
{
	struct user_copy *copy;

	if (!has_user_code(task) || executes(task))
		return 0;
	copy = bpf_task_storage_get(
		&user_copies, task, 0,
		kernel_can_make_storage_anywhere() ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!copy)
		return 0;
	copy_stack((struct user_stack *)copy->record, user_registers(task)->sp, &copy->absent);
	copy->switches = switches_of(task);
	return 0;
}

/* Sends the copy of a task that enters a CPU. Returns its number; 0: it has no user code. A number
 * is used up, and counts as unknown, if there is no copy of this sleep. */
static __always_inline __u32 user_copy_send(struct task_struct *task)
{
	struct user_stack *record;
	struct user_copy *copy;
	__u32 number;
	__u64 bytes;

	if (!has_user_code(task))
		return 0;
	number = next_user_stack();
	copy = bpf_task_storage_get(&user_copies, task, 0, 0);
	if (!copy || copy->switches != switches_of(task))
		goto lost;
	record = (struct user_stack *)copy->record;
	bytes = record->bytes;
	copy->absent = 0; /* it may be in memory now */
	/* another stack than that of the sleep: of a program that was started meanwhile */
	if (!bytes || bytes > USER_COPY_MAX ||
	    user_registers(task)->sp - record->from > USER_STACK_BELOW)
		goto lost;
	fill_user_stack(record, task, number);
	if (!bpf_ringbuf_output(&user_stack_ring, record,
				__builtin_offsetof(struct user_stack, stack) + bytes, 0))
		return number;
lost:
	__sync_fetch_and_add(&user_stacks_lost, 1);
	return number;
}

/* Sends the stack of the current task, which is in a system call or a fault. Returns as above. */
static __always_inline __u32 user_copy_send_current(struct task_struct *task)
{
	struct user_stack *record;
	__u64 absent = 0;
	__u32 number;

	if (!has_user_code(task))
		return 0;
	number = next_user_stack();
	record = bpf_ringbuf_reserve(&user_stack_ring, USER_COPY_SIZE, 0);
	if (!record)
		goto lost;
	copy_stack(record, user_registers(task)->sp, &absent);
	if (!record->bytes) {
		bpf_ringbuf_discard(record, 0);
		goto lost;
	}
	fill_user_stack(record, task, number);
	bpf_ringbuf_submit(record, 0);
	return number;
lost:
	__sync_fetch_and_add(&user_stacks_lost, 1);
	return number;
}

#endif
