/* SPDX-License-Identifier: MIT */
/*
 * self_cost: the cost of the recorder itself: CPU time of its threads, and memory.
 *
 * In: the clocks of the threads of this process; out: the time that each has used since
 * cost_begin(). Threads that have ended since are in the sum of the process alone.
 */
#ifndef USER_HOST_SELF_COST_H
#define USER_HOST_SELF_COST_H

#include <stddef.h>
#include <stdint.h>

#define COST_THREADS_MAX 16

struct cost_thread {
	int tid;
	char name[16];
	uint64_t cpu_ns;
};

struct cost {
	struct cost_thread threads[COST_THREADS_MAX]; /* nthreads of them */
	size_t nthreads;
	uint64_t cpu_ns, user_ns, system_ns; /* of the process */
	uint64_t peak_rss_bytes;
};

/* Numbers that the system does not have are zero. */
void cost_begin(struct cost *cost);
void cost_end(struct cost *cost);

#endif
