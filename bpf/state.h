/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * state: data of maps that the programs and user code share, beside the records.
 *
 * One struct cpu_state per possible CPU, in an array that user code maps: the positions of its
 * ring, the event counts (seen, filtered, sampled, lost), the runs and costs of our programs.
 * Written by that CPU alone, except `consumed`, and `recorded`, which user code writes before the
 * programs are attached.
 *
 * A record is at `data + (position & mask)` and begins at a multiple of 8; its kind determines its
 * size. The producer raises `reserved`, reads the clock, fills the record in, and raises
 * `committed`. struct task_state is the storage of a task; it is freed with the task.
 */
#ifndef BPF_STATE_H
#define BPF_STATE_H

#include "record.h"

#define RING_SPILL 320 /* bytes behind a ring; the largest record fits */

/*
 * Kinds of events, as the user names them (--events). A wake-up has no record: it is counted at the
 * switch at which its thread enters a CPU.
 */
enum event_kind {
	EVENT_SWITCH,
	EVENT_WAKE,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_EXIT,
	EVENT_RENAME,
	EVENT_PROBE,
	EVENT_OTHER, /* snapshots, and the tasks behind ids: needed by the others, never filtered */
	EVENT_KINDS
};
_Static_assert(EVENT_KINDS == RECORD_EVENT_KINDS, "kinds of struct record_lost");

/* seen = sent + filtered + sampled + full, always. */
struct kind_counts {
	__u64 seen;	/* the program was called for one */
	__u64 filtered; /* left out: its kind, its thread, its CPU, or the mode */
	__u64 sampled;	/* left out by --sample */
	__u64 full;	/* lost: no space in the ring, or no ring */
};

/* The use of a CPU. */
enum cpu_use {
	CPU_UNKNOWN,
	CPU_IDLE,
	CPU_OTHER,  /* a thread that is not traced */
	CPU_THREAD, /* a traced thread */
	CPU_USES
};

/* The purpose of our programs. */
enum program_group {
	PROGRAMS_SWITCH,
	PROGRAMS_WAKE,
	PROGRAMS_LIFE,
	PROGRAMS_INTERRUPT,
	PROGRAMS_PROBE,
	PROGRAM_GROUPS
};

/* Time of the runs that were timed: one in 64. */
struct program_cost {
	__u64 timed_runs, timed_ns;
};

/* A switch touches the first two lines of 64 bytes, and reads `consumed`. */
struct cpu_state {
	/* Written by the programs on this CPU. */
	__u64 reserved, committed;  /* positions in the ring, bytes since the beginning */
	__u64 runs[PROGRAM_GROUPS]; /* of our programs */
	__u32 recorded;		    /* switches of this CPU are sent (-C); written by user code */
	__u32 interrupt;	    /* depth of interrupt handlers that run now */

	struct kind_counts events[EVENT_KINDS];

	__u64 gap_count; /* events lost since the last record that found space, */
	__u64 gap_clock; /* and the clock of the first of them, ns: valid once the count is not 0 */
	struct program_cost costs[PROGRAM_GROUPS];
	__u64 snapshot_clock;  /* of the last snapshot of this CPU, ns */
	__u64 stacks_left_out; /* of long sleeps: more than a limit, or no space in the ring */
	__u32 emits;	       /* a record is being filled in; with irq_ns or priority_words */
	__u32 kept_irqs;       /* long handlers wait for its end (struct cpu_irqs) */
	__u64 spare[1];
	__u64 reported[EVENT_KINDS]; /* of events[].full: reported by a RECORD_LOST */

	/* Written by user code. */
	__u64 consumed; /* the space up to this position may be used again */
	__u64 spare2[7];
};
_Static_assert(__builtin_offsetof(struct cpu_state, events) == 64, "lines of a switch");
_Static_assert(sizeof(struct cpu_state) % 64 == 0, "no two CPUs write to a line");

#define SCHED_UNKNOWN (1ll << 62) /* offset of the scheduler's clock before it is known, ns */

/* Argument of the program choose_moment: the end or the beginning of the window. */
enum moment { MOMENT_BEGIN, MOMENT_END };
#define MOMENT_AHEAD 100000 /* ns: chosen so long before, every program knows it when it comes */

/* Storage of a task. A switch touches its first line. */
struct task_state {
	__u32 id;	  /* dense, from 1, while the task is recorded; else 0 */
	__u32 traced;	  /* in the target and not filtered out; recorded if not sampled out */
	__u32 ksoftirqd;  /* woken by interrupts that have too much to do */
	__s32 waker_tid;  /* of the last sched_waking */
	__u64 wake_clock; /* of a wake-up since it last left a CPU, as a program saw it, ns; else 0.
			     With settings.wakeup_from_sched_info only the first one of a task */
	__u64 slept;	  /* it fell asleep then, ns; 0: it is not asleep. With that setting, and
			     with settings.stack_ns */
	__u64 delay;	  /* all time it had waited for CPUs by then, ns; with that setting */
	__u32 unseen;	  /* SWITCH_NEXT_*: since it last left a CPU */

	__u32 own_id;	 /* `id`, kept while it is not traced; 0: it never was */
	__u32 in_target; /* belongs to the processes or threads that the user named */
	__u32 stacks;	 /* of long sleeps, in which second: see stack.bpf.h */
	__u64 css_set;	 /* where its cgroup was looked up (--cgroup) */

	/* As the last RECORD_PRIORITY has them; see priority.bpf.h: */
	__u64 priority; /* 0: none was sent */
	__u64 may_run_on;

	/* Of its probes: */
	__u64 stack_start, stack_end; /* the memory of the stack that it was last seen on */
	__u64 calls;		      /* entries of functions that were recorded */
	__u64 kept_sp, kept; /* a pointer that an entry with this stack pointer keeps for its return
			      */
	struct io_request io; /* that has woken it, until it enters a CPU (--why=io) */
	__u64 waits_since;    /* it left its CPU then and stayed runnable, ns; 0: it did not. With
				 settings.preempted */
};

/*
 * The data of a probe: a cookie, and the entry of its site in an array.
 *
 *   63      56 55      48 47              32 31                               0
 *   ┌─────────┬──────────┬──────────────────┬─────────────────────────────────┐
 *   │  flags  │  source  │      number      │          index of site          │
 *   └─────────┴──────────┴──────────────────┴─────────────────────────────────┘
 *
 * `source` is an enum probe_source, `number` the offset of a register.
 */
enum probe_source {
	PROBE_FROM_NOTHING,
	PROBE_FROM_ARGUMENT, /* the register at this offset in pt_regs, on entry alone */
	PROBE_FROM_RETURN,
	PROBE_FROM_CONSTANT, /* probe_site.constant */
	PROBE_FROM_REGISTER, /* the register at this offset in pt_regs */
	PROBE_FROM_MEMORY,   /* at that register + probe_site.constant, in user memory */
	PROBE_FROM_SEVERAL,  /* struct probe_values of the site, with settings.several */
};

#define PROBE_COOKIE(site, source, number, flags)                                                  \
	((__u64)(site) | (__u64)(number) << 32 | (__u64)(source) << 48 | (__u64)(flags) << 56)
#define PROBE_COOKIE_EXIT 1u /* is at an instruction that leaves the function */

struct probe_site {
	__s64 constant;
	__u32 bytes; /* to read from memory: 1, 2, 4, 8 */
	__u32 pad;
	/* Of --max-rate and --sample-calls, written by the programs: */
	__u64 second;	/* CLOCK_MONOTONIC, s << 32 | calls in it so far */
	__u64 turn;	/* calls so far */
	__u64 left_out; /* calls that were left out */
	__u64 spare[3];
};
_Static_assert(sizeof(struct probe_site) == 64, "shared size");

/* The values of a site, in the order of their places in struct record_probe_values. */
#define PROBE_VALUE_RETURN   1u /* read at the return; alone: the returned value */
#define PROBE_VALUE_ARGUMENT 2u /* the register of the entry at `reg`, */
#define PROBE_VALUE_STACK    4u /* or 8 bytes at the stack pointer of the entry + `stack`; */
#define PROBE_VALUE_FOLLOW   8u /* or the memory at that + `offset` */

struct probe_value {
	__u16 reg, stack, offset;
	__u8 bytes; /* of memory: 1, 2, 4, 8 */
	__u8 flags; /* PROBE_VALUE_* */
};

struct probe_values {
	__u32 count, pad;
	struct probe_value list[PROBE_VALUES];
};

/*
 * The time of interrupt handlers (--why=irq): one struct cpu_irqs per possible CPU, in an array
 * that user code maps, written by that CPU alone. `ns` is the sum of kinds[].ns, each the time of
 * the handlers of a kind without that of other handlers that interrupted them, so nested handlers
 * count once. The sums begin when the programs are attached, and never fall. Specification: why.md
 * A6, and part B.
 */

/* Kinds of handlers. A softirq has the number of its vector, a device the number of its line. */
enum irq_kind {
	IRQ_SOFTIRQ = 0, /* + vector */
	IRQ_LOCAL_TIMER = 10,
	IRQ_WORK = 11,
	IRQ_CALL_FUNCTION = 12,
	IRQ_CALL_FUNCTION_SINGLE = 13,
	IRQ_RESCHEDULE = 14,
	IRQ_DEVICES = 15, /* lines that have no kind of their own */
	IRQ_LINE = 16,	  /* + number */
	IRQ_KINDS = 128
};

#define IRQ_NESTED 8  /* handlers that interrupt each other; more are counted as the innermost */
#define IRQ_KEPT   32 /* long handlers that wait for the ring; a power of two */

struct irq_sum {
	__u64 ns, times;
};

struct irq_kept { /* a long handler, as in struct record_interrupt */
	__u64 begin, end;
	__u32 id;
	__u16 kind, depth;
};

struct cpu_irqs {	   /* a switch without interrupts touches the first line */
	__u64 ns;	   /* of all handlers */
	__u64 softirq_ns;  /* part of it: softirqs */
	__u64 run_ns;	   /* `ns` at the last switch, */
	__u64 run_softirq; /* and `softirq_ns` */
	__u64 first; /* clock of the first handler since then, ns; valid if ns is above run_ns */
	__u64 since; /* clock up to which the handler that runs now is in the sums, ns */
	__u32 depth; /* of handlers that run now */
	__u32 pad;
	__u16 nested[IRQ_NESTED];  /* their kinds, */
	__u64 entered[IRQ_NESTED]; /* and the clocks at which they began, ns */
	__u64 left_out;		   /* long handlers of recorded threads, without space */
	__u32 taken, sent;	   /* of `kept`, since the beginning */
	__u64 spare[5];
	struct irq_kept kept[IRQ_KEPT];
	struct irq_sum kinds[IRQ_KINDS];
};
_Static_assert(sizeof(struct cpu_irqs) % 64 == 0, "no two CPUs write to a line");

/* Calls that user code turns into calls of kernel functions before the load. */
#define SESSION_COOKIE_CALL    0x7e550001 /* bpf_session_cookie */
#define SESSION_IS_RETURN_CALL 0x7e550002 /* bpf_session_is_return */
#define PREEMPT_DISABLE_CALL   0x7e550003 /* bpf_preempt_disable */
#define PREEMPT_ENABLE_CALL    0x7e550004 /* bpf_preempt_enable */
#define TASK_FIND_CALL	       0x7e550005 /* bpf_task_from_vpid (6.14), or bpf_task_from_pid (6.2) */
#define TASK_RELEASE_CALL      0x7e550006 /* bpf_task_release */
#define TASK_WORK_CALL	       0x7e550007 /* bpf_task_work_schedule_resume (6.18) */

/*
 * The members of a job by their environment (ovni-job): a map of the variables of launchers by
 * name, and the rule by their indices, as bits.
 */
#define VARIABLES_MAX 16
#define VARIABLE_NAME 48 /* with its NUL */

struct variable {
	__u32 index, pad;
	char wanted[VARIABLE_VALUE]; /* zeros behind it; empty: none */
};

struct member_rule {
	__u32 uid;	/* of the process */
	__u32 must;	/* these have their wanted values, */
	__u32 never;	/* none of these has it, */
	__u32 if_there; /* these have it if they are there, */
	struct {
		__u32 all, none; /* there, and not there */
	} ranks[4];		 /* and one of these holds: the process has a rank; 0: none */
};

/* settings.stack_parts */
#define STACK_OF_KERNEL 1u
#define STACK_OF_USER	2u

/* How the stack of user code of a long sleep is taken. */
enum user_stack_way {
	USER_STACKS_NONE,
	USER_STACKS_AT_SWITCH,	  /* a copy at the switch-out of each sleep: struct user_copy */
	USER_STACKS_BY_TASK_WORK, /* after it, on the way to user code (Linux 6.18) */
};

/*
 * The top of the stack of user code of a thread, copied where it falls asleep
 * (USER_STACKS_AT_SWITCH). With what the kernel puts before it, it fits into 4096 bytes.
 */
#define USER_COPY_MAX  3584 /* bytes of the stack; two pages at most */
#define USER_COPY_SIZE (__builtin_offsetof(struct user_stack, stack) + USER_COPY_MAX)

struct user_copy {
	__u64 switches; /* of the task when it was made: else it is of an earlier sleep */
	__u64 absent;	/* the page at this address could not be read; 0: none */
	__u8 record[USER_COPY_SIZE]; /* a struct user_stack that ends early */
};
_Static_assert(sizeof(struct user_copy) <= 4096 - 192, "space for what the kernel adds");

enum locks { LOCKS_NONE, LOCKS_BY_PID, LOCKS_BY_VPID }; /* the function of TASK_FIND_CALL */

/* Constants of a session, set before the programs are loaded. */
struct settings {
	__u32 all;	     /* every task is in the target (-a) */
	__u32 follow;	     /* a child process of a task in the target is, too */
	__u32 threads;	     /* a new thread of a process in the target is, too (not with -t) */
	__u32 kthreads;	     /* kernel threads are traced */
	__u32 filters;	     /* --comm or --cgroup: not every task in the target is traced */
	__u32 use_comm;	     /* --comm */
	__u32 cpu_list;	     /* -C: look at cpu_state.recorded */
	__u32 interrupts;    /* the programs that keep cpu_state.interrupt are attached */
	__u32 registers;     /* the saved registers of a task can be read */
	__u32 calls;	     /* the system calls of sleeps are recorded (--why=call) */
	__u32 locks;	     /* enum locks: owners of locks are recorded (--why=lock) */
	__u32 hidden_pid;    /* this process is never traced (--no-self); 0: none */
	__u32 pid_namespace; /* that the targets and hidden_pid are counted in; 0: the initial one
			      */
	__u32 max_rate;	     /* calls of one probe in a second; 0: all */
	__u32 one_of;	     /* every n-th call of a probe; 0, 1: all */
	__u32 find_stack;    /* bpf_find_vma exists */
	__u32 summary;	     /* --mode summary: no records */
	__u32 kinds;	     /* of events that are recorded: bits, by enum event_kind */
	__u32 wakeup_from_sched_info; /* wake-ups have the scheduler's clock; the only program at
					 wake-ups is the one for new tasks */
	__u32 sample_keep, sample_of; /* --sample; of: 0 or 1: every thread is kept */
	__u32 preempt_calls;	      /* the kernel has the functions of PREEMPT_*_CALL */
	__u32 several;		      /* a site has PROBE_FROM_SEVERAL */
	struct member_rule member;    /* ovni-job; zeroed: no rule */
	__u32 priority_words;	      /* of a set of CPUs (--why=prio); 0: no priorities */
	__u32 irq;		      /* the time of interrupts (--why=irq) */
	__u32 io;		      /* the requests of I/O sleeps (--why=io) */
	__u32 stack_parts;	      /* STACK_OF_*: what a stack has, with stack_ns */
	__u32 stack_copies;	      /* USER_STACKS_AT_SWITCH */
	__u32 wakers;		      /* a sleep has the stack of its waker, too (--why=wakers) */
	__u32 preempted;	      /* long waits of a thread that left its CPU runnable have
					 stacks, too (--why=preempted) */
	__u64 sample_seed;
	__u64 stack_ns;	 /* stacks of sleeps of this length or longer (--why=stack); 0: none */
	__u64 irq_ns;	 /* single interrupt handlers of this length or longer; 0: none */
	__u64 ring_mask; /* bytes of a ring - 1 */
	__u64 cgroup;	 /* id of the cgroup whose tasks are traced, with those below; 0: any */
};

/*
 * A glob for thread names, compiled (user/glob.h) into the steps of a machine whose states are
 * the bits of a word: bit i is set when the first i signs of the pattern have been matched.
 */
struct comm_glob {
	__u64 accept[256]; /* by byte: signs (by bit) that it matches */
	__u64 stay;	   /* bits that a '*' keeps */
	__u64 start;	   /* bits at the beginning */
	__u64 final;	   /* the bit that says: matched */
};

#endif
