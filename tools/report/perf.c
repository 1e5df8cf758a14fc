/* SPDX-License-Identifier: MIT */
/*
 * report perf: the perf events that each thread has counted while it ran (ovni-bpf --counters).
 *
 *   thread           event          counted    per second  run time  not counted
 *   worker (1204)    instructions  41230012   21650123001   1.904 s         0 ns
 *
 * In: the values that the recorder read at the end of each run; out: their sums. A thread counts
 * only while it runs. `per second` is of the run time with values; `not counted` is the run time
 * without: a switch was hidden, or the event had no register of the CPU.
 *
 * report perf --functions: the same by function. The values of a run belong to the functions that
 * are open in it, each with its share by time, and with those that it calls, as the times of report
 * func; of a recursive function the outermost call counts. `whole` is the part from runs that lie
 * in the function from begin to end: it is no estimate.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/analysis/function_calls.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define SECOND	    1000000000 /* ns */
#define EVENTS_MOST 16	       /* of a stream; ovni-bpf has at most 8 */

struct sum { /* of an event, in a group of threads or a function */
	int64_t counted, whole;
	int64_t ns, unknown; /* of run time: with values, without */
};

struct part { /* of the present run, from one read of the events to the next */
	uint32_t function;
	int64_t ns;
};

struct call {
	uint32_t function;
	bool inner; /* inside a call of the same function */
	int64_t since;
};

struct thread {
	uint32_t events[EVENTS_MOST]; /* number of the name of each event; n of them */
	uint32_t n;
	bool counted;		   /* the present run has values, */
	int64_t read;		   /* which were read at this clock */
	int64_t rest[EVENTS_MOST]; /* values of its rest, up to the switch: 0, or not known */
	struct call *calls;
	size_t depth;
	uint32_t calls_room;
	struct part *parts;
	size_t nparts;
	uint32_t parts_room;
};

struct perf {
	char **names; /* of events, in the order of the streams */
	size_t nnames;
	struct function_list functions;
	struct sum *sums; /* by group or function, and name */
	size_t nsums;
	struct hash sum_of; /* index in sums */
	bool by_function;
};

static const struct table_column columns[] = {
	{"thread", "thread", CELL_TEXT, 16},
	{"tid", "tid", CELL_COUNT, 6, SHOW_DATA},
	{"pid", "pid", CELL_COUNT, 6, SHOW_DATA},
	{"name", "name", CELL_TEXT, 16, SHOW_DATA},
	{"rank", "rank", CELL_COUNT, 4, SHOW_IF_ANY},
	{"event", "event", CELL_TEXT, 16},
	{"counted", "counted", CELL_COUNT, 12},
	{"per_second", "per second", CELL_COUNT, 12},
	{"per_cycle", "per cycle", CELL_RATIO, 9, SHOW_IF_ANY},
	{"run_time", "run time", CELL_DURATION, 10},
	{"not_counted", "not counted", CELL_DURATION, 11, SHOW_IF_ANY},
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

static const struct table_column function_columns[] = {
	{"function", "function", CELL_TEXT, 16},
	{"type", "type", CELL_TEXT, 8},
	{"event", "event", CELL_TEXT, 16},
	{"counted", "counted", CELL_COUNT, 12},
	{"whole", "whole runs", CELL_COUNT, 12},
	{"per_second", "per second", CELL_COUNT, 12},
	{"per_cycle", "per cycle", CELL_RATIO, 9, SHOW_IF_ANY},
	{"run_time", "run time", CELL_DURATION, 10},
	{"not_counted", "not counted", CELL_DURATION, 11, SHOW_IF_ANY},
};
#define NFUNCTION_COLUMNS (sizeof(function_columns) / sizeof(function_columns[0]))

/* ---- names ---- */

/* The number of a name, or -ENOMEM. */
static int64_t name_number(struct perf *perf, const char *name)
{
	char **added;

	for (size_t i = 0; i < perf->nnames; i++)
		if (strcmp(perf->names[i], name) == 0)
			return (int64_t)i;
	added = ARRAY_ADD(perf->names, perf->nnames);
	if (added)
		*added = strdup(text_shown(name));
	if (added && !*added)
		perf->nnames--;
	return added && *added ? added - perf->names : -ENOMEM;
}

static int read_names(struct perf *perf, struct thread *t, const struct json *meta)
{
	char key[40];

	for (; t->n < EVENTS_MOST; t->n++) {
		const char *name;
		int64_t number;

		snprintf(key, sizeof(key), "nosv.hwc.%u.name", t->n);
		name = json_string(json_get(meta, key));
		if (!name)
			break;
		number = name_number(perf, name);
		if (number < 0)
			return -ENOMEM;
		t->events[t->n] = (uint32_t)number;
	}
	return 0;
}

static int init(struct report *report)
{
	struct perf *perf = report->more;
	struct thread *threads = report->data;

	for (size_t i = 0; i < report->source->trace.nstreams; i++) {
		struct json *meta;
		int err;

		if (!report->source->owners[i].counters)
			continue; /* nOS-V does not read its own at switches */
		meta = trace_metadata(&report->source->trace, i);
		err = meta ? read_names(perf, &threads[i], meta) : -EINVAL;
		json_free(meta);
		if (err)
			return err;
	}
	if (perf->nnames)
		return 0;
	log_error("%s has no perf events: ovni-bpf --counters records them",
		  report->source->trace.path);
	return -ENODATA;
}

static int init_functions(struct report *report)
{
	((struct perf *)report->more)->by_function = true;
	return init(report);
}

/* ---- sums ---- */

static struct sum *sum_of(struct perf *perf, uint32_t subject, uint32_t event)
{
	uint32_t *at = hash_at(&perf->sum_of, (struct hash_key){.a = subject, .b = event});
	struct sum *sum;

	if (!at)
		return NULL;
	if (*at != HASH_NONE)
		return &perf->sums[*at];
	sum = ARRAY_ADD(perf->sums, perf->nsums);
	if (!sum)
		return NULL;
	*at = (uint32_t)(sum - perf->sums);
	*sum = (struct sum){0};
	return sum;
}

/* Adds the share of `ns` in `run` ns with these values; NULL: without values. */
static int add(struct perf *perf, const struct thread *t, uint32_t subject, const int64_t *values,
	       int64_t ns, int64_t run)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct sum *sum = sum_of(perf, subject, t->events[i]);
		int64_t value = values ? values[i] : -1;

		if (!sum)
			return -ENOMEM;
		if (value < 0) {
			sum->unknown = clock_sum(sum->unknown, ns);
			continue;
		}
		sum->ns = clock_sum(sum->ns, ns);
		if (ns == run)
			sum->whole = clock_sum(sum->whole, value);
		else
			value = (int64_t)((__int128)value * ns / run);
		sum->counted = clock_sum(sum->counted, value);
	}
	return 0;
}

/* ---- functions ---- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The function was open in the present run from `from` to `to`. */
static int add_part(struct thread *t, uint32_t function, int64_t from, int64_t to)
{
	struct part *parts;

	if (to <= from)
		return 0;
	for (size_t i = 0; i < t->nparts; i++)
		if (t->parts[i].function == function) {
			t->parts[i].ns = clock_sum(t->parts[i].ns, clock_distance(from, to));
			return 0;
		}
	parts = stack_more(t->parts, t->nparts, &t->parts_room, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	t->parts = parts;
	parts[t->nparts++] = (struct part){function, clock_distance(from, to)};
	return 0;
}

static int enter(struct perf *perf, struct thread *t, const struct function *function,
		 int64_t clock)
{
	struct call *calls = stack_more(t->calls, t->depth, &t->calls_room, sizeof(*calls));
	int64_t number = function_number(&perf->functions, function);
	struct call call = {.since = clock};

	if (!calls || number < 0) {
		t->calls = calls ? calls : t->calls;
		return -ENOMEM;
	}
	t->calls = calls;
	call.function = (uint32_t)number;
	for (size_t i = 0; i < t->depth && !call.inner; i++)
		call.inner = calls[i].function == call.function;
	calls[t->depth++] = call;
	return 0;
}

/* `from`: the begin of the present run, or the last read in it; INT64_MAX if the thread does not
 * run. */
static int leave(struct perf *perf, struct thread *t, const struct function *function, int64_t from,
		 int64_t clock)
{
	int64_t number = function_number(&perf->functions, function);
	struct call call;
	size_t i = t->depth;

	if (number < 0)
		return -ENOMEM;
	while (i > 0 && t->calls[i - 1].function != number)
		i--;
	if (!i)
		return 0; /* entered before the trace begins */
	call = t->calls[--i];
	t->depth--;
	memmove(t->calls + i, t->calls + i + 1, (t->depth - i) * sizeof(*t->calls));
	return call.inner ? 0 : add_part(t, call.function, later(call.since, from), clock);
}

/* The run from `from` to `to`, as far as it was in each function, has these values, or none. */
static int add_parts(struct perf *perf, struct thread *t, const int64_t *values, int64_t from,
		     int64_t to)
{
	int err = 0;

	for (size_t i = 0; i < t->depth && !err; i++)
		if (!t->calls[i].inner)
			err = add_part(t, t->calls[i].function, later(t->calls[i].since, from), to);
	for (size_t i = 0; i < t->nparts && !err; i++)
		err = add(perf, t, t->parts[i].function, values, t->parts[i].ns,
			  clock_distance(from, to));
	t->nparts = 0;
	return err;
}

/* ---- the walk ---- */

/* The run from `from` to `to`, in the part that is asked for, has these values, or none. */
static int add_run(struct report *report, uint32_t stream, const int64_t *values, int64_t from,
		   int64_t to)
{
	struct perf *perf = report->more;
	struct thread *t = (struct thread *)report->data + stream;
	bool wanted = report_wants(report, stream, to) && to > from;

	if (!wanted)
		t->nparts = 0;
	if (!wanted || perf->by_function)
		return wanted ? add_parts(perf, t, values, from, to) : 0;
	return add(perf, t, report->groups.of[stream], values, clock_distance(from, to),
		   clock_distance(from, to));
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;
	struct perf *perf = report->more;
	struct thread *t = (struct thread *)report->data + stream;
	const struct interval_thread *now = &intervals->threads[stream];
	int64_t from =
		now->on ? later(now->interval.start, t->counted ? t->read : INT64_MIN) : INT64_MAX;
	int64_t values[EVENTS_MOST];
	struct function function;
	enum catalog_action action;

	if (!t->n)
		return 0;
	if (event_mcv(ev) == MCV('V', 'W', 'C')) {
		if (!now->on || ev->payload_size != t->n * sizeof(int64_t))
			return 0;
		for (uint32_t i = 0; i < t->n; i++) {
			values[i] = get_i64(ev->payload + i * sizeof(*values));
			t->rest[i] = values[i] < 0 ? values[i] : 0;
		}
		t->counted = true;
		t->read = ev->clock;
		return add_run(report, stream, values, from, ev->clock);
	}
	if (!perf->by_function)
		return 0;
	action = function_event(ev, &function);
	if (action == ACTION_PUSH)
		return enter(perf, t, &function, ev->clock);
	return action == ACTION_POP ? leave(perf, t, &function, from, ev->clock) : 0;
}

static int end(void *arg, const struct intervals *intervals, const struct interval *interval)
{
	struct report *report = arg;
	struct thread *t = (struct thread *)report->data + interval->stream;
	bool counted = t->counted;

	(void)intervals;
	t->counted = false;
	if (!t->n)
		return 0;
	return add_run(report, interval->stream, counted ? t->rest : NULL,
		       counted ? t->read : interval->start, interval->end);
}

/* ---- rows ---- */

static uint32_t cycles_of(const struct perf *perf)
{
	for (size_t i = 0; i < perf->nnames; i++)
		if (strcmp(perf->names[i], "cycles") == 0)
			return (uint32_t)i;
	return HASH_NONE;
}

/* counted x unit / of; CELL_UNKNOWN: of nothing. */
static int64_t rate(int64_t counted, int64_t unit, int64_t of)
{
	__int128 rate = of > 0 ? (__int128)counted * unit / of : CELL_UNKNOWN;

	return rate > INT64_MAX ? INT64_MAX : (int64_t)rate;
}

/* Fills in the cells from `row` on, from the event to the time that was not counted. */
static void fill(struct perf *perf, uint32_t subject, uint32_t event, const struct sum *sum,
		 union cell *row)
{
	uint32_t cycles = cycles_of(perf), at = HASH_NONE;
	int64_t all = 0;

	if (cycles != HASH_NONE && cycles != event)
		at = hash_get(&perf->sum_of, (struct hash_key){.a = subject, .b = cycles});
	if (at != HASH_NONE && perf->sums[at].ns == sum->ns) /* counted in the same runs */
		all = perf->sums[at].counted;
	row++->text = strdup(perf->names[event]);
	row++->number = sum->ns ? sum->counted : CELL_UNKNOWN;
	if (perf->by_function)
		row++->number = sum->ns ? sum->whole : CELL_UNKNOWN;
	row++->number = rate(sum->counted, SECOND, sum->ns);
	row++->number = rate(sum->counted, 1000000, all);
	row++->number = clock_sum(sum->ns, sum->unknown);
	row->number = sum->unknown;
}

static int add_row(struct report *report, uint32_t subject, uint32_t event, const struct sum *sum)
{
	struct perf *perf = report->more;
	const struct group *g = perf->by_function ? NULL : &report->groups.list[subject];
	union cell row[NCOLUMNS] = {{.text = NULL}};

	if (g) {
		row[0].text = strdup(g->label);
		row[1].number = g->tid;
		row[2].number = g->pid;
		row[3].text = strdup(g->name ? g->name : "");
		row[4].number = g->rank;
	} else {
		function_names(report->source, &perf->functions.list[subject], &row[0].text,
			       &row[1].text);
	}
	fill(perf, subject, event, sum, &row[g ? 5 : 2]);
	return table_add(&report->table, row);
}

struct ranked {
	uint32_t subject;
	const struct sum *sum;
};

static int by_counted(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->sum->counted != b->sum->counted)
		return a->sum->counted < b->sum->counted ? 1 : -1;
	return a->subject < b->subject ? -1 : a->subject > b->subject;
}

/* Event by event, who counted most of it first. */
static int rows(struct report *report)
{
	struct perf *perf = report->more;
	size_t n = perf->by_function ? perf->functions.n : report->groups.n;
	struct ranked *list = calloc(n + 1, sizeof(*list));
	int err = list ? 0 : -ENOMEM;

	for (uint32_t event = 0; event < perf->nnames && !err; event++) {
		size_t nlist = 0;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t at =
				hash_get(&perf->sum_of, (struct hash_key){.a = i, .b = event});

			if (at != HASH_NONE)
				list[nlist++] = (struct ranked){i, &perf->sums[at]};
		}
		qsort(list, nlist, sizeof(*list), by_counted);
		for (size_t i = 0; i < nlist && !err; i++)
			err = add_row(report, list[i].subject, event, list[i].sum);
	}
	free(list);
	return err;
}

static void release(struct report *report)
{
	struct perf *perf = report->more;
	struct thread *threads = report->data;

	for (size_t i = 0; threads && i < report->source->trace.nstreams; i++) {
		free(threads[i].calls);
		free(threads[i].parts);
	}
	for (size_t i = 0; i < perf->nnames; i++)
		free(perf->names[i]);
	free(perf->names);
	free(perf->sums);
	hash_free(&perf->sum_of);
	function_list_free(&perf->functions);
}

const struct report_kind report_perf = {
	.name = "perf",
	.columns = columns,
	.ncolumns = NCOLUMNS,
	.by = BY_THREAD,
	.size = sizeof(struct thread),
	.more = sizeof(struct perf),
	.init = init,
	.listener = {.event = event, .end = end},
	.rows = rows,
	.free = release,
};

const struct report_kind report_perf_functions = {
	.name = "perf",
	.columns = function_columns,
	.ncolumns = NFUNCTION_COLUMNS,
	.size = sizeof(struct thread),
	.more = sizeof(struct perf),
	.init = init_functions,
	.listener = {.event = event, .end = end},
	.rows = rows,
	.free = release,
};
