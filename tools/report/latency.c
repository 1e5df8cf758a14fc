/* SPDX-License-Identifier: MIT */
/*
 * report latency: how long each thread waited for a CPU.
 *
 *   thread           pid  runs   run time  avg wait  p50 wait  p99 wait  max wait     max at
 *   worker (1204)   1200  5310   1.904 s   12.402 us  8.063 us  91.1 us  1.204 ms   3.107231
 *
 * latency --histogram: the waits by their length, in powers of two.
 *
 *   thread              from         to  waits  percent
 *   all threads     1.024 us   2.048 us    310    25.40  ##########
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/histogram.h"
#include "tools/report/reports.h"
#include "trace/states/idle_waits.h"

#define POWERS 63 /* of two, of ns */

struct latency { /* of one group */
	uint64_t runs;
	int64_t time, most_at;
	int64_t idle; /* of the waits whose part is known: an allowed CPU was idle */
	bool idle_known;
	struct histogram *waits;
	uint64_t *power; /* of --histogram: waits from 2^i to 2^(i+1) ns; 0 ns is with 1 ns */
};

static const struct table_column columns[] = {
	{"thread", "thread", CELL_TEXT, 16},
	{"tid", "tid", CELL_COUNT, 6, SHOW_DATA},
	{"pid", "pid", CELL_COUNT, 6},
	{"name", "name", CELL_TEXT, 16, SHOW_DATA},
	{"rank", "rank", CELL_COUNT, 4, SHOW_IF_ANY},
	{"runs", "runs", CELL_COUNT, 6},
	{"run_time", "run time", CELL_DURATION, 10},
	{"waits", "waits", CELL_COUNT, 6},
	{"wait_time", "all waits", CELL_DURATION, 10},
	{"wait_avg", "avg wait", CELL_DURATION, 10},
	{"wait_p50", "p50 wait", CELL_DURATION, 10},
	{"wait_p99", "p99 wait", CELL_DURATION, 10},
	{"wait_max", "max wait", CELL_DURATION, 10},
	{"max_at", "max at", CELL_CLOCK, 10},
	/* part of all waits: another CPU that the thread may use was idle */
	{"cpu_idle", "CPU idle", CELL_DURATION, 10, SHOW_IF_ANY},
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

static int init(struct report *report)
{
	report->data = calloc(report->groups.n + 1, sizeof(struct latency));
	return report->data ? idle_waits_init(report->more, report->source) : -ENOMEM;
}

/* The group of a thread is that of the priority of its run (--by priority). */
static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;

	idle_waits_step(report->more, intervals, stream, ev);
	return groups_step(&report->groups, stream, ev);
}

static int end(void *arg, const struct intervals *intervals, const struct interval *interval)
{
	struct report *report = arg;
	struct latency *l = (struct latency *)report->data + report->groups.of[interval->stream];
	int64_t idle;

	(void)intervals;
	if (!report_wants(report, interval->stream, interval->end))
		return 0;
	l->runs++;
	l->time = clock_sum(l->time, clock_distance(interval->start, interval->end));
	if (interval->delay == CELL_UNKNOWN)
		return 0;
	idle = idle_waits_ns(report->more, interval->stream);
	if (idle != INTERVAL_UNKNOWN) {
		l->idle = clock_sum(l->idle, idle < interval->delay ? idle : interval->delay);
		l->idle_known = true;
	}
	if (!l->waits)
		l->waits = calloc(1, sizeof(*l->waits));
	if (!l->waits)
		return -ENOMEM;
	if (!l->waits->count || interval->delay > l->waits->most)
		l->most_at = interval->start;
	if (l->power)
		l->power[interval->delay > 0 ? 63 - __builtin_clzll((uint64_t)interval->delay)
					     : 0]++;
	return histogram_add(l->waits, interval->delay);
}

static int rows(struct report *report)
{
	const struct latency *all = report->data;

	for (size_t i = 0; i < report->groups.n; i++) {
		const struct group *g = &report->groups.list[i];
		const struct latency *l = &all[i];
		const struct histogram *h = l->waits;
		union cell row[NCOLUMNS] = {
			{.text = NULL},
			{.number = g->tid},
			{.number = g->pid},
			{.text = NULL},
			{.number = g->rank},
			{.number = (int64_t)l->runs},
			{.number = l->time},
			{.number = h ? (int64_t)h->count : 0},
			{.number = h ? h->sum : 0},
			{.number = h ? h->sum / (int64_t)h->count : CELL_UNKNOWN},
			{.number = h ? histogram_quantile(h, 50) : CELL_UNKNOWN},
			{.number = h ? histogram_quantile(h, 99) : CELL_UNKNOWN},
			{.number = h ? h->most : CELL_UNKNOWN},
			{.number = h ? report_clock(report->intervals, l->most_at) : CELL_UNKNOWN},
			{.number = l->idle_known ? l->idle : CELL_UNKNOWN},
		};

		if (!l->runs && !h)
			continue;
		/* outside of the initializer, where the analyzer misses that the table owns them */
		row[0].text = strdup(g->label);
		row[3].text = strdup(g->name ? g->name : "");
		if (table_add(&report->table, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void release(struct report *report)
{
	struct latency *all = report->data;

	for (size_t i = 0; all && i < report->groups.n; i++) {
		histogram_free(all[i].waits);
		free(all[i].power);
	}
	idle_waits_fini(report->more);
}

const struct report_kind report_latency = {
	.name = "latency",
	.columns = columns,
	.ncolumns = NCOLUMNS,
	.order = "wait_max",
	.by = BY_THREAD,
	.by_loom = true,
	.init = init,
	.more = sizeof(struct idle_waits),
	.listener = {.end = end, .event = event},
	.rows = rows,
	.free = release,
};

/* ---- --histogram ---- */

static const struct table_column histogram_columns[] = {
	{"thread", "thread", CELL_TEXT, 16},	 {"from", "from", CELL_DURATION, 10},
	{"to", "to", CELL_DURATION, 10},	 {"waits", "waits", CELL_COUNT, 6},
	{"percent", "percent", CELL_PERCENT, 7}, {"bar", "", CELL_TEXT, 0, SHOW_PEOPLE},
};

#define BAR_MOST 40

static int add_bucket(struct report *report, const struct group *g, const struct latency *l,
		      int power, uint64_t highest)
{
	char bar[BAR_MOST + 1] = "";
	union cell row[] = {
		{.text = NULL},
		{.number = power ? (int64_t)1 << power : 0},
		{.number = power + 1 < POWERS ? (int64_t)1 << (power + 1) : INT64_MAX},
		{.number = (int64_t)l->power[power]},
		{.number = table_percent((int64_t)l->power[power], (int64_t)l->waits->count)},
		{.text = NULL},
	};

	memset(bar, '#', (size_t)((double)l->power[power] * BAR_MOST / (double)highest + 0.5));
	row[0].text = strdup(g->label);
	row[5].text = strdup(bar);
	return table_add(&report->table, row);
}

static int histogram_init(struct report *report)
{
	int err = init(report);
	struct latency *all = report->data;

	for (size_t i = 0; !err && i < report->groups.n; i++) {
		all[i].power = calloc(POWERS + 1, sizeof(*all[i].power));
		err = all[i].power ? 0 : -ENOMEM;
	}
	return err;
}

static int histogram_rows(struct report *report)
{
	const struct latency *all = report->data;

	for (size_t i = 0; i < report->groups.n; i++) {
		int low = POWERS, high = -1, err;
		uint64_t highest = 0;

		for (int k = 0; k < POWERS; k++) {
			if (!all[i].power[k])
				continue;
			low = k < low ? k : low;
			high = k;
			highest = all[i].power[k] > highest ? all[i].power[k] : highest;
		}
		for (int k = low; k <= high; k++) {
			err = add_bucket(report, &report->groups.list[i], &all[i], k, highest);
			if (err)
				return err;
		}
	}
	return 0;
}

const struct report_kind report_latency_histogram = {
	.name = "latency",
	.columns = histogram_columns,
	.ncolumns = sizeof(histogram_columns) / sizeof(histogram_columns[0]),
	.by = BY_ALL,
	.init = histogram_init,
	.more = sizeof(struct idle_waits),
	.listener = {.end = end, .event = event},
	.rows = histogram_rows,
	.free = release,
};
