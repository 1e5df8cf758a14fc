/* SPDX-License-Identifier: MIT */
/*
 * summary_read: what the kernel side has counted, of each thread and of each CPU.
 *
 * In: the counters in the storage of live tasks, those of threads that have died, and the states of
 * the CPUs; out: figures that hold at a moment, the time since the last move included. Those
 * that have died are fetched every now and then, since only so many wait in the kernel.
 * Invariants: as in bpf/counters.bpf.h. Memory follows the threads, up to a bound; what is beyond
 * it, and threads that did nothing, are in the sums of the unlisted, so no time is ever missing.
 * Specification: loom.md 12.
 */
#ifndef USER_STATS_SUMMARY_READ_H
#define USER_STATS_SUMMARY_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/state.h"

struct links;

#define COUNTERS_LISTED_MAX 65536 /* threads, some 20 MB; more are in `unlisted` */

struct counters_list {
	struct thread_figures *figures;
	size_t n, room;
};

/* Of the programs of a group: how often they ran, and what the runs that were timed took. */
struct counters_cost {
	uint64_t runs, timed_runs, timed_ns;
};

/* A CPU, up to the moment of the figures. */
struct counters_cpu {
	unsigned cpu; /* the kernel's number */
	uint64_t clock;
	struct cpu_counters counters;
	uint64_t task, entered; /* who is there (links.deferred), and since when */
	struct counters_cost costs[PROGRAM_GROUPS];
	struct counters_cost before[PROGRAM_GROUPS]; /* when the window opened */
};

struct counters {
	const struct links *links;
	uint64_t t0, t1;		 /* of the window; t1: UINT64_MAX while it is open */
	struct counters_list dead;	 /* so far */
	struct counters_list alive;	 /* as read last, */
	size_t dead_then;		 /* when that many had died */
	struct thread_counters unlisted; /* `threads` of them, all dead */
	struct thread_counters idle;	 /* of live threads that did nothing, or cannot be seen */
	struct counters_cpu *cpus;	 /* ncpus of them, as read last */
	unsigned ncpus;
	int64_t sched_offset; /* CLOCK_MONOTONIC - the scheduler's clock, ns (links.deferred) */
	bool sched_known;     /* that is known */
};

/* The window has opened at t0, on the CPUs with these numbers. 0, or -ENOMEM after one message. */
int counters_open(struct counters *counters, const struct links *links, uint64_t t0,
		  const unsigned *cpus, unsigned ncpus) __attribute__((warn_unused_result));

/* Takes those that have died meanwhile out of the kernel. 0, or -errno after one message. */
int counters_fetch(struct counters *counters) __attribute__((warn_unused_result));

/* Reads what is alive, and the CPUs, while the window is open: each holds at its own clock. 0, or
 * -errno after one message. */
int counters_read(struct counters *counters) __attribute__((warn_unused_result));

/*
 * The end, in two steps: a look once the window has closed at `t1`, which is set, and while the
 * programs are still attached, so that nobody can end unseen; who has left the list of tasks and
 * waits for its last switch is waited for. Then, with the programs detached, who has died since,
 * and the kernel's own sums. All holds at t1 then. 0 or -errno after one message.
 */
int counters_look(struct counters *counters) __attribute__((warn_unused_result));
int counters_close(struct counters *counters) __attribute__((warn_unused_result));

void counters_free(struct counters *counters); /* also of a zeroed struct */

/* ---- links.deferred: what the counters of live threads were not told ---- */

/*
 * Who is on a CPU, and since when. The CPUs were read from `then` (ns) on, and the threads after
 * them: who has not left since then the CPU that showed it is there still. Of others it is known up
 * to `then`, or to when they left.
 */
void counters_find_running(struct counters *counters, uint64_t then);

/* When those were woken that wait or run: the scheduler has added up how long they waited, by its
 * own clock. Nothing is known, and nothing changed, as long as no CPU knows the offset of that. */
void counters_find_woken(struct counters *counters);

/* ---- one thread ---- */

/* The time since the last move is added, up to the clock of the figures or the window's end. */
void counters_settle(struct thread_figures *figures, uint64_t t0, uint64_t t1);

/* Its life inside the window, ns: from the clocks of its begin and end alone. */
uint64_t counters_life(const struct thread_figures *figures, uint64_t t0, uint64_t t1);

/* All its time off the CPU asleep, ns. */
uint64_t counters_blocked(const struct thread_counters *counters);

void counters_add(struct thread_counters *to, const struct thread_counters *from);

#endif
