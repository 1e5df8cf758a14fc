/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * compat: differences between kernel versions, one small function each.
 */
#ifndef BPF_COMPAT_H
#define BPF_COMPAT_H

#include "maps.bpf.h"

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

/* Bits of task_struct.__state and of sched_switch's prev_state. */
#define STATE_INTERRUPTIBLE   0x0001u
#define STATE_UNINTERRUPTIBLE 0x0002u
#define STATE_STOPPED	      0x0004u
#define STATE_TRACED	      0x0008u
#define STATE_PARKED	      0x0040u
#define STATE_DEAD	      0x0080u
#define STATE_NOLOAD	      0x0400u

/* 2f064a59a11f (5.14) renamed task_struct.state to __state. */
static __always_inline __u32 kernel_task_state(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (__u32)BPF_CORE_READ(old, state);
}

static __always_inline bool kernel_is_kthread(struct task_struct *task)
{
	return task->flags & PF_KTHREAD;
}

#define PID_LEVELS 32 /* of nested PID namespaces; the kernel's limit */

/* The number of a task as the recorder's PID namespace has it; 0: it is not in there. */
static __always_inline __u32 kernel_number(struct task_struct *task)
{
	struct pid *pid;
	__u32 level, i;

	if (!knobs.pid_namespace)
		return task->pid;
	pid = BPF_CORE_READ(task, thread_pid);
	level = BPF_CORE_READ(pid, level);
	for (i = 0; i < PID_LEVELS && i <= level; i++)
		if (BPF_CORE_READ(pid, numbers[i].ns, ns.inum) == knobs.pid_namespace)
			return BPF_CORE_READ(pid, numbers[i].nr);
	return 0;
}

/*
 * May a task's storage be made while the scheduler holds its locks? Only where its memory comes
 * from an allocator of BPF's own (08a7ce384e33, 6.4) or one without locks (6.19).
 */
static __always_inline bool kernel_can_make_storage_anywhere(void)
{
	return bpf_core_field_exists(((struct bpf_local_storage_map___6_4 *)0)->selem_ma) ||
	       bpf_core_field_exists(
		       ((struct bpf_local_storage_map___nolock *)0)->use_kmalloc_nolock);
}

/*
 * Is this CPU on the kernel stack of the task that it shows? Interrupts that come in the kernel run
 * on a stack of their own. (Programs that use more than 64 bytes of stack may run
 * on one of BPF's, and must not ask.)
 */
static __always_inline bool kernel_on_own_stack(struct task_struct *task)
{
	__u64 bottom = (__u64)task->stack, at;

	if (!knobs.registers)
		return true;
	asm volatile("%0 = r10" : "=r"(at));
	if (at < bottom)
		return false;
	bottom += stack_bytes;
	asm volatile("" : "+r"(at), "+r"(bottom)); /* two comparisons, no subtraction */
	return at < bottom;
}

/*
 * The system call that a task is in or comes from, as its saved registers tell; -1: none, it was
 * interrupted in user code or took a fault there. Kernel threads are not asked.
 */
static __always_inline long kernel_system_call(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return (long)((struct pt_regs *)bpf_task_pt_regs(task))->orig_ax;
#elif defined(__TARGET_ARCH_arm64)
	return ((struct pt_regs___of_arm64 *)bpf_task_pt_regs(task))->syscallno;
#else
	return -1;
#endif
}

/*
 * Does a task that leaves the CPU runnable do so of its own accord? Then it is inside
 * sched_yield(2), which is known at no cost to those who do not ask. Who is preempted on the way to
 * user space came from another system call or an interrupt; kernel threads are not asked.
 * (sched_set_need_resched_tp would tell as well, but only newer kernels have it, and a program
 * there runs for every wake-up of an idle CPU.)
 */
static __always_inline bool kernel_yields(struct task_struct *task)
{
	long call;

	if (kernel_is_kthread(task))
		return false;
	call = kernel_system_call(task);
#if defined(__TARGET_ARCH_x86)
	return call == 24 || (call == 158 && (task->thread_info.status & 2)); /* TS_COMPAT */
#else
	return call == 124;
#endif
}

/* The rarer ones. */
static __noinline __attribute__((unused)) int kernel_why_else(__u32 state, struct task_struct *prev)
{
	if (state & STATE_DEAD)
		return OFF_CPU_DEAD;
	if (state & STATE_UNINTERRUPTIBLE) {
		if (state & STATE_NOLOAD)
			return OFF_CPU_IDLE;
		return BPF_CORE_READ_BITFIELD(prev, in_iowait) ? OFF_CPU_IO
							       : OFF_CPU_UNINTERRUPTIBLE;
	}
	if (state & STATE_STOPPED)
		return OFF_CPU_STOPPED;
	if (state & STATE_TRACED)
		return OFF_CPU_TRACED;
	if (state & STATE_PARKED)
		return OFF_CPU_PARKED;
	return OFF_CPU_UNINTERRUPTIBLE; /* frozen, or waiting for a lock (real-time kernels) */
}

/*
 * Why prev leaves the CPU. `preempt` alone says little: a tick in user code preempts with it
 * unset and state 0; but if it is set, prev stays runnable whatever its state.
 */
static __always_inline __u16 kernel_why(bool preempt, __u32 state, struct task_struct *prev)
{
	if (preempt)
		return OFF_CPU_PREEMPTED;
	if (likely(state & STATE_INTERRUPTIBLE))
		return OFF_CPU_SLEEPING;
	if (state == 0)
		return knobs.registers && kernel_yields(prev) ? OFF_CPU_YIELDED : OFF_CPU_PREEMPTED;
	return kernel_why_else(state, prev);
}

/* The scheduler's own clock, ns, as it read it last for the CPU that a task is queued or runs on.
 */
static __always_inline __u64 kernel_sched_clock(struct task_struct *task)
{
	return task->se.cfs_rq->rq->clock;
}

/* ---- what a probe in user code finds ---- */

/* 6.10: without these a program in a task's context can be preempted while it fills in a record,
 * and its ring has two producers then: such kernels get no probes (user/probes/attach.h). */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

/* On entry to a function, and at an instruction that leaves it: the stack pointer there. */
static __always_inline __u64 kernel_entry_sp(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->sp;
#else
	return ((struct pt_regs___of_arm64 *)regs)->sp;
#endif
}

/* After its return, where the return address has been taken off. */
static __always_inline __u64 kernel_return_sp(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->sp - 8;
#else
	return ((struct pt_regs___of_arm64 *)regs)->sp;
#endif
}

static __always_inline __u64 kernel_return_value(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->ax;
#else
	return ((struct pt_regs___of_arm64 *)regs)->regs[0];
#endif
}

/*
 * Has a function that is probed for its return jumped to this one (tail call)? Then the kernel's
 * trampoline is what this one returns to, and both return at once.
 */
static __always_inline bool kernel_tail_called(struct task_struct *task, struct pt_regs *regs)
{
	struct mm_struct *mm = task->mm;
	struct xol_area *area = mm ? mm->uprobes_state.xol_area : NULL;
	__u64 to = 0;

	if (!area)
		return false;
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&to, sizeof(to), (void *)regs->sp);
#else
	to = ((struct pt_regs___of_arm64 *)regs)->regs[30];
#endif
	return to == area->vaddr;
}

/* Is `sp` on the stack that the thread has named for its signal handlers? */
static __always_inline bool kernel_on_signal_stack(struct task_struct *task, __u64 sp)
{
	__u64 start = task->sas_ss_sp;

	return sp > start && sp - start <= task->sas_ss_size;
}

#endif
