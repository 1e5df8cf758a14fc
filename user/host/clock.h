/* SPDX-License-Identifier: MIT */
/*
 * clock: CLOCK_MONOTONIC as the kernel side reads it, ns; and as traces have it.
 *
 * In a time namespace this process, libovni and ovni-sync read another clock than the kernel side:
 * with a constant offset. Inside of the recorder each clock is that of the kernel; each clock that
 * is written is that of our namespace.
 * Specification: job.md 4.3.
 */
#ifndef USER_HOST_CLOCK_H
#define USER_HOST_CLOCK_H

#include <stdint.h>

/* Finds the offset; without it none is taken off. Before any other thread runs. */
void clock_prepare(void);

uint64_t clock_now(void);

extern int64_t clock_namespace_ns; /* offset of our namespace, after clock_prepare() */

/* A clock of the kernel side as it is written into traces and statistics. */
static inline uint64_t clock_in_trace(uint64_t clock)
{
	return clock + (uint64_t)clock_namespace_ns;
}

/* One moment by this clock and by CLOCK_REALTIME. */
struct clock_pair {
	uint64_t clock;	   /* ns */
	int64_t realtime;  /* ns since the epoch */
	uint64_t error_ns; /* the two are at most so far apart */
};

/* The time of day is read between two readings of this clock; the closest of several tries. */
struct clock_pair clock_pair(void);

#endif
