/* SPDX-License-Identifier: MIT */
/*
 * report timehist: one line for each interval on a CPU, at its end.
 *
 *       time   cpu  thread           sleep       wait        run       why        next
 *   3.107231     1  worker (1204)    1.204 ms   8.402 us   310.2 us   sleeping   idle
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/report/reports.h"

static const struct table_column columns[] = {
	{"time", "time", CELL_CLOCK, 12},    {"cpu", "cpu", CELL_COUNT, 4},
	{"thread", "thread", CELL_TEXT, 24}, {"sleep", "sleep", CELL_DURATION, 11},
	{"wait", "wait", CELL_DURATION, 11}, {"run", "run", CELL_DURATION, 11},
	{"why", "why", CELL_TEXT, 15},	     {"next", "next", CELL_TEXT, 16},
	{"waker", "waker", CELL_TEXT, 16},
};

static int end(void *arg, const struct intervals *intervals, const struct interval *interval)
{
	struct report *report = arg;
	char *thread, *next, *waker;

	if (!report_wants(report, interval->stream, interval->end))
		return 0;
	thread = tid_names_of_stream(&report->names, interval->stream);
	next = tid_names_of_tid(&report->names, interval->stream, interval->next);
	waker = interval->waker == 0 || interval->waker == -1
			? NULL
			: tid_names_of_tid(&report->names, interval->stream, interval->waker);
	if (!thread || !next) {
		free(thread);
		free(next);
		free(waker);
		return -ENOMEM;
	}
	table_row(
		&report->table,
		(const union cell[]){
			{.number = report_clock(intervals, interval->end)},
			{.number = interval->cpu >= 0 ? interval->cpu : CELL_UNKNOWN},
			{.text = thread},
			{.number = interval->sleep},
			{.number = interval->delay},
			{.number = clock_distance(interval->start, interval->end)},
			{.text = (char *)(interval->cut ? "running" : off_cpu_word(interval->why))},
			{.text = next},
			{.text = waker},
		});
	free(thread);
	free(next);
	free(waker);
	return 0;
}

const struct report_kind report_timehist = {
	.name = "timehist",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.stream = true,
	.names = true,
	.listener = {.end = end},
};
