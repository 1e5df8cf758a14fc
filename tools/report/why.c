/* SPDX-License-Identifier: MIT */
/*
 * report why: the time of each thread by what it did, and why.
 *
 *   thread           state     reason     times      time  percent       max    max at
 *   worker (1204)    running                5310   1.904 s    40.11  4.001 ms  1.204410
 *   worker (1204)    runnable  preempted     310  1.204 s    25.36  9.812 ms  3.107231
 *   worker (1204)    asleep    io             12  1.102 s    23.22  91.10 ms  2.310021
 *
 * The rows of a thread add up to its life (thread_times.h); threads that want a CPU most come
 * first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/analysis/thread_times.h"

static const struct table_column columns[] = {
	{"thread", "thread", CELL_TEXT, 16},
	{"tid", "tid", CELL_COUNT, 6, SHOW_DATA},
	{"pid", "pid", CELL_COUNT, 6, SHOW_DATA},
	{"name", "name", CELL_TEXT, 16, SHOW_DATA},
	{"rank", "rank", CELL_COUNT, 4, SHOW_IF_ANY},
	{"state", "state", CELL_TEXT, 8},
	{"reason", "reason", CELL_TEXT, 9},
	{"times", "times", CELL_COUNT, 6},
	{"time", "time", CELL_DURATION, 10},
	{"percent", "percent", CELL_PERCENT, 7},
	{"max", "max", CELL_DURATION, 10},
	{"max_at", "max at", CELL_CLOCK, 10},
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

struct sum { /* of one group */
	struct time_stays uses[TIME_USES];
	int64_t life, wants; /* wants: on a CPU or waiting for one */
	uint32_t group;
};

static int init(struct report *report)
{
	return thread_times_init(report->more, report->source, report->filter->first,
				 report->filter->last);
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;

	thread_times_step(report->more, intervals, stream, ev);
	return 0;
}

static void add_stays(struct sum *sum, enum time_use use, const struct time_stays *stays)
{
	struct time_stays *to = &sum->uses[use];

	to->count += stays->count;
	to->ns = clock_sum(to->ns, stays->ns);
	if (stays->max > to->max) {
		to->max = stays->max;
		to->max_at = stays->max_at;
	}
	sum->life = clock_sum(sum->life, stays->ns);
	if (use < TIME_ASLEEP)
		sum->wants = clock_sum(sum->wants, stays->ns);
}

static int by_wants(const void *pa, const void *pb)
{
	const struct sum *a = pa, *b = pb;

	if (a->wants != b->wants)
		return a->wants < b->wants ? 1 : -1;
	return a->group < b->group ? -1 : 1;
}

static int add_row(struct report *report, const struct sum *sum, enum time_use use)
{
	const struct group *g = &report->groups.list[sum->group];
	const struct time_stays *stays = &sum->uses[use];
	union cell row[NCOLUMNS] = {{.text = NULL}};

	row[0].text = strdup(g->label);
	row[1].number = g->tid;
	row[2].number = g->pid;
	row[3].text = strdup(g->name ? g->name : "");
	row[4].number = g->rank;
	row[5].text = strdup(time_use_state(use));
	row[6].text = strdup(time_use_reason(use));
	row[7].number = (int64_t)stays->count;
	row[8].number = stays->ns;
	row[9].number = table_percent(stays->ns, sum->life);
	row[10].number = stays->max;
	row[11].number = report_clock(report->intervals, stays->max_at);
	return table_add(&report->table, row);
}

static int add_rows(struct report *report, const struct sum *sum)
{
	bool done[TIME_USES] = {false};

	for (;;) { /* the longest first */
		int most = -1, err;

		for (int use = 0; use < TIME_USES; use++)
			if (!done[use] && sum->uses[use].count &&
			    (most < 0 || sum->uses[use].ns > sum->uses[most].ns))
				most = use;
		if (most < 0)
			return 0;
		done[most] = true;
		err = add_row(report, sum, (enum time_use)most);
		if (err)
			return err;
	}
}

static int rows(struct report *report)
{
	struct thread_times *times = report->more;
	struct sum *sums = calloc(report->groups.n + 1, sizeof(*sums));
	int err = sums ? 0 : -ENOMEM;

	thread_times_finish(times, report->intervals);
	for (uint32_t i = 0; sums && i < report->source->trace.nstreams; i++) {
		if (!report->filter->streams[i])
			continue;
		for (int use = 0; use < TIME_USES; use++)
			add_stays(&sums[report->groups.of[i]], (enum time_use)use,
				  &times->threads[i].uses[use]);
	}
	for (uint32_t i = 0; sums && i < report->groups.n; i++)
		sums[i].group = i;
	if (sums)
		qsort(sums, report->groups.n, sizeof(*sums), by_wants);
	for (size_t i = 0; sums && i < report->groups.n; i++) {
		err = add_rows(report, &sums[i]);
		if (err)
			break;
	}
	free(sums);
	return err;
}

static void release(struct report *report)
{
	thread_times_fini(report->more);
}

const struct report_kind report_why = {
	.name = "why",
	.columns = columns,
	.ncolumns = NCOLUMNS,
	.by = BY_THREAD,
	.more = sizeof(struct thread_times),
	.init = init,
	.listener = {.event = event},
	.rows = rows,
	.free = release,
};
