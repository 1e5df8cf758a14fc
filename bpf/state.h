/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * state: what kernel side and user side share in maps, beside the records.
 *
 * One struct cpu_state per CPU the machine may have, in an array that the user side maps:
 * the positions of its ring, the account (what was seen, what became of it), the counters, and what
 * a CPU remembers from one event to the next. Written by that CPU alone, but `consumed`, and
 * `recorded`, which user code writes before the programs are attached.
 *
 * A record is at `data + (position & mask)` and begins on 8 bytes; its kind tells its size. The
 * producer raises `reserved`, reads the clock, fills the record in, and raises `committed`.
 * struct task_state is a task's storage; it travels with the task and is freed with it.
 */
#ifndef BPF_STATE_H
#define BPF_STATE_H

#include "record.h"

#define RING_SPILL 128 /* bytes behind a ring; the largest record fits */

/*
 * What the programs are called for, as the user names it (--events). A wake-up has no record of its
 * own: it is accounted where it takes effect, at the switch that brings its thread in.
 */
enum event_kind {
	EVENT_SWITCH,
	EVENT_WAKE,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_EXIT,
	EVENT_RENAME,
	EVENT_PROBE,
	EVENT_OTHER, /* snapshots, and who an id is: told for the sake of the others, never filtered
		      */
	EVENT_KINDS
};

/* seen = sent + filtered + sampled + full, always. */
struct event_account {
	__u64 seen;	/* the program was called for one */
	__u64 filtered; /* not wanted: its kind, its thread, its CPU, or the mode */
	__u64 sampled;	/* left out by --sample */
	__u64 full;	/* lost: no room in the ring, or no ring */
};

/* What a CPU does. */
enum cpu_use {
	CPU_UNKNOWN,
	CPU_IDLE,
	CPU_OTHER,  /* a thread that is not wanted */
	CPU_THREAD, /* one that is */
	CPU_USES
};

/* Where the time of a CPU in the window went, up to `since`; from then on it is `use`. */
struct cpu_counters {
	__u32 seq; /* odd while a program changes this */
	__u32 use; /* enum cpu_use */
	__u64 since;
	__u64 ns[CPU_USES];
	__u64 switches;
};

/* What our programs are for. */
enum program_group {
	PROGRAMS_SWITCH,
	PROGRAMS_WAKE,
	PROGRAMS_LIFE,
	PROGRAMS_INTERRUPT,
	PROGRAMS_PROBE,
	PROGRAM_GROUPS
};

/* What those that were timed took: one run in 64. */
struct program_cost {
	__u64 timed_runs, timed_ns;
};

#define SCHED_TUNE_NS  100000	/* at most so often our clock is compared with the scheduler's, */
#define SCHED_STALE_NS 10000000 /* which is never older than this at a switch (a tick), */
#define SCHED_UNKNOWN  (1ll << 62)
#define SCHED_CREEP    12 /* and drifts away by less than one in 2^12 */

/* A switch touches the first three lines of 64 bytes, and what it reads of `consumed`. */
struct cpu_state {
	/* The producer's: the programs on this CPU. */
	union {
		struct { /* with knobs.rings */
			__u64 reserved,
				committed; /* positions in the ring, bytes since the beginning */
			__u64 gap_count;   /* lost since the last record that found room */
		};
		struct { /* with knobs.deferred, who is here; between two steps of counters.seq */
			__u64 task;    /* its address */
			__u64 entered; /* ns */
			__u32 tid;
		};
	};
	__u64 runs[PROGRAM_GROUPS]; /* of our programs */

	struct cpu_counters counters;
	__u32 recorded;	 /* switches of this CPU are sent (-C) */
	__u32 interrupt; /* depth of interrupt handlers that run now */

	struct event_account events[EVENT_KINDS];

	struct program_cost costs[PROGRAM_GROUPS];
	__u64 snapshot_clock; /* of the last snapshot of this CPU, ns */
	__u64 gap_clock;      /* the first of gap_count was lost then, ns */
	__u64 switch_begin;   /* of the program for switches, when it is timed, ns */
	__u64 spare[3];

	/* The consumer's: user code. */
	__u64 consumed; /* position up to which the room may be used again */
	__u64 spare2[7];
};
_Static_assert(__builtin_offsetof(struct cpu_state, events) == 128, "lines of a switch");
_Static_assert(sizeof(struct cpu_state) % 64 == 0, "no two CPUs write to a line");

/* What a thread does, as its counters know it. */
enum thread_use {
	THREAD_NONE, /* it has not begun: never run, or not wanted */
	THREAD_UNKNOWN,
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_BLOCKED,
	THREAD_DEAD,
};

/*
 * Where the time of a thread in the window went, up to `since`; from then on it did `use`, till it
 * entered the CPU that it is on, if it is on one. What it did before it entered is added to the
 * sums when it leaves: who enters has one line touched, who leaves three. The life of a thread that
 * is born in the window begins when it runs for the first time. Times are those of the records: a
 * full trace gives the same figures.
 */
struct thread_counters {
	/* Of a thread that runs: */
	__u64 entered; /* its CPU, ns; 0: it does not run */
	__u64 wake;    /* it was woken then, ns; 0: it was not, or was not seen to be */
	__s32 on;      /* that CPU */

	__u32 seq; /* odd while a program changes this */
	__u32 use; /* enum thread_use */
	__u32 why; /* enum off_cpu: with THREAD_BLOCKED */
	__s32 cpu; /* where it ran last in the window; -1: nowhere */
	__u32 tid;
	__u64 since;
	__u64 delay; /* all that it had waited for CPUs in its life till then, ns (knobs.queued) */

	__u64 active_ns;
	__u64 switches_voluntary; /* it left blocked */
	__u64 wakeups;
	__u64 events_seen; /* made by it, whatever became of them */
	__u64 runnable_ns;
	__u64 switches_preempted;	 /* it left runnable */
	__u64 blocked_ns[OFF_CPU_COUNT]; /* by enum off_cpu */
	__u64 yields;			 /* of those */
	__u64 migrations;
	__u64 unknown_ns;
	__u64 events_filtered, events_sampled, events_full; /* of those made by it */
	__u64 calls, calls_ns;				    /* of user probes */
	__u64 begin;
	__u32 pid;
	__u32 threads; /* in sums: of how many threads */
};

/* The counters of a thread, as user code gets them: by the iterator, or when it has died. */
struct thread_figures {
	__u32 id;	  /* of the task */
	__u32 wanted;	  /* it is so still */
	__u64 clock;	  /* of the figures, ns; of its death */
	__u64 wake_clock; /* it was woken then, and waits for a CPU or has entered one; 0: it was
			     not */
	__u64 task;	  /* its address, as in cpu_state */
	/* With knobs.deferred, instead of wake_clock, by the scheduler's clock: */
	__u64 run_delay; /* all that it has waited for CPUs in its life, up to when it last got one,
			  */
	__u64 last_arrival; /* which was then */
	__u64 last_queued;  /* it waits since then; 0: it does not */
	struct thread_counters counters;
	char comm[RECORD_COMM_SIZE];
};

/* What the program choose_moment is asked for: the end or the beginning of the window. */
enum moment { MOMENT_BEGIN, MOMENT_END };
#define MOMENT_AHEAD 100000 /* ns: chosen so long before, every program knows it when it comes */

#define DEAD_THREADS 4096 /* that wait for user code; what finds no room is in dead_sums */

struct task_state {
	__u32 id;	  /* dense, from 1, while the task is recorded; else 0 */
	__u32 wanted;	  /* it is counted; and recorded, if it is not sampled out */
	__u32 softirqs;	  /* it is a ksoftirqd: woken by interrupts when they have too much to do */
	__s32 waker_tid;  /* of the last sched_waking */
	__u64 wake_clock; /* it was woken then, since it last left a CPU, as a program has seen, ns;
			     0: none has (knobs.queued: seldom one does) */
	struct thread_counters counters;

	__u32 own_id;	 /* `id`, kept while it is not wanted; 0 before it ever was */
	__u32 member;	 /* of the process trees or threads that are followed */
	__u64 css_set;	 /* where its cgroup was looked up (--cgroup) */
	__u32 elsewhere; /* has run on a CPU that is not recorded since it left one that is */
	__u32 pad;

	/* Of its probes: */
	__u64 stack_start, stack_end; /* the memory of the stack that it was last seen on */
	__u64 calls;		      /* entries of functions that were recorded */
	__u64 call_sp, call_clock;    /* of the outermost one that it is in; 0: it is in none */
};

/*
 * Where a probe finds what it has to know: a cookie, and the site's entry of an array.
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
};

#define PROBE_COOKIE(site, source, number, flags)                                                  \
	((__u64)(site) | (__u64)(number) << 32 | (__u64)(source) << 48 | (__u64)(flags) << 56)
#define PROBE_COOKIE_EXIT 1u /* stands at an instruction that leaves the function */

struct probe_site {
	__s64 constant;
	__u32 bytes; /* of what is read from memory: 1, 2, 4, 8 */
	__u32 pad;
	/* Of --max-rate and --sample-calls, written by the programs: */
	__u64 second;	/* CLOCK_MONOTONIC, s << 32 | calls in it so far */
	__u64 turn;	/* calls so far */
	__u64 left_out; /* calls that were left out */
	__u64 spare[3];
};
_Static_assert(sizeof(struct probe_site) == 64, "shared size");

/* What user code tells the programs once, before they are loaded. */
struct knobs {
	__u32 all;	     /* every task is a member (-a) */
	__u32 follow;	     /* a child process of a member is one */
	__u32 threads;	     /* a new thread of a member's process is one (not with -t) */
	__u32 kthreads;	     /* kernel threads are wanted */
	__u32 narrow;	     /* --comm or --cgroup: not every member is wanted */
	__u32 use_comm;	     /* --comm */
	__u32 cpu_list;	     /* -C: look at cpu_state.recorded */
	__u32 interrupts;    /* the programs that keep cpu_state.interrupt are attached */
	__u32 registers;     /* the saved registers of a task can be looked at */
	__u32 hidden_pid;    /* this process is never wanted (--no-self); 0: none */
	__u32 pid_namespace; /* whose numbers the targets and hidden_pid are; 0: the initial one */
	__u32 max_rate;	     /* calls of one probe in a second; 0: all */
	__u32 one_of;	     /* every n-th call of a probe; 0, 1: all */
	__u32 find_stack;    /* bpf_find_vma is there */
	__u32 rings;	     /* records are sent (--mode full) */
	__u32 kinds;	     /* of events that are recorded: bits, by enum event_kind */
	__u32 switches;	     /* the program for switches is attached */
	__u32 queued;	/* when a task was woken the scheduler knows, and no program is at wake-ups
			   but for the first one of a new task */
	__u32 deferred; /* with queued: a switch touches who leaves alone, who entered is in
			   cpu_state */
	__u32 sample_keep, sample_of; /* --sample; of: 0 or 1: every thread is kept */
	__u64 sample_seed;
	__u64 ring_mask; /* bytes of a ring - 1 */
	__u64 cgroup;	 /* id of the cgroup below which tasks are wanted; 0: any */
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
