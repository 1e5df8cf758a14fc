/* SPDX-License-Identifier: MIT */
/*
 * summary_read: reads the times that summary mode has added up in the kernel.
 *
 * In: the times of live tasks (task storage), of threads that have died, and of CPUs; out: struct
 * time_stats that hold at a moment, the time since the last switch included. Threads that have died
 * are fetched often: only so many wait in the kernel. Invariants: see state_times.h. Specification:
 * loom.md 12.
 */
#ifndef USER_STATS_SUMMARY_READ_H
#define USER_STATS_SUMMARY_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/timeline/state_times.h"

struct bpf_load;

/* A CPU as read last. */
struct summary_cpu {
	unsigned cpu; /* the kernel's number */
	uint64_t clock;
	struct cpu_summary sums;
};

struct summary {
	const struct bpf_load *bpf;
	uint64_t t0, t1;	       /* of the window; t1: UINT64_MAX while it is open */
	struct time_stats dead;	       /* threads that have died so far, */
	struct thread_times dead_sums; /* and the sum of them all */
	uint32_t *dead_ids;	       /* of threads that died since the last reading; */
	size_t ndead_ids;
	struct summary_thread *alive; /* as read last, nalive of them */
	size_t nalive;
	struct summary_cpu *cpus; /* ncpus of them, as read last */
	unsigned ncpus;
	int64_t sched_offset; /* CLOCK_MONOTONIC - the scheduler's clock, ns (lazy variant) */
	bool sched_known;     /* that is known */
};

/* The window has opened at t0, on the CPUs with these numbers. 0, or -ENOMEM after one message. */
int summary_open(struct summary *summary, const struct bpf_load *bpf, uint64_t t0,
		 const unsigned *cpus, unsigned ncpus) __attribute__((warn_unused_result));

/* Takes the threads that have died meanwhile out of the kernel. 0, or -errno after one message. */
int summary_fetch(struct summary *summary) __attribute__((warn_unused_result));

/* The times now, while the window is open; dead threads are in the sums of the unlisted. For
 * time_stats_free(), also on failure. 0, or -errno after one message. */
int summary_now(struct summary *summary, struct time_stats *stats)
	__attribute__((warn_unused_result));

/*
 * The end, in two steps. First, once the window has closed at `t1`, which is set, and while the
 * programs are still attached, so that no thread ends unseen; threads that have left the list of
 * tasks and wait for their last switch are waited for. Then, with the programs detached, the
 * threads that have died since. 0 or -errno after one message.
 */
int summary_stop(struct summary *summary, uint64_t t1) __attribute__((warn_unused_result));
int summary_end(struct summary *summary, struct time_stats *stats)
	__attribute__((warn_unused_result));

void summary_free(struct summary *summary); /* also of a zeroed struct */

/* ---- the lazy variant: times that live threads have not added yet ---- */

/* Finds the threads on CPUs, and since when. The CPUs were read from `then` (ns) on, the threads
 * later: a thread that has not left its CPU since then is still there. The times of others are
 * known up to `then`, or up to when they left. */
void summary_find_running(struct summary *summary, uint64_t then);

/* Finds when threads that wait or run were woken: the scheduler has added up how long they waited,
 * by its own clock. */
void summary_find_woken(struct summary *summary);

/* ---- one thread ---- */

/* Its line at its clock, or at t1. */
struct thread_stats summary_settle(const struct summary_thread *thread, uint64_t t0, uint64_t t1);

#endif
