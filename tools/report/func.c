/* SPDX-License-Identifier: MIT */
/*
 * report func: calls and times of each function.
 *
 *   function   type          calls     total      self  of life   running  runnable    asleep  ...
 *   solve      Function        120   1.904 s   1.904 s    40.11   1.500 s  200.0 ms  203.1 ms
 *   MPI_Recv   mpi function     40   12.10 s   12.10 s    61.20  11.02 ms   3.201 s   8.888 s
 *
 * A function is a region that stack marks, or the events of a model, enter and leave. Its times
 * include the calls inside it; of a recursive function only the outermost call adds time. A total
 * is running + runnable + throttled + asleep + unknown (thread_times.h). Self is the total without
 * the calls of the same type inside it: the time in which Paraver shows the function.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/analysis/function_calls.h"
#include "trace/analysis/thread_times.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"

struct call {
	struct function function;
	int64_t wall, classes[TIME_CLASSES];
	int64_t nested; /* ns, of the calls of the same type inside it */
	bool inner;	/* inside a call of the same function */
};

struct calls { /* of one thread */
	struct call *stack;
	size_t depth;
	uint32_t room;
};

struct total { /* of a function in the threads of a group */
	struct function function;
	uint32_t group;
	uint64_t calls; /* that have returned */
	int64_t wall, self, max, max_at, classes[TIME_CLASSES];
};

struct totals {
	struct total *list; /* in the order of their first use */
	size_t n;
	struct hash index_of;
	struct thread_times times;
};

static const struct table_column columns[] = {
	{"thread", "thread", CELL_TEXT, 16}, /* only with --by */
	{"function", "function", CELL_TEXT, 16},
	{"type", "type", CELL_TEXT, 8},
	{"calls", "calls", CELL_COUNT, 6},
	{"wall", "total", CELL_DURATION, 10},
	{"self", "self", CELL_DURATION, 10},
	{"percent", "of life", CELL_PERCENT, 7},
	{"on_cpu", "running", CELL_DURATION, 10},
	{"runnable", "runnable", CELL_DURATION, 10},
	{"throttled", "throttled", CELL_DURATION, 10, SHOW_IF_ANY},
	{"asleep", "asleep", CELL_DURATION, 10},
	{"unknown", "unknown", CELL_DURATION, 10, SHOW_IF_ANY},
	{"max", "max wall", CELL_DURATION, 10},
	{"max_at", "max at", CELL_CLOCK, 10},
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

static int enter(struct calls *calls, struct call call)
{
	struct call *stack = stack_more(calls->stack, calls->depth, &calls->room, sizeof(*stack));

	if (!stack)
		return -ENOMEM;
	calls->stack = stack;
	for (size_t i = 0; i < calls->depth && !call.inner; i++)
		call.inner = function_same(&calls->stack[i].function, &call.function);
	calls->stack[calls->depth++] = call;
	return 0;
}

static struct total *total_of(struct totals *totals, uint32_t group, struct function function)
{
	const struct hash_key key = {
		.a = group, .b = (uint64_t)function.value, .c = (uint32_t)function.type};
	uint32_t *at = hash_at(&totals->index_of, key);
	struct total *total;

	if (!at)
		return NULL;
	if (*at != HASH_NONE)
		return &totals->list[*at];
	total = ARRAY_ADD(totals->list, totals->n);
	if (!total)
		return NULL;
	*at = (uint32_t)(total - totals->list);
	*total = (struct total){.function = function, .group = group, .max = INT64_MIN};
	return total;
}

static int leave(struct totals *totals, uint32_t group, struct calls *calls, const struct call *now)
{
	struct call *call = NULL;
	struct total *total;
	int64_t wall;

	for (size_t i = calls->depth; i-- > 0 && !call;)
		if (function_same(&calls->stack[i].function, &now->function))
			call = &calls->stack[i];
	if (!call)
		return 0; /* entered before the trace begins */
	total = total_of(totals, group, call->function);
	if (!total)
		return -ENOMEM;
	total->calls++;
	wall = clock_distance(call->wall, now->wall);
	total->self = clock_sum(total->self, clock_distance(call->nested, wall));
	for (size_t i = (size_t)(call - calls->stack); i-- > 0;)
		if (function_same_type(&calls->stack[i].function, &call->function)) {
			calls->stack[i].nested = clock_sum(calls->stack[i].nested, wall);
			break;
		}
	for (int i = 0; i < TIME_CLASSES && !call->inner; i++)
		total->classes[i] = clock_sum(total->classes[i],
					      clock_distance(call->classes[i], now->classes[i]));
	if (!call->inner)
		total->wall = clock_sum(total->wall, wall);
	if (!call->inner && wall > total->max) {
		total->max = wall;
		total->max_at = call->wall;
	}
	memmove(call, call + 1, (size_t)(calls->stack + calls->depth - call - 1) * sizeof(*call));
	calls->depth--;
	return 0;
}

static int init(struct report *report)
{
	struct totals *totals = report->more;
	int err = thread_times_init(&totals->times, report->source, INT64_MIN, INT64_MAX);

	totals->times.ahead = true;
	return err;
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;
	struct totals *totals = report->more;
	struct calls *calls = (struct calls *)report->data + stream;
	struct call now = {.inner = false};
	enum catalog_action action = function_event(ev, &now.function);

	thread_times_step(&totals->times, intervals, stream, ev);
	if ((action != ACTION_PUSH && action != ACTION_POP) ||
	    !report_wants(report, stream, ev->clock))
		return 0;
	now.wall = ev->clock;
	thread_times_read(&totals->times, stream, ev->clock, now.classes);
	return action == ACTION_PUSH ? enter(calls, now)
				     : leave(totals, report->groups.of[stream], calls, &now);
}

/* ns that the threads of each group have lived, for the shares; for free(). NULL without memory. */
static int64_t *lives_of(struct report *report)
{
	struct totals *totals = report->more;
	int64_t *lives = calloc(report->groups.n + 1, sizeof(*lives));

	thread_times_finish(&totals->times, report->intervals);
	for (size_t i = 0; lives && i < report->source->trace.nstreams; i++) {
		int64_t *life = &lives[report->groups.of[i]];

		for (int k = 0; k < TIME_CLASSES && report->filter->streams[i]; k++)
			*life = clock_sum(*life, totals->times.threads[i].classes[k]);
	}
	return lives;
}

static int rows(struct report *report)
{
	const struct totals *totals = report->more;
	int64_t *lives = lives_of(report);
	int err = lives ? 0 : -ENOMEM;

	for (size_t i = 0; lives && i < totals->n; i++) {
		const struct total *t = &totals->list[i];
		const struct group *g = &report->groups.list[t->group];
		union cell row[NCOLUMNS] = {{.text = NULL}}, *first = row + !report->by;

		function_names(report->source, &t->function, &row[1].text, &row[2].text);
		row[0].text = report->by ? strdup(g->label) : NULL;
		row[3].number = (int64_t)t->calls;
		row[4].number = t->wall;
		row[5].number = t->self;
		row[6].number = table_percent(t->wall, lives[t->group]);
		row[7].number = t->classes[CLASS_RUNNING];
		row[8].number = t->classes[CLASS_RUNNABLE];
		row[9].number = t->classes[CLASS_THROTTLED];
		row[10].number = t->classes[CLASS_ASLEEP];
		row[11].number = t->classes[CLASS_UNKNOWN];
		row[12].number = t->max == INT64_MIN ? CELL_UNKNOWN : t->max;
		row[13].number = t->max == INT64_MIN ? CELL_UNKNOWN
						     : report_clock(report->intervals, t->max_at);
		err = table_add(&report->table, first);
		if (err)
			break;
	}
	free(lives);
	return err;
}

static void release(struct report *report)
{
	struct totals *totals = report->more;
	struct calls *calls = report->data;

	for (size_t i = 0; i < report->source->trace.nstreams; i++)
		free(calls[i].stack);
	free(totals->list);
	hash_free(&totals->index_of);
	thread_times_fini(&totals->times);
}

/* Without --by, the table has no column for the group: it is of all threads. */
#define FUNC_REPORT(groups, skipped)                                                               \
	{                                                                                          \
		.name = "func", .columns = columns + (skipped), .ncolumns = NCOLUMNS - (skipped),  \
		.order = "wall", .by = (groups), .size = sizeof(struct calls),                     \
		.more = sizeof(struct totals), .init = init, .listener = {.event = event},         \
		.rows = rows, .free = release,                                                     \
	}

const struct report_kind report_func = FUNC_REPORT(BY_ALL, 1);
const struct report_kind report_func_by = FUNC_REPORT(BY_THREAD, 0);
