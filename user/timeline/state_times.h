/* SPDX-License-Identifier: MIT */
/*
 * state_times: adds up the time of each thread and of each CPU by state, from the records.
 *
 * In: all records of a session in their order, and the tasks that the iterator lists at its
 * beginning and its end; out: struct time_stats. One for a session, however many traces it writes
 * and whatever a flight recorder forgets. Pure: no system call, no BPF, no file. Times inside a
 * gap, and the time of a thread around a switch that was not seen, are unknown. With a list of CPUs
 * (-C), so is the time of a thread that ran on another CPU, from the switch at which it left its
 * CPU. All times of threads that are sampled out are unknown.
 * Invariants, exact, whatever records come: active + runnable + blocked + unknown of a thread is
 * the length of its life; the four uses of a CPU add up to its time in the window; the active times
 * of all threads are the CPUs' CPU_THREAD. No allocation per record, but one per page of new tasks.
 * Memory follows the threads, up to a bound; threads beyond it, and those that did nothing, are in
 * the sums of the unlisted: no time is missing. Specification: loom.md 12.
 */
#ifndef USER_TIMELINE_STATE_TIMES_H
#define USER_TIMELINE_STATE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/summary.h"

/* ---- the sums, in both modes: filled from the records here, or from the kernel by summary_read;
 * written by stats_output ---- */

#define TIME_STATS_LISTED_MAX 65536 /* threads, some 18 MB; */
#define TIME_STATS_ENDED_MAX  32768 /* of them, those that have ended, */
#define TIME_STATS_ENDED_FEW  4096  /* and those in a session of several traces */

struct thread_stats {
	uint32_t pid, tid;
	bool alive;
	char comm[RECORD_COMM_SIZE];
	uint64_t begin, end; /* of its life in the window, ns; of a live thread: the clock */
	struct thread_times times;
};

struct cpu_stats {
	unsigned cpu; /* the kernel's number */
	uint64_t end; /* the times hold at this clock, ns */
	uint64_t ns[CPU_USES];
	uint64_t switches;
};

struct time_stats {
	uint64_t t0;
	struct thread_stats *threads; /* nthreads of them */
	size_t nthreads;
	struct thread_times unlisted; /* of `threads` threads */
	struct cpu_stats *cpus;	      /* ncpus of them */
	unsigned ncpus;
};

/* Lists a thread, or adds it to the unlisted if it did nothing, or if there is no space for it. */
void time_stats_add(struct time_stats *stats, const struct thread_stats *thread);

/* The same for a list of threads that have ended, with at most `most` of them: those that ran
 * longest stay, in any order. */
void time_stats_add_ended(struct time_stats *stats, const struct thread_stats *thread, size_t most);

/* Adds the sums of `from`, of one thread or many. */
void thread_times_add(struct thread_times *to, const struct thread_times *from);

uint64_t thread_times_blocked(const struct thread_times *times);

void time_stats_free(struct time_stats *stats); /* also of a zeroed struct */

/* The part of [from, to] in [t0, t1], ns. */
static inline uint64_t time_within(uint64_t from, uint64_t to, uint64_t t0, uint64_t t1)
{
	if (from < t0)
		from = t0;
	if (to > t1)
		to = t1;
	return to > from ? to - from : 0;
}

/* ---- full mode ---- */

struct state_times;

struct state_times_options {
	uint64_t t0;	      /* the window opens, ns */
	unsigned npossible;   /* CPUs: kernel numbers are below */
	const unsigned *cpus; /* the recorded ones, ncpus of them; not kept */
	unsigned ncpus;
	size_t ended_most; /* threads that are listed after their end; not 0 */
	bool cpu_list;	   /* records of other CPUs are missing (-C) */
	bool some_threads; /* switches between threads that are not recorded are not sent */
	bool no_switches;  /* there are no records of switches */
};

/* NULL without memory. */
struct state_times *state_times_new(const struct state_times_options *options);
void state_times_free(struct state_times *times); /* NULL is fine */

/* A task that the iterator lists before the first record, or after state_times_stop() and the last
 * record. 0 or -ENOMEM. */
int state_times_task(struct state_times *times, const struct record_task *task)
	__attribute__((warn_unused_result));

/* The next record, from the ring of kernel CPU `cpu`. 0 or -ENOMEM. */
int state_times_record(struct state_times *times, unsigned cpu, const struct record_head *record)
	__attribute__((warn_unused_result));

/* The window has closed at t1, ns. Before a record later than that. */
void state_times_stop(struct state_times *times, uint64_t t1);

/* The times up to `clock`, or to t1 if that is earlier; all records before it have been given.
 * Ended threads are in the sums of the unlisted. For time_stats_free(). 0 or -ENOMEM. */
int state_times_read(const struct state_times *times, uint64_t clock, struct time_stats *stats)
	__attribute__((warn_unused_result));

/* The same at t1, once everything has been given; ended threads are listed, and `times` has them no
 * more. `cut`: the last records were not given. */
int state_times_close(struct state_times *times, bool cut, struct time_stats *stats)
	__attribute__((warn_unused_result));

#endif
