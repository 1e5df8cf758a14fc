/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * user_stack: the stack of the user code of a task that comes back after a long sleep
 * (--why=stack=user).
 *
 * In: next at its switch-in, where its memory cannot be read; out: a struct user_stack in the ring
 * of these, sent in its own context before it returns to user code, with the registers and the
 * memory that it had all the time while it slept. The kernel runs user_stack_send() there (task
 * work, Linux 6.18). It could fault and sleep, and must not: the memory above the stack may be that
 * of a userfaultfd, which this thread itself serves, or of a slow file. What is not in memory is
 * left out. Specification: why.md A8, and part B.
 */
#ifndef BPF_USER_STACK_H
#define BPF_USER_STACK_H

#include "user_registers.bpf.h"

#define USER_STACK_SLOTS 4096 /* threads that are on their way to user code at a time */
#define USER_STACK_STALE 1000000000ull
#define PAGE		 4096

struct bpf_map;

struct bpf_task_work {
	__u64 opaque;
} __attribute__((aligned(8)));

struct user_stack_slot {
	struct bpf_task_work work;
	__u32 number; /* 0: the slot is free */
	__u32 tid;
	__u32 asked, pad;
	__u64 clock; /* it was taken then, ns: a thread that dies may leave it */
	__u64 sp;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, USER_STACK_SLOTS);
	__type(key, __u32);
	__type(value, struct user_stack_slot);
} user_stack_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} user_stack_ring SEC(".maps");

__u64 user_stacks_lost = 0; /* the ring or a slot was full, or its memory could not be read */

/* In the context of the task, on its way to user code. A discarded record wakes the reader, too:
 * the kernel wakes the reader only at the next record of the ring, never at a later one. */
static int user_stack_send(struct bpf_map *map, void *key, void *value)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct user_stack_slot *slot = value;
	struct user_stack *record;
	__u64 first;
	int i;

	record = bpf_ringbuf_reserve(&user_stack_ring, sizeof(*record), 0);
	if (!record)
		goto lost;
	record->clock = bpf_ktime_get_ns();
	record->number = slot->number;
	record->pid = task->tgid;
	record->tid = task->pid;
	record->bytes = 0;
	put_registers(record->registers, user_registers(task));
	record->from = user_registers(task)->sp - USER_STACK_BELOW;
	/* another stack than that of the sleep: of a program that was started meanwhile */
	if (slot->tid != record->tid || record->from != slot->sp - USER_STACK_BELOW) {
		bpf_ringbuf_discard(record, 0);
		goto lost;
	}
	/* up to the end of the page, then by pages: the stack may end there */
	first = PAGE - (record->from & (PAGE - 1));
	if (bpf_probe_read_user(record->stack, first, (void *)record->from)) {
		bpf_ringbuf_discard(record, 0);
		goto lost;
	}
	record->bytes = first;
#pragma unroll
	for (i = 0; i < USER_STACK_MAX / PAGE - 1; i++) {
		if (bpf_probe_read_user(record->stack + first + i * PAGE, PAGE,
					(void *)(record->from + first + i * PAGE)))
			break;
		record->bytes = first + (i + 1) * PAGE;
	}
	bpf_ringbuf_submit(record, 0);
	goto out;
lost:
	__sync_fetch_and_add(&user_stacks_lost, 1);
out:
	slot->number = 0;
	return 0;
}

/* Has the kernel run user_stack_send() in the context of a task. Part of the program itself: user
 * code puts in its call. */
static __always_inline long schedule_send(struct task_struct *task, struct user_stack_slot *slot)
{
	register __u64 r1 asm("r1") = (__u64)task;
	register __u64 r2 asm("r2") = (__u64)&slot->work;
	register __u64 r3 asm("r3") = (__u64)&user_stack_slots;
	register __u64 r4 asm("r4") = (__u64)user_stack_send;
	register __u64 r5 asm("r5") = 0;
	register __u64 r0 asm("r0");

	asm volatile("call %[to]"
		     : "=r"(r0), "+r"(r1), "+r"(r2), "+r"(r3), "+r"(r4), "+r"(r5)
		     : [to] "i"(TASK_WORK_CALL)
		     : "memory");
	return (long)r0;
}

static __always_inline struct user_stack_slot *user_stack_slot_of(struct task_struct *task)
{
	__u32 at = (__u32)task->pid % USER_STACK_SLOTS;

	return bpf_map_lookup_elem(&user_stack_slots, &at);
}

/* The number with which the stack of user code of a task will be sent; 0: it has none. A task that
 * has not returned to user code since it got one has the same one: of a sleep and of wake-ups in
 * one system call. user_stack_ask() must follow. */
static __always_inline __u32 user_stack_number(struct task_struct *task)
{
	struct user_stack_slot *slot = user_stack_slot_of(task);
	__u64 now = bpf_ktime_get_ns(), sp;
	__u32 number;

	if (!slot || !has_user_code(task))
		return 0;
	sp = user_registers(task)->sp;
	if (slot->number && slot->tid == (__u32)task->pid && slot->sp == sp)
		return slot->number;
	number = next_user_stack();
	if (slot->number && now - slot->clock <= USER_STACK_STALE) {
		__sync_fetch_and_add(&user_stacks_lost, 1);
		return number;
	}
	slot->clock = now;
	slot->number = number;
	slot->tid = task->pid;
	slot->asked = 0;
	slot->sp = sp;
	return number;
}

/* Asks the kernel for it. In the program itself: user code does not find the call in a function. */
static __always_inline void user_stack_ask(struct task_struct *task)
{
	struct user_stack_slot *slot = user_stack_slot_of(task);

	if (!slot || !slot->number || slot->tid != (__u32)task->pid || slot->asked)
		return;
	slot->asked = 1;
	if (!schedule_send(task, slot))
		return;
	slot->number = 0;
	__sync_fetch_and_add(&user_stacks_lost, 1);
}

#endif
