/* SPDX-License-Identifier: MIT */
/*
 * clock: CLOCK_MONOTONIC as the kernel side reads it, ns.
 *
 * In a time namespace this process sees it with an offset, which is taken off again.
 */
#ifndef USER_HOST_CLOCK_H
#define USER_HOST_CLOCK_H

#include <stdint.h>

/* Finds the offset; without it none is taken off. Before any other thread runs. */
void clock_prepare(void);

uint64_t clock_now(void);

/* One moment by this clock and by CLOCK_REALTIME. */
struct clock_pair {
	uint64_t clock;	   /* ns */
	int64_t realtime;  /* ns since the epoch */
	uint64_t error_ns; /* the two are at most so far apart */
};

/* The time of day is read between two readings of this clock; the closest of several tries. */
struct clock_pair clock_pair(void);

#endif
