/* SPDX-License-Identifier: MIT */
#include "tools/sync/clock_samples.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct clock_sample clock_exchange(int64_t before, int64_t other, int64_t after)
{
	int64_t took = after - before;

	return (struct clock_sample){.delta = before + took / 2 - other, .bound = took - took / 2};
}

struct clock_sample clock_better(struct clock_sample a, struct clock_sample b)
{
	return b.bound < a.bound ? b : a;
}

static int by_delta(const void *a, const void *b)
{
	const struct clock_sample *x = a, *y = b;

	return x->delta < y->delta ? -1 : x->delta > y->delta;
}

struct clock_offset clock_sum_up(struct clock_sample *samples, size_t n)
{
	struct clock_offset offset;
	double mean = 0, squares = 0;

	qsort(samples, n, sizeof(*samples), by_delta);
	offset.median = samples[n / 2].delta;
	offset.bound = samples[n / 2].bound;
	/* About the median: the offset itself may have more digits than a double. */
	for (size_t i = 0; i < n; i++)
		mean += (double)(samples[i].delta - offset.median);
	mean /= (double)n;
	for (size_t i = 0; i < n; i++) {
		double away = (double)(samples[i].delta - offset.median) - mean;

		squares += away * away;
	}
	offset.mean = (double)offset.median + mean;
	offset.deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	return offset;
}

size_t clock_host_length(const char *name)
{
	return strcspn(name, ".");
}

void clock_print_titles(FILE *out)
{
	fprintf(out, "%-10s %-20s %-20s %-20s %-20s\n", "rank", "hostname", "offset_median",
		"offset_mean", "offset_std");
}

void clock_print_row(FILE *out, int rank, const char *host, const struct clock_offset *offset)
{
	char name[256];

	snprintf(name, sizeof(name), "%.*s", (int)clock_host_length(host), host);
	fprintf(out, "%-10d %-20s %-20" PRIi64 " %-20f %-20f\n", rank, name, offset->median,
		offset->mean, offset->deviation);
}
