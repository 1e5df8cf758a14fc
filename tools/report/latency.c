/* SPDX-License-Identifier: MIT */
/*
 * report latency: how long each thread waited for a CPU.
 *
 *   thread           pid  runs   run time  avg wait  p50 wait  p99 wait  max wait     max at
 *   worker (1204)   1200  5310   1.904 s   12.402 us  8.063 us  91.1 us  1.204 ms   3.107231
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/report/reports.h"

/* Buckets are 1/32 of a power of two wide, so a quantile is off by 3 % at most; the others are
 * exact. */
#define HISTOGRAM_BUCKETS (36 * 32) /* up to 2^40 ns, 18 minutes; longer ones share the last */

struct histogram {
	uint64_t count;
	int64_t sum, most;
	uint32_t bucket[HISTOGRAM_BUCKETS];
};

#define BITS 5 /* 32 buckets for each power of two */

static unsigned bucket_of(uint64_t v)
{
	unsigned power, bucket;

	if (v < 1u << BITS)
		return (unsigned)v;
	power = 63 - (unsigned)__builtin_clzll(v);
	bucket = ((power - BITS + 1) << BITS) +
		 (unsigned)((v >> (power - BITS)) & ((1u << BITS) - 1));
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The highest value of a bucket. */
static int64_t bucket_top(unsigned bucket)
{
	unsigned shift;

	if (bucket < 1u << BITS)
		return bucket;
	shift = (bucket >> BITS) - 1;
	return (int64_t)(((uint64_t)(bucket & ((1u << BITS) - 1)) + (1u << BITS) + 1) << shift) - 1;
}

/* Adds a duration; below 0 is 0. */
static void histogram_add(struct histogram *h, int64_t ns)
{
	if (ns < 0)
		ns = 0;
	h->count++;
	h->sum = clock_sum(h->sum, ns);
	if (ns > h->most)
		h->most = ns;
	h->bucket[bucket_of((uint64_t)ns)]++;
}

/* The duration that `percent` of them do not exceed, 0 if there are none. */
static int64_t histogram_quantile(const struct histogram *h, double percent)
{
	double wanted = (double)h->count * percent / 100;
	uint64_t seen = 0;

	if (!h->count)
		return 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (h->bucket[i] && (double)seen >= wanted) {
			int64_t top = bucket_top(i);

			return top < h->most ? top : h->most;
		}
	}
	return h->most;
}

struct latency { /* of one thread */
	uint64_t runs;
	int64_t time, most_at;
	struct histogram *waits;
};

static const struct table_column columns[] = {
	{"thread", "thread", CELL_TEXT, 16},
	{"pid", "pid", CELL_COUNT, 6},
	{"runs", "runs", CELL_COUNT, 6},
	{"run_time", "run time", CELL_DURATION, 10},
	{"waits", "waits", CELL_COUNT, 6},
	{"wait_avg", "avg wait", CELL_DURATION, 10},
	{"wait_p50", "p50 wait", CELL_DURATION, 10},
	{"wait_p99", "p99 wait", CELL_DURATION, 10},
	{"wait_max", "max wait", CELL_DURATION, 10},
	{"max_at", "max at", CELL_CLOCK, 10},
};

static int end(void *arg, const struct intervals *intervals, const struct interval *interval)
{
	struct report *report = arg;
	struct latency *l = (struct latency *)report->data + interval->stream;

	(void)intervals;
	if (!report_wants(report, interval->stream, interval->end))
		return 0;
	l->runs++;
	l->time = clock_sum(l->time, clock_distance(interval->start, interval->end));
	if (interval->delay == CELL_UNKNOWN)
		return 0;
	if (!l->waits)
		l->waits = calloc(1, sizeof(*l->waits));
	if (!l->waits)
		return -ENOMEM;
	if (!l->waits->count || interval->delay > l->waits->most)
		l->most_at = interval->start;
	histogram_add(l->waits, interval->delay);
	return 0;
}

static int rows(struct report *report)
{
	const struct latency *all = report->data;

	for (size_t i = 0; i < report->source->trace.nstreams; i++) {
		const struct latency *l = &all[i];
		const struct histogram *h = l->waits;
		union cell row[] = {
			{.text = tid_names_of_stream(&report->names, (uint32_t)i)},
			{.number = report->source->owners[i].pid},
			{.number = (int64_t)l->runs},
			{.number = l->time},
			{.number = h ? (int64_t)h->count : 0},
			{.number = h ? h->sum / (int64_t)h->count : CELL_UNKNOWN},
			{.number = h ? histogram_quantile(h, 50) : CELL_UNKNOWN},
			{.number = h ? histogram_quantile(h, 99) : CELL_UNKNOWN},
			{.number = h ? h->most : CELL_UNKNOWN},
			{.number = h ? report_clock(report->intervals, l->most_at) : CELL_UNKNOWN},
		};

		if (!l->runs && !h) {
			free(row[0].text);
			continue;
		}
		if (table_add(&report->table, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void release(struct report *report)
{
	struct latency *all = report->data;

	for (size_t i = 0; i < report->source->trace.nstreams; i++)
		free(all[i].waits);
}

const struct report_kind report_latency = {
	.name = "latency",
	.help = "per thread: runs, run time, and how long it waited for a CPU",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.order = "wait_max",
	.names = true,
	.size = sizeof(struct latency),
	.listener = {.end = end},
	.rows = rows,
	.free = release,
};
