/* SPDX-License-Identifier: MIT */
/*
 * pairs: sums for each pair (a, b): times by victim and culprit, by thread and CPU.
 *
 * Memory grows with the number of different pairs.
 */
#ifndef TRACE_STATES_PAIRS_H
#define TRACE_STATES_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/base/hash.h"

struct pair {
	int64_t a, b;
	uint64_t count;		    /* at least 1 */
	int64_t sum, most, most_at; /* ns, ns, clock */
};

struct pairs {
	struct pair *list; /* in the order of their first use */
	size_t n;
	struct hash index_of;
};

/* Counts one more of (a, b) with a duration in ns, and the clock `when`. NULL without memory. */
struct pair *pairs_add(struct pairs *pairs, int64_t a, int64_t b, int64_t ns, int64_t when);

void pairs_free(struct pairs *pairs);

#endif
