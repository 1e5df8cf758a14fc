/* SPDX-License-Identifier: MIT */
/*
 * report preempt: threads that lost their CPU, and the threads that took it.
 *
 *   victim           culprit            times   lost time        max       max at
 *   worker (1204)    kworker/1:2 (88)      12    1.204 ms   310.2 us     3.107231
 *
 * A thread that was preempted loses the time until it runs again. A yield, which the thread chose
 * itself, is not counted.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/states/pairs.h"
#include "tools/report/reports.h"

struct victim { /* of one thread */
	bool waits;
	int32_t culprit;
	int64_t since;
};

static const struct table_column columns[] = {
	{"victim", "victim", CELL_TEXT, 16}, {"culprit", "culprit", CELL_TEXT, 16},
	{"times", "times", CELL_COUNT, 6},   {"lost", "lost time", CELL_DURATION, 10},
	{"max", "max", CELL_DURATION, 10},   {"max_at", "max at", CELL_CLOCK, 10},
};

static int end(void *arg, const struct intervals *intervals, const struct interval *interval)
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

static int rows(struct report *report)
{
	const struct pairs *pairs = report->more;

	for (size_t i = 0; i < pairs->n; i++) {
		const struct pair *p = &pairs->list[i];
		union cell row[] = {
			{.text = NULL},
			{.text = NULL},
			{.number = (int64_t)p->count},
			{.number = p->sum},
			{.number = p->most},
			{.number = report_clock(report->intervals, p->most_at)},
		};

		row[0].text = tid_names_of_stream(&report->names, (uint32_t)p->a);
		row[1].text = tid_names_of_tid(&report->names, (uint32_t)p->a, (int32_t)p->b);
		if (table_add(&report->table, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void release(struct report *report)
{
	pairs_free(report->more);
}

const struct report_kind report_preempt = {
	.name = "preempt",
	.help = "threads that lost their CPU, to which thread, and for how long",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.order = "lost",
	.names = true,
	.size = sizeof(struct victim),
	.more = sizeof(struct pairs),
	.listener = {.end = end},
	.rows = rows,
	.free = release,
};
