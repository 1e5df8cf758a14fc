/* SPDX-License-Identifier: MIT */
/*
 * report why: the time of each thread by what it did, and why.
 *
 *   thread           state     reason     times      time  percent       max    max at  in
 *   worker (1204)    running                5310   1.904 s    40.11  4.001 ms  1.204410
 *   worker (1204)    runnable  preempted     310   1.204 s    25.36  9.812 ms  3.107231
 *   worker (1204)    asleep    io             12   1.102 s    23.22  91.10 ms  2.310021  read(3 =
 * /data)
 *
 * The rows of a thread add up to its life (thread_times.h); threads that want a CPU most come
 * first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
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
	{"call", "in", CELL_TEXT, 0, SHOW_IF_ANY},
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

struct part { /* one use of the time of a group, in one call */
	uint32_t group;
	enum time_use use;
	const char *call; /* "" for none, or not known */
	struct time_stays stays;
};

struct call_stays { /* the sleeps of a thread in one call */
	uint32_t stream;
	enum time_use use;
	char *call;
	struct time_stays stays;
};

struct why {
	struct thread_times times;
	enum call_machine *machines; /* of each stream */
	struct call_stays *sleeps;
	size_t nsleeps;
	struct hash sleep_at; /* by stream and use, call, and descriptor */
	const struct report *report;
	bool no_memory;
};

static void add_stay(struct time_stays *to, const struct time_stays *stays)
{
	to->count += stays->count;
	to->ns = clock_sum(to->ns, stays->ns);
	if (stays->max > to->max) {
		to->max = stays->max;
		to->max_at = stays->max_at;
	}
}

/* The sleeps of `stream` in the call; they are made at the first one. NULL: out of memory. */
static struct call_stays *sleeps_in(struct why *why, uint32_t stream, enum time_use use,
				    const struct sleep_call *call, int64_t since)
{
	const struct owner *owner = &why->report->source->owners[stream];
	enum call_machine machine = why->machines[stream];
	struct hash_key key = sleep_call_key(call, machine, owner, since);
	struct call_stays *added;
	uint32_t *at;

	key.a = (uint64_t)stream << 32 | (uint32_t)use;
	at = hash_at(&why->sleep_at, key);
	if (!at)
		return NULL;
	if (*at != HASH_NONE)
		return &why->sleeps[*at];
	added = ARRAY_ADD(why->sleeps, why->nsleeps);
	if (!added)
		return NULL;
	*added = (struct call_stays){.stream = stream, .use = use};
	added->call = call->call == CALL_UNKNOWN
			      ? strdup("")
			      : sleep_call_text(call, machine, owner, since, false);
	*at = (uint32_t)why->nsleeps - 1;
	return added->call ? added : NULL;
}

/* A sleep ends: the interval before it says in which call it was. */
static void stay(void *arg, uint32_t stream, enum time_use use, int64_t begin, int64_t end)
{
	struct why *why = arg;
	int64_t ns = clock_distance(begin, end);
	const struct time_stays one = {.count = 1, .ns = ns, .max = ns, .max_at = begin};
	struct call_stays *sleeps;

	if (use < TIME_ASLEEP || use == TIME_LOST || why->no_memory ||
	    !why->report->filter->streams[stream])
		return;
	sleeps = sleeps_in(why, stream, use, &why->report->intervals->threads[stream].interval.call,
			   begin);
	why->no_memory = !sleeps;
	if (sleeps)
		add_stay(&sleeps->stays, &one);
}

static int init(struct report *report)
{
	struct why *why = report->more;
	int err = thread_times_init(&why->times, report->source, report->filter->first,
				    report->filter->last);

	if (err)
		return err;
	why->report = report;
	why->times.stay = stay;
	why->times.arg = why;
	why->machines = sleep_machines(report->source);
	return why->machines ? 0 : -ENOMEM;
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;
	struct why *why = report->more;

	report->intervals = intervals;
	thread_times_step(&why->times, intervals, stream, ev);
	return why->no_memory ? log_no_memory("for the system calls of threads") : 0;
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
	return strcmp(a->call, b->call);
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
	union cell row[NCOLUMNS] = {{.text = NULL}};

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
	return table_add(&report->table, row);
}

/* The parts of all threads, of groups that may have several. Returns their number. */
static size_t collect(struct report *report, struct part *parts)
{
	const struct why *why = report->more;
	size_t n = 0;

	for (uint32_t i = 0; i < report->source->trace.nstreams; i++) {
		if (!report->filter->streams[i])
			continue;
		for (int use = 0; use < TIME_USES; use++)
			if ((use < TIME_ASLEEP || use == TIME_LOST) &&
			    why->times.threads[i].uses[use].count)
				parts[n++] = (struct part){report->groups.of[i], (enum time_use)use,
							   "", why->times.threads[i].uses[use]};
	}
	for (size_t i = 0; i < why->nsleeps; i++)
		parts[n++] =
			(struct part){report->groups.of[why->sleeps[i].stream], why->sleeps[i].use,
				      why->sleeps[i].call, why->sleeps[i].stays};
	return n;
}

/* Adds up the parts that are one row. Returns the number of rows. */
static size_t join(struct part *parts, size_t n)
{
	size_t rows = 0;

	qsort(parts, n, sizeof(*parts), by_call);
	for (size_t i = 0; i < n; i++)
		if (rows && !by_call(&parts[rows - 1], &parts[i]))
			add_stay(&parts[rows - 1].stays, &parts[i].stays);
		else
			parts[rows++] = parts[i];
	return rows;
}

static int rows(struct report *report)
{
	struct why *why = report->more;
	struct sum *sums = calloc(report->groups.n + 1, sizeof(*sums));
	struct part *parts;
	int err = 0;
	size_t n;

	thread_times_finish(&why->times, report->intervals);
	parts = calloc(report->source->trace.nstreams * (TIME_ASLEEP + 1) + why->nsleeps + 1,
		       sizeof(*parts));
	if (!sums || !parts || why->no_memory) {
		err = -ENOMEM;
		goto out;
	}
	n = join(parts, collect(report, parts));
	for (size_t i = 0; i < n; i++) {
		struct sum *sum = &sums[parts[i].group];

		sum->life = clock_sum(sum->life, parts[i].stays.ns);
		if (parts[i].use < TIME_ASLEEP)
			sum->wants = clock_sum(sum->wants, parts[i].stays.ns);
	}
	qsort_r(parts, n, sizeof(*parts), by_time, sums);
	for (size_t i = 0; i < n && !err; i++)
		err = add_row(report, &parts[i], &sums[parts[i].group]);
out:
	free(parts);
	free(sums);
	return err;
}

static void release(struct report *report)
{
	struct why *why = report->more;

	for (size_t i = 0; i < why->nsleeps; i++)
		free(why->sleeps[i].call);
	free(why->sleeps);
	hash_free(&why->sleep_at);
	free(why->machines);
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
