/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * user_registers: the registers with which the user code of a task will go on (--why=stack=user).
 *
 * In: a task that sleeps or has just slept; out: its registers in the order of DWARF, and a number
 * under which its stack is known.
 */
#ifndef BPF_USER_REGISTERS_H
#define BPF_USER_REGISTERS_H

#include "compat.bpf.h"

/* Kernel threads, and those that the kernel makes for a process (PF_IO_WORKER, PF_USER_WORKER). */
#define NO_USER_CODE (PF_KTHREAD | PF_EXITING | 0x00000010 | 0x00004000)

/* In the order of DWARF. */
static __always_inline void put_registers(__u64 *to, const user_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[3] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[6] = regs->bp;
	to[7] = regs->sp;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
	to[16] = regs->ip;
#else
#pragma unroll
	for (int i = 0; i < 31; i++)
		to[i] = regs->regs[i];
	to[31] = regs->sp;
	to[32] = regs->pc;
#endif
}

static __always_inline bool has_user_code(struct task_struct *task)
{
	return !(task->flags & NO_USER_CODE) && !is_32bit(task);
}

/* The next number for a stack of user code. */
static __always_inline __u32 next_user_stack(void)
{
	return __sync_fetch_and_add(&user_stacks_asked, 1) + 1;
}

#endif
