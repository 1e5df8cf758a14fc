/* SPDX-License-Identifier: MIT */
/*
 * histogram: durations by length.
 *
 * In: durations in ns; out: their number, sum, maximum, and quantiles. Buckets are 1/32 of a power
 * of two wide, so a quantile is off by 3 % at most; the others are exact. Memory follows the powers
 * of two that occur, 128 bytes each: of many threads, most have few.
 */
#ifndef TOOLS_REPORT_HISTOGRAM_H
#define TOOLS_REPORT_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_POWERS 36 /* up to 2^40 ns, 18 minutes; longer ones share the last bucket */
#define HISTOGRAM_WIDTH	 32 /* buckets of a power */

struct histogram {
	uint64_t count;
	int64_t sum, most;
	uint32_t *power[HISTOGRAM_POWERS]; /* NULL: none of these */
};

/* Adds a duration; below 0 is 0. Returns 0 or -ENOMEM. All zero is an empty histogram. */
int histogram_add(struct histogram *histogram, int64_t ns) __attribute__((warn_unused_result));

/* The duration that `percent` of them do not exceed, 0 if there are none. */
int64_t histogram_quantile(const struct histogram *histogram, double percent);

/* Frees a histogram that the caller has allocated; NULL is fine. */
void histogram_free(struct histogram *histogram);

#endif
