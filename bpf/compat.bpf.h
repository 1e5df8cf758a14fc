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

/* Does the task run on a CPU, or does that CPU still switch away from it? */
static __always_inline bool kernel_on_cpu(struct task_struct *task)
{
	return ((struct task_struct___on_cpu *)task)->on_cpu;
}

static __always_inline bool kernel_is_kthread(struct task_struct *task)
{
	return task->flags & PF_KTHREAD;
}

#define PID_LEVELS 32 /* of nested PID namespaces; the kernel's limit */

/* The pid of a task in the recorder's PID namespace; 0: the namespace does not contain the task. */
static __always_inline __u32 kernel_number(struct task_struct *task)
{
	struct pid *pid;
	__u32 level, i;

	if (!settings.pid_namespace)
		return task->pid;
	pid = BPF_CORE_READ(task, thread_pid);
	level = BPF_CORE_READ(pid, level);
	for (i = 0; i < PID_LEVELS && i <= level; i++)
		if (BPF_CORE_READ(pid, numbers[i].ns, ns.inum) == settings.pid_namespace)
			return BPF_CORE_READ(pid, numbers[i].nr);
	return 0;
}

/*
 * Can the storage of a task be created while the scheduler holds its locks? Only where the memory
 * comes from an allocator of BPF's own (08a7ce384e33, 6.4) or one without locks (6.19).
 */
static __always_inline bool kernel_can_make_storage_anywhere(void)
{
	return bpf_core_field_exists(((struct bpf_local_storage_map___6_4 *)0)->selem_ma) ||
	       bpf_core_field_exists(
		       ((struct bpf_local_storage_map___nolock *)0)->use_kmalloc_nolock);
}

/* Bytes of the kernel stack of a task below its saved registers. Before 6.18 [measured: 6.12] a
 * program must not compute with the pointer itself; a copy of it is a number. */
static __always_inline __u64 kernel_stack_bytes(struct task_struct *task)
{
	void *registers = (void *)bpf_task_pt_regs(task);
	__u64 top = 0;

	bpf_probe_read_kernel(&top, sizeof(top), &registers);
	return top - (__u64)task->stack;
}

/*
 * Does this CPU use the kernel stack of its current task? Interrupts in kernel mode run on a
 * separate stack. (Programs that use more than 64 bytes of stack may run on a stack of BPF: they
 * must not call this.)
 */
static __always_inline bool kernel_on_own_stack(struct task_struct *task)
{
	__u64 bottom = (__u64)task->stack, at;

	if (!settings.registers)
		return true;
	asm volatile("%0 = r10" : "=r"(at));
	if (at < bottom)
		return false;
	bottom += stack_bytes;
	asm volatile("" : "+r"(at), "+r"(bottom)); /* two comparisons, no subtraction */
	return at < bottom;
}

/* The registers of user code, saved at its entry into the kernel; of a system call its number,
 * first argument (of 32-bit code another register), second and third. Each user_registers() calls a
 * helper. Not for kernel threads. */
#if defined(__TARGET_ARCH_x86)
#define user_regs      struct pt_regs /* no typedef: its members would not be found in the kernel */
#define CALL_NUMBER    orig_ax
#define CALL_FIRST     di
#define CALL_FIRST_32  bx
#define CALL_SECOND    si
#define CALL_THIRD     dx
#define CODE_ADDRESS   ip
#define is_32bit(task) ((task)->thread_info.status & 2) /* TS_COMPAT */
#else
#define user_regs      struct pt_regs___of_arm64
#define CALL_NUMBER    syscallno
#define CALL_FIRST     orig_x0
#define CALL_FIRST_32  orig_x0
#define CALL_SECOND    regs[1]
#define CALL_THIRD     regs[2]
#define CODE_ADDRESS   pc
#define is_32bit(task) ((task)->thread_info.flags & 1 << 22) /* TIF_32BIT */
#endif

static __always_inline user_regs *user_registers(struct task_struct *task)
{
	return (user_regs *)bpf_task_pt_regs(task);
}

/* The system call that a task is in or comes from; -1: none, it was interrupted in user code or
 * took a fault there. */
static __always_inline long kernel_system_call(struct task_struct *task)
{
	return (long)user_registers(task)->CALL_NUMBER;
}

/* The freezer of cgroup v2 (76f969e8948d, 5.2) stops a task on its way to user code. */
#define JOBCTL_TRAP_FREEZE (1ul << 23)

/*
 * The same as a number of off_cpu.h, and in *object its first argument; without a call the address
 * in user code, where it took a fault, or not known, as of a task that was frozen in user code. The
 * calls of 32-bit code have a table of their own.
 */
static __always_inline __u16 kernel_call(struct task_struct *task, const user_regs *regs,
					 __u64 *object)
{
	long number = (long)regs->CALL_NUMBER;

	if (unlikely(number == -1)) {
		*object = regs->CODE_ADDRESS;
		return task->jobctl & JOBCTL_TRAP_FREEZE ? CALL_UNKNOWN : CALL_NONE;
	}
	if (unlikely((__u64)number > CALL_MAX))
		number = CALL_UNKNOWN;
	*object = regs->CALL_FIRST;
	if (likely(!is_32bit(task)))
		return number;
	*object = (__u32)regs->CALL_FIRST_32;
	return number | CALL_32BIT;
}

/*
 * Does a task that leaves the CPU runnable yield? Then it is inside sched_yield(2). A task that is
 * preempted on its way to user space came from another system call or an interrupt. Kernel threads
 * count as preempted. (sched_set_need_resched_tp has this information, too, but only newer kernels
 * have it, and a program there runs for every wake-up of an idle CPU.)
 */
static __always_inline bool kernel_yields(struct task_struct *task)
{
	long call;

	if (kernel_is_kthread(task))
		return false;
	call = kernel_system_call(task);
#if defined(__TARGET_ARCH_x86)
	return call == 24 || (call == 158 && is_32bit(task));
#else
	return call == 124;
#endif
}

/*
 * Does the CPU quota of a cgroup stop a task that leaves the CPU runnable? e1fad12dcb66 (6.18)
 * stops each task on its way to user space, and says so in the task. Before, all tasks of a run
 * queue were stopped where they were; throttle_count says so then, and on newer kernels says too
 * much: it is also set for tasks that run on to the end of their system call. A kernel without both
 * has no quotas. (clang 14 cannot relocate the bit field cfs_rq.throttled.)
 */
static __always_inline bool kernel_throttles(struct task_struct *task)
{
	struct task_struct___6_18 *new = (void *)task;
	struct cfs_rq___before_6_18 *queue = NULL;

	if (bpf_core_field_exists(new->throttled))
		return new->throttled;
	if (!bpf_core_field_exists(queue->throttle_count))
		return false;
	queue = (void *)task->se.cfs_rq;
	return queue->throttle_count > 0;
}

/* The rarer reasons. */
static __noinline __attribute__((unused)) int rare_off_cpu_reason(__u32 state,
								  struct task_struct *prev)
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

/* A task that could run on leaves its CPU. */
static __noinline __attribute__((unused)) int runnable_reason(bool preempt,
							      struct task_struct *prev)
{
	if (unlikely(kernel_throttles(prev)))
		return OFF_CPU_THROTTLED;
	return !preempt && settings.registers && kernel_yields(prev) ? OFF_CPU_YIELDED
								     : OFF_CPU_PREEMPTED;
}

/*
 * The reason why prev leaves the CPU. If `preempt` is set, prev stays runnable whatever its state.
 * It is not set for every preemption: a tick in user code preempts with it unset and state 0.
 */
static __always_inline __u16 off_cpu_reason(bool preempt, __u32 state, struct task_struct *prev)
{
	if (preempt)
		return runnable_reason(preempt, prev);
	if (likely(state & STATE_INTERRUPTIBLE))
		return OFF_CPU_SLEEPING;
	if (state == 0)
		return runnable_reason(preempt, prev);
	return rare_off_cpu_reason(state, prev);
}

/* Does a task that leaves its CPU for this reason fall asleep? */
static __always_inline bool falls_asleep(__u16 reason)
{
	const __u64 runnable =
		1 << OFF_CPU_PREEMPTED | 1 << OFF_CPU_YIELDED | 1 << OFF_CPU_THROTTLED;

	return !(runnable >> (reason & 63) & 1); /* without branches: all reasons are below 64 */
}

/* ---- preemption ---- */

/* Calls a kernel function without arguments, which user code puts in the place of `number`. Unlike
 * a weak extern, the call is no obstacle in a kernel that knows no calls of kernel functions. */
#define KERNEL_CALL(number)                                                                        \
	asm volatile("call %[to]"                                                                  \
		     :                                                                             \
		     : [to] "i"(number)                                                            \
		     : "r0", "r1", "r2", "r3", "r4", "r5", "memory")

/* The same, of one argument, with the result. */
#define KERNEL_CALL_1(number, argument)                                                            \
	({                                                                                         \
		register __u64 r1 asm("r1") = (__u64)(argument);                                   \
		register __u64 r0 asm("r0");                                                       \
		asm volatile("call %[to]"                                                          \
			     : "=r"(r0), "+r"(r1)                                                  \
			     : [to] "i"(number)                                                    \
			     : "r2", "r3", "r4", "r5", "memory");                                  \
		r0;                                                                                \
	})

/*
 * Around a program at a tracepoint in the context of a task: newer kernels [seen: 7.3] can preempt
 * it there, and the ring of its CPU would have two producers. Kernels without these functions do
 * not.
 */
static __always_inline void kernel_preempt_disable(void)
{
	if (settings.preempt_calls)
		KERNEL_CALL(PREEMPT_DISABLE_CALL);
}

static __always_inline void kernel_preempt_enable(void)
{
	if (settings.preempt_calls)
		KERNEL_CALL(PREEMPT_ENABLE_CALL);
}

/* ---- for the probes in user code ---- */

/* Since 6.10. Without these a program in the context of a task can be preempted while it fills in a
 * record, and its ring then has two producers: older kernels get no probes (user/probes/attach.h).
 */
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

/* After the return, which has removed the return address from the stack. */
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
 * Has a function whose return is probed jumped to this one (tail call)? Then this one returns to
 * the kernel's trampoline, and both return at once.
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

/* Is `sp` on the alternate signal stack of the thread (sigaltstack)? */
static __always_inline bool kernel_on_signal_stack(struct task_struct *task, __u64 sp)
{
	__u64 start = task->sas_ss_sp;

	return sp > start && sp - start <= task->sas_ss_size;
}

#endif
