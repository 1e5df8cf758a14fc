/* SPDX-License-Identifier: MIT */
/*
 * report preempt: the threads that ran while others waited for a CPU.
 *
 *   victim            culprit           waits       ran  of wait  first        max    max at
 *   latcrit (1204)    noisy (1210)         80  318.2 ms    70.31     61   9.812 ms  3.107231
 *   latcrit (1204)    idle                 12  1.204 ms     0.27      0   310.2 us  1.310442
 *
 * The rows of a victim add up to its waits (culprits.h). A thread without a stream is known only as
 * the one that took the CPU first: its time is unknown. With --why=prio both have the priority that
 * they had longest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/analysis/culprits.h"
#include "trace/base/text.h"

static const struct table_column columns[] = {
	{"victim", "victim", CELL_TEXT, 16},
	{"culprit", "culprit", CELL_TEXT, 16},
	{"waits", "waits", CELL_COUNT, 6},
	{"ran", "ran", CELL_DURATION, 10},
	{"percent", "of wait", CELL_PERCENT, 7},
	{"first", "first", CELL_COUNT, 6},
	{"max", "max", CELL_DURATION, 10},
	{"max_at", "max at", CELL_CLOCK, 10},
	{"victim_priority", "victim's priority", CELL_TEXT, 0, SHOW_IF_ANY},
	{"culprit_priority", "culprit's priority", CELL_TEXT, 0, SHOW_IF_ANY},
};

struct preempt {
	struct culprits culprits;
	struct thread_priorities priorities;
};

static int init(struct report *report)
{
	struct preempt *preempt = report->more;
	int err = culprits_init(&preempt->culprits, report->source, report->filter->first,
				report->filter->last);

	preempt->culprits.detailed = true;
	return err ? err : thread_priorities_init(&preempt->priorities, report->source);
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;
	struct preempt *preempt = report->more;

	if (ev->clock <= report->filter->last)
		(void)thread_priorities_step(&preempt->priorities, stream, ev);
	return culprits_step(&preempt->culprits, intervals, stream, ev);
}

/* The culprit of a pair as a row names it: the group of a thread, or less than 0 as in culprits.h.
 */
static int64_t culprit_of(const struct report *report, const struct culprit_pair *p)
{
	return p->culprit < 0 ? p->culprit : (int64_t)report->groups.of[p->culprit];
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
	case CULPRIT_OTHERS:
		return strdup("other threads");
	default:
		return strdup(report->groups.list[culprit_of(report, p)].label);
	}
}

/* By the group of the victim, the culprit of the row, and the order of the pairs. */
static int compare(const void *pa, const void *pb, void *arg)
{
	const struct report *report = arg;
	const struct culprit_pair *pairs = ((const struct preempt *)report->more)->culprits.pairs;
	uint32_t i = *(const uint32_t *)pa, k = *(const uint32_t *)pb;
	uint32_t a = report->groups.of[pairs[i].victim], b = report->groups.of[pairs[k].victim];
	int64_t x = culprit_of(report, &pairs[i]), y = culprit_of(report, &pairs[k]);

	if (a != b)
		return a < b ? -1 : 1;
	if (x != y)
		return x < y ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* The priority that a thread had longest; "": not known, or the row is of several threads. */
static char *priority_of(const struct report *report, uint32_t stream)
{
	const struct preempt *preempt = report->more;
	int64_t last = report->intervals->last, end = report->filter->last;
	const char *text = NULL;

	if (report->groups.list[report->groups.of[stream]].tid != CELL_UNKNOWN)
		text = thread_priority_longest(&preempt->priorities, stream,
					       end < last ? end : last);
	return text ? text_escaped(text) : strdup("");
}

/* A row for the sum of some pairs, which begins as the first of them; `waited`: by the victims. */
static int add(struct report *report, const struct culprit_pair *p, int64_t waited)
{
	bool known = !CULPRIT_IS_TID(p->culprit), others = p->culprit == CULPRIT_OTHERS;
	union cell row[] = {
		{.text = NULL},
		{.text = NULL},
		{.number = known && !others ? (int64_t)p->waits : CELL_UNKNOWN},
		{.number = known ? p->ns : CELL_UNKNOWN},
		{.number = known ? table_percent(p->ns, waited) : CELL_UNKNOWN},
		{.number = (int64_t)p->first},
		{.number = known && !others ? p->max : CELL_UNKNOWN},
		{.number = report_clock(report->intervals, p->max_at)},
		{.text = NULL},
		{.text = NULL},
	};

	/* outside of the initializer, where the analyzer misses that the table owns them */
	row[0].text = strdup(report->groups.list[report->groups.of[p->victim]].label);
	row[1].text = name_culprit(report, p);
	row[8].text = priority_of(report, p->victim);
	row[9].text = p->culprit < 0 ? strdup("") : priority_of(report, (uint32_t)p->culprit);
	return table_add(&report->table, row);
}

static void sum_up(struct culprit_pair *sum, const struct culprit_pair *p)
{
	sum->ns = clock_sum(sum->ns, p->ns);
	sum->waits += p->waits;
	sum->first += p->first;
	/* of several longest ones, the first */
	if (p->max < sum->max || (p->max == sum->max && p->max_at >= sum->max_at))
		return;
	sum->max = p->max;
	sum->max_at = p->max_at;
}

static int rows(struct report *report)
{
	struct preempt *preempt = report->more;
	struct culprits *culprits = &preempt->culprits;
	size_t nstreams = report->source->trace.nstreams, n = 0;
	uint32_t *order = NULL;
	int64_t *waited = NULL;
	int err = culprits_finish(culprits, report->intervals);

	if (err)
		goto out;
	err = -ENOMEM;
	order = malloc((culprits->npairs + 1) * sizeof(*order));
	waited = calloc(report->groups.n + 1, sizeof(*waited));
	if (!order || !waited)
		goto out;
	for (uint32_t i = 0; i < nstreams; i++) {
		int64_t *sum = &waited[report->groups.of[i]];

		if (report->filter->streams[i])
			*sum = clock_sum(*sum, culprits_waited(culprits, i));
	}
	for (uint32_t i = 0; i < culprits->npairs; i++)
		if (report->filter->streams[culprits->pairs[i].victim])
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), compare, report);
	err = 0;
	for (size_t i = 0; i < n;) {
		struct culprit_pair sum = culprits->pairs[order[i]];
		uint32_t victims = report->groups.of[sum.victim];

		while (++i < n) {
			const struct culprit_pair *p = &culprits->pairs[order[i]];

			if (report->groups.of[p->victim] != victims ||
			    culprit_of(report, p) != culprit_of(report, &sum))
				break;
			sum_up(&sum, p);
		}
		err = add(report, &sum, waited[victims]);
		if (err)
			break;
	}
out:
	free(order);
	free(waited);
	return err;
}

static void release(struct report *report)
{
	struct preempt *preempt = report->more;

	culprits_fini(&preempt->culprits);
	thread_priorities_fini(&preempt->priorities);
}

const struct report_kind report_preempt = {
	.name = "preempt",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.order = "ran",
	.names = true,
	.by = BY_THREAD,
	.by_loom = true,
	.more = sizeof(struct preempt),
	.init = init,
	.listener = {.event = event},
	.rows = rows,
	.free = release,
};
