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

static const struct table_column columns[] = {
	{"waker", "waker", CELL_TEXT, 16},	     {"woken", "woken", CELL_TEXT, 16},
	{"times", "times", CELL_COUNT, 6},	     {"wait_avg", "avg wait", CELL_DURATION, 10},
	{"wait_max", "max wait", CELL_DURATION, 10}, {"max_at", "max at", CELL_CLOCK, 10},
};

static int end(void *arg, const struct intervals *intervals, const struct interval *interval)
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

static int rows(struct report *report)
{
	const struct pairs *pairs = report->more;

	for (size_t i = 0; i < pairs->n; i++) {
		const struct pair *p = &pairs->list[i];
		union cell row[] = {
			{.text = NULL},
			{.text = NULL},
			{.number = (int64_t)p->count},
			{.number = p->sum / (int64_t)p->count},
			{.number = p->most},
			{.number = report_clock(report->intervals, p->most_at)},
		};

		row[0].text = tid_names_of_tid(&report->names, (uint32_t)p->b, (int32_t)p->a);
		row[1].text = tid_names_of_stream(&report->names, (uint32_t)p->b);
		if (table_add(&report->table, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void release(struct report *report)
{
	pairs_free(report->more);
}

const struct report_kind report_wake = {
	.name = "wake",
	.help = "wake-ups by waker and woken thread, and how long the woken thread waits",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.order = "times",
	.names = true,
	.more = sizeof(struct pairs),
	.listener = {.end = end},
	.rows = rows,
	.free = release,
};
