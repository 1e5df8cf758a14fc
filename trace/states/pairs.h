/* SPDX-License-Identifier: MIT */
/*
 * pairs: sums of durations for each pair of numbers (two threads, a thread and a CPU).
 *
 * In: pairs with a duration; out: for each pair its count, sum and greatest duration. A hash table
 * with open addressing: its memory follows the number of different pairs.
 */
#ifndef TRACE_STATES_PAIRS_H
#define TRACE_STATES_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct pair {
	int64_t a, b;
	uint64_t count; /* 0: the slot is free */
	int64_t sum, most, most_at;
};

struct pairs {
	struct pair *places;
	size_t n, room; /* room is a power of two */
};

/* Adds a duration of (a, b) that began at clock `at`. Returns the pair, NULL without memory. */
struct pair *pairs_add(struct pairs *pairs, int64_t a, int64_t b, int64_t ns, int64_t at);

void pairs_free(struct pairs *pairs);

#endif
