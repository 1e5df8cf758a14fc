/* SPDX-License-Identifier: MIT */
/*
 * report latency: how long each thread waited for a CPU.
 *
 *   thread           pid  runs   run time  avg wait  p50 wait  p99 wait  max wait     max at
 *   worker (1204)   1200  5310   1.904 s   12.402 us  8.063 us  91.1 us  1.204 ms   3.107231
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/report/histogram.h"
#include "tools/report/reports.h"

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
