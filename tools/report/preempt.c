/* SPDX-License-Identifier: MIT */
/*
 * report preempt: the threads that ran while others waited for a CPU.
 *
 *   victim            culprit           waits       ran  of wait  first        max    max at
 *   latcrit (1204)    noisy (1210)         80  318.2 ms    70.31     61   9.812 ms  3.107231
 *   latcrit (1204)    idle                 12  1.204 ms     0.27      0   310.2 us  1.310442
 *
 * The rows of a victim add up to its waits (culprits.h). A thread without a stream is known only as
 * the one that took the CPU first: its time is unknown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/analysis/culprits.h"

static const struct table_column columns[] = {
	{"victim", "victim", CELL_TEXT, 16},	 {"culprit", "culprit", CELL_TEXT, 16},
	{"waits", "waits", CELL_COUNT, 6},	 {"ran", "ran", CELL_DURATION, 10},
	{"percent", "of wait", CELL_PERCENT, 7}, {"first", "first", CELL_COUNT, 6},
	{"max", "max", CELL_DURATION, 10},	 {"max_at", "max at", CELL_CLOCK, 10},
};

static int init(struct report *report)
{
	return culprits_init(report->more, report->source, report->filter->first,
			     report->filter->last);
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;

	return culprits_step(report->more, intervals, stream, ev);
}

static char *name_culprit(const struct report *report, const struct culprit_pair *p)
{
	if (CULPRIT_IS_TID(p->culprit))
		return tid_names_of_tid(&report->names, p->victim, CULPRIT_TID_OF(p->culprit));
	switch (p->culprit) {
	case CULPRIT_IDLE:
		return strdup("idle");
	case CULPRIT_UNKNOWN:
		return strdup("not recorded");
	case CULPRIT_QUOTA:
		return strdup("CPU quota");
	default:
		return tid_names_of_stream(&report->names, (uint32_t)p->culprit);
	}
}

static int add(struct report *report, const struct culprit_pair *p)
{
	int64_t waited = culprits_waited(report->more, p->victim);
	bool known = !CULPRIT_IS_TID(p->culprit);
	union cell row[] = {
		{.text = NULL},
		{.text = NULL},
		{.number = known ? (int64_t)p->waits : CELL_UNKNOWN},
		{.number = known ? p->ns : CELL_UNKNOWN},
		{.number = known ? table_percent(p->ns, waited) : CELL_UNKNOWN},
		{.number = (int64_t)p->first},
		{.number = known ? p->max : CELL_UNKNOWN},
		{.number = report_clock(report->intervals, p->max_at)},
	};

	/* outside of the initializer, where the analyzer misses that the table owns them */
	row[0].text = tid_names_of_stream(&report->names, p->victim);
	row[1].text = name_culprit(report, p);
	return table_add(&report->table, row);
}

static int rows(struct report *report)
{
	struct culprits *culprits = report->more;
	int err = culprits_finish(culprits, report->intervals);

	if (err)
		return err;
	for (size_t i = 0; i < culprits->npairs; i++) {
		if (report->filter->streams[culprits->pairs[i].victim])
			err = add(report, &culprits->pairs[i]);
		if (err)
			return err;
	}
	return 0;
}

static void release(struct report *report)
{
	culprits_fini(report->more);
}

const struct report_kind report_preempt = {
	.name = "preempt",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.order = "ran",
	.names = true,
	.more = sizeof(struct culprits),
	.init = init,
	.listener = {.event = event},
	.rows = rows,
	.free = release,
};
