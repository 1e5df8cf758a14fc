/* SPDX-License-Identifier: MIT */
#include "tools/view/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

#define STAYS_MOST   4	   /* between two runs; more are written at once */
#define ENTRIES_MOST 65536 /* of a block */

enum stay_column { STAY_THREAD, STAY_USE, STAY_BEGIN, STAY_DURATION, STAY_CALL, STAY_COLUMNS };
enum call_column { CALL_THREAD, CALL_FUNCTION, CALL_DEPTH, CALL_END, CALL_DURATION, CALL_COLUMNS };
enum point_column { POINT_THREAD, POINT_TYPE, POINT_AT, POINT_LOW, POINT_HIGH, POINT_COLUMNS };
enum gap_column { GAP_THREAD, GAP_CPU, GAP_BEGIN, GAP_DURATION, GAP_COUNT, GAP_COLUMNS };

struct open_call {
	struct function function;
	uint32_t number;
	int64_t begin;
	bool inner; /* inside a call of the same function */
};

struct thread_track {
	/* runs */
	int64_t begin, end; /* of the open run */
	uint32_t cpu;	    /* row of the open run */
	int32_t cpu_index;  /* of that row */
	bool open;	    /* a run waits for its end */
	bool moved;	    /* it continues one on another CPU */
	bool cpu_known;	    /* cpu and cpu_index are set */
	bool on_machine;    /* its CPUs are those of a machine, no places of an accelerator */
	/* the interval before */
	bool written; /* its runs are in the page */
	uint8_t left; /* enum off_cpu: why it ended */
	int64_t left_at;
	uint32_t call; /* of the sleep after it, as in its last run */
	/* stays since then */
	uint8_t use; /* the present one */
	bool too_many;
	unsigned nstays;
	int64_t since;
	struct stay stays[STAYS_MOST];
	/* calls */
	struct open_call *calls;
	size_t depth;
	uint32_t room;
	/* of a newborn: the tid of its creator, or 0; and when that made it */
	int32_t creator;
	int64_t created_at;
	/* the open gap of this stream */
	int64_t gap_at;
	uint64_t gap_count;
	bool gap_open;
} __attribute__((aligned(ARRAY_LINE)));

/* ---- overview ---- */

/* Adds the whole buckets to the sums. */
static void density_settle(struct density *d)
{
	int64_t whole = 0;

	for (size_t i = 0; i < DENSITY_BUCKETS; i++) {
		whole += d->whole[i];
		d->ns[i] = clock_sum(d->ns[i], whole * d->width);
	}
	memset(d->whole, 0, sizeof(d->whole));
}

/* Makes the buckets wide enough for `to`. */
static void density_widen(struct density *d, int64_t to)
{
	if (!d->width)
		d->width = 1;
	while (to / d->width >= DENSITY_BUCKETS) {
		density_settle(d);
		for (size_t i = 0; i < DENSITY_BUCKETS / 2; i++)
			d->ns[i] = clock_sum(d->ns[2 * i], d->ns[2 * i + 1]);
		memset(d->ns + DENSITY_BUCKETS / 2, 0, sizeof(d->ns) / 2);
		d->width *= 2;
	}
	d->end = d->width * DENSITY_BUCKETS;
}

static void density_add(struct density *d, int64_t from, int64_t to)
{
	int64_t first, last;

	if (to >= d->end)
		density_widen(d, to);
	first = from / d->width;
	last = to / d->width;
	if (first == last) {
		d->ns[first] += to - from;
		return;
	}
	d->ns[first] += (first + 1) * d->width - from;
	d->ns[last] += to - last * d->width;
	d->whole[first + 1]++;
	d->whole[last]--;
}

/* ns since the first event; the clocks of a damaged trace may be anything. */
static int64_t relative(const struct collect *c, int64_t clock)
{
	int64_t ns = clock_distance(c->origin, clock);

	if (ns < 0)
		return 0;
	return ns > CLOCK_MOST ? CLOCK_MOST : ns;
}

/* Whether the page has detail of [begin, end] of a thread. */
static bool wanted(const struct collect *c, uint32_t stream, int64_t begin, int64_t end)
{
	return c->filter->streams[stream] && end >= c->first && begin <= c->last;
}

/* Ends the detail at this clock once the page is large enough. */
static void check_limit(struct collect *c, int64_t clock)
{
	if (c->full || c->page->bytes < c->limit)
		return;
	c->full = true;
	c->last = clock;
}

/* ---- stays ---- */

/* The number of the system call in which a thread sleeps between two clocks, plus 1; 0: it is not
 * known. UINT32_MAX after a message. */
static uint32_t number_call(struct collect *c, uint32_t stream, const struct sleep_call *call,
			    int64_t begin, int64_t end)
{
	const struct owner *owner = &c->source->owners[stream];
	enum call_machine machine = c->machines[stream];
	struct hash_key key;
	uint32_t *at;
	char **text;

	if (call->call == CALL_UNKNOWN)
		return 0;
	key = sleep_call_key(call, machine, owner, begin, end);
	key.a = key.b ? (uint64_t)stream << 32 : machine;
	at = hash_at(&c->by_call, key);
	if (!at)
		goto lack;
	if (*at == HASH_NONE) {
		text = ARRAY_ADD(c->sleep_calls, c->nsleep_calls);
		if (!text)
			goto lack;
		*text = sleep_call_text(call, machine, owner, begin, end, false);
		if (!*text)
			goto lack;
		*at = (uint32_t)c->nsleep_calls;
	}
	return *at;
lack:
	log_no_memory("for the system calls of the page");
	return UINT32_MAX;
}

static int write_stay(struct collect *c, uint32_t stream, const struct stay *stay)
{
	int64_t begin = relative(c, stay->begin), end = relative(c, stay->end);

	if (!wanted(c, stream, stay->begin, stay->end))
		return 0;
	column_number(&c->stays, STAY_THREAD, stream);
	column_byte(&c->stays, STAY_USE, stay->use);
	column_signed(&c->stays, STAY_BEGIN, begin - c->stay_at);
	column_number(&c->stays, STAY_DURATION, (uint64_t)(end - begin));
	column_number(&c->stays, STAY_CALL, stay->call);
	c->stay_at = begin;
	c->nstays++;
	if (++c->stays.entries < ENTRIES_MOST)
		return 0;
	c->stay_at = 0;
	check_limit(c, stay->end);
	return columns_flush(&c->stays, STAY_COLUMNS, c->page, "stays");
}

static int write_stays(struct collect *c, uint32_t stream)
{
	struct thread_track *t = &c->threads[stream];
	int err = 0;

	for (unsigned i = 0; i < t->nstays && err == 0; i++)
		err = write_stay(c, stream, &t->stays[i]);
	t->nstays = 0;
	return err;
}

/* A stay of a thread that does not run has ended. */
static int end_stay(struct collect *c, const struct intervals *intervals, uint32_t stream,
		    struct stay stay)
{
	struct thread_track *t = &c->threads[stream];
	int err = 0;

	if (stay.use >= TIME_ASLEEP && stay.use != TIME_LOST)
		stay.call = number_call(c, stream, &intervals->threads[stream].interval.call,
					stay.begin, stay.end);
	if (stay.call == UINT32_MAX)
		return -ENOMEM;
	if (stay.use > TIME_RUNNING && stay.use < TIME_ASLEEP)
		density_add(&c->runnable, relative(c, stay.begin), relative(c, stay.end));
	if (t->nstays == STAYS_MOST) {
		t->too_many = true;
		err = write_stays(c, stream);
	}
	t->stays[t->nstays++] = stay;
	return err;
}

static int change_use(struct collect *c, const struct intervals *intervals, uint32_t stream,
		      enum time_use use, int64_t clock)
{
	struct thread_track *t = &c->threads[stream];
	struct stay stay = {.begin = t->since, .end = clock, .use = t->use};

	if (use == t->use)
		return 0;
	t->use = (uint8_t)use;
	t->since = clock;
	if (stay.use == TIME_RUNNING || stay.use == TIME_NONE || stay.end <= stay.begin)
		return 0;
	return end_stay(c, intervals, stream, stay);
}

/* The use of the thread's time from now on, as thread_times.h has it. */
static int follow_use(struct collect *c, const struct intervals *intervals, uint32_t stream)
{
	const struct thread_track *t = &c->threads[stream];
	enum time_use use = time_use_now(intervals, stream);
	int64_t known = intervals->threads[stream].known;
	int err = 0;

	if (c->findings && use != t->use)
		err = findings_take_use(c->findings, intervals, stream, t->use, use, c->now);
	if (err)
		return log_no_memory("for the findings");
	if (t->use != TIME_NONE && known < c->now && t->since < c->now)
		err = change_use(c, intervals, stream, TIME_LOST,
				 known > t->since ? known : t->since);
	return err ? err : change_use(c, intervals, stream, use, c->now);
}

/* ---- runs ---- */

static void read_wake(const struct collect *c, const struct interval *interval, struct run *run)
{
	const struct thread_track *t = &c->threads[interval->stream];

	if (t->moved) {
		run->wake = WAKE_MOVED;
		return;
	}
	if (interval->delay == INTERVAL_UNKNOWN && t->creator > 0) {
		run->wake = WAKE_CREATED;
		run->waker = t->creator;
		if (t->created_at < t->begin)
			run->latency = relative(c, t->begin) - relative(c, t->created_at);
		return;
	}
	if (interval->delay == INTERVAL_UNKNOWN || interval->delay > CLOCK_MOST)
		return;
	run->latency = interval->delay;
	run->waker = interval->waker;
	if (interval->waker > 0)
		run->wake = WAKE_ACTOR;
	else if (interval->waker == 0)
		run->wake = WAKE_UNKNOWN;
	else if (interval->waker != -1)
		run->wake = WAKE_INTERRUPT;
	else if (t->written && interval->start - interval->delay == t->left_at)
		run->wake = WAKE_STAYED;
	else
		run->wake = WAKE_STAYED_SINCE;
}

/* Ends the open run of a thread. `kind`: enum off_cpu, RUN_CUT or RUN_MOVES. */
static int write_run(struct collect *c, const struct interval *interval, uint8_t kind)
{
	uint32_t stream = interval->stream;
	struct thread_track *t = &c->threads[stream];
	struct run run = {.begin = relative(c, t->begin),
			  .end = relative(c, t->end),
			  .stream = stream,
			  .cpu = t->cpu,
			  .next = interval->next,
			  .end_kind = kind};
	struct stay stays[2];
	int err;

	if (run.end < run.begin)
		run.end = run.begin;
	if (t->cpu_index >= 0 && t->on_machine)
		density_add(&c->busy, run.begin, run.end);
	if (!wanted(c, stream, t->begin, t->end)) {
		t->written = t->too_many = false;
		return write_stays(c, stream);
	}
	read_wake(c, interval, &run);
	if (kind == RUN_MOVES)
		run.next = INTERVAL_NEXT_UNKNOWN;
	else
		run.call = number_call(c, stream, &interval->call, interval->end, interval->end);
	if (run.call == UINT32_MAX)
		return -ENOMEM;
	t->creator = 0;
	if (!t->moved) {
		unsigned n =
			t->written ? run_stays(&run, t->begin, t->left, t->left_at, t->call, stays)
				   : 0;
		bool same = n == t->nstays && !t->too_many && run.wake != WAKE_CREATED;

		for (unsigned i = 0; i < n && same; i++)
			same = stays[i].begin == t->stays[i].begin &&
			       stays[i].end == t->stays[i].end && stays[i].use == t->stays[i].use &&
			       stays[i].call == t->stays[i].call;
		run.explicit_stays = !same;
		if (same)
			t->nstays = 0;
		err = write_stays(c, stream);
		if (err)
			return err;
		t->too_many = false;
	}
	t->call = run.call;
	c->runs.runs[c->runs.n++] = run;
	if (c->runs.n < RUN_BLOCK)
		return 0;
	check_limit(c, t->end);
	return run_block_flush(&c->runs, c->actors.ncpus, &c->actors, c->page);
}

/* Sets the CPU and the times of the open run. */
static int open_run(struct collect *c, uint32_t stream, int32_t cpu, int64_t begin, int64_t end)
{
	struct thread_track *t = &c->threads[stream];

	if (!t->cpu_known || t->cpu_index != cpu) {
		t->cpu = actors_cpu(&c->actors, stream, cpu);
		t->cpu_index = cpu;
		t->cpu_known = true;
		if (t->cpu == UINT32_MAX)
			return log_no_memory("for the CPUs of the page");
	}
	t->begin = begin;
	t->end = end;
	t->open = true;
	return 0;
}

static int take_span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		     int64_t from, int64_t to)
{
	struct collect *c = arg;
	struct thread_track *t = &c->threads[stream];
	int err =
		c->findings ? findings_runs.span(c->findings, intervals, stream, cpu, from, to) : 0;

	if (err)
		return log_no_memory("for the time on CPUs");
	err = t->open ? write_run(c, &intervals->threads[stream].interval, RUN_MOVES) : 0;
	t->moved = t->open;
	return err ? err : open_run(c, stream, cpu, from, to);
}

static int take_end(void *arg, const struct intervals *intervals, const struct interval *interval)
{
	struct collect *c = arg;
	struct thread_track *t = &c->threads[interval->stream];
	int err = 0;

	(void)intervals;
	if (t->open && t->cpu_index != interval->cpu) { /* it moves at the end */
		err = write_run(c, interval, RUN_MOVES);
		t->open = false;
		t->moved = true;
	}
	if (err)
		return err;
	if (!t->open) /* of no length */
		err = open_run(c, interval->stream, interval->cpu,
			       t->moved ? interval->end : interval->start, interval->end);
	if (err)
		return err;
	err = write_run(c, interval, interval->cut ? RUN_CUT : (uint8_t)interval->why);
	t->open = t->moved = false;
	t->written = wanted(c, interval->stream, t->begin, t->end);
	t->left = (uint8_t)interval->why;
	t->left_at = interval->end;
	return err;
}

/* ---- calls ---- */

static int write_call(struct collect *c, uint32_t stream, const struct open_call *call,
		      size_t depth, int64_t clock, bool returned)
{
	int64_t begin = relative(c, call->begin), end = relative(c, clock);

	if (!wanted(c, stream, call->begin, clock))
		return 0;
	if (end < begin)
		end = begin;
	column_number(&c->calls, CALL_THREAD, stream);
	column_number(&c->calls, CALL_FUNCTION, call->number);
	column_number(&c->calls, CALL_DEPTH, depth << 2 | (unsigned)call->inner << 1 | returned);
	column_signed(&c->calls, CALL_END, end - c->call_at);
	column_number(&c->calls, CALL_DURATION, (uint64_t)(end - begin));
	c->call_at = end;
	c->ncalls++;
	if (++c->calls.entries < ENTRIES_MOST)
		return 0;
	c->call_at = 0;
	check_limit(c, clock);
	return columns_flush(&c->calls, CALL_COLUMNS, c->page, "calls");
}

static int take_call(struct collect *c, uint32_t stream, const struct event *ev)
{
	struct thread_track *t = &c->threads[stream];
	struct function function;
	struct open_call *calls;
	int64_t number;
	bool inner;
	size_t i;
	int err;

	switch (function_event(ev, &function)) {
	case ACTION_PUSH:
		inner = false;
		for (i = 0; i < t->depth && !inner; i++)
			inner = function_same(&t->calls[i].function, &function);
		calls = stack_more(t->calls, t->depth, &t->room, sizeof(*calls));
		number = function_number(&c->functions, &function);
		if (calls)
			t->calls = calls;
		if (!calls || number < 0)
			return log_no_memory("for the calls of the page");
		calls[t->depth++] =
			(struct open_call){function, (uint32_t)number, ev->clock, inner};
		return 0;
	case ACTION_POP:
		for (i = t->depth; i > 0; i--)
			if (function_same(&t->calls[i - 1].function, &function))
				break;
		if (!i)
			return 0; /* entered before the trace begins */
		err = write_call(c, stream, &t->calls[i - 1], i - 1, ev->clock, true);
		memmove(t->calls + i - 1, t->calls + i, (t->depth - i) * sizeof(*t->calls));
		t->depth--;
		return err;
	default:
		return 0;
	}
}

/* ---- gaps and points ---- */

static int write_gap(struct collect *c, uint32_t stream, int32_t index, int64_t clock)
{
	struct thread_track *t = &c->threads[stream];
	int64_t begin = relative(c, t->gap_at), end = relative(c, clock);
	uint32_t cpu = 0;

	t->gap_open = false;
	if (end < begin)
		end = begin;
	if (index >= 0) {
		cpu = actors_cpu(&c->actors, stream, index);
		if (cpu == UINT32_MAX)
			return log_no_memory("for the CPUs of the page");
		cpu++;
	}
	column_number(&c->gaps, GAP_THREAD, stream);
	column_number(&c->gaps, GAP_CPU, cpu); /* row + 1, 0: not known */
	column_number(&c->gaps, GAP_BEGIN, (uint64_t)begin);
	column_number(&c->gaps, GAP_DURATION, (uint64_t)(end - begin));
	column_number(&c->gaps, GAP_COUNT, t->gap_count);
	c->ngaps++;
	if (++c->gaps.entries < ENTRIES_MOST)
		return 0;
	return columns_flush(&c->gaps, GAP_COLUMNS, c->page, "gaps");
}

/* Remembers a type of points. */
static int note_type(struct collect *c, int32_t type)
{
	uint32_t *at = hash_at(&c->by_type, (struct hash_key){.c = (uint32_t)type});
	int32_t *new;

	if (at && *at != HASH_NONE)
		return 0;
	new = at ? ARRAY_ADD(c->types, c->ntypes) : NULL;
	if (!new)
		return log_no_memory("for the marks of the page");
	*new = type;
	*at = (uint32_t)(c->ntypes - 1);
	return 0;
}

static int write_point(struct collect *c, uint32_t stream, int64_t clock, int32_t type,
		       int64_t value)
{
	int64_t at = relative(c, clock);
	uint64_t zigzag = (uint64_t)value << 1 ^ -(uint64_t)(value < 0);

	if (!wanted(c, stream, clock, clock))
		return 0;
	if (note_type(c, type))
		return -ENOMEM;
	column_number(&c->points, POINT_THREAD, stream);
	column_signed(&c->points, POINT_TYPE, type);
	column_signed(&c->points, POINT_AT, at - c->point_at);
	column_number(&c->points, POINT_LOW, zigzag & UINT32_MAX);
	column_number(&c->points, POINT_HIGH, zigzag >> 32);
	c->point_at = at;
	c->npoints++;
	if (++c->points.entries < ENTRIES_MOST)
		return 0;
	c->point_at = 0;
	check_limit(c, clock);
	return columns_flush(&c->points, POINT_COLUMNS, c->page, "points");
}

/* The hardware counters of nOS-V: a value for each one. Those of ovni-bpf --counters are of the
 * present run: from its begin to its end, and 0 behind it. */
static int write_counters(struct collect *c, const struct intervals *intervals, uint32_t stream,
			  const struct event *ev)
{
	const struct interval_thread *t = &intervals->threads[stream];
	bool of_run = c->source->owners[stream].counters && t->on;
	size_t n = ev->value == 'C' && ev->jumbo ? ev->payload_size / 8 : 0;
	int err = 0;

	for (size_t i = 0; i < n && i < COUNTERS_MOST && err == 0; i++) {
		int32_t type = COUNTER_TYPE + (int32_t)i;

		err = write_point(c, stream, of_run ? t->interval.start : ev->clock, type,
				  get_i64(ev->payload + 8 * i));
		if (of_run && !err)
			err = write_point(c, stream, ev->clock, type, 0);
	}
	return err;
}

static int take_mark(struct collect *c, const struct intervals *intervals, uint32_t stream,
		     const struct event *ev)
{
	struct thread_track *t = &c->threads[stream];

	if (ev->payload_size < 12)
		return 0;
	if (ev->value == '=')
		return write_point(c, stream, ev->clock, get_i32(ev->payload + 8),
				   get_i64(ev->payload));
	if (get_i32(ev->payload + 8) != MARK_TYPE_LOST)
		return 0;
	if (ev->value == ']')
		return t->gap_open ? write_gap(c, stream, intervals->walk.threads[stream].cpu,
					       ev->clock)
				   : 0;
	if (ev->value != '[' || t->gap_open)
		return 0;
	t->gap_open = true;
	t->gap_at = ev->clock;
	t->gap_count = get_u64(ev->payload);
	if (t->gap_count > CLOCK_MOST) /* of a damaged trace */
		t->gap_count = CLOCK_MOST;
	return 0;
}

/* ---- the walk ---- */

/* An event ends a sleep or a wait for a CPU: writes its details, and those of the run before it. */
static int take_details(struct collect *c, uint32_t stream, const struct event *ev)
{
	const struct thread_track *t = &c->threads[stream];
	int64_t irq_ns = interval_irq_ns(ev);
	int err = 0;

	if (irq_ns && t->written)
		err = details_end_run(&c->details, stream, irq_ns, relative(c, t->end));
	if (err || t->use == TIME_RUNNING || t->use >= TIME_NONE || t->use == TIME_LOST ||
	    !wanted(c, stream, t->since, ev->clock))
		return err;
	return details_end_off_cpu(&c->details, &c->actors, stream, ev, relative(c, t->since));
}

static void prefetch(const void *arg, uint32_t stream, bool soon)
{
	const struct collect *c = arg;
	const struct thread_track *t = &c->threads[stream];

	if (c->findings)
		findings_runs.prefetch(c->findings, stream, soon);
	if (soon)
		return;
	__builtin_prefetch(t);
	__builtin_prefetch(&t->left_at);
	__builtin_prefetch(t->stays);
}

static int take_event(void *arg, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	struct collect *c = arg;
	int64_t child;
	int err;

	if (c->order)
		play_order_put(c->order, stream);
	err = c->findings ? findings_runs.event(c->findings, intervals, stream, ev) : 0;

	if (err)
		return log_no_memory("for the findings");
	if (ev->clock > c->end)
		c->end = ev->clock;
	if (ev->model == 'O' && ev->category == 'M') {
		err = take_mark(c, intervals, stream, ev);
		if (err)
			return err;
	}
	if ((ev->model == 'O' && ev->category == 'H') ||
	    (ev->model == 'K' && ev->category == 'C')) {
		if (ev->clock > c->now)
			c->now = ev->clock;
		err = take_details(c, stream, ev);
		if (err)
			return err;
		if (ev->model == 'K' || ev->value != 'C')
			return follow_use(c, intervals, stream);
		child = wait_newborn(intervals, stream, ev);
		if (child < 0)
			return 0;
		c->threads[child].creator = c->actors.tid_of[stream];
		c->threads[child].created_at = c->now;
		return change_use(c, intervals, (uint32_t)child, TIME_WAITING + WAIT_NEWBORN,
				  c->now);
	}
	if (ev->model == 'V' && ev->category == 'W')
		return write_counters(c, intervals, stream, ev);
	return take_call(c, stream, ev);
}

static int start(struct collect *c)
{
	size_t n = c->source->trace.nstreams;
	int err = actors_init(&c->actors, c->source);

	if (err)
		return err;
	err = run_block_init(&c->runs, n);
	if (err)
		return err;
	err = details_init(&c->details, c->source, c->page);
	if (err)
		return err;
	c->threads = array_lines(n + 1, sizeof(*c->threads));
	if (!c->threads)
		return log_no_memory("for %zu threads of %s", n, c->source->trace.path);
	c->machines = sleep_machines(c->source);
	if (!c->machines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		c->threads[i].use = TIME_NONE;
		c->threads[i].on_machine = !c->source->owners[i].accelerator;
	}
	return 0;
}

/* Ends the open stays and calls at the end of the trace. */
static int finish(struct collect *c, const struct intervals *intervals)
{
	int err = 0;

	for (uint32_t i = 0; i < c->source->trace.nstreams && err == 0; i++) {
		struct thread_track *t = &c->threads[i];

		if (t->use != TIME_NONE && t->use != TIME_RUNNING && c->end > t->since)
			err = end_stay(
				c, intervals, i,
				(struct stay){.begin = t->since, .end = c->end, .use = t->use});
		if (err == 0)
			err = write_stays(c, i);
		for (size_t depth = t->depth; depth-- > 0 && err == 0;)
			err = write_call(c, i, &t->calls[depth], depth, c->end, false);
		if (t->gap_open && err == 0)
			err = write_gap(c, i, intervals->walk.threads[i].cpu, c->end);
	}
	if (err)
		return err;
	density_settle(&c->busy);
	density_settle(&c->runnable);
	err = run_block_flush(&c->runs, c->actors.ncpus, &c->actors, c->page);
	if (err)
		return err;
	err = columns_flush(&c->stays, STAY_COLUMNS, c->page, "stays");
	if (err)
		return err;
	err = columns_flush(&c->calls, CALL_COLUMNS, c->page, "calls");
	if (err)
		return err;
	err = columns_flush(&c->points, POINT_COLUMNS, c->page, "points");
	if (err)
		return err;
	err = details_flush(&c->details);
	return err ? err : columns_flush(&c->gaps, GAP_COLUMNS, c->page, "gaps");
}

/* Frees the state of the threads, which only the walk needs: the findings need memory after it.
 */
static void free_threads(struct collect *c)
{
	for (size_t i = 0; c->threads && i < c->source->trace.nstreams; i++)
		free(c->threads[i].calls);
	free(c->threads);
	c->threads = NULL;
}

int collect_trace(struct collect *c, const struct source *source, struct filter *filter,
		  struct page_file *page, struct findings_walk *findings, uint64_t limit,
		  bool *damaged)
{
	static const struct interval_listener listener = {
		.end = take_end, .span = take_span, .event = take_event, .prefetch = prefetch};
	struct intervals intervals = {0};
	int err;

	*damaged = false;
	*c = (struct collect){.source = source,
			      .filter = filter,
			      .page = page,
			      .limit = limit,
			      .first = filter->first,
			      .last = filter->last};
	if (!source_start(source, &c->origin)) {
		log_error("%s: no event to show", source->trace.path);
		return -ENODATA;
	}
	c->end = c->now = c->origin;
	err = start(c);
	if (err)
		return err;
	if (findings)
		c->findings = findings_walk_ready(findings);
	if (c->findings)
		c->order = findings->order;
	trace_drop_metadata(&source->trace); /* 24 MB of a large job; little of it is read again */
	err = intervals_walk(&intervals, source, &listener, c);
	if (c->order)
		play_order_end(c->order, err);
	if (err && err != -ENOMEM && intervals.threads) { /* the part before the damage */
		*damaged = true;
		err = 0;
	}
	if (err == 0 && clock_distance(c->origin, c->end) > CLOCK_MOST) {
		if (!*damaged) /* else the walk has reported a clock */
			log_error("%s: lasts longer than 52 days, the most that a page can show: "
				  "cut a part with ovni-cut",
				  source->trace.path);
		err = -ERANGE;
	}
	if (err == 0)
		err = finish(c, &intervals);
	free_threads(c);
	if (err == 0 && c->findings)
		err = findings_end_runs(c->findings, &intervals);
	intervals_fini(&intervals);
	return err;
}

void collect_fini(struct collect *c)
{
	free_threads(c);
	function_list_free(&c->functions);
	for (size_t i = 0; i < c->nsleep_calls; i++)
		free(c->sleep_calls[i]);
	free(c->sleep_calls);
	free(c->machines);
	hash_free(&c->by_call);
	free(c->types);
	hash_free(&c->by_type);
	columns_fini(&c->stays);
	columns_fini(&c->calls);
	columns_fini(&c->points);
	columns_fini(&c->gaps);
	details_fini(&c->details);
	run_block_fini(&c->runs);
	actors_fini(&c->actors);
}
