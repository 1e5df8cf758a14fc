/* SPDX-License-Identifier: MIT */
/*
 * pairs: figures for each (a, b) that was met: who preempted whom, who ran where.
 *
 * Open addressing, grown by doubling; memory follows the number of different pairs.
 */
#ifndef TRACE_STATES_PAIRS_H
#define TRACE_STATES_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct pair {
	int64_t a, b;
	uint64_t count; /* 0: the place is free */
	int64_t sum, most, most_at;
};

struct pairs {
	struct pair *places;
	size_t n, room; /* room is a power of two */
};

/* Counts one more of (a, b) with a duration (and when). Returns it, NULL without memory. */
struct pair *pairs_add(struct pairs *pairs, int64_t a, int64_t b, int64_t ns, int64_t at);

void pairs_free(struct pairs *pairs);

#endif
