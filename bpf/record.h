/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * record: the records that the programs send to user code.
 *
 * Records travel in one ring per CPU, in the order in which their space was reserved; the clock
 * (CLOCK_MONOTONIC, ns) is read after the reserve. A record does not hold its CPU: each ring
 * belongs to one CPU. Sizes and offsets are fixed and asserted on both sides; kinds and values are
 * on the wire: append only, never renumber. A change that an older reader would misread raises
 * RECORD_VERSION, which both sides compare at load.
 *
 * An `id` names a task for its whole life, also when its tid changes (exec): dense from 1, kept in
 * the storage of the task. 0 is a task that is not recorded, the idle task, or an unknown task. tid
 * and pid are numbers of the initial PID namespace (the kernel calls this pid the tgid); the idle
 * task has tid 0.
 *
 * Needs only __u8 ... __s64, so both clang's BPF target and user code can read it.
 */
#ifndef BPF_RECORD_H
#define BPF_RECORD_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include "trace/base/off_cpu.h"

#define RECORD_VERSION	 7
#define RECORD_COMM_SIZE 16 /* of the kernel, its NUL included */

enum record_kind {
	RECORD_SWITCH = 1,   /* struct record_switch */
	RECORD_TASK = 2,     /* struct record_task: the task of an id; at birth, rename, exec */
	RECORD_EXIT = 3,     /* struct record_exit: the task has begun to exit */
	RECORD_SNAPSHOT = 4, /* struct record_snapshot: the current task of this CPU */
	RECORD_LOST = 5,     /* struct record_lost: events without space just before this point */
	RECORD_PROBE = 6,    /* struct record_probe: a task is at a site, in user code */
	RECORD_MOVED = 7,    /* struct record_moved: before the switch that ends a wait */
	RECORD_SWITCH_CALL = 8, /* struct record_switch_call: a switch with a system call */
	RECORD_STACK = 9,	/* struct record_stack: before the switch that ends a long sleep */
	RECORD_INTERRUPTS = 10, /* struct record_interrupts: before the switch that ends a run */
	RECORD_PRIORITY = 11,	/* struct record_priority: after a switch, if it has changed */
	RECORD_REGISTERS = 12,	/* struct record_registers: from the iterator alone */
	RECORD_COUNTERS = 13,	/* struct record_counters: before the switch that ends a run */
	RECORD_IO = 14,		/* struct record_io: before the switch that ends an I/O sleep */
	RECORD_INTERRUPT = 15,	/* struct record_interrupt: a single handler has ended */
	RECORD_VARIABLE = 16, /* struct record_variable: of a new member, before its RECORD_TASK */
	RECORD_KINDS	      /* first unused number */
};

/* Wakers that are not a tid (waker_tid of a record, payload of OHw). */
#define WAKER_UNKNOWN	0
#define WAKER_NONE	(-1) /* it stayed runnable; never on the wire */
#define WAKER_INTERRUPT (-2)

struct record_head {
	__u64 clock;
	__u8 kind;
	__u8 flags; /* of the kind */
	__u16 why;  /* RECORD_SWITCH: enum off_cpu; RECORD_INTERRUPT: the kind; else 0 */
	__u32 id;   /* of the task in whose context the record was made (switch: prev) */
};
_Static_assert(sizeof(struct record_head) == 16, "wire size");

/*
 * RECORD_SWITCH: prev leaves this CPU, next enters it. If next was woken since its last switch-out,
 * wake_clock is the time of the wake-up (sched_wakeup), and waker_tid is the waker (of the last
 * sched_waking). Both are 0 without a wake-up, or if no program saw it.
 */
struct record_switch {
	struct record_head head;
	__u32 prev_tid, prev_pid;
	__u32 next_id, next_tid, next_pid;
	__s32 waker_tid;
	__u64 wake_clock;
};
_Static_assert(sizeof(struct record_switch) == 48, "wire size");

/*
 * RECORD_SWITCH_CALL: the same, where prev falls asleep and is no kernel thread (--why=call).
 * `call` is a number as off_cpu.h says, `object` the first argument of the call; of a fault
 * (CALL_NONE) the address of the instruction. `owner` is that of the lock on which prev sleeps, as
 * off_cpu.h says (--why=lock). With CALL_KERNEL_LOCK, `object` is the address of a lock of the
 * kernel on which prev sleeps in the call.
 */
#define CALL_KERNEL_LOCK 1u

struct record_switch_call {
	struct record_switch sw;
	__u64 object;
	__u16 call;
	__u16 flags; /* CALL_* */
	__s32 owner;
};
_Static_assert(sizeof(struct record_switch_call) == 64, "wire size");

static inline _Bool record_is_switch(__u8 kind)
{
	return kind == RECORD_SWITCH || kind == RECORD_SWITCH_CALL;
}

/*
 * RECORD_MOVED: the task of the id, which enters this CPU in the next switch record of the ring,
 * was moved from the queue of another CPU while it waited. Of several moves it is the last one.
 */
struct record_moved {
	struct record_head head;
	__u64 moved; /* ns: it waits for this CPU since then */
};
_Static_assert(sizeof(struct record_moved) == 24, "wire size");

/*
 * RECORD_STACK: the task of the id, which enters this CPU in the next switch record of the ring,
 * has slept long (--why=stack), or has waited long for a CPU after it had left one runnable
 * (--why=preempted), with these addresses on its kernel stack, the innermost first.
 * `nkernel` of them are valid; with STACK_CUT (head.flags) there may be more. Other bytes of
 * `kernel` are not set. `number` is not 0: the stack of the user code follows, as a struct
 * user_stack of this number.
 * With STACK_WAKER (head.flags) it is the stack of the task `tid`, or of the interrupt, that woke
 * the task of the id (--why=stack,wakers): the stack of the woken task follows as the next record.
 * From the iterator at the end of a window, not through a ring: the task still sleeps, since
 * head.clock (1: from before the recording).
 */
#define STACK_KERNEL_MAX 32
#define STACK_CUT	 1u
#define STACK_WAKER	 2u /* head.flags: see below */

struct record_stack {
	struct record_head head;
	__u32 tid;
	__u32 nkernel;
	__u32 number;
	__u32 pad;
	__u64 kernel[STACK_KERNEL_MAX];
};
_Static_assert(sizeof(struct record_stack) == 288, "wire size");

/*
 * The registers and the stack of the user code of a thread that comes back from a long sleep
 * (--why=stack=user). Not in the rings of the CPUs, but in one of its own (user_stack_ring): it is
 * large, rare, and in no order with the events. `registers` are in the order of DWARF: of x86-64
 * rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip; of arm64 x0 to x30, sp, pc. `stack` holds
 * `bytes` bytes from `from` on; the others are not set, and the record may end before them.
 *
 * With the number 0: the process `pid` is born, or runs another program. The record ends before
 * `from`. User code reads the mappings of the process, which may have ended when its first stack
 * is taken.
 */
#define USER_STACK_MAX	   16384 /* bytes */
#define USER_STACK_BELOW   128	 /* below the stack pointer: the red zone of x86-64 */
#define USER_REGISTERS_MAX 33

struct user_stack {
	__u64 clock; /* ns */
	__u32 number;
	__u32 pid, tid;
	__u32 bytes;
	__u64 from;
	__u64 registers[USER_REGISTERS_MAX];
	__u8 stack[USER_STACK_MAX];
};
_Static_assert(sizeof(struct user_stack) == 32 + 33 * 8 + USER_STACK_MAX, "wire size");
#define USER_STACK_PROCESS_SIZE 24 /* with the number 0 */

/* The registers of the user code of a task that sleeps at the end of the window, behind its struct
 * record_stack from the iterator; user code reads its memory. */
struct record_registers {
	struct record_head head;
	__u32 number;
	__u32 pid, tid;
	__u32 pad;
	__u64 registers[USER_REGISTERS_MAX];
};
_Static_assert(sizeof(struct record_registers) == 32 + 33 * 8, "wire size");

/*
 * RECORD_INTERRUPTS: interrupt handlers took `ns` from the present run of the task of the id, the
 * first of them at the clock `first` (--why=irq). It precedes the switch that ends the run, or a
 * snapshot in it.
 */
struct record_interrupts {
	struct record_head head;
	__u64 first;
	__u64 ns;
};
_Static_assert(sizeof(struct record_interrupts) == 32, "wire size");

/*
 * RECORD_INTERRUPT: a long interrupt handler, of the kind head.why (enum irq_kind, state.h), has
 * interrupted the task of the id, from `begin` to `end`. head.flags is its depth: with 1 or more it
 * has interrupted another handler, whose record follows: that of the outermost one is the last.
 */
struct record_interrupt {
	struct record_head head;
	__u64 begin, end;
};
_Static_assert(sizeof(struct record_interrupt) == 32, "wire size");

/*
 * RECORD_PRIORITY: the task of the id, which has entered this CPU in the switch record before, has
 * this priority and may run on these CPUs (--why=prio). Sent at its first switch, and when one of
 * them has changed. `priority` is the effective one, of a deadline task -1; it is below `normal`
 * while the task inherits it from a task that waits for it. `cpus` has `words` valid words, a bit
 * for each CPU by its kernel number.
 * From the iterator, at the beginning: what the task has then.
 */
#define PRIORITY_CPU_WORDS 16 /* 1,024 CPUs */

struct record_priority {
	struct record_head head;
	__u32 tid, pid;
	__s32 priority, normal; /* as the kernel counts: real-time 0 to 98, nice n is 120 + n */
	__s32 nice;
	__u16 policy; /* SCHED_* of sched(7) */
	__u16 words;
	__u64 cpus[PRIORITY_CPU_WORDS];
};
_Static_assert(sizeof(struct record_priority) == 168, "wire size");

/*
 * RECORD_COUNTERS: the task of the id, which runs here, has counted these perf events since the
 * clock `since` (--counters), in the order of the options; values behind them are not set. It
 * precedes the switch that ends the run, or a snapshot in it.
 */
#define COUNTERS_MAX	8
#define COUNTER_UNKNOWN (-1) /* the event was not counted in this time */

struct record_counters {
	struct record_head head;
	__u64 since;
	__s64 values[COUNTERS_MAX];
};
_Static_assert(sizeof(struct record_counters) == 88, "wire size");

/*
 * RECORD_IO: the completion of this request on a block device has woken the task of the id, which
 * enters this CPU in the next switch record of the ring (--why=io).
 */
#define IO_SECTOR_MASK	 ((1ull << 48) - 1)
#define IO_SECTORS_SHIFT 48
#define IO_SECTORS_MAX	 0x7fff /* and more */
#define IO_WRITE_SHIFT	 63

struct io_request {
	__u64 request; /* sector of 512 bytes, number of sectors, write; see above */
	__u32 device;  /* major << 20 | minor; 0: no request */
	__u32 us;      /* at the device; 0: not known */
};

struct record_io {
	struct record_head head;
	struct io_request io;
};
_Static_assert(sizeof(struct record_io) == 32, "wire size");

/*
 * RECORD_VARIABLE: the process `pid`, which is a member of the job from now on, has this value of
 * the variable head.why (an index, struct variable) in its environment (ovni-job). A value without
 * a NUL is cut. With VARIABLE_LAST (head.flags) no other variable of the process follows.
 */
#define VARIABLE_VALUE 128
#define VARIABLE_LAST  1u

struct record_variable {
	struct record_head head;
	__u32 pid;
	__u32 pad;
	char value[VARIABLE_VALUE];
};
_Static_assert(sizeof(struct record_variable) == 152, "wire size");

/*
 * RECORD_SWITCH, head.flags. With a CPU list (-C) only switches on the listed CPUs are sent, and
 * those without space in a ring are lost: the next record in which the task enters a CPU says so.
 */
#define SWITCH_NEXT_ELSEWHERE 1u /* next ran on a CPU without records since it last left one */
#define SWITCH_NEXT_LOST      2u /* a switch of next was lost since it last left a CPU */

/*
 * RECORD_TASK and RECORD_EXIT are sent from all CPUs, with a CPU list, too; from CPUs that are not
 * listed with head.id 0, since their current tasks are not recorded.
 *
 * A RECORD_TASK with an id and without TASK_FLAG_TRACED: the task is no longer traced (a new name
 * does not match --comm, or it left the cgroup), and its later records have id 0. It may be traced
 * again later, under the same id, after a RECORD_TASK with the flag. A task may also become traced
 * while it runs: its first switch record is then a switch-out.
 * TASK_ITERATED with id 0 is a task that is not traced, sent only for its name; TASK_BORN with id 0
 * is one that is not traced, sent because its creator (head.id) is.
 *
 * The cause is in head.flags of RECORD_TASK.
 */
enum task_cause {
	TASK_SEEN = 1,	   /* traced from now on: moved into the cgroup, or seen first */
	TASK_ITERATED = 2, /* read by the iterator; clock 0, never through a ring */
	TASK_BORN = 3,	   /* fork or clone; head.id is the creator's */
	TASK_RENAMED = 4,
	TASK_EXECED = 5, /* tid may differ from before: old_tid */
};

#define TASK_FLAG_KTHREAD   1u
#define TASK_FLAG_TRACED    2u /* see above */
#define TASK_FLAG_ELSEWHERE 4u /* TASK_ITERATED: as SWITCH_NEXT_ELSEWHERE, at this moment */
#define TASK_FLAG_LOST	    8u /* TASK_ITERATED: as SWITCH_NEXT_LOST, at this moment */

struct record_task {
	struct record_head head;
	__u32 id, tid, pid;
	__u32 parent_pid;  /* of the real parent's process; 0 not known */
	__s32 creator_tid; /* TASK_BORN: the caller of clone(); else -1 */
	__u32 old_tid;	   /* TASK_EXECED: the tid before; else equal to tid */
	__u32 flags;	   /* TASK_FLAG_* */
	__u32 state;	   /* TASK_ITERATED: raw kernel state; else 0 */
	__u64 wake_clock;  /* TASK_ITERATED: woken then and not yet run; else 0 */
	__s32 waker_tid;   /* with wake_clock */
	__u32 on_cpu;	   /* TASK_ITERATED: a hint only, it races with switches */
	char comm[RECORD_COMM_SIZE];
};
_Static_assert(sizeof(struct record_task) == 80, "wire size");

/*
 * TASK_ITERATED, read from the iterator: with the system call of a task that sleeps, as in struct
 * record_switch_call (--why=call). CALL_UNKNOWN: it does not, or is a kernel thread.
 */
struct record_iterated {
	struct record_task task;
	__u64 object;
	__u16 call;
	__u16 pad[3];
};
_Static_assert(sizeof(struct record_iterated) == 96, "wire size");

struct record_exit {
	struct record_head head;
	__u32 tid, pid;
	__u32 exit_code; /* as in task_struct: status << 8 | signal */
	__u32 id;	 /* of the task; head.id is 0 on a CPU that is not listed */
};
_Static_assert(sizeof(struct record_exit) == 32, "wire size");

enum snapshot_phase { SNAPSHOT_START = 1, SNAPSHOT_STOP = 2 }; /* head.flags */

struct record_snapshot {
	struct record_head head; /* head.id: of the task on this CPU */
	__u32 tid, pid;
};
_Static_assert(sizeof(struct record_snapshot) == 24, "wire size");

/*
 * RECORD_LOST precedes the first record that found space after a loss: `count` events of all kinds,
 * the first of them at first_clock. A loss without a later record in its ring is only in the event
 * counts, and its gap in struct cpu_state. The kinds are by enum event_kind (state.h), and add up
 * to `count`.
 */
#define RECORD_EVENT_KINDS 8

struct record_lost {
	struct record_head head;
	__u64 first_clock;
	__u64 count; /* of all kinds */
	__u64 kinds[RECORD_EVENT_KINDS];
};
_Static_assert(sizeof(struct record_lost) == 96, "wire size");

/*
 * RECORD_PROBE: the task is at a site, in user code. `sp` is the stack pointer at the entry of the
 * function, also in the record of the return, so that the two are equal. `stack` is the kind of the
 * stack. An entry whose record found no room is not followed by the record of its return. The side
 * is in the low bits of head.flags.
 */
enum probe_side {
	PROBE_ENTRY = 1,
	PROBE_RETURN = 2,
	PROBE_POINT = 3,
};

#define PROBE_SIDE	3u
#define PROBE_VALUE	4u  /* `value` is there; else there was none, or it could not be read */
#define PROBE_TAIL	8u  /* entry: jumped to by a function that returns through it (tail call) */
#define PROBE_ELSEWHERE 16u /* return: on a CPU that is not recorded (-C) */
#define PROBE_AT_EXIT	32u /* return: found at an instruction that leaves; it has no call */
#define PROBE_SEVERAL	64u /* it is a struct record_probe_values, without PROBE_VALUE */

/* Which stack: the end of its memory / 4096, or one of these. */
#define PROBE_STACK_UNKNOWN   0u
#define PROBE_STACK_ALTERNATE 0x80000000u /* bit: of signal handlers (sigaltstack) */

struct record_probe {
	struct record_head head;
	__u32 site;  /* as its cookie says */
	__u32 stack; /* see above */
	__u64 sp;
	__u64 call; /* the same at the entry and the return of one call, by task; 0: not known */
	__s64 value;
	__u32 tid, pid;
};
_Static_assert(sizeof(struct record_probe) == 56, "wire size");

/* RECORD_PROBE with PROBE_SEVERAL: of a site with more values than one. */
#define PROBE_VALUES 8

struct record_probe_values {
	struct record_probe probe;
	__u64 valid; /* bit i: values[i] is there; others belong to the other side, or could not be
			read */
	__s64 values[PROBE_VALUES];
};
_Static_assert(sizeof(struct record_probe_values) == 128, "wire size");

#endif
