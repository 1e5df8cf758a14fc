/* SPDX-License-Identifier: MIT */
#include "trace/states/open_regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/states/state_walk.h"

const char *const track_names[TRACK_COUNT] = {
	[TRACK_OK] = "is fine",
	[TRACK_UNKNOWN] = "is not known to any model",
	[TRACK_SHORT] = "lacks arguments",
	[TRACK_MOVE] = "is no legal change of the thread's state",
	[TRACK_STATE] = "is not accepted in the thread's state",
	[TRACK_OUT] = "is not accepted while the thread is out of the CPU",
	[TRACK_REPEAT] = "enters what the thread is in already",
	[TRACK_EMPTY] = "leaves what the thread has not entered",
	[TRACK_MISMATCH] = "leaves something else than what the thread entered last",
	[TRACK_NOMEM] = "finds no memory",
};

void tracker_fini(struct tracker *tracker)
{
	free(tracker->open);
	memset(tracker, 0, sizeof(*tracker));
	tracker->cpu = CPU_NONE;
}

void tracker_move(struct tracker *tracker, int32_t cpu)
{
	tracker->cpu = cpu;
}

static bool same_channel(const struct tracked *a, const struct catalog_model *model,
			 const struct catalog_event *entry, int64_t channel)
{
	return a->model == model && a->channel == channel &&
	       (a->entry->channel == entry->channel ||
		(a->entry->channel && entry->channel &&
		 !strcmp(a->entry->channel, entry->channel)));
}

/* The place of the newest thing open on the channel, or -1. */
static long newest(const struct tracker *t, const struct catalog_model *model,
		   const struct catalog_event *entry, int64_t channel)
{
	for (size_t i = t->nopen; i-- > 0;)
		if (same_channel(&t->open[i], model, entry, channel))
			return (long)i;
	return -1;
}

static void take_out(struct tracker *t, size_t i)
{
	memmove(&t->open[i], &t->open[i + 1], (t->nopen - i - 1) * sizeof(*t->open));
	t->nopen--;
}

static enum track put_in(struct tracker *t, const struct catalog_model *model,
			 const struct catalog_event *entry, int64_t channel, const struct event *ev)
{
	struct tracked *new;

	if (t->nopen == t->room) {
		size_t room = t->room ? 2 * t->room : 8;
		struct tracked *open = realloc(t->open, room * sizeof(*open));

		if (!open)
			return TRACK_NOMEM;
		t->open = open;
		t->room = room;
	}
	new = &t->open[t->nopen++];
	*new = (struct tracked){.model = model,
				.entry = entry,
				.channel = channel,
				.mcv = event_mcv(ev),
				.single = entry->action == ACTION_SET};
	if (!ev->jumbo && ev->payload_size <= sizeof(new->payload)) {
		new->size = (uint8_t)ev->payload_size;
		if (new->size)
			memcpy(new->payload, ev->payload, new->size);
	}
	return TRACK_OK;
}

/* The bytes of the arguments that tell two things on one channel apart: all that the event
 * that leaves declares. */
static bool same_thing(const struct tracked *open, const struct catalog_event *entry,
		       const struct event *ev)
{
	size_t n = open->size < ev->payload_size ? open->size : ev->payload_size;

	if (entry->value || open->entry->value)
		return entry->value == open->entry->value;
	return !n || !memcmp(open->payload, ev->payload, n);
}

static enum track act(struct tracker *t, const struct catalog_model *model,
		      const struct catalog_event *entry, const struct event *ev)
{
	int64_t channel = 0;
	long top;

	if (ev->model == 'O' && ev->category == 'M' && ev->payload_size >= 12)
		channel = get_i32(ev->payload + 8);
	top = newest(t, model, entry, channel);
	switch (entry->action) {
	case ACTION_PUSH:
		if (top >= 0 && !model->repeats && same_thing(&t->open[top], entry, ev))
			return TRACK_REPEAT;
		return put_in(t, model, entry, channel, ev);
	case ACTION_POP:
		if (top < 0)
			return TRACK_EMPTY;
		if (!same_thing(&t->open[top], entry, ev))
			return TRACK_MISMATCH;
		take_out(t, (size_t)top);
		return TRACK_OK;
	case ACTION_SET:
		if (top >= 0 && entry->leaves[0])
			return TRACK_REPEAT;
		if (top >= 0)
			take_out(t, (size_t)top);
		return put_in(t, model, entry, channel, ev);
	case ACTION_CLEAR:
		if (top < 0)
			return TRACK_EMPTY;
		take_out(t, (size_t)top);
		return TRACK_OK;
	default:
		return TRACK_OK;
	}
}

/* Pausing and resuming a body changes no channel that the tables tell of. */
static void pause_body(struct tracker *t, const struct event *ev)
{
	if ((ev->model != 'V' && ev->model != '6') || ev->category != 'T' ||
	    (ev->value != 'p' && ev->value != 'r'))
		return;
	for (size_t i = t->nopen; i-- > 0;) {
		struct tracked *open = &t->open[i];

		if (open->mcv == MCV(ev->model, 'T', 'x')) {
			open->paused = ev->value == 'p';
			return;
		}
	}
}

static enum track change_state(struct tracker *t, const struct event *ev)
{
	int next;

	if (ev->category == 'A' && ev->value == 's') {
		if (!thread_state_is_active(t->state))
			return TRACK_STATE;
		if (ev->payload_size >= 4)
			t->cpu = get_i32(ev->payload);
		return TRACK_OK;
	}
	if (ev->category != 'H')
		return TRACK_OK;
	next = thread_state_next(t->state, (char)ev->value);
	if (next < 0)
		return TRACK_MOVE;
	t->state = (enum thread_state)next;
	if (ev->value == 'x' && ev->payload_size >= 4)
		t->cpu = get_i32(ev->payload);
	else if (ev->value == 'e')
		t->cpu = CPU_NONE;
	return TRACK_OK;
}

enum track tracker_step(struct tracker *t, const struct event *ev)
{
	const struct catalog_model *model;
	const struct catalog_event *entry;
	const struct signature *sig = NULL;
	enum track result = TRACK_OK, other;

	entry = catalog_find(event_mcv(ev), &sig);
	model = entry ? catalog_model((char)ev->model) : NULL;
	if (!entry || !model)
		return TRACK_UNKNOWN;
	if (sig && (ev->payload_size < sig->min_size || (sig->jumbo && !ev->jumbo)))
		result = TRACK_SHORT;
	else if (t->out && !model->out_of_cpu && (ev->model == 'O' || ev->model == 'V'))
		result = TRACK_OUT;
	else if ((model->when == WHEN_RUNNING && t->state != THREAD_STATE_RUNNING) ||
		 (model->when == WHEN_ACTIVE && !thread_state_is_active(t->state)))
		result = TRACK_STATE;
	if (ev->model == 'O') {
		other = change_state(t, ev);
		result = result ? result : other;
	}
	if (ev->model == 'K' && ev->category == 'C')
		t->out = ev->value == 'O';
	pause_body(t, ev);
	other = act(t, model, entry, ev);
	return result ? result : other;
}

/* ---- closing and entering ---- */

struct walk {
	tracker_put_fn put;
	void *arg;
};

static uint32_t mcv_of(const char text[4])
{
	return MCV(text[0], text[1], text[2]);
}

static int put_state(void *arg, uint32_t mcv, int32_t cpu)
{
	const struct walk *w = arg;
	struct __attribute__((packed)) {
		int32_t cpu, creator;
		uint64_t tag;
	} begin = {cpu, -1, 0};

	if (mcv == MCV('O', 'H', 'x'))
		return w->put(w->arg, mcv, &begin, sizeof(begin));
	if (mcv == MCV('O', 'A', 's'))
		return w->put(w->arg, mcv, &cpu, sizeof(cpu));
	return w->put(w->arg, mcv, NULL, 0);
}

/* Leaves one thing; the payload is the one it was entered with (marks, tasks). */
static int put_leave(const struct walk *w, const struct tracked *open)
{
	bool arguments = open->model->character != 'K';
	int err = 0;

	if (open->paused)
		err = w->put(w->arg, (open->mcv & ~0xffu) | 'r', open->payload, open->size);
	if (err)
		return err;
	return w->put(w->arg, mcv_of(open->entry->leaves), open->payload,
		      arguments ? open->size : 0);
}

/* The closing of thread_state.h, with what is open left just before its last event. */
struct closing {
	struct walk walk;
	struct tracker *tracker;
};

static int put_closing(void *arg, uint32_t mcv, int32_t cpu)
{
	struct closing *c = arg;
	struct tracker *t = c->tracker;
	int err = 0;

	if (mcv != MCV('O', 'H', 'e'))
		return put_state(&c->walk, mcv, cpu);
	for (size_t i = t->nopen; i-- > 0 && !err;)
		if (t->open[i].entry->leaves[0])
			err = put_leave(&c->walk, &t->open[i]);
	return err ? err : put_state(&c->walk, mcv, cpu);
}

int tracker_close(struct tracker *t, tracker_put_fn put, void *arg)
{
	struct closing closing = {{put, arg}, t};
	int err = 0;

	for (size_t i = t->nopen; i-- > 0 && t->out;) {
		if (t->open[i].mcv != MCV('K', 'C', 'O'))
			continue;
		err = put_leave(&closing.walk, &t->open[i]);
		take_out(t, i);
		t->out = false;
	}
	/* some models are left while running alone, and who cools down only runs after a pause */
	for (size_t i = 0; i < t->nopen && !err && t->state == THREAD_STATE_COOLING; i++) {
		if (t->open[i].model->when != WHEN_RUNNING)
			continue;
		err = put(arg, MCV('O', 'H', 'p'), NULL, 0);
		t->state = THREAD_STATE_PAUSED;
	}
	if (!err)
		err = thread_state_close(t->state, t->cpu == CPU_VIRTUAL, put_closing, &closing);
	if (err)
		return err;
	if (t->state != THREAD_STATE_UNKNOWN)
		t->state = THREAD_STATE_DEAD;
	t->cpu = CPU_NONE;
	t->nopen = 0;
	return 0;
}

/* Opens one thing again. */
static int put_enter(const struct walk *w, const struct tracked *open)
{
	int err = w->put(w->arg, open->mcv, open->payload, open->size);

	if (!err && open->paused)
		err = w->put(w->arg, (open->mcv & ~0xffu) | 'p', open->payload, open->size);
	return err;
}

/* The entering of thread_state.h, with what is open entered just after its first event. */
struct entering {
	struct walk walk;
	const struct tracker *tracker;
};

static int put_entering(void *arg, uint32_t mcv, int32_t cpu)
{
	const struct entering *e = arg;
	const struct tracker *t = e->tracker;
	int err = put_state((void *)&e->walk, mcv, cpu);

	for (size_t i = 0; i < t->nopen && !err && mcv == MCV('O', 'H', 'x'); i++)
		if (t->open[i].mcv != MCV('K', 'C', 'O'))
			err = put_enter(&e->walk, &t->open[i]);
	return err;
}

int tracker_enter(const struct tracker *t, tracker_put_fn put, void *arg, bool *moves_later)
{
	struct entering entering = {{put, arg}, t};
	bool active = thread_state_is_active(t->state), running = t->state == THREAD_STATE_RUNNING;
	int32_t cpu = t->cpu == CPU_NONE ? CPU_VIRTUAL : t->cpu;
	int err;

	*moves_later = false;
	err = thread_state_enter(t->state, running ? cpu : CPU_VIRTUAL, put_entering, &entering);
	if (!err && cpu != CPU_VIRTUAL && active && !running)
		err = put_state(&entering.walk, MCV('O', 'A', 's'), cpu);
	else if (cpu != CPU_VIRTUAL && t->state == THREAD_STATE_PAUSED)
		*moves_later = true;
	for (size_t i = 0; i < t->nopen && !err; i++)
		if (t->open[i].mcv == MCV('K', 'C', 'O'))
			err = put_enter(&entering.walk, &t->open[i]);
	return err;
}
