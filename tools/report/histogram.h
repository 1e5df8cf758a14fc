/* SPDX-License-Identifier: MIT */
/*
 * histogram: durations by length, in a fixed memory.
 *
 * In: durations in ns; out: their number, sum, maximum, and quantiles. Buckets are 1/32 of a power
 * of two wide, so a quantile is off by 3 % at most; the others are exact.
 */
#ifndef TOOLS_REPORT_HISTOGRAM_H
#define TOOLS_REPORT_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS (36 * 32) /* up to 2^40 ns, 18 minutes; longer ones share the last */

struct histogram {
	uint64_t count;
	int64_t sum, most;
	uint32_t bucket[HISTOGRAM_BUCKETS];
};

/* Adds a duration; below 0 is 0. */
void histogram_add(struct histogram *histogram, int64_t ns);

/* The duration that `percent` of them do not exceed, 0 if there are none. */
int64_t histogram_quantile(const struct histogram *histogram, double percent);

#endif
