/* SPDX-License-Identifier: MIT */
/*
 * report timehist: one line for each run, when it ends.
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

static int end(void *arg, const struct runs *runs, const struct run *run)
{
	struct report *report = arg;
	char *thread, *next, *waker;

	if (!report_wants(report, run->who, run->end))
		return 0;
	thread = called_stream(&report->called, run->who);
	next = called_tid(&report->called, run->who, run->next);
	waker = run->waker == 0 || run->waker == -1
			? NULL
			: called_tid(&report->called, run->who, run->waker);
	if (!thread || !next) {
		free(thread);
		free(next);
		free(waker);
		return -ENOMEM;
	}
	table_row(&report->table,
		  (const union cell[]){
			  {.number = report_clock(runs, run->end)},
			  {.number = run->cpu >= 0 ? run->cpu : CELL_UNKNOWN},
			  {.text = thread},
			  {.number = run->sleep},
			  {.number = run->delay},
			  {.number = clock_distance(run->start, run->end)},
			  {.text = (char *)(run->cut ? "running" : off_cpu_word(run->why))},
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
	.help = "one line per run: when it ended, where, who, how long, why",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.stream = true,
	.whose = true,
	.listener = {.end = end},
};
