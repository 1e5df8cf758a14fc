/* SPDX-License-Identifier: MIT */
/*
 * report wake: wake-ups by waker and woken thread, and the time until the woken thread runs.
 *
 *   waker            woken              times   avg wait       max      max at
 *   main (1200)      worker (1204)       5120   8.402 us  1.204 ms    3.107231
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/states/pairs.h"
#include "tools/report/reports.h"

/* Adds the row of two threads, whose names it takes over. */
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
	.help = "wake-ups by waker and woken thread, and how long the woken thread waits",
	.columns = wake_columns,
	.ncolumns = sizeof(wake_columns) / sizeof(wake_columns[0]),
	.order = "times",
	.names = true,
	.more = sizeof(struct pairs),
	.listener = {.end = end_of_woken},
	.rows = wake_rows,
	.free = release,
};
