/* SPDX-License-Identifier: MIT */
#include "tools/sync/clock_samples.h"

#include <limits.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct clock_sample clock_exchange(int64_t before, int64_t other, int64_t after)
{
	int64_t took = after - before;

	return (struct clock_sample){
		.delta = before + took / 2 - other, .bound = took - took / 2, .clock = other};
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

static int by_bound(const void *a, const void *b)
{
	const struct clock_sample *x = a, *y = b;

	return x->bound < y->bound ? -1 : x->bound > y->bound;
}

size_t clock_quickest(struct clock_sample *samples, size_t n)
{
	qsort(samples, n, sizeof(*samples), by_bound);
	n = n < 4 ? 1 : n / 4;
	while (samples[n - 1].bound / 2 > samples[0].bound)
		n--;
	return n;
}

struct clock_offset clock_sum_up(struct clock_sample *samples, size_t n)
{
	struct clock_offset offset;
	double mean = 0, squares = 0;

	qsort(samples, n, sizeof(*samples), by_delta);
	offset.median = samples[n / 2].delta;
	offset.bound = samples[n / 2].bound;
	offset.clock = samples[n / 2].clock;
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

struct clock_part clock_part(uint64_t samples, int64_t begin, int host, int hosts, bool between)
{
	struct clock_part part = {.end = begin + CLOCK_ALL_NS / hosts * (host + 1),
				  .least = INT_MAX};
	int64_t least = (int64_t)samples * CLOCK_MANY / hosts;

	if (between)
		part.least = 1;
	else if (hosts > CLOCK_MANY)
		part.least = least < CLOCK_SAMPLES_LEAST ? CLOCK_SAMPLES_LEAST : (int)least;
	return part;
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

void clock_row_add(struct clock_row *row, bool is_new, int rank, const char *host,
		   const struct clock_offset *offset)
{
	if (is_new) {
		*row = (struct clock_row){.rank = rank, .first = *offset};
		snprintf(row->host, sizeof(row->host), "%.*s", (int)clock_host_length(host), host);
	}
	row->end = offset->clock;
	row->offset_end = offset->median;
	row->bound = offset->bound > row->bound ? offset->bound : row->bound;
}

void clock_print_long_titles(FILE *out)
{
	fprintf(out, "%-10s %-20s %-20s %-20s %-20s %-20s %-20s %-20s %s\n", "rank", "hostname",
		"offset_median", "offset_mean", "offset_std", "begin", "end", "offset_end",
		"bound");
}

void clock_print_long_row(FILE *out, const struct clock_row *row)
{
	fprintf(out,
		"%-10d %-20s %-20" PRIi64 " %-20f %-20f %-20" PRIi64 " %-20" PRIi64 " %-20" PRIi64
		" %" PRIi64 "\n",
		row->rank, row->host, row->first.median, row->first.mean, row->first.deviation,
		row->first.clock, row->end, row->offset_end, row->bound);
}

bool clock_read_long_row(const char *line, struct clock_row *row)
{
	int used = 0;

	memset(row, 0, sizeof(*row));
	return sscanf(line,
		      "%d %255s %" SCNi64 " %lf %lf %" SCNi64 " %" SCNi64 " %" SCNi64 " %" SCNi64
		      " %n",
		      &row->rank, row->host, &row->first.median, &row->first.mean,
		      &row->first.deviation, &row->first.clock, &row->end, &row->offset_end,
		      &row->bound, &used) == 9 &&
	       used && !line[used];
}
