/* SPDX-License-Identifier: MIT */
/*
 * report preempt: who took the CPU from whom.
 *
 *   victim           culprit            times   lost time        max       max at
 *   worker (1204)    kworker/1:2 (88)      12    1.204 ms   310.2 us     3.107231
 *
 * A thread that left the CPU though it could go on (why: preempted) lost the time until it ran
 * again; that it chose another way (yielded) is not counted.
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

static int end(void *arg, const struct runs *runs, const struct run *run)
{
	struct report *report = arg;
	struct victim *v = (struct victim *)report->data + run->who;
	bool kept = true;

	(void)runs;
	if (v->waits && report_wants(report, run->who, v->since))
		kept = pairs_add(report->more, run->who, v->culprit,
				 clock_distance(v->since, run->start), v->since);
	*v = (struct victim){run->why == OFF_CPU_PREEMPTED, run->next, run->end};
	return kept ? 0 : -ENOMEM;
}

static int rows(struct report *report)
{
	const struct pairs *pairs = report->more;

	for (size_t i = 0; i < pairs->room; i++) {
		const struct pair *p = &pairs->places[i];
		union cell row[] = {
			{.text = NULL},
			{.text = NULL},
			{.number = (int64_t)p->count},
			{.number = p->sum},
			{.number = p->most},
			{.number = report_clock(report->runs, p->most_at)},
		};

		if (!p->count)
			continue;
		row[0].text = called_stream(&report->called, (uint32_t)p->a);
		row[1].text = called_tid(&report->called, (uint32_t)p->a, (int32_t)p->b);
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
	.help = "who took the CPU from whom, how often, and for how long",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.order = "lost",
	.whose = true,
	.size = sizeof(struct victim),
	.more = sizeof(struct pairs),
	.listener = {.end = end},
	.rows = rows,
	.free = release,
};
