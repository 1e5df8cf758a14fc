/* SPDX-License-Identifier: MIT */
/*
 * report wake: wake-ups by waker and woken thread, and the time until the woken thread runs.
 *
 *   waker            woken              times   avg wait       max      max at
 *   main (1200)      worker (1204)       5120   8.402 us  1.204 ms    3.107231
 *
 * report wake --period: the times between the wake-ups of a thread, for the jitter of one that
 * should wake up regularly.
 *
 *   thread           periods        min        avg        p50        p99        max      max at
 *   timer (1204)         999   0.981 ms   1.000 ms   1.000 ms   1.010 ms   3.204 ms   3.107231
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/histogram.h"

#include "trace/states/pairs.h"
#include "tools/report/reports.h"

/* Adds the row of two threads, and takes the ownership of their names. */
static int add_row(struct report *report, const struct pair *p, char *first, char *second,
		   int64_t time)
{
	union cell row[] = {
		{.text = NULL},
		{.text = NULL},
		{.number = (int64_t)p->count},
		{.number = time},
		{.number = p->most},
		{.number = report_clock(report->intervals, p->most_at)},
	};

	/* outside of the initializer, where the analyzer misses that the table owns them */
	row[0].text = first;
	row[1].text = second;
	return table_add(&report->table, row);
}

static void release(struct report *report)
{
	pairs_free(report->more);
}

static const struct table_column wake_columns[] = {
	{"waker", "waker", CELL_TEXT, 16},	     {"woken", "woken", CELL_TEXT, 16},
	{"times", "times", CELL_COUNT, 6},	     {"wait_avg", "avg wait", CELL_DURATION, 10},
	{"wait_max", "max wait", CELL_DURATION, 10}, {"max_at", "max at", CELL_CLOCK, 10},
};

static int end_of_woken(void *arg, const struct intervals *intervals,
			const struct interval *interval)
{
	struct report *report = arg;

	(void)intervals;
	if (interval->delay == CELL_UNKNOWN || interval->waker == 0 || interval->waker == -1 ||
	    !report_wants(report, interval->stream, interval->start))
		return 0;
	return pairs_add(report->more, interval->waker, interval->stream, interval->delay,
			 interval->start)
		       ? 0
		       : -ENOMEM;
}

static int wake_rows(struct report *report)
{
	const struct pairs *pairs = report->more;

	for (size_t i = 0; i < pairs->n; i++) {
		const struct pair *p = &pairs->list[i];
		uint32_t woken = (uint32_t)p->b;

		if (add_row(report, p, tid_names_of_tid(&report->names, woken, (int32_t)p->a),
			    tid_names_of_stream(&report->names, woken), p->sum / (int64_t)p->count))
			return -ENOMEM;
	}
	return 0;
}

const struct report_kind report_wake = {
	.name = "wake",
	.columns = wake_columns,
	.ncolumns = sizeof(wake_columns) / sizeof(wake_columns[0]),
	.order = "times",
	.names = true,
	.more = sizeof(struct pairs),
	.listener = {.end = end_of_woken},
	.rows = wake_rows,
	.free = release,
};

/* ---- --period ---- */

struct period {	      /* of one thread */
	int64_t last; /* clock of its last wake-up, or INTERVAL_UNKNOWN */
	int64_t least, most_at;
	struct histogram *periods;
};

static const struct table_column period_columns[] = {
	{"thread", "thread", CELL_TEXT, 16},
	{"tid", "tid", CELL_COUNT, 6, SHOW_DATA},
	{"pid", "pid", CELL_COUNT, 6},
	{"name", "name", CELL_TEXT, 16, SHOW_DATA},
	{"rank", "rank", CELL_COUNT, 4, SHOW_IF_ANY},
	{"periods", "periods", CELL_COUNT, 7},
	{"min", "min", CELL_DURATION, 10},
	{"avg", "avg", CELL_DURATION, 10},
	{"p50", "p50", CELL_DURATION, 10},
	{"p99", "p99", CELL_DURATION, 10},
	{"max", "max", CELL_DURATION, 10},
	{"max_at", "max at", CELL_CLOCK, 10},
};
#define NPERIODS (sizeof(period_columns) / sizeof(period_columns[0]))

static int period_init(struct report *report)
{
	size_t n = report->source->trace.nstreams;
	struct period *all = calloc(n + 1, sizeof(*all));

	for (size_t i = 0; all && i < n; i++)
		all[i].last = INTERVAL_UNKNOWN;
	report->data = all;
	return all ? 0 : -ENOMEM;
}

static int end_of_period(void *arg, const struct intervals *intervals,
			 const struct interval *interval)
{
	struct report *report = arg;
	struct period *p = (struct period *)report->data + interval->stream;
	int64_t woken, ns;

	(void)intervals;
	if (interval->delay == CELL_UNKNOWN || interval->waker == -1)
		return 0;
	woken = clock_distance(interval->delay, interval->start);
	if (!report_wants(report, interval->stream, woken))
		return 0;
	ns = clock_distance(p->last, woken);
	if (p->last == INTERVAL_UNKNOWN) {
		p->last = woken;
		return 0;
	}
	if (!p->periods)
		p->periods = calloc(1, sizeof(*p->periods));
	if (!p->periods)
		return -ENOMEM;
	if (!p->periods->count || ns < p->least)
		p->least = ns;
	if (!p->periods->count || ns > p->periods->most)
		p->most_at = woken;
	p->last = woken;
	return histogram_add(p->periods, ns);
}

static int period_rows(struct report *report)
{
	const struct period *all = report->data;

	for (size_t i = 0; i < report->groups.n; i++) {
		const struct group *g = &report->groups.list[i];
		const struct period *p = &all[i];
		const struct histogram *h = p->periods;
		union cell row[NPERIODS] = {{.text = NULL}};

		if (!h)
			continue;
		row[0].text = strdup(g->label);
		row[1].number = g->tid;
		row[2].number = g->pid;
		row[3].text = strdup(g->name ? g->name : "");
		row[4].number = g->rank;
		row[5].number = (int64_t)h->count;
		row[6].number = p->least;
		row[7].number = h->sum / (int64_t)h->count;
		row[8].number = histogram_quantile(h, 50);
		row[9].number = histogram_quantile(h, 99);
		row[10].number = h->most;
		row[11].number = report_clock(report->intervals, p->most_at);
		if (table_add(&report->table, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void release_periods(struct report *report)
{
	struct period *all = report->data;

	for (size_t i = 0; all && i < report->source->trace.nstreams; i++)
		histogram_free(all[i].periods);
}

const struct report_kind report_wake_period = {
	.name = "wake",
	.columns = period_columns,
	.ncolumns = NPERIODS,
	.order = "max",
	.by = BY_THREAD,
	.by_loom = true,
	.only_threads = true,
	.init = period_init,
	.listener = {.end = end_of_period},
	.rows = period_rows,
	.free = release_periods,
};
