/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stack: the kernel stack of a task that comes back after a long sleep (--why=stack).
 *
 * In: next at its switch-in, and when it fell asleep; out: a RECORD_STACK before the record of the
 * switch. While a task sleeps its stack does not change, so only a long sleep costs something (but
 * for the copy of a user stack on kernels without task work: why/user_copy.bpf.h). At most
 * STACKS_PER_SECOND of all threads and STACKS_PER_TASK of one are taken in a second; the others are
 * counted in the state of the CPU. The kernel leaves out its scheduler's own functions: the first
 * address is in the caller of schedule(). Included behind why/user_copy.bpf.h. Specification: why.md A8, and part B.
 */
#ifndef BPF_STACK_H
#define BPF_STACK_H

#include "emit.bpf.h"
#include "user_stack.bpf.h"

#define STACKS_PER_SECOND 1000
#define STACKS_PER_TASK	  20
#define STACKS_COUNT	  31u /* bits of task_state.stacks: stacks in the second above them */
#define SECOND_NS	  1000000000ull

/* Stacks of user code are asked for by task work: user_stack_ask() follows. */
#define by_task_work (settings.stack_parts & STACK_OF_USER && !settings.stack_copies)

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

/* Would stack_permitted() permit it now? For a copy that is not worth its time otherwise. */
static __always_inline bool stack_possible(const struct task_state *task_state)
{
	__u32 second = bpf_ktime_get_ns() / SECOND_NS;
	__u64 all = *(volatile __u64 *)&stacks_second;

	return ((task_state->stacks & ~STACKS_COUNT) != second * (STACKS_COUNT + 1) ||
		(task_state->stacks & STACKS_COUNT) < STACKS_PER_TASK) &&
	       (all >> 32 != second || (__u32)all < STACKS_PER_SECOND);
}

/* ---- wakers ---- */

/*
 * The stack of the waker of a task that has slept long (--why=stack,wakers), from the wake-up until
 * the task enters a CPU. At a wake-up the ring of the CPU cannot be used: an interrupt may wake
 * while a record is filled in. A slot belongs to the tasks whose numbers have one rest: the later
 * one takes it.
 */
#define WAKER_STACK_SLOTS 4096
#define WAKER_STACK_SOON  20000 /* ns: the scheduler's clock of a wake-up may be so much later */

struct waker_stack {
	__u64 slept; /* the woken task fell asleep then, ns */
	__u32 tid;   /* of the woken task */
	__u32 nkernel;
	__s32 waker_tid;
	__u32 number; /* of the stack of its user code; 0: it has none */
	__u64 kernel[STACK_KERNEL_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WAKER_STACK_SLOTS);
	__type(key, __u32);
	__type(value, struct waker_stack);
} waker_stacks SEC(".maps");

static __always_inline struct waker_stack *waker_stack_of(struct task_struct *wakee)
{
	__u32 at = (__u32)wakee->pid % WAKER_STACK_SLOTS;

	return bpf_map_lookup_elem(&waker_stacks, &at);
}

/* Keeps the stack of what runs on this CPU: it wakes `wakee`, which has slept long. Returns whether
 * user_stack_ask() must follow. */
static __noinline int waker_stack_keep(void *ctx, struct task_struct *wakee,
				       struct task_state *task_state, __u64 slept)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct waker_stack *kept = waker_stack_of(wakee);
	long bytes;

	if (!kept)
		return 0;
	bytes = bpf_get_stack(ctx, kept->kernel, sizeof(kept->kernel), 0);
	kept->nkernel = bytes > 0 ? (__u64)bytes / sizeof(kept->kernel[0]) : 0;
	kept->waker_tid = task_state->waker_tid;
	kept->number = 0;
	if (by_task_work && task_state->waker_tid > 0)
		kept->number = user_stack_number(task);
	if (settings.stack_copies && task_state->waker_tid > 0 && stack_possible(task_state))
		kept->number = user_copy_send_current(task);
	kept->tid = wakee->pid;
	kept->slept = slept;
	return kept->number != 0;
}

/* A task is woken. Behind the program that notes its waker. */
static __always_inline void on_waking_stack(struct cpu_state *cpu, void *ctx,
					    struct task_struct *task)
{
	struct task_state *task_state = task_state_of(task);
	__u64 slept = task_state ? task_state->slept : 0, since, soon;

	(void)cpu;
	if (!slept || !task_state->id)
		return;
	since = *(volatile __u64 *)&window_begin;
	if (since < slept)
		since = slept;
	soon = bpf_ktime_get_ns() + WAKER_STACK_SOON;
	if (soon <= since || soon - since < settings.stack_ns)
		return;
	if (waker_stack_keep(ctx, task, task_state, slept) && by_task_work)
		user_stack_ask(bpf_get_current_task_btf());
}

/* Sends the stack of the waker of a task that has slept since `slept`. */
static __always_inline void waker_stack_send(struct cpu_state *cpu, struct task_state *task_state,
					     struct task_struct *task, __u64 slept)
{
	struct waker_stack *kept = waker_stack_of(task);
	struct record_stack *record;

	if (!kept || kept->tid != (__u32)task->pid || kept->slept != slept)
		return;
	kept->tid = 0;
	cpu->events[EVENT_OTHER].seen++;
	record = emit_begin(cpu, RECORD_STACK, EVENT_OTHER, sizeof(*record));
	if (!record)
		return;
	record->head.flags = STACK_WAKER | (kept->nkernel == STACK_KERNEL_MAX ? STACK_CUT : 0);
	record->head.why = 0;
	record->head.id = task_state->id;
	record->tid = kept->waker_tid;
	record->nkernel = kept->nkernel;
	record->number = kept->number;
	record->pad = 0;
	__builtin_memcpy(record->kernel, kept->kernel, sizeof(record->kernel));
	emit_end(cpu);
}

/* ---- sleepers ---- */

/* The task slept from `slept` to `woken`, ns; the time before the window does not count. Returns
 * whether user_stack_ask() must follow. */
static __noinline int stack_send(struct cpu_state *cpu, struct task_state *task_state,
				 struct task_struct *task, __u64 slept, __u64 woken)
{
	__u64 begin = *(volatile __u64 *)&window_begin, since = slept < begin ? begin : slept;
	struct record_stack *record;
	__u32 number = 0;
	long bytes = 0;

	if (!task_state->id || woken < since || woken - since < settings.stack_ns)
		return 0;
	/* a stack without space in the ring is left out: no event is lost */
	if (!emit_possible(cpu, sizeof(*record) * (1 + settings.wakers)) ||
	    !stack_permitted(task_state)) {
		cpu->stacks_left_out++;
		return 0;
	}
	if (by_task_work)
		number = user_stack_number(task);
	if (settings.stack_copies)
		number = user_copy_send(task);
	if (settings.wakers)
		waker_stack_send(cpu, task_state, task, slept);
	cpu->events[EVENT_OTHER].seen++;
	record = emit_begin(cpu, RECORD_STACK, EVENT_OTHER, sizeof(*record));
	if (!record)
		return number != 0;
	if (settings.stack_parts & STACK_OF_KERNEL)
		bytes = bpf_get_task_stack(task, record->kernel, sizeof(record->kernel), 0);
	if (bytes < 0)
		bytes = 0;
	record->head.flags = bytes == sizeof(record->kernel) ? STACK_CUT : 0;
	record->head.why = 0;
	record->head.id = task_state->id;
	record->tid = task->pid;
	record->nkernel = (__u64)bytes / sizeof(record->kernel[0]);
	record->number = number;
	record->pad = 0;
	emit_end(cpu);
	return number != 0;
}

#endif
