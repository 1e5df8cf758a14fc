/* SPDX-License-Identifier: MIT */
#include "tools/export/perfetto_sched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/ovni/event.h"

#define BUNDLE_SWITCHES 4096
#define BUNDLE_EVENTS	(1u << 16) /* bytes of events that are not compact */
#define PRIO		120	   /* not known */

/* In place of a stream: tasks of a CPU itself. */
#define TASK_IDLE   (UINT32_MAX - 1)
#define TASK_FILLER (UINT32_MAX - 2)

enum waking_kind {
	WAKING_BY_CPU, /* the waker runs on waker_cpu */
	WAKING_BY_TID, /* the waker is a number, 0: not known */
	WAKING_BY_INTERRUPT,
};

enum bundle_field { BUNDLE_CPU = 1, BUNDLE_EVENT = 2, BUNDLE_LOST = 3, BUNDLE_COMPACT = 4 };
enum compact_field {
	SWITCH_CLOCK = 1,
	SWITCH_STATE,
	SWITCH_NEXT,
	SWITCH_PRIO,
	COMPACT_NAMES,
	SWITCH_NAME,
	WAKING_CLOCK,
	WAKING_THREAD,
	WAKING_CPU,
	WAKING_PRIO,
	WAKING_NAME,
	WAKING_FLAGS,
};
enum ftrace_event {
	FTRACE_CLOCK = 1,
	FTRACE_TASK = 2,
	FTRACE_BLOCKED_REASON = 18,
	FTRACE_WAKING = 20,
	FTRACE_NEWTASK = 235,
	FTRACE_FREE = 240,
};

#define INTERNED_SYMBOL 26 /* names that blocked reasons have */

/* The names of a bundle. Those of threads are in the process tree, which outranks them. */
enum bundle_name { NAME_IN_TREE, NAME_IDLE };

#define STATE_RUNNABLE	    0
#define STATE_SLEEPING	    1
#define STATE_DISK	    2
#define STATE_DEAD	    16
#define STATE_PREEMPTED	    256
#define FLAG_HARD_INTERRUPT 8
#define CLONE_SAME_PROCESS  0x10000

static const uint16_t states[OFF_CPU_COUNT] = {
	[OFF_CPU_UNKNOWN] = STATE_SLEEPING,
	[OFF_CPU_SLEEPING] = STATE_SLEEPING,
	[OFF_CPU_UNINTERRUPTIBLE] = STATE_DISK,
	[OFF_CPU_IO] = STATE_DISK,
	[OFF_CPU_STOPPED] = 4,
	[OFF_CPU_TRACED] = 8,
	[OFF_CPU_PREEMPTED] = STATE_PREEMPTED,
	[OFF_CPU_YIELDED] = STATE_RUNNABLE,
	[OFF_CPU_PARKED] = 64,
	[OFF_CPU_IDLE] = 128,
	[OFF_CPU_DEAD] = STATE_RUNNABLE, /* of the recording; a death is STATE_DEAD */
	[OFF_CPU_LOST] = STATE_SLEEPING,
	[OFF_CPU_THROTTLED] = STATE_PREEMPTED,
};

struct waking {
	int64_t clock;
	int32_t thread, target;
	uint8_t flags;
};

struct sched_cpu {
	uint32_t loom;
	int32_t number;
	bool idle_known;
	uint32_t running; /* stream; or NO_SUBJECT */
	bool left;	  /* a leave waits for the next enter */
	uint16_t state;	  /* of that leave, */
	int64_t left_at;  /* and its clock */
	/* the bundle */
	bool filled; /* the filler was the last one */
	bool lost;
	uint32_t nswitches;
	int64_t last; /* clock of the last switch */
	struct bytes clocks, switch_states, nexts, names, events;
	struct waking *wakings;
	size_t nwakings;
};

/* ---- bundles ---- */

static int compare_wakings(const void *pa, const void *pb)
{
	const struct waking *a = pa, *b = pb;

	return a->clock < b->clock ? -1 : a->clock > b->clock;
}

static void put_array(struct bytes *b, enum compact_field field, const struct bytes *array)
{
	pb_bytes(b, field, array->data, array->size);
}

static void put_prios(struct bytes *b, enum compact_field field, size_t n)
{
	uint8_t *to;

	pb_varint(b, field << 3 | 2);
	pb_varint(b, n);
	to = bytes_more(b, n);
	if (to)
		memset(to, PRIO, n);
}

static uint64_t waking_value(const struct sched_cpu *cpu, enum compact_field field, size_t i)
{
	const struct waking *w = &cpu->wakings[i];

	switch (field) {
	case WAKING_CLOCK:
		return (uint64_t)(i ? w->clock - cpu->wakings[i - 1].clock : w->clock);
	case WAKING_THREAD:
		return (uint64_t)w->thread;
	case WAKING_CPU:
		return (uint64_t)w->target;
	case WAKING_PRIO:
		return PRIO;
	case WAKING_NAME:
		return NAME_IN_TREE;
	default:
		return w->flags;
	}
}

static void put_wakings(struct bytes *b, struct sched_cpu *cpu)
{
	qsort(cpu->wakings, cpu->nwakings, sizeof(*cpu->wakings), compare_wakings);
	for (enum compact_field field = WAKING_CLOCK; field <= WAKING_FLAGS; field++) {
		size_t array = pb_begin(b, field);

		for (size_t i = 0; i < cpu->nwakings; i++)
			pb_varint(b, waking_value(cpu, field, i));
		pb_end(b, array);
	}
}

static void put_switches(struct bytes *b, const struct sched_cpu *cpu)
{
	put_array(b, SWITCH_CLOCK, &cpu->clocks);
	put_array(b, SWITCH_STATE, &cpu->switch_states);
	put_array(b, SWITCH_NEXT, &cpu->nexts);
	put_prios(b, SWITCH_PRIO, cpu->nswitches);
	put_array(b, SWITCH_NAME, &cpu->names);
}

static void new_bundle(struct sched_cpu *cpu)
{
	cpu->clocks.size = cpu->switch_states.size = cpu->nexts.size = 0;
	cpu->names.size = cpu->events.size = 0;
	cpu->nswitches = 0;
	cpu->nwakings = 0;
}

static void put_names(struct bytes *b, const struct sched_cpu *cpu)
{
	char idle[32];

	snprintf(idle, sizeof(idle), "swapper/%d", cpu->number);
	pb_text(b, COMPACT_NAMES, "");
	pb_text(b, COMPACT_NAMES, idle);
}

static void flush(struct perfetto_sched *s, struct sched_cpu *cpu)
{
	struct bytes *b = &s->file->packet;
	uint32_t loom = s->subjects->looms[cpu->loom].number;
	size_t bundle, compact;

	if (!cpu->nswitches && !cpu->nwakings && !cpu->events.size && !cpu->lost)
		return;
	bundle = pb_begin(b, PACKET_FTRACE);
	pb_uint(b, BUNDLE_CPU, (uint64_t)cpu->number);
	bytes_put(b, cpu->events.data, cpu->events.size);
	if (cpu->lost)
		pb_uint(b, BUNDLE_LOST, 1);
	if (cpu->nswitches || cpu->nwakings) {
		compact = pb_begin(b, BUNDLE_COMPACT);
		if (cpu->nswitches)
			put_switches(b, cpu);
		if (cpu->nwakings)
			put_wakings(b, cpu);
		put_names(b, cpu);
		pb_end(b, compact);
	}
	pb_end(b, bundle);
	s->lack |= cpu->clocks.failed | cpu->switch_states.failed | cpu->nexts.failed |
		   cpu->names.failed | cpu->events.failed;
	s->switches += cpu->nswitches;
	s->wakings += cpu->nwakings;
	cpu->lost = false;
	perfetto_file_put(s->file, loom + 1, loom);
	free(cpu->wakings);
	cpu->wakings = NULL;
	new_bundle(cpu);
}

static int32_t task_number(const struct perfetto_sched *s, const struct sched_cpu *cpu,
			   uint32_t task)
{
	if (task < TASK_FILLER)
		return s->subjects->threads[task].number;
	return task == TASK_IDLE ? 0 : FILLER_THREAD(cpu->number);
}

/* At `clock` the present task of a CPU leaves with a state, and another one enters. */
static void put_switch(struct perfetto_sched *s, struct sched_cpu *cpu, int64_t clock,
		       unsigned state, uint32_t task)
{
	if (!s->open)
		return;
	if (task == TASK_FILLER && cpu->idle_known)
		task = TASK_IDLE;
	if (cpu->filled)
		state = STATE_SLEEPING;
	cpu->filled = task == TASK_FILLER;
	if (clock < cpu->last)
		clock = cpu->last;
	pb_varint(&cpu->clocks, (uint64_t)(cpu->nswitches ? clock - cpu->last : clock));
	pb_varint(&cpu->switch_states, state);
	pb_varint(&cpu->nexts, (uint64_t)task_number(s, cpu, task));
	pb_varint(&cpu->names, task == TASK_IDLE ? NAME_IDLE : NAME_IN_TREE);
	cpu->last = clock;
	if (++cpu->nswitches >= BUNDLE_SWITCHES)
		flush(s, cpu);
}

static void add_waking(struct perfetto_sched *s, struct sched_cpu *cpu, uint32_t stream,
		       int64_t clock, int32_t target, uint8_t flags)
{
	struct waking *waking = ARRAY_ADD(cpu->wakings, cpu->nwakings);

	if (!waking) {
		s->lack = true;
		return;
	}
	*waking = (struct waking){clock, s->subjects->threads[stream].number, target, flags};
	if (cpu->nwakings >= BUNDLE_SWITCHES)
		flush(s, cpu);
}

/* An event that is not compact begins; returns the start for end_event(). */
static size_t begin_event(struct sched_cpu *cpu, int64_t clock, int32_t task)
{
	size_t start = pb_begin(&cpu->events, BUNDLE_EVENT);

	pb_uint(&cpu->events, FTRACE_CLOCK, (uint64_t)clock);
	pb_uint(&cpu->events, FTRACE_TASK, (uint64_t)task);
	return start;
}

static void end_event(struct perfetto_sched *s, struct sched_cpu *cpu, size_t start)
{
	pb_end(&cpu->events, start);
	if (cpu->events.size >= BUNDLE_EVENTS)
		flush(s, cpu);
}

/* ---- CPUs ---- */

static void start_cpu(struct perfetto_sched *s, struct sched_cpu *cpu)
{
	bool idle_known = cpu->idle_known;

	new_bundle(cpu);
	cpu->left = cpu->filled = cpu->lost = false;
	cpu->last = s->begin;
	cpu->idle_known = true;
	put_switch(s, cpu, s->begin, 0, TASK_IDLE); /* its reader drops the first one */
	cpu->idle_known = idle_known;
}

static void name_filler(struct perfetto_sched *s, const struct sched_cpu *cpu)
{
	struct bytes *b = &s->file->packet;
	uint32_t loom = s->subjects->looms[cpu->loom].number;
	size_t tree, part;
	char name[40];

	if (cpu->idle_known)
		return;
	pb_uint(b, PACKET_TIMESTAMP, (uint64_t)s->begin);
	tree = pb_begin(b, PACKET_PROCESS_TREE);
	part = pb_begin(b, 1);
	pb_uint(b, 1, FILLER_PROCESS);
	pb_text(b, 3, "(not-recorded)");
	pb_end(b, part);
	part = pb_begin(b, 2);
	pb_uint(b, 1, (uint64_t)FILLER_THREAD(cpu->number));
	snprintf(name, sizeof(name), "(not recorded) CPU %d", cpu->number);
	pb_text(b, 2, name);
	pb_uint(b, 3, FILLER_PROCESS);
	pb_end(b, part);
	pb_end(b, tree);
	perfetto_file_put(s->file, loom + 1, loom);
}

static struct sched_cpu *make_cpu(uint32_t loom, int32_t number, bool idle_known)
{
	struct sched_cpu *cpu = calloc(1, sizeof(*cpu));

	if (!cpu)
		return NULL;
	cpu->loom = loom;
	cpu->number = number;
	cpu->idle_known = idle_known;
	cpu->running = NO_SUBJECT;
	return cpu;
}

/* Makes the CPUs that the subjects have more of. */
static int more_cpus(struct perfetto_sched *s)
{
	while (s->ncpus < s->subjects->ncpus) {
		const struct subject_cpu *subject = &s->subjects->cpus[s->ncpus];
		struct sched_cpu **added;

		if (subject->number > CPU_MOST) {
			log_error("%s: CPU %d: Perfetto knows CPUs up to %d",
				  s->subjects->looms[subject->loom].shown, subject->number,
				  CPU_MOST);
			return -ERANGE;
		}
		added = ARRAY_ADD(s->cpus, s->ncpus);
		if (!added)
			return log_no_memory("for the CPUs of the trace");
		*added = make_cpu(subject->loom, subject->number, subject->idle_known);
		if (!*added)
			return log_no_memory("for the CPUs of the trace");
		if (!s->open)
			continue;
		name_filler(s, *added);
		start_cpu(s, *added);
		put_switch(s, *added, s->begin, 0, TASK_FILLER);
	}
	return 0;
}

uint32_t perfetto_sched_cpu(struct perfetto_sched *s, uint32_t stream, int32_t index)
{
	struct sched_thread *t = &s->threads[stream];
	int err;

	if (t->index_known && t->index == index)
		return t->index_cpu;
	t->index_cpu = subjects_cpu(s->subjects, s->subjects->threads[stream].loom, index);
	if (t->index_cpu == NO_SUBJECT) {
		s->lack = true;
		return NO_SUBJECT;
	}
	err = more_cpus(s);
	if (err) {
		s->file->error = s->file->error ? s->file->error : err;
		return NO_SUBJECT;
	}
	t->index = index;
	t->index_known = true;
	return t->index_cpu;
}

void perfetto_sched_lost(struct perfetto_sched *s, uint32_t cpu)
{
	if (!s->open)
		return;
	flush(s, s->cpus[cpu]);
	s->cpus[cpu]->lost = true;
}

/* ---- wake-ups ---- */

static void note_waker(struct perfetto_sched *s, uint32_t waker, int64_t clock)
{
	if (waker != NO_SUBJECT && s->threads[waker].woke_at < clock)
		s->threads[waker].woke_at = clock;
}

static void put_waking(struct perfetto_sched *s, uint32_t stream, uint32_t target, int64_t clock,
		       enum waking_kind how)
{
	const struct sched_thread *t = &s->threads[stream];
	struct sched_cpu *cpu = s->cpus[target];
	uint32_t loom = s->subjects->threads[stream].loom;
	size_t event, waking;

	if (how == WAKING_BY_CPU) {
		add_waking(s, s->cpus[t->waker_cpu], stream, clock, cpu->number, 0);
		return;
	}
	if (how == WAKING_BY_INTERRUPT) {
		add_waking(s, s->interrupts[loom], stream, clock, cpu->number, FLAG_HARD_INTERRUPT);
		return;
	}
	note_waker(s, t->waker_stream, clock);
	event = begin_event(cpu, clock, t->waker);
	waking = pb_begin(&cpu->events, FTRACE_WAKING);
	pb_text(&cpu->events, 1, s->subjects->threads[stream].name);
	pb_uint(&cpu->events, 2, (uint64_t)s->subjects->threads[stream].number);
	pb_uint(&cpu->events, 3, PRIO);
	pb_uint(&cpu->events, 5, (uint64_t)cpu->number);
	pb_end(&cpu->events, waking);
	end_event(s, cpu, event);
}

/* The thread of the wake-up runs on `target` from `before` on: now its clock can be written. */
static void settle_waking(struct perfetto_sched *s, uint32_t stream, uint32_t target,
			  int64_t before)
{
	struct sched_thread *t = &s->threads[stream];
	int64_t first = t->shown == SHOWN_NONE || t->left < s->begin ? s->begin : t->left + 1;
	int64_t clock = t->woken_at;
	enum waking_kind how = (enum waking_kind)t->how;

	if (!t->woken || !s->open)
		return;
	if (clock < first)
		clock = first;
	if (clock >= before)
		clock = before - 1;
	if (clock != t->woken_at && how == WAKING_BY_CPU)
		how = WAKING_BY_TID;
	if (clock < first)
		s->dropped++;
	else
		put_waking(s, stream, target, clock, how);
}

/* A thread leaves at a clock at which it has woken others: the switch has the same clock, so the
 * CPU would not say who the waker is. */
static void name_wakers(struct perfetto_sched *s, uint32_t stream, int64_t clock)
{
	struct sched_thread *t = &s->threads[stream];

	if (t->wakes_at != clock)
		return;
	for (uint32_t i = t->wakes; i != NO_SUBJECT; i = s->threads[i].next_woken)
		if (s->threads[i].woken_at == clock && s->threads[i].how == WAKING_BY_CPU)
			s->threads[i].how = WAKING_BY_TID;
	t->wakes = NO_SUBJECT;
}

static void remember_waker(struct perfetto_sched *s, uint32_t waker, uint32_t stream, int64_t clock)
{
	struct sched_thread *t = &s->threads[waker];

	if (t->wakes_at != clock)
		t->wakes = NO_SUBJECT;
	t->wakes_at = clock;
	for (uint32_t i = t->wakes; i != NO_SUBJECT; i = s->threads[i].next_woken)
		if (i == stream)
			return;
	s->threads[stream].next_woken = t->wakes;
	t->wakes = stream;
}

void perfetto_sched_wake(struct perfetto_sched *s, uint32_t stream, int64_t clock, int32_t waker)
{
	struct sched_thread *t = &s->threads[stream], *w;
	int64_t by;

	if (t->shown == SHOWN_RUNNING || t->shown == SHOWN_RUNNABLE || t->woken)
		return;
	t->woken = true;
	t->woken_at = clock;
	t->waker = 0;
	t->waker_stream = NO_SUBJECT;
	t->how = waker == -2 ? WAKING_BY_INTERRUPT : WAKING_BY_TID;
	by = waker > 0 ? state_walk_find(&s->subjects->walk, stream, waker) : -1;
	if (waker > 0 && by < 0 && waker <= NUMBER_MOST)
		t->waker = waker;
	if (by < 0)
		return;
	w = &s->threads[by];
	t->waker_stream = (uint32_t)by;
	note_waker(s, (uint32_t)by, clock);
	t->waker = s->subjects->threads[by].number;
	if (w->cpu == NO_SUBJECT || s->cpus[w->cpu]->running != by || w->entered >= clock)
		return;
	t->how = WAKING_BY_CPU;
	t->waker_cpu = w->cpu;
	remember_waker(s, (uint32_t)by, stream, clock);
}

/* ---- threads ---- */

void perfetto_sched_enter(struct perfetto_sched *s, uint32_t stream, uint32_t at, int64_t clock)
{
	struct sched_thread *t = &s->threads[stream];
	struct sched_cpu *cpu = s->cpus[at];
	unsigned state = STATE_RUNNABLE;
	bool direct = cpu->left && clock - cpu->left_at <= 1;

	if (clock <= t->left && t->shown != SHOWN_NONE && !direct)
		clock = t->left + 1;
	if (direct)
		clock = cpu->left_at;
	if (clock < cpu->last)
		clock = cpu->last;
	settle_waking(s, stream, at, clock);
	if (cpu->running != NO_SUBJECT) { /* two at a time: the last one is shown */
		struct sched_thread *other = &s->threads[cpu->running];

		other->shown = SHOWN_RUNNABLE;
		other->left = clock;
		s->overlaps++;
	} else if (cpu->left && direct) {
		state = cpu->state;
	} else if (cpu->left) {
		put_switch(s, cpu, cpu->left_at, cpu->state, TASK_FILLER);
	}
	put_switch(s, cpu, clock, state, stream);
	cpu->left = false;
	cpu->running = stream;
	t->cpu = at;
	t->entered = clock;
	t->woken = false;
	t->shown = SHOWN_RUNNING;
}

/* Calls of one key have one text. */
static struct hash_key call_key(const struct perfetto_sched *s, uint32_t stream,
				const struct sleep_call *call, int64_t clock, int64_t end)
{
	struct hash_key key = sleep_call_key(call, s->machines[stream],
					     &s->subjects->source->owners[stream], clock, end);

	key.a = key.b ? (uint64_t)(stream + 1ull) << 32 : s->subjects->threads[stream].loom;
	return key;
}

/* The end of the sleep that the present event of the thread begins, if it is near in the file. */
static int64_t sleep_end(const struct perfetto_sched *s, uint32_t stream, int64_t clock)
{
	const struct source *source = s->subjects->source;
	const struct stream *events = &source->streams[stream];
	struct event next;

	if (event_decode(&next, events->at, stream_peek_end(events)) <= 0 || !next.model)
		return clock;
	next.clock = trace_clock(&source->trace, stream, next.clock);
	return next.clock > clock ? next.clock : clock;
}

/* The number of the text of a call, which is in the file from now on; 0 without memory. A
 * descriptor may get its name while the thread sleeps on it. */
static uint32_t call_number(struct perfetto_sched *s, uint32_t stream,
			    const struct sleep_call *call, int64_t clock)
{
	int64_t end = sleep_end(s, stream, clock);
	uint32_t *at = hash_at(&s->calls, call_key(s, stream, call, clock, end));
	uint32_t loom = s->subjects->looms[s->subjects->threads[stream].loom].number;
	struct bytes *b = &s->file->packet;
	size_t interned, symbol;
	char *text;

	if (at && *at != HASH_NONE)
		return *at;
	text = at ? sleep_call_text(call, s->machines[stream], &s->subjects->source->owners[stream],
				    clock, end, false)
		  : NULL;
	if (!text) {
		s->lack = true;
		return 0;
	}
	*at = ++s->ncalls;
	pb_uint(b, PACKET_FLAGS, FLAG_NEEDED);
	interned = pb_begin(b, PACKET_INTERNED);
	symbol = pb_begin(b, INTERNED_SYMBOL);
	pb_uint(b, 1, *at);
	pb_text(b, 2, text);
	pb_end(b, symbol);
	pb_end(b, interned);
	perfetto_file_put(s->file, loom + 1, loom);
	free(text);
	return *at;
}

static void put_blocked(struct perfetto_sched *s, struct sched_cpu *cpu, uint32_t stream,
			int64_t clock, bool io, const struct sleep_call *call)
{
	int32_t number = s->subjects->threads[stream].number;
	uint32_t text = call->call == CALL_UNKNOWN ? 0 : call_number(s, stream, call, clock);
	size_t event = begin_event(cpu, clock + 1, number);
	size_t reason = pb_begin(&cpu->events, FTRACE_BLOCKED_REASON);

	pb_uint(&cpu->events, 1, (uint64_t)number);
	if (text)
		pb_uint(&cpu->events, 2, text);
	pb_uint(&cpu->events, 3, io);
	pb_end(&cpu->events, reason);
	end_event(s, cpu, event);
}

void perfetto_sched_leave(struct perfetto_sched *s, uint32_t stream, int64_t clock,
			  enum off_cpu why, const struct sleep_call *call, bool gone)
{
	struct sched_thread *t = &s->threads[stream];
	struct sched_cpu *cpu = s->cpus[t->cpu];

	t->cpu = NO_SUBJECT;
	if (cpu->running != stream)
		return; /* another thread has taken its CPU */
	if (clock < cpu->last)
		clock = cpu->last;
	name_wakers(s, stream, clock);
	cpu->running = NO_SUBJECT;
	cpu->left = true;
	cpu->left_at = clock;
	cpu->state = gone ? STATE_DEAD : states[why];
	t->left = clock;
	t->shown = gone				     ? SHOWN_DEAD
		   : why == OFF_CPU_DEAD	     ? SHOWN_RUNNABLE
		   : off_cpu_runnable((unsigned)why) ? SHOWN_RUNNABLE
						     : SHOWN_ASLEEP;
	if (s->open && t->shown == SHOWN_ASLEEP &&
	    (cpu->state == STATE_DISK || call->call != CALL_UNKNOWN))
		put_blocked(s, cpu, stream, clock, why == OFF_CPU_IO, call);
}

/* A CPU for events that belong to none. */
static struct sched_cpu *any_cpu(const struct perfetto_sched *s, uint32_t stream)
{
	const struct sched_thread *t = &s->threads[stream];

	if (t->cpu != NO_SUBJECT)
		return s->cpus[t->cpu];
	return s->interrupts[s->subjects->threads[stream].loom];
}

void perfetto_sched_newborn(struct perfetto_sched *s, uint32_t creator, uint32_t stream,
			    int64_t clock)
{
	const struct subject_thread *child = &s->subjects->threads[stream];
	const struct subject_thread *parent = &s->subjects->threads[creator];
	struct sched_cpu *cpu = any_cpu(s, creator);
	size_t event, task;

	s->threads[stream].shown = SHOWN_RUNNABLE;
	s->threads[stream].left = clock;
	if (!s->open)
		return;
	event = begin_event(cpu, clock, parent->number);
	task = pb_begin(&cpu->events, FTRACE_NEWTASK);
	pb_uint(&cpu->events, 1, (uint64_t)child->number);
	pb_text(&cpu->events, 2, child->name);
	pb_uint(&cpu->events, 3, child->process == parent->process ? CLONE_SAME_PROCESS : 0);
	pb_end(&cpu->events, task);
	end_event(s, cpu, event);
}

/* `most`: the highest clock. */
static void put_free(struct perfetto_sched *s, uint32_t stream, int64_t most)
{
	const struct subject_thread *thread = &s->subjects->threads[stream];
	struct sched_thread *t = &s->threads[stream];
	struct sched_cpu *cpu = any_cpu(s, stream);
	int64_t clock = t->woke_at >= t->free_at ? t->woke_at + 1 : t->free_at;
	size_t event, task;

	if (clock > most)
		clock = most;
	t->free_at = t->woke_at = 0;
	event = begin_event(cpu, clock, thread->number);
	task = pb_begin(&cpu->events, FTRACE_FREE);
	pb_text(&cpu->events, 1, thread->name);
	pb_uint(&cpu->events, 2, (uint64_t)thread->number);
	pb_end(&cpu->events, task);
	end_event(s, cpu, event);
}

void perfetto_sched_free(struct perfetto_sched *s, uint32_t stream, int64_t clock)
{
	if (s->open)
		s->threads[stream].free_at = clock;
}

void perfetto_sched_reuse(struct perfetto_sched *s, uint32_t stream, int64_t clock)
{
	const struct sched_thread *t = &s->threads[stream];

	if (t->free_at)
		put_free(s, stream, t->left + 1 > clock - 1 ? t->left + 1 : clock - 1);
}

/* ---- parts ---- */

void perfetto_sched_begin(struct perfetto_sched *s, int64_t clock)
{
	s->open = true;
	s->begin = clock;
	hash_free(&s->calls);
	s->ncalls = 0;
	for (size_t i = 0; i < s->subjects->nlooms; i++)
		if (!s->subjects->looms[i].accelerator)
			start_cpu(s, s->interrupts[i]);
	for (size_t i = 0; i < s->ncpus; i++) {
		struct sched_cpu *cpu = s->cpus[i];

		name_filler(s, cpu);
		start_cpu(s, cpu);
		put_switch(s, cpu, clock, 0,
			   cpu->running == NO_SUBJECT ? TASK_FILLER : cpu->running);
	}
	for (size_t i = 0; i < s->subjects->source->trace.nstreams; i++) {
		struct sched_thread *t = &s->threads[i];

		if (t->shown == SHOWN_RUNNING)
			t->entered = clock;
		else if (t->shown == SHOWN_RUNNABLE && !t->woken) /* since before */
			*t = (struct sched_thread){.cpu = t->cpu,
						   .woken = true,
						   .how = WAKING_BY_TID,
						   .waker_stream = NO_SUBJECT,
						   .woken_at = clock,
						   .wakes = NO_SUBJECT,
						   .next_woken = NO_SUBJECT};
		if (t->shown != SHOWN_RUNNING && t->shown != SHOWN_DEAD)
			t->shown = SHOWN_NONE;
	}
}

void perfetto_sched_end(struct perfetto_sched *s, int64_t clock)
{
	if (!s->open)
		return;
	for (uint32_t i = 0; i < s->subjects->source->trace.nstreams; i++) {
		struct sched_thread *t = &s->threads[i];

		if (t->woken && s->ncpus)
			settle_waking(s, i, t->index_known ? t->index_cpu : 0, clock + 1);
	}
	for (uint32_t i = 0; i < s->subjects->source->trace.nstreams; i++)
		if (s->threads[i].free_at)
			put_free(s, i, clock);
	for (size_t i = 0; i < s->ncpus; i++) {
		struct sched_cpu *cpu = s->cpus[i];
		unsigned state = STATE_RUNNABLE;

		if (cpu->left && cpu->left_at < clock)
			put_switch(s, cpu, cpu->left_at, cpu->state, TASK_FILLER);
		else if (cpu->left)
			state = cpu->state;
		put_switch(s, cpu, clock, state, TASK_IDLE);
		flush(s, cpu);
	}
	for (size_t i = 0; i < s->subjects->nlooms; i++)
		flush(s, s->interrupts[i]);
	s->open = false;
}

int perfetto_sched_init(struct perfetto_sched *s, struct subjects *subjects,
			struct perfetto_file *file)
{
	size_t n = subjects->source->trace.nstreams;
	int err;

	*s = (struct perfetto_sched){.subjects = subjects, .file = file};
	s->threads = calloc(n + 1, sizeof(*s->threads));
	s->interrupts = calloc(subjects->nlooms + 1, sizeof(*s->interrupts));
	if (!s->threads || !s->interrupts)
		return log_no_memory("for %zu threads", n);
	s->machines = sleep_machines(subjects->source);
	if (!s->machines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		s->threads[i] = (struct sched_thread){.cpu = NO_SUBJECT,
						      .wakes = NO_SUBJECT,
						      .wakes_at = -1,
						      .next_woken = NO_SUBJECT};
	err = more_cpus(s);
	if (err)
		return err;
	for (size_t i = 0; i < subjects->nlooms; i++) {
		s->interrupts[i] = make_cpu((uint32_t)i, CPU_MOST + 1, true);
		if (!s->interrupts[i])
			return log_no_memory("for the CPUs of the trace");
	}
	return 0;
}

static void free_cpu(struct sched_cpu *cpu)
{
	if (!cpu)
		return;
	bytes_free(&cpu->clocks);
	bytes_free(&cpu->switch_states);
	bytes_free(&cpu->nexts);
	bytes_free(&cpu->names);
	bytes_free(&cpu->events);
	free(cpu->wakings);
	free(cpu);
}

void perfetto_sched_fini(struct perfetto_sched *s)
{
	for (size_t i = 0; i < s->ncpus; i++)
		free_cpu(s->cpus[i]);
	for (size_t i = 0; s->interrupts && i < s->subjects->nlooms; i++)
		free_cpu(s->interrupts[i]);
	free(s->cpus);
	free(s->interrupts);
	free(s->machines);
	hash_free(&s->calls);
	free(s->threads);
}
