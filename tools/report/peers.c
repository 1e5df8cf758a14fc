/* SPDX-License-Identifier: MIT */
/*
 * report preempt: threads that lost their CPU, and the threads that took it.
 *
 *   victim           culprit            times   lost time        max       max at
 *   worker (1204)    kworker/1:2 (88)      12    1.204 ms   310.2 us     3.107231
 *
 * A thread that was preempted loses the time until it runs again. A yield, which the thread chose
 * itself, is not counted.
 *
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

/* ---- preempt ---- */

struct victim { /* of one thread */
	bool waits;
	int32_t culprit;
	int64_t since;
};

static const struct table_column preempt_columns[] = {
	{"victim", "victim", CELL_TEXT, 16}, {"culprit", "culprit", CELL_TEXT, 16},
	{"times", "times", CELL_COUNT, 6},   {"lost", "lost time", CELL_DURATION, 10},
	{"max", "max", CELL_DURATION, 10},   {"max_at", "max at", CELL_CLOCK, 10},
};

static int end_of_victim(void *arg, const struct intervals *intervals,
			 const struct interval *interval)
{
	struct report *report = arg;
	struct victim *v = (struct victim *)report->data + interval->stream;
	bool kept = true;

	(void)intervals;
	if (v->waits && report_wants(report, interval->stream, v->since))
		kept = pairs_add(report->more, interval->stream, v->culprit,
				 clock_distance(v->since, interval->start), v->since);
	*v = (struct victim){interval->why == OFF_CPU_PREEMPTED, interval->next, interval->end};
	return kept ? 0 : -ENOMEM;
}

static int preempt_rows(struct report *report)
{
	const struct pairs *pairs = report->more;

	for (size_t i = 0; i < pairs->n; i++) {
		const struct pair *p = &pairs->list[i];
		uint32_t victim = (uint32_t)p->a;

		if (add_row(report, p, tid_names_of_stream(&report->names, victim),
			    tid_names_of_tid(&report->names, victim, (int32_t)p->b), p->sum))
			return -ENOMEM;
	}
	return 0;
}

const struct report_kind report_preempt = {
	.name = "preempt",
	.help = "threads that lost their CPU, to which thread, and for how long",
	.columns = preempt_columns,
	.ncolumns = sizeof(preempt_columns) / sizeof(preempt_columns[0]),
	.order = "lost",
	.names = true,
	.size = sizeof(struct victim),
	.more = sizeof(struct pairs),
	.listener = {.end = end_of_victim},
	.rows = preempt_rows,
	.free = release,
};

/* ---- wake ---- */

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
