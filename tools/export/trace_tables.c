/* SPDX-License-Identifier: MIT */
#include "tools/export/trace_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/export/subjects.h"
#include "tools/lib/wall_clock.h"
#include "trace/analysis/function_calls.h"
#include "trace/analysis/thread_times.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stack_file.h"
#include "trace/states/cpu_time.h"

/* ---- the schema ---- */

/* clang-format off */
#define TEXT(name)   {name, name, CELL_TEXT}
#define NUMBER(name) {name, name, CELL_COUNT}

static const struct table_column meta[] = {TEXT("key"), NUMBER("number"), TEXT("text")};
static const struct table_column cpus[] = {
	TEXT("loom"), NUMBER("cpu"), NUMBER("os_number"), NUMBER("window_ns"), NUMBER("threads_ns"),
	NUMBER("idle_ns"), NUMBER("other_ns"), NUMBER("unknown_ns"), NUMBER("steal_ns")};
static const struct table_column processes[] = {
	NUMBER("process"), TEXT("loom"), NUMBER("pid"), TEXT("name"), NUMBER("rank"),
	TEXT("command"), NUMBER("parent_pid")};
static const struct table_column threads[] = {
	NUMBER("thread"), NUMBER("process"), TEXT("loom"), NUMBER("tid"), NUMBER("pid"),
	TEXT("name"), TEXT("cgroup"), NUMBER("kernel"), NUMBER("life_begin_ns"), NUMBER("life_end_ns")};
static const struct table_column functions[] = {NUMBER("function"), TEXT("name"), TEXT("type")};
static const struct table_column stacks[] = {
	NUMBER("stack"), NUMBER("depth"), TEXT("function"), TEXT("frame")};
static const struct table_column intervals[] = {
	[INTERVAL_THREAD] = NUMBER("thread"),
	[INTERVAL_STATE] = TEXT("state"),
	[INTERVAL_REASON] = TEXT("reason"),
	[INTERVAL_BEGIN] = NUMBER("begin_ns"),
	[INTERVAL_END] = NUMBER("end_ns"),
	[INTERVAL_NS] = NUMBER("duration_ns"),
	[INTERVAL_CPU] = NUMBER("cpu"),
	[INTERVAL_LEFT] = TEXT("ended_by"),
	[INTERVAL_NEXT_TID] = NUMBER("next_tid"),
	[INTERVAL_CALL] = TEXT("call"),
	[INTERVAL_LOCK_OWNER] = NUMBER("lock_owner"),
	[INTERVAL_LOCK_OWNER_TID] = NUMBER("lock_owner_tid"),
	[INTERVAL_STACK] = NUMBER("stack"),
	[INTERVAL_WAKER_STACK] = NUMBER("waker_stack"),
};
static const struct table_column waits[] = {
	NUMBER("thread"), NUMBER("begin_ns"), NUMBER("end_ns"), NUMBER("duration_ns"), NUMBER("cpu"),
	TEXT("waker_kind"), NUMBER("waker"), NUMBER("waker_tid")};
static const struct table_column interrupts[] = {
	NUMBER("thread"), NUMBER("begin_ns"), NUMBER("end_ns"), NUMBER("interrupts_ns")};
static const struct table_column requests[] = {
	NUMBER("thread"), NUMBER("clock_ns"), NUMBER("major"), NUMBER("minor"), NUMBER("sector"),
	NUMBER("bytes"), NUMBER("write"), NUMBER("at_device_ns"), NUMBER("asleep_ns")};
static const struct table_column regions[] = {
	[REGION_THREAD] = NUMBER("thread"),
	[REGION_FUNCTION] = NUMBER("function"),
	[REGION_BEGIN] = NUMBER("begin_ns"),
	[REGION_END] = NUMBER("end_ns"),
	[REGION_NS] = NUMBER("duration_ns"),
	[REGION_DEPTH] = NUMBER("depth"),
	[REGION_INNER] = NUMBER("nested"),
	[REGION_RETURNED] = NUMBER("returned"),
	[REGION_CLASSES + CLASS_RUNNING] = NUMBER("running_ns"),
	[REGION_CLASSES + CLASS_RUNNABLE] = NUMBER("runnable_ns"),
	[REGION_CLASSES + CLASS_THROTTLED] = NUMBER("throttled_ns"),
	[REGION_CLASSES + CLASS_ASLEEP] = NUMBER("asleep_ns"),
	[REGION_CLASSES + CLASS_UNKNOWN] = NUMBER("unknown_ns"),
};
static const struct table_column marks[] = {
	NUMBER("thread"), NUMBER("clock_ns"), NUMBER("type"), TEXT("title"), NUMBER("value"),
	TEXT("label")};
static const struct table_column losses[] = {
	NUMBER("thread"), NUMBER("cpu"), NUMBER("begin_ns"), NUMBER("end_ns"), NUMBER("events")};

#define SCHEMA(table) {#table, table, sizeof(table) / sizeof((table)[0])}
const struct export_schema export_schemas[EXPORT_TABLES] = {
	[EXPORT_META] = SCHEMA(meta),
	[EXPORT_CPUS] = SCHEMA(cpus),
	[EXPORT_PROCESSES] = SCHEMA(processes),
	[EXPORT_THREADS] = SCHEMA(threads),
	[EXPORT_FUNCTIONS] = SCHEMA(functions),
	[EXPORT_STACKS] = SCHEMA(stacks),
	[EXPORT_INTERVALS] = SCHEMA(intervals),
	[EXPORT_WAITS] = SCHEMA(waits),
	[EXPORT_INTERRUPTS] = SCHEMA(interrupts),
	[EXPORT_REQUESTS] = SCHEMA(requests),
	[EXPORT_REGIONS] = SCHEMA(regions),
	[EXPORT_MARKS] = SCHEMA(marks),
	[EXPORT_LOSSES] = SCHEMA(losses),
};
/* clang-format on */

/* ---- the walk ---- */

#define PIECES_MOST 4096 /* of one wait; the CPU of its rest is unknown */

struct piece { /* a part of a wait, on the queue of one CPU */
	int64_t begin, end;
	int32_t cpu;
};

struct track {		    /* of one thread */
	int64_t begin, end; /* of its life, or CELL_UNKNOWN */
	int64_t piece_at;   /* its present stay, or the part of it on the present CPU, began */
	int32_t piece_cpu;
	struct piece *moved; /* the parts before: only its end says whether a wait is known */
	size_t nmoved;
	uint32_t room_moved;
	/* the part of a run that waits for the reason of its end */
	bool open;
	int32_t cpu, first_cpu; /* first_cpu: at the begin of the run */
	int64_t from, to;
	struct function_calls calls;
	uint32_t device_us; /* of the request that ended its sleep */
	bool gap;	    /* of lost events is open */
	int64_t gap_at, gap_events;
};

struct tables {
	struct export_request *request;
	table_row_fn row;
	void *to;
	int failed; /* of `row`, or without memory: no damage of the trace */
	struct subjects subjects;
	struct thread_times times;
	struct cpu_times cpu_times;
	struct stack_table stacks;
	const struct intervals *walk;
	const struct event *ev;	     /* that may end a sleep; NULL: the walk has ended */
	enum call_machine *machines; /* of each stream */
	struct track *tracks;
	struct function_list functions;
};

static int put(struct tables *t, enum export_table table, const union cell *row)
{
	t->failed = t->row(t->to, table, row);
	return t->failed;
}

static int lack(struct tables *t, const char *what)
{
	t->failed = log_no_memory("for %s", what);
	return t->failed;
}

static bool wanted(const struct tables *t, uint32_t stream, int64_t begin, int64_t end)
{
	const struct filter *f = t->request->filter;

	return f->streams[stream] && end >= f->first && begin <= f->last;
}

static int64_t clip(const struct tables *t, int64_t clock)
{
	const struct filter *f = t->request->filter;

	if (clock < f->first)
		return f->first;
	return clock > f->last ? f->last : clock;
}

static char *cell_text(const char *text)
{
	return (char *)text; /* nobody changes the texts of a row */
}

static int64_t known_cpu(int32_t cpu)
{
	return cpu == CPU_NONE ? CELL_UNKNOWN : cpu;
}

/* The frames of a stack, once. */
static int put_stack(struct tables *t, struct stack_line *line)
{
	union cell row[] = {
		{.number = line->number}, {.number = 0}, {.text = NULL}, {.text = NULL}};
	size_t at = 0, len;
	const char *frame;
	int err = 0;

	if (line->used)
		return 0;
	line->used = true;
	while (!err && (len = stack_line_frame(line, &at, &frame))) {
		row[2].text = strndup(frame, stack_frame_name(frame, len));
		row[3].text = strndup(frame, len);
		err = row[2].text && row[3].text ? put(t, EXPORT_STACKS, row)
						 : lack(t, "the stacks of sleeps");
		free(row[2].text);
		free(row[3].text);
		row[1].number++;
	}
	return err;
}

/* What --why=lock and stack recorded of the sleep that the present event ends. */
static int add_details(struct tables *t, uint32_t stream, union cell *row)
{
	struct stack_line *stack = stack_table_find(&t->stacks, sleep_stack(t->ev));
	int32_t tid = sleep_lock_owner(t->ev);
	int64_t owner = tid > 0 ? state_walk_find(&t->subjects.walk, stream, tid) : -1;
	int err;

	if (tid > 0)
		row[INTERVAL_LOCK_OWNER_TID].number = tid;
	if (owner >= 0)
		row[INTERVAL_LOCK_OWNER].number = owner;
	if (!stack)
		return 0;
	row[INTERVAL_STACK].number = stack->number;
	if (stack->waker)
		row[INTERVAL_WAKER_STACK].number = stack->waker;
	err = put_stack(t, stack);
	return err || !stack->waker ? err
				    : put_stack(t, stack_table_find(&t->stacks, stack->waker));
}

/* A stay of a thread, or the part of it on one CPU. */
static int put_interval(struct tables *t, uint32_t stream, enum time_use use, int64_t begin,
			int64_t end, int64_t cpu, const char *left, int64_t next)
{
	const struct sleep_call *call = &t->walk->threads[stream].interval.call;
	bool asleep = use >= TIME_ASLEEP && use != TIME_LOST;
	char *text = NULL;
	int err = 0;
	union cell row[] = {
		[INTERVAL_THREAD].number = stream,
		[INTERVAL_STATE].text = cell_text(time_use_state(use)),
		[INTERVAL_REASON].text = cell_text(time_use_reason(use)),
		[INTERVAL_BEGIN].number = clip(t, begin),
		[INTERVAL_END].number = clip(t, end),
		[INTERVAL_NS].number = clock_distance(clip(t, begin), clip(t, end)),
		[INTERVAL_CPU].number =
			t->request->source->owners[stream].accelerator ? CELL_UNKNOWN : cpu,
		[INTERVAL_LEFT].text = cell_text(left),
		[INTERVAL_NEXT_TID].number = next,
		[INTERVAL_CALL].text = NULL,
		[INTERVAL_LOCK_OWNER].number = CELL_UNKNOWN,
		[INTERVAL_LOCK_OWNER_TID].number = CELL_UNKNOWN,
		[INTERVAL_STACK].number = CELL_UNKNOWN,
		[INTERVAL_WAKER_STACK].number = CELL_UNKNOWN,
	};

	if (!wanted(t, stream, begin, end))
		return 0;
	if ((asleep || use == TIME_WAITING + WAIT_PREEMPTED) && t->ev)
		err = add_details(t, stream, row);
	if (err)
		return err;
	if (asleep && call->call != CALL_UNKNOWN) {
		text = sleep_call_text(call, t->machines[stream],
				       &t->request->source->owners[stream], clip(t, begin),
				       clip(t, end), false);
		if (!text)
			return lack(t, "the system calls of threads");
		row[INTERVAL_CALL].text = text;
	}
	err = put(t, EXPORT_INTERVALS, row);
	free(text);
	return err;
}

/* ---- runs and waits ---- */

static int put_run(struct tables *t, uint32_t stream, const char *left, int64_t next)
{
	struct track *track = &t->tracks[stream];

	if (!track->open)
		return 0;
	track->open = false;
	return put_interval(t, stream, TIME_RUNNING, track->from, track->to, known_cpu(track->cpu),
			    left, next);
}

static int take_span(void *arg, const struct intervals *walk, uint32_t stream, int32_t cpu,
		     int64_t from, int64_t to)
{
	struct tables *t = arg;
	struct track *track = &t->tracks[stream];
	bool moved = track->open;
	int err = put_run(t, stream, "moved", CELL_UNKNOWN);

	if (err)
		return err;
	track->first_cpu = moved ? track->first_cpu : cpu;
	track->open = true;
	track->cpu = cpu;
	track->from = from;
	track->to = to;
	err = cpu_times_add(&t->cpu_times, walk, stream, cpu, from, to);
	return err ? lack(t, "the times of the CPUs") : 0;
}

static const char *waker_kind(int32_t waker)
{
	if (waker > 0)
		return "thread";
	if (waker == 0)
		return "unknown";
	return waker == -1 ? "stayed" : "interrupt";
}

static int put_wait(struct tables *t, const struct interval *interval)
{
	int64_t begin = clock_distance(interval->delay, interval->start);
	int64_t waker = CELL_UNKNOWN;
	union cell row[] = {
		{.number = interval->stream},
		{.number = begin},
		{.number = interval->start},
		{.number = interval->delay},
		{.number = known_cpu(t->tracks[interval->stream].first_cpu)},
		{.text = cell_text(waker_kind(interval->waker))},
		{.number = CELL_UNKNOWN},
		{.number = interval->waker > 0 ? interval->waker : CELL_UNKNOWN},
	};

	if (!wanted(t, interval->stream, begin, interval->start))
		return 0;
	if (interval->waker > 0)
		waker = state_walk_find(&t->subjects.walk, interval->stream, interval->waker);
	if (waker >= 0)
		row[6].number = waker;
	return put(t, EXPORT_WAITS, row);
}

static int take_end(void *arg, const struct intervals *walk, const struct interval *interval)
{
	struct tables *t = arg;
	struct track *track = &t->tracks[interval->stream];
	int err;

	(void)walk;
	if (!track->open) { /* of no length */
		track->open = true;
		track->cpu = track->first_cpu = interval->cpu;
		track->from = track->to = interval->end;
	}
	err = put_run(t, interval->stream, interval->cut ? "" : off_cpu_word(interval->why),
		      interval->next < 0 ? CELL_UNKNOWN : interval->next);
	if (err || interval->delay == INTERVAL_UNKNOWN)
		return err;
	return put_wait(t, interval);
}

/* ---- stays off the CPU ---- */

static bool is_wait(enum time_use use)
{
	return use > TIME_RUNNING && use < TIME_ASLEEP;
}

/* The CPU on whose queue a waiting thread stands (culprits.h). */
static int32_t queue_of(const struct intervals *walk, uint32_t stream)
{
	const struct interval_thread *thread = &walk->threads[stream];

	return thread->kernel ? thread->interval.cpu : walk->walk.threads[stream].cpu;
}

/* thread_times: a stay has ended. */
static void take_stay(void *arg, uint32_t stream, enum time_use use, int64_t begin, int64_t end)
{
	struct tables *t = arg;
	struct track *track = &t->tracks[stream];
	bool wait = is_wait(use);
	int err = 0;

	for (size_t i = 0; wait && i < track->nmoved && !err; i++) {
		const struct piece *p = &track->moved[i];

		err = put_interval(t, stream, use, p->begin, p->end, known_cpu(p->cpu), "",
				   CELL_UNKNOWN);
	}
	track->nmoved = 0;
	if (!wait || track->piece_at < begin)
		track->piece_at = begin;
	if (!err && use != TIME_NONE && use != TIME_RUNNING && end > track->piece_at)
		err = put_interval(t, stream, use, track->piece_at, end,
				   wait ? known_cpu(track->piece_cpu) : CELL_UNKNOWN, "",
				   CELL_UNKNOWN);
	if (err && !t->failed)
		t->failed = err;
}

/* After an event: a stay may have begun; `before` and `since` are the use and the begin of the one
 * before. */
static int follow_use(struct tables *t, const struct intervals *walk, uint32_t stream,
		      enum time_use before, int64_t since)
{
	const struct thread_time *time = &t->times.threads[stream];
	struct track *track = &t->tracks[stream];

	if (t->failed || (time->use == before && time->since == since))
		return t->failed;
	if (before == TIME_NONE && track->begin == CELL_UNKNOWN)
		track->begin = time->since;
	track->end = time->use == TIME_NONE ? time->since : CELL_UNKNOWN;
	track->piece_at = time->since;
	track->piece_cpu = queue_of(walk, stream);
	if (is_wait(time->use))
		track->piece_cpu =
			wait_cpu(walk, stream, time->use - TIME_WAITING, track->piece_cpu);
	return 0;
}

/* A waiting thread moves to the queue of another CPU. */
static int follow_move(struct tables *t, const struct intervals *walk, uint32_t stream,
		       int64_t clock)
{
	struct track *track = &t->tracks[stream];
	int32_t cpu = track->nmoved < PIECES_MOST ? queue_of(walk, stream) : CPU_NONE;
	struct piece *moved;

	if (cpu == track->piece_cpu)
		return 0;
	if (is_wait(t->times.threads[stream].use) && clock > track->piece_at) {
		moved = stack_more(track->moved, track->nmoved, &track->room_moved, sizeof(*moved));
		if (!moved)
			return lack(t, "the moves of a thread");
		track->moved = moved;
		moved[track->nmoved++] = (struct piece){track->piece_at, clock, track->piece_cpu};
		track->piece_at = clock;
	}
	track->piece_cpu = cpu;
	return 0;
}

/* ---- calls ---- */

static int put_region(struct tables *t, uint32_t stream, size_t depth, int64_t clock, bool returned)
{
	const struct function_call *call = &t->tracks[stream].calls.list[depth];
	int64_t now[TIME_CLASSES];
	union cell row[EXPORT_COLUMNS] = {
		[REGION_THREAD].number = stream,
		[REGION_FUNCTION].number = call->number,
		[REGION_BEGIN].number = call->begin,
		[REGION_END].number = clock,
		[REGION_NS].number = clock_distance(call->begin, clock),
		[REGION_DEPTH].number = (int64_t)depth,
		[REGION_INNER].number = call->inner,
		[REGION_RETURNED].number = returned,
		[REGION_APART].number = call->apart,
	};

	thread_times_read(&t->times, stream, clock, now);
	for (int i = 0; i < TIME_CLASSES; i++)
		row[REGION_CLASSES + i].number = clock_distance(call->classes[i], now[i]);
	return put(t, EXPORT_REGIONS, row);
}

static int put_function(struct tables *t, uint32_t number)
{
	const struct function *f = &t->functions.list[number];
	char *label = NULL, *title = NULL, value[24], type[24];
	union cell row[] = {{.number = number}, {.text = NULL}, {.text = NULL}};
	int err;

	snprintf(value, sizeof(value), "%lld", (long long)f->value);
	snprintf(type, sizeof(type), "%lld", (long long)f->type);
	if (f->type < 0) {
		function_names(t->request->source, f, &label, &title);
		row[1].text = label;
		row[2].text = title;
	} else {
		row[1].text = cell_text(mark_labels_value(&t->subjects.labels, f->type, f->value));
		row[2].text = cell_text(mark_labels_title(&t->subjects.labels, f->type));
	}
	if (!row[1].text)
		row[1].text = value;
	if (!row[2].text)
		row[2].text = type;
	err = put(t, EXPORT_FUNCTIONS, row);
	free(label);
	free(title);
	return err;
}

static int enter_call(struct tables *t, uint32_t stream, const struct function *function,
		      int64_t clock)
{
	size_t known = t->functions.n;
	int64_t number = function_number(&t->functions, function);
	struct function_call *call = NULL;

	if (number >= 0)
		call = function_calls_enter(&t->tracks[stream].calls, function, (uint32_t)number,
					    clock);
	if (!call)
		return lack(t, "the calls of a thread");
	thread_times_read(&t->times, stream, clock, call->classes);
	return t->functions.n > known ? put_function(t, (uint32_t)number) : 0;
}

static int leave_call(struct tables *t, uint32_t stream, const struct function *function,
		      int64_t clock)
{
	struct function_calls *calls = &t->tracks[stream].calls;
	int64_t i = function_calls_find(calls, function);
	int err;

	if (i < 0)
		return 0; /* entered before the trace begins */
	err = put_region(t, stream, (size_t)i, clock, true);
	function_calls_remove(calls, (size_t)i);
	return err;
}

/* ---- marks and losses ---- */

static int put_loss(struct tables *t, uint32_t stream, int32_t cpu, int64_t clock)
{
	struct track *track = &t->tracks[stream];
	union cell row[] = {
		{.number = stream}, {.number = known_cpu(cpu)},	   {.number = track->gap_at},
		{.number = clock},  {.number = track->gap_events},
	};

	track->gap = false;
	return wanted(t, stream, track->gap_at, clock) ? put(t, EXPORT_LOSSES, row) : 0;
}

static int put_mark(struct tables *t, uint32_t stream, const struct event *ev)
{
	int64_t value = get_i64(ev->payload);
	int32_t type = get_i32(ev->payload + 8);
	union cell row[] = {
		{.number = stream},
		{.number = ev->clock},
		{.number = type},
		{.text = cell_text(mark_labels_title(&t->subjects.labels, type))},
		{.number = value},
		{.text = cell_text(mark_labels_value(&t->subjects.labels, type, value))},
	};

	return wanted(t, stream, ev->clock, ev->clock) ? put(t, EXPORT_MARKS, row) : 0;
}

static int take_mark(struct tables *t, const struct intervals *walk, uint32_t stream,
		     const struct event *ev)
{
	struct track *track = &t->tracks[stream];

	if (ev->payload_size < 12)
		return 0;
	if (ev->value == '=')
		return put_mark(t, stream, ev);
	if (get_i32(ev->payload + 8) != MARK_TYPE_LOST)
		return 0;
	if (ev->value == ']' && track->gap)
		return put_loss(t, stream, walk->walk.threads[stream].cpu, ev->clock);
	if (ev->value != '[' || track->gap)
		return 0;
	track->gap = true;
	track->gap_at = ev->clock;
	track->gap_events = get_i64(ev->payload);
	return 0;
}

/* ---- all events ---- */

/* Interrupts took time from the last run of the thread. */
static int put_interrupts(struct tables *t, const struct intervals *walk, uint32_t stream,
			  const struct event *ev)
{
	int64_t from, to, ns;
	union cell row[4] = {{.number = stream}};

	ns = thread_times_interrupts(&t->times, walk, stream, ev, &from, &to);
	if (ns <= 0 || !wanted(t, stream, from, to))
		return 0;
	row[1].number = clip(t, from);
	row[2].number = clip(t, to);
	row[3].number = thread_times_interrupts_share(ns, clock_distance(from, to),
						      clock_distance(row[1].number, row[2].number));
	return put(t, EXPORT_INTERRUPTS, row);
}

/* The request that ended the sleep of a thread which runs again. */
static int put_request(struct tables *t, const struct intervals *walk, uint32_t stream,
		       const struct event *ev)
{
	int64_t asleep = walk->threads[stream].interval.sleep;
	struct block_request r;

	if (ev->value == 'w')
		t->tracks[stream].device_us = sleep_device_us(ev);
	if (!interval_request(ev, &r) || !wanted(t, stream, ev->clock, ev->clock))
		return 0;
	const union cell row[] = {
		{.number = stream},
		{.number = ev->clock},
		{.number = r.major},
		{.number = r.minor},
		{.number = (int64_t)r.sector},
		{.number = (int64_t)r.sectors * 512},
		{.number = r.write},
		{.number = t->tracks[stream].device_us * 1000ll},
		{.number = asleep == INTERVAL_UNKNOWN ? CELL_UNKNOWN : asleep},
	};

	return put(t, EXPORT_REQUESTS, row);
}

static int take_state(struct tables *t, const struct intervals *walk, uint32_t stream,
		      const struct event *ev)
{
	const struct thread_time *time = &t->times.threads[stream], *newborn = NULL;
	enum time_use before = time->use, child_before = TIME_NONE;
	int64_t since = time->since, child_since = 0, child = -1;
	int err;

	if (ev->model == 'O' && ev->value == 'C')
		child = wait_newborn(walk, stream, ev);
	if (child >= 0) {
		newborn = &t->times.threads[child];
		child_before = newborn->use;
		child_since = newborn->since;
	}
	err = put_interrupts(t, walk, stream, ev);
	if (!err)
		err = put_request(t, walk, stream, ev);
	if (err)
		return err;
	t->ev = ev;
	thread_times_step(&t->times, walk, stream, ev);
	if (cpu_times_step(&t->cpu_times, walk, stream, ev))
		return lack(t, "the times of the CPUs");
	err = follow_use(t, walk, stream, before, since);
	if (err || child < 0)
		return err;
	err = follow_use(t, walk, (uint32_t)child, child_before, child_since);
	/* it stands on the queue of its OHx, which is its next event */
	t->tracks[child].piece_cpu = get_i32(walk->source->streams[child].ev.payload);
	return err;
}

static int take_affinity(struct tables *t, const struct intervals *walk, uint32_t stream,
			 const struct event *ev)
{
	int64_t moved = stream;

	if (ev->value == 'r')
		moved = ev->payload_size < 8
				? -1
				: state_walk_find(&walk->walk, stream, get_i32(ev->payload + 4));
	return moved < 0 ? 0 : follow_move(t, walk, (uint32_t)moved, ev->clock);
}

static int take_event(void *arg, const struct intervals *walk, uint32_t stream,
		      const struct event *ev)
{
	struct tables *t = arg;
	enum catalog_action action;
	struct function function;
	int err;

	if ((ev->model == 'O' && ev->category == 'H') || (ev->model == 'K' && ev->category == 'C'))
		return take_state(t, walk, stream, ev);
	if (ev->model == 'O' && ev->category == 'A')
		return take_affinity(t, walk, stream, ev);
	if (ev->model == 'O' && ev->category == 'M') {
		err = take_mark(t, walk, stream, ev);
		if (err)
			return err;
	}
	if (!wanted(t, stream, ev->clock, ev->clock))
		return 0;
	action = function_event(ev, &function);
	if (action == ACTION_PUSH)
		return enter_call(t, stream, &function, ev->clock);
	return action == ACTION_POP ? leave_call(t, stream, &function, ev->clock) : 0;
}

/* ---- rows that are known after the walk ---- */

static int put_threads(struct tables *t)
{
	const struct source *source = t->request->source;

	for (size_t i = 0; i < source->trace.nstreams; i++) {
		const struct owner *owner = &source->owners[i];
		const struct subject_thread *thread = &t->subjects.threads[i];
		union cell row[] = {
			{.number = (int64_t)i},
			{.number = thread->process},
			{.text = t->subjects.looms[thread->loom].shown},
			{.number = owner->tid},
			{.number = owner->pid},
			{.text = cell_text(owner->name ? text_shown(owner->name) : NULL)},
			{.text = cell_text(owner->cgroup ? text_shown(owner->cgroup) : NULL)},
			{.number = thread->kernel},
			{.number = t->tracks[i].begin},
			{.number = t->tracks[i].end},
		};
		int err = put(t, EXPORT_THREADS, row);

		if (err)
			return err;
	}
	return 0;
}

/* The words of a command line, joined by blanks; for free(). NULL without memory. */
static char *join(char **words, size_t n)
{
	struct bytes text = {0};

	for (size_t i = 0; i < n; i++) {
		if (i)
			bytes_u8(&text, ' ');
		bytes_put(&text, words[i], strlen(words[i]));
	}
	bytes_u8(&text, 0);
	if (text.failed)
		bytes_free(&text);
	return (char *)text.data;
}

static int put_process(struct tables *t, size_t i, int64_t rank)
{
	const struct subject_process *process = &t->subjects.processes[i];
	const char *name = process->leader == NO_SUBJECT
				   ? NULL
				   : t->request->source->owners[process->leader].name;
	char *command = join(process->command, process->ncommand);
	union cell row[] = {
		{.number = (int64_t)i},
		{.text = t->subjects.looms[process->loom].shown},
		{.number = process->pid},
		{.text = cell_text(name ? text_shown(name) : NULL)},
		{.number = rank},
		{.text = command},
		{.number = process->parent ? process->parent : CELL_UNKNOWN},
	};
	int err = command ? put(t, EXPORT_PROCESSES, row) : lack(t, "the commands");

	free(command);
	return err;
}

static int put_processes(struct tables *t)
{
	const struct source *source = t->request->source;
	size_t n = t->subjects.nprocesses;
	int64_t *ranks = calloc(n + 1, sizeof(*ranks));
	int err = 0;

	if (!ranks)
		return lack(t, "the processes");
	for (size_t i = 0; i < n; i++)
		ranks[i] = CELL_UNKNOWN;
	for (size_t i = 0; i < source->trace.nstreams; i++)
		if (source->owners[i].known_rank >= 0)
			ranks[t->subjects.threads[i].process] = source->owners[i].known_rank;
	for (size_t i = 0; i < n; i++) {
		err = put_process(t, i, ranks[i]);
		if (err)
			break;
	}
	free(ranks);
	return err;
}

static int64_t os_number(const struct tables *t, const struct cpu_time *cpu)
{
	const struct subjects *s = &t->subjects;

	for (size_t i = 0; i < s->ncpus; i++)
		if (s->cpus[i].index == cpu->cpu &&
		    strcmp(s->looms[s->cpus[i].loom].name, cpu->loom) == 0)
			return s->cpus[i].number;
	return CELL_UNKNOWN;
}

static int put_cpus(struct tables *t, const struct intervals *walk)
{
	int err = cpu_times_finish(&t->cpu_times, walk);

	if (err)
		return err;
	for (size_t i = 0; i < t->cpu_times.ncpus; i++) {
		const struct cpu_time *cpu = &t->cpu_times.cpus[i];
		union cell row[] = {
			{.text = cell_text(text_shown(cpu->loom))},
			{.number = cpu->cpu},
			{.number = os_number(t, cpu)},
			{.number = cpu->window},
			{.number = cpu->threads},
			{.number = cpu->idle_known ? cpu->idle : CELL_UNKNOWN},
			{.number = cpu->other},
			{.number = cpu->unknown},
			{.number = cpu->steal < 0 || t->cpu_times.part ? CELL_UNKNOWN : cpu->steal},
		};

		err = put(t, EXPORT_CPUS, row);
		if (err)
			return err;
	}
	return 0;
}

static int put_meta(struct tables *t, const struct intervals *walk)
{
	const struct export_request *request = t->request;
	const struct whole *whole = &request->source->whole;
	const struct filter *filter = request->filter;
	uint64_t lost = whole->lost + whole->records;
	char reasons[WHOLE_TEXT];
	struct wall_clock wall;
	int err = wall_clock_read(&wall, &request->source->trace, request->source->owners);
	const struct {
		const char *key;
		int64_t number;
		const char *text;
	} rows[] = {
		{"schema_version", SCHEMA_VERSION, NULL},
		{"trace", CELL_UNKNOWN, text_shown(request->path)},
		{"kernel", CELL_UNKNOWN, t->subjects.looms[0].kernel},
		{"first_event", walk->any ? walk->first : CELL_UNKNOWN, NULL},
		{"last_event", walk->any ? walk->last : CELL_UNKNOWN, NULL},
		{"window_begin", t->cpu_times.t0, NULL},
		{"window_end", t->cpu_times.t1, NULL},
		{"from", filter->from.given ? filter->first : CELL_UNKNOWN, NULL},
		{"to", filter->to.given ? filter->last : CELL_UNKNOWN, NULL},
		{"realtime", wall.known ? wall.ns : CELL_UNKNOWN, NULL},
		{"realtime_clock", wall.known ? wall.clock : CELL_UNKNOWN, NULL},
		{"utc_offset", wall.known ? wall.utc_offset : CELL_UNKNOWN, NULL},
		{"lost", lost > INT64_MAX ? INT64_MAX : (int64_t)lost, NULL},
		{"complete", whole_is(whole) && !request->damaged, whole_text(whole, reasons)},
		{"damaged", request->damaged, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && err == 0; i++) {
		union cell row[] = {{.text = cell_text(rows[i].key)},
				    {.number = rows[i].number},
				    {.text = cell_text(rows[i].text)}};

		err = put(t, EXPORT_META, row);
	}
	return err;
}

/* Ends the stays, calls and gaps of a thread that are open at the end. */
static int finish_thread(struct tables *t, const struct intervals *walk, uint32_t stream)
{
	const struct track *track = &t->tracks[stream];
	int err = 0;

	for (size_t depth = track->calls.depth; depth-- > 0 && err == 0;)
		err = put_region(t, stream, depth, clip(t, walk->last), false);
	if (err || !track->gap)
		return err;
	return put_loss(t, stream, walk->walk.threads[stream].cpu, walk->last);
}

static int finish(struct tables *t, const struct intervals *walk)
{
	int err;

	t->ev = NULL;
	thread_times_finish(&t->times, walk);
	if (t->failed)
		return t->failed;
	for (uint32_t i = 0; i < t->request->source->trace.nstreams; i++) {
		err = finish_thread(t, walk, i);
		if (err)
			return err;
	}
	err = put_threads(t);
	if (err)
		return err;
	err = put_processes(t);
	if (err)
		return err;
	err = put_cpus(t, walk);
	return err ? err : put_meta(t, walk);
}

int tables_walk(struct export_request *request, table_row_fn row, void *to)
{
	static const struct interval_listener listener = {
		.end = take_end, .span = take_span, .event = take_event};
	const struct filter *filter = request->filter;
	size_t n = request->source->trace.nstreams;
	struct tables t = {.request = request, .row = row, .to = to};
	struct intervals walk = {0};
	int err = subjects_init(&t.subjects, request->source);

	if (err)
		goto out;
	t.walk = &walk;
	t.machines = sleep_machines(request->source);
	if (!t.machines) {
		err = -ENOMEM;
		goto out;
	}
	err = thread_times_init(&t.times, request->source, INT64_MIN, INT64_MAX);
	if (err)
		goto out;
	err = stack_table_load(&t.stacks, request->source->trace.fd, request->path);
	if (err == -ENOMEM)
		goto out;
	request->lacks = err != 0; /* the rest is still of use */
	if (err)
		stack_table_free(&t.stacks);
	t.times.stay = take_stay;
	t.times.arg = &t;
	t.times.ahead = true;
	cpu_times_begin(&t.cpu_times, filter->first, filter->last);
	t.tracks = calloc(n + 1, sizeof(*t.tracks));
	if (!t.tracks) {
		err = lack(&t, "the threads of the trace");
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		t.tracks[i].begin = t.tracks[i].end = CELL_UNKNOWN;
	err = intervals_walk(&walk, request->source, &listener, &t);
	if (err && err != -ENOMEM && !t.failed) { /* the part before the damage */
		request->damaged = true;
		err = 0;
	}
	if (!err)
		err = finish(&t, &walk);
out:
	for (size_t i = 0; t.tracks && i < n; i++) {
		function_calls_free(&t.tracks[i].calls);
		free(t.tracks[i].moved);
	}
	free(t.tracks);
	free(t.machines);
	stack_table_free(&t.stacks);
	function_list_free(&t.functions);
	cpu_times_fini(&t.cpu_times);
	thread_times_fini(&t.times);
	subjects_fini(&t.subjects);
	intervals_fini(&walk);
	return err;
}
