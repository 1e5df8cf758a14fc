/* SPDX-License-Identifier: MIT */
/*
 * report func: calls and times of each function.
 *
 *   function         type       calls      wall    on CPU   off CPU   max wall      max at
 *   solve            Function     120   1.904 s   1.700 s  203.1 ms   18.20 ms    3.107231
 *
 *   MPI_Send         mpi function  40  12.10 ms   11.02 ms   1.082 ms  1.204 ms    2.900112
 *
 * A function is a region that stack marks, or the events of a model, enter and leave. Its times
 * include the calls inside it; of a recursive function only the outermost call adds time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/states/pairs.h"
#include "tools/report/reports.h"
#include "trace/base/array.h"
#include "trace/catalog/catalog.h"

#define TYPE_LOST 92 /* "Events lost" is not a function */

struct call {
	int64_t value, wall, on_cpu;
	int32_t type; /* of a mark; else minus the character of the model, and value is state_of()
		       */
	bool inner;   /* inside a call of the same function */
};

struct calls { /* of one thread */
	struct call *stack;
	size_t depth;
	uint32_t room;
};

struct totals {
	struct pairs wall;   /* (type, value): of outermost calls; count, sum, most */
	struct pairs on_cpu; /* the same; sum is used */
	struct pairs inner;  /* recursive calls: counted, without time */
};

static const struct table_column columns[] = {
	{"function", "function", CELL_TEXT, 16}, {"type", "type", CELL_TEXT, 8},
	{"calls", "calls", CELL_COUNT, 6},	 {"wall", "wall", CELL_DURATION, 10},
	{"on_cpu", "on CPU", CELL_DURATION, 10}, {"off_cpu", "off CPU", CELL_DURATION, 10},
	{"max", "max wall", CELL_DURATION, 10},	 {"max_at", "max at", CELL_CLOCK, 10},
};

static int enter(struct calls *calls, struct call call)
{
	struct call *stack = stack_more(calls->stack, calls->depth, &calls->room, sizeof(*stack));

	if (!stack)
		return -ENOMEM;
	calls->stack = stack;
	for (size_t i = 0; i < calls->depth && !call.inner; i++)
		call.inner =
			calls->stack[i].type == call.type && calls->stack[i].value == call.value;
	calls->stack[calls->depth++] = call;
	return 0;
}

static int leave(struct totals *totals, struct calls *calls, const struct call *now)
{
	struct call *call = NULL;
	bool kept;

	for (size_t i = calls->depth; i-- > 0 && !call;)
		if (calls->stack[i].type == now->type && calls->stack[i].value == now->value)
			call = &calls->stack[i];
	if (!call)
		return 0; /* entered before the trace begins */
	if (call->inner)
		kept = pairs_add(&totals->inner, call->type, call->value, 0, 0);
	else
		kept = pairs_add(&totals->wall, call->type, call->value,
				 clock_distance(call->wall, now->wall), call->wall) &&
		       pairs_add(&totals->on_cpu, call->type, call->value,
				 clock_distance(call->on_cpu, now->on_cpu), call->wall);
	memmove(call, call + 1, (size_t)(calls->stack + calls->depth - call - 1) * sizeof(*call));
	calls->depth--;
	return kept ? 0 : -ENOMEM;
}

/* A state of a model: its stack and its value there. Several events may enter it. */
static int64_t state_of(const struct catalog_event *event)
{
	return (int64_t)event->channel[0] << 32 | event->value;
}

/* Reads which function the event enters or leaves into *call; ACTION_NONE: neither. */
static enum catalog_action read_event(const struct event *ev, struct call *call)
{
	const struct catalog_event *event;

	if (ev->model == 'O') {
		if (ev->category != 'M' || ev->payload_size < 12)
			return ACTION_NONE;
		call->value = get_i64(ev->payload);
		call->type = get_i32(ev->payload + 8);
		if (call->type == TYPE_LOST || (ev->value != '[' && ev->value != ']'))
			return ACTION_NONE;
		return ev->value == '[' ? ACTION_PUSH : ACTION_POP;
	}
	event = ev->model == 'K' ? NULL : catalog_find(event_mcv(ev), NULL);
	if (!event || !event->label || !event->value)
		return ACTION_NONE;
	call->value = state_of(event);
	call->type = -ev->model;
	return event->action;
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;
	struct calls *calls = (struct calls *)report->data + stream;
	struct call now = {.inner = false};
	enum catalog_action action = read_event(ev, &now);

	if ((action != ACTION_PUSH && action != ACTION_POP) ||
	    !report_wants(report, stream, ev->clock))
		return 0;
	now.wall = ev->clock;
	now.on_cpu = intervals_on_cpu(intervals, stream);
	return action == ACTION_PUSH ? enter(calls, now) : leave(report->more, calls, &now);
}

static void name_state(const struct pair *p, char **label, char **title)
{
	const struct catalog_model *model = catalog_model((char)-p->a);

	*label = *title = NULL;
	for (size_t i = 0; model && i < model->nevents; i++) {
		const struct catalog_event *event = &model->events[i];

		if (event->action != ACTION_PUSH || !event->label || state_of(event) != p->b)
			continue;
		*label = strdup(event->label);
		if (asprintf(title, "%s %s", model->name, event->channel) < 0)
			*title = NULL;
		break;
	}
}

/* The label of a value and the title of its type, from the first stream that has them; NULL without
 * memory. */
static void name_function(const struct report *report, const struct pair *p, char **label,
			  char **title)
{
	bool labelled = false, titled = false; /* else shown as numbers */
	char type[24], key[64];

	if (p->a < 0) {
		name_state(p, label, title);
		return;
	}
	snprintf(type, sizeof(type), "%lld", (long long)p->a);
	snprintf(key, sizeof(key), "%lld", (long long)p->b);
	*label = *title = NULL;
	for (size_t i = 0; i < report->source->trace.nstreams && (!labelled || !titled); i++) {
		struct json *meta = trace_metadata(&report->source->trace, i);
		const struct json *mark = json_key(json_get(meta, "ovni.mark"), type);
		const char *text = json_string(json_key(json_key(mark, "labels"), key));

		if (text && !labelled) {
			*label = strdup(text);
			labelled = true;
		}
		text = json_string(json_key(mark, "title"));
		if (text && !titled) {
			*title = strdup(text);
			titled = true;
		}
		json_free(meta);
	}
	*label = labelled ? *label : strdup(key);
	*title = titled ? *title : strdup(type);
}

static int rows(struct report *report)
{
	const struct totals *totals = report->more;

	for (size_t i = 0; i < totals->wall.n; i++) {
		const struct pair *p = &totals->wall.list[i];
		const struct pair *on = pairs_find(&totals->on_cpu, p->a, p->b);
		const struct pair *inner = pairs_find(&totals->inner, p->a, p->b);
		union cell row[8];

		name_function(report, p, &row[0].text, &row[1].text);
		row[2].number = (int64_t)(p->count + (inner ? inner->count : 0));
		row[3].number = p->sum;
		row[4].number = on ? on->sum : 0;
		row[5].number = clock_distance(row[4].number, p->sum);
		row[6].number = p->most;
		row[7].number = report_clock(report->intervals, p->most_at);
		if (table_add(&report->table, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void release(struct report *report)
{
	struct totals *totals = report->more;
	struct calls *calls = report->data;

	for (size_t i = 0; i < report->source->trace.nstreams; i++)
		free(calls[i].stack);
	pairs_free(&totals->wall);
	pairs_free(&totals->on_cpu);
	pairs_free(&totals->inner);
}

const struct report_kind report_func = {
	.name = "func",
	.help = "calls of functions: how often, wall time, on and off the CPU",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.order = "wall",
	.size = sizeof(struct calls),
	.more = sizeof(struct totals),
	.listener = {.event = event},
	.rows = rows,
	.free = release,
};
