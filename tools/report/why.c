/* SPDX-License-Identifier: MIT */
/*
 * report why: the time of each thread by what it did, and why.
 *
 *   thread           state     reason     times      time  percent       max    max at  in
 *   worker (1204)    running                5310   1.904 s    40.11  4.001 ms  1.204410
 *   worker (1204)    runnable  preempted     310   1.204 s    25.36  9.812 ms  3.107231
 *   worker (1204)    asleep    io             12   1.102 s    23.22  91.10 ms  2.310021  read(3)
 *
 * Sleeps and waits for a CPU with stacks of user code also have the function in which the thread
 * was, and the line, as "take (pool.c:40) <- worker".
 *
 * The rows of a thread add up to its life (thread_times.h). The threads are sorted by their time on
 * a CPU and waiting for one.
 *
 * report blocked: its sleeps alone, also by waker and by futex or process, and with the stacks of
 * wakers by the function in which the waker was, too.
 *
 *   thread         state   reason    times      time  percent    max at  in       woken by
 *   worker (1204)  asleep  io           12   1.102 s    23.22  2.310021  read(3)  interrupt
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/base/log.h"
#include "trace/analysis/blocked.h"

/* Of why and of blocked, but for the last two. */
/* clang-format off */
#define COLUMNS \
	{"thread", "thread", CELL_TEXT, 16}, \
	{"tid", "tid", CELL_COUNT, 6, SHOW_DATA}, \
	{"pid", "pid", CELL_COUNT, 6, SHOW_DATA}, \
	{"name", "name", CELL_TEXT, 16, SHOW_DATA}, \
	{"rank", "rank", CELL_COUNT, 4, SHOW_IF_ANY}, \
	{"state", "state", CELL_TEXT, 8}, \
	{"reason", "reason", CELL_TEXT, 9}, \
	{"times", "times", CELL_COUNT, 6}, \
	{"time", "time", CELL_DURATION, 10}, \
	{"percent", "percent", CELL_PERCENT, 7}, \
	{"max", "max", CELL_DURATION, 10}, \
	{"max_at", "max at", CELL_CLOCK, 10}, \
	{"call", "in", CELL_TEXT, 0, SHOW_IF_ANY}
/* clang-format on */
static const struct table_column columns[] = {
	COLUMNS,
	{"interrupts", "interrupts", CELL_DURATION, 10, SHOW_IF_ANY}, /* part of running */
	{"from", "from", CELL_TEXT, 0, SHOW_IF_ANY},
};
static const struct table_column blocked_columns[] = {
	COLUMNS,
	{"waker", "woken by", CELL_TEXT, 0},
	{"from", "from", CELL_TEXT, 0, SHOW_IF_ANY},
	{"woken_from", "woken from", CELL_TEXT, 0, SHOW_IF_ANY},
};
#define NCOLUMNS	 (sizeof(columns) / sizeof(columns[0]))
#define NCOLUMNS_BLOCKED (sizeof(blocked_columns) / sizeof(blocked_columns[0]))

struct part { /* one use of the time of a group, in one call, ended by one waker */
	uint32_t group;
	enum time_use use;
	const char *call, *waker, *place, *waker_place; /* "" for none, or not known */
	struct time_stays stays;
	int64_t irq; /* part of them, of TIME_RUNNING; CELL_UNKNOWN: not recorded */
};

struct why {
	struct thread_times times;
	struct blocked blocked;
	const struct report *report;
	const struct event *ev; /* the present one; NULL after the walk */
	bool irqs;		/* the recording has the time of interrupts */
	char **texts;		/* the call and the waker of each row of `blocked` */
};

/* Counts a stay that ends. The interval before it has the system call of a sleep. */
static void stay(void *arg, uint32_t stream, enum time_use use, int64_t begin, int64_t end)
{
	struct why *why = arg;
	const struct filter *filter = why->report->filter;
	bool cut = !why->ev || why->ev->clock > filter->last;

	if (filter->streams[stream])
		blocked_add(&why->blocked, why->report->intervals, stream, use, begin, end,
			    cut ? NULL : why->ev);
}

static int begin(struct report *report, bool wakers)
{
	struct why *why = report->more;
	int err = thread_times_init(&why->times, report->source, report->filter->first,
				    report->filter->last);

	if (err)
		return err;
	why->report = report;
	for (size_t i = 0; i < report->source->trace.nstreams; i++)
		why->irqs |= report->source->owners[i].irq;
	why->times.stay = stay;
	why->times.arg = why;
	err = blocked_init(&why->blocked, report->source, wakers);
	why->blocked.waits = !wakers;
	return err ? err : blocked_add_places(&why->blocked);
}

static int init(struct report *report)
{
	return begin(report, false);
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;
	struct why *why = report->more;

	report->intervals = intervals;
	why->ev = ev;
	thread_times_step(&why->times, intervals, stream, ev);
	return why->blocked.no_memory ? log_no_memory("for the sleeps of threads") : 0;
}

/* ---- rows ---- */

struct sum {		     /* of one group */
	int64_t life, wants; /* wants: on a CPU or waiting for one */
};

static int by_call(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->use != b->use)
		return a->use < b->use ? -1 : 1;
	if (strcmp(a->call, b->call) != 0)
		return strcmp(a->call, b->call);
	if (strcmp(a->waker, b->waker) != 0)
		return strcmp(a->waker, b->waker);
	if (strcmp(a->place, b->place) != 0)
		return strcmp(a->place, b->place);
	return strcmp(a->waker_place, b->waker_place);
}

/* The group that wants a CPU most comes first, and its longest time. */
static int by_time(const void *pa, const void *pb, void *arg)
{
	const struct part *a = pa, *b = pb;
	const struct sum *sums = arg;
	int64_t wants_a = sums[a->group].wants, wants_b = sums[b->group].wants;

	if (a->group != b->group) {
		if (wants_a != wants_b)
			return wants_a < wants_b ? 1 : -1;
		return a->group < b->group ? -1 : 1;
	}
	if (a->stays.ns != b->stays.ns)
		return a->stays.ns < b->stays.ns ? 1 : -1;
	return by_call(pa, pb);
}

static int add_row(struct report *report, const struct part *part, const struct sum *sum)
{
	const struct group *g = &report->groups.list[part->group];
	const struct time_stays *stays = &part->stays;
	union cell row[NCOLUMNS_BLOCKED] = {{.text = NULL}};

	row[0].text = strdup(g->label);
	row[1].number = g->tid;
	row[2].number = g->pid;
	row[3].text = strdup(g->name ? g->name : "");
	row[4].number = g->rank;
	row[5].text = strdup(time_use_state(part->use));
	row[6].text = strdup(time_use_reason(part->use));
	row[7].number = (int64_t)stays->count;
	row[8].number = stays->ns;
	row[9].number = table_percent(stays->ns, sum->life);
	row[10].number = stays->max;
	row[11].number = report_clock(report->intervals, stays->max_at);
	row[12].text = strdup(part->call);
	if (report->kind == &report_blocked)
		row[13].text = strdup(part->waker);
	else
		row[13].number = part->irq;
	row[14].text = strdup(part->place);
	if (report->kind == &report_blocked)
		row[15].text = strdup(part->waker_place);
	return table_add(&report->table, row);
}

/* Has the texts of all rows of `blocked`: two for each. */
static int make_texts(struct report *report)
{
	struct why *why = report->more;
	const struct blocked *blocked = &why->blocked;

	why->texts = calloc(2 * blocked->nrows + 1, sizeof(*why->texts));
	if (!why->texts)
		return -ENOMEM;
	for (size_t i = 0; i < blocked->nrows; i++) {
		const struct blocked_row *row = &blocked->rows[i];
		char **texts = &why->texts[2 * i];

		texts[0] = blocked_call(blocked, row);
		if (row->waker == 0)
			texts[1] = strdup("");
		else if (row->waker == BLOCKED_OPEN)
			texts[1] = strdup("still asleep");
		else if (row->waker == BLOCKED_MANY)
			texts[1] = strdup("several");
		else
			texts[1] = tid_names_of_tid(&report->names, row->stream, row->waker);
		if (!texts[0] || !texts[1])
			return -ENOMEM;
	}
	return 0;
}

/* The run time of a thread that interrupts took, if the recording has it. */
static int64_t irq_of(const struct report *report, uint32_t stream)
{
	const struct why *why = report->more;

	return why->irqs ? why->times.threads[stream].irq : CELL_UNKNOWN;
}

/* The parts of all threads, of groups that may have several. Returns their number. */
static size_t collect(struct report *report, struct part *parts)
{
	const struct why *why = report->more;
	const int uses = why->blocked.waits ? TIME_WAITING : TIME_ASLEEP;
	size_t n = 0;

	for (uint32_t i = 0; i < report->source->trace.nstreams; i++)
		for (int use = 0; use < uses && report->filter->streams[i]; use++)
			if (thread_time_stays(&why->times.threads[i], (enum time_use)use)->count)
				parts[n++] = (struct part){
					.group = report->groups.of[i],
					.use = (enum time_use)use,
					.call = "",
					.waker = "",
					.place = "",
					.waker_place = "",
					.stays = *thread_time_stays(&why->times.threads[i],
								    (enum time_use)use),
					.irq = use ? CELL_UNKNOWN : irq_of(report, i)};
	for (size_t i = 0; i < why->blocked.nrows; i++) {
		const struct blocked_row *row = &why->blocked.rows[i];

		parts[n++] = (struct part){.group = report->groups.of[row->stream],
					   .use = row->use,
					   .call = why->texts[2 * i],
					   .waker = why->texts[2 * i + 1],
					   .place = blocked_place(&why->blocked, row),
					   .waker_place = blocked_waker_place(&why->blocked, row),
					   .stays = row->stays,
					   .irq = CELL_UNKNOWN};
	}
	return n;
}

/* Adds up the parts that are one row. Returns the number of rows. */
static size_t join(struct part *parts, size_t n)
{
	size_t rows = 0;

	qsort(parts, n, sizeof(*parts), by_call);
	for (size_t i = 0; i < n; i++)
		if (rows && !by_call(&parts[rows - 1], &parts[i])) {
			time_stays_add(&parts[rows - 1].stays, &parts[i].stays);
			if (parts[i].irq != CELL_UNKNOWN)
				parts[rows - 1].irq =
					parts[rows - 1].irq == CELL_UNKNOWN
						? parts[i].irq
						: clock_sum(parts[rows - 1].irq, parts[i].irq);
		} else {
			parts[rows++] = parts[i];
		}
	return rows;
}

static int rows(struct report *report)
{
	struct why *why = report->more;
	struct sum *sums = calloc(report->groups.n + 1, sizeof(*sums));
	struct part *parts;
	int err = -ENOMEM;
	size_t n;

	why->ev = NULL;
	thread_times_finish(&why->times, report->intervals);
	blocked_finish(&why->blocked, report->intervals);
	parts = calloc(report->source->trace.nstreams * TIME_ASLEEP + why->blocked.nrows + 1,
		       sizeof(*parts));
	if (!sums || !parts || why->times.no_memory || why->blocked.no_memory || make_texts(report))
		goto out;
	err = 0;
	n = join(parts, collect(report, parts));
	for (size_t i = 0; i < n; i++) {
		struct sum *sum = &sums[parts[i].group];

		sum->life = clock_sum(sum->life, parts[i].stays.ns);
		if (parts[i].use < TIME_ASLEEP)
			sum->wants = clock_sum(sum->wants, parts[i].stays.ns);
	}
	qsort_r(parts, n, sizeof(*parts), by_time, sums);
	for (size_t i = 0; i < n; i++) {
		if (why->blocked.wakers && parts[i].use < TIME_ASLEEP)
			continue;
		err = add_row(report, &parts[i], &sums[parts[i].group]);
		if (err)
			break;
	}
out:
	free(parts);
	free(sums);
	return err;
}

static void release(struct report *report)
{
	struct why *why = report->more;

	for (size_t i = 0; why->texts && i < 2 * why->blocked.nrows; i++)
		free(why->texts[i]);
	free(why->texts);
	blocked_fini(&why->blocked);
	thread_times_fini(&why->times);
}

const struct report_kind report_why = {
	.name = "why",
	.columns = columns,
	.ncolumns = NCOLUMNS,
	.by = BY_THREAD,
	.more = sizeof(struct why),
	.init = init,
	.listener = {.event = event},
	.rows = rows,
	.free = release,
};

static int init_blocked(struct report *report)
{
	return begin(report, true);
}

const struct report_kind report_blocked = {
	.name = "blocked",
	.columns = blocked_columns,
	.ncolumns = NCOLUMNS_BLOCKED,
	.order = "time",
	.names = true,
	.by = BY_THREAD,
	.more = sizeof(struct why),
	.init = init_blocked,
	.listener = {.event = event},
	.rows = rows,
	.free = release,
};
