/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * off_cpu: the reason why a thread left the CPU.
 *
 * The numbers are part of the trace format (payload of OHp and KCO, event-mapping.md). BPF programs
 * include this file, so it includes nothing.
 */
#ifndef TRACE_BASE_OFF_CPU_H
#define TRACE_BASE_OFF_CPU_H

enum off_cpu {
	OFF_CPU_UNKNOWN = 0,
	OFF_CPU_SLEEPING = 1, /* interruptible */
	OFF_CPU_UNINTERRUPTIBLE = 2,
	OFF_CPU_IO = 3, /* uninterruptible, waiting for I/O */
	OFF_CPU_STOPPED = 4,
	OFF_CPU_TRACED = 5,
	OFF_CPU_PREEMPTED = 6,
	OFF_CPU_YIELDED = 7,
	OFF_CPU_PARKED = 8,
	OFF_CPU_IDLE = 9, /* a kernel thread that does not count as load (TASK_IDLE) */
	OFF_CPU_DEAD = 10,
	OFF_CPU_LOST = 11, /* the record of the switch was lost; the kernel side never sends this */
	OFF_CPU_THROTTLED = 12, /* a cgroup of the thread has used up its CPU quota */
	OFF_CPU_COUNT
};

/* The system call of a thread that falls asleep, as OHp has it (event-mapping.md): its number in
 * the table of the machine, or one of these. */
#define CALL_32BIT   0x8000u /* bit: a number of the 32-bit table */
#define CALL_NONE    0xffffu /* none: a fault in user code */
#define CALL_UNKNOWN 0xfffeu /* never in a trace */
#define CALL_MAX     0x7ffdu /* the highest number */

/* Bit of the object of an OHp with reason 2: it is a lock of the kernel, with a number for its
 * address, and not the argument of the call. */
#define CALL_LOCK_OF_KERNEL (1ull << 63)

/* The owner of the lock on which a thread slept, as OHw has it: a tid, or one of these. */
#define LOCK_OWNER_UNKNOWN 0
#define LOCK_OWNER_NONE	   (-1)

/* Whether the thread stays runnable. */
static inline _Bool off_cpu_runnable(unsigned reason)
{
	return reason == OFF_CPU_PREEMPTED || reason == OFF_CPU_YIELDED ||
	       reason == OFF_CPU_THROTTLED;
}

/* One word for JSON, CSV and columns: "io". "unknown" for a number that is no reason. */
const char *off_cpu_word(unsigned reason);
/* For Paraver and sentences: "waiting for I/O". NULL for a number that is no reason. */
const char *off_cpu_label(unsigned reason);

#endif
