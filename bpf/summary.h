/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * summary: times of threads and CPUs, which summary mode shares with user code.
 *
 * In summary mode the programs add up times in the storage of each task and in one struct
 * cpu_summary per CPU, which user code reads. Each change is between two steps of `seq`, so that a
 * reader on another CPU never takes half of one. In full mode user code adds up the same sums from
 * the records (user/timeline/state_times.h).
 * Invariants, exact, in the window: active + runnable + blocked + unknown of a thread is the length
 * of its life; the four uses of a CPU add up to the window; the active times of all threads are the
 * CPUs' CPU_THREAD. Specification: loom.md 12.
 */
#ifndef BPF_SUMMARY_H
#define BPF_SUMMARY_H

#include "state.h"

/* The state of a thread. */
enum time_state {
	TIME_NONE, /* it has not begun: never run, or not traced */
	TIME_UNKNOWN,
	TIME_RUNNING,
	TIME_RUNNABLE,
	TIME_BLOCKED,
	TIME_DEAD,
};

/* Sums of one thread, or of many. Times are ns. */
struct thread_times {
	__u64 active_ns;
	__u64 switches_voluntary; /* it left its CPU blocked */
	__u64 wakeups;
	__u64 runnable_ns;
	__u64 switches_preempted;	 /* it left its CPU runnable */
	__u64 blocked_ns[OFF_CPU_COUNT]; /* by the reason for which it left its CPU */
	__u64 yields;			 /* of the preempted switches */
	__u64 migrations;
	__u64 unknown_ns;
	__u64 throttled_ns;    /* of runnable_ns: since a CPU quota stopped it */
	__u64 calls, calls_ns; /* of probed functions; ns: in the outermost one */
	__u64 threads;	       /* how many threads these sums are of; 0: one */
};

/* Where the time of a CPU in the window went up to `since`; from then on `use` holds. */
struct cpu_summary {
	__u32 seq; /* odd while a program changes this */
	__u32 use; /* enum cpu_use */
	__u64 since;
	__u64 ns[CPU_USES];
	__u64 switches;
	/* The lazy variant: the task on this CPU. */
	__u64 task;    /* its address */
	__u64 entered; /* ns */
	__u32 tid;
	__u32 pad;
	__u64 spare[6];
};
_Static_assert(sizeof(struct cpu_summary) % 64 == 0, "no two CPUs write to a line");

/*
 * Storage of a task in summary mode. Its times are complete up to `since`; from then on it did
 * `use`, until it entered the CPU `on` at `entered`. Times before `entered` are added when it
 * leaves that CPU: a thread that enters touches one line of 64 bytes, one that leaves three. The
 * life of a thread that is born in the window begins when it runs for the first time.
 */
struct task_summary {
	__u64 entered; /* its CPU, ns; 0: it does not run */
	__u64 wake;    /* clock of the wake-up before `entered`, ns; 0: none was seen */
	__s32 on;      /* that CPU */

	__u32 seq;    /* odd while a program changes this */
	__u32 use;    /* enum time_state */
	__u32 reason; /* enum off_cpu; with TIME_BLOCKED and TIME_RUNNABLE */
	__s32 cpu;    /* where it ran last in the window; -1: nowhere */
	__u32 tid;
	__u64 since;
	__u64 delay; /* all time it had waited for CPUs by then, ns (lazy variant) */

	struct thread_times times;
	__u64 begin; /* of its life, ns */
	__u64 woken; /* clock of a wake-up since it last left a CPU, as a program saw it; else 0 */
	__u32 pid;
	__u32 id;     /* dense, from 1 */
	__u32 traced; /* it is in the target and not filtered out */
	__u32 pad;
	__u64 call_sp, call_clock;   /* of the outermost probed function it is in; 0: none */
	char comm[RECORD_COMM_SIZE]; /* set when it has died, and in copies for user code */
};

/* Times of a thread as user code gets them from the iterator. One that has died is a task_summary,
 * whose times are complete up to `since`. */
struct summary_thread {
	__u64 clock; /* of these figures, ns; 0: they changed during the copy */
	__u64 task;  /* its address, as in cpu_summary */
	/* The lazy variant, by the scheduler's clock: */
	__u64 run_delay;    /* all time it waited for CPUs, up to when it last got one, */
	__u64 last_arrival; /* which was then */
	__u64 last_queued;  /* it waits since then; 0: it does not */
	struct task_summary state;
};

#define DEAD_THREADS 4096 /* that wait for user code; the times of more go to dead_sums */

#endif
