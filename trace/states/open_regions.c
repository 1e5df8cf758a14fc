/* SPDX-License-Identifier: MIT */
#include "trace/states/open_regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

const char *const event_fault_names[FAULT_COUNT] = {
	[FAULT_NONE] = "is allowed",
	[FAULT_UNKNOWN] = "is not known to any model",
	[FAULT_SHORT] = "lacks arguments",
	[FAULT_MOVE] = "is no legal change of the thread's state",
	[FAULT_STATE] = "is not accepted in the thread's state",
	[FAULT_OUT] = "is not accepted while the thread is off the CPU",
	[FAULT_REPEAT] = "enters a region that is open already",
	[FAULT_EMPTY] = "leaves a region that is not open",
	[FAULT_MISMATCH] = "leaves another region than the innermost one",
	[FAULT_NOMEM] = "out of memory",
};

void open_regions_fini(struct open_regions *t)
{
	free(t->open);
	memset(t, 0, sizeof(*t));
	t->thread.cpu = CPU_NONE;
}

static bool same_channel(const struct open_region *a, const struct catalog_model *model,
			 const struct catalog_event *entry, int64_t channel)
{
	return a->model == model && a->channel == channel &&
	       (a->entry->channel == entry->channel ||
		(a->entry->channel && entry->channel &&
		 !strcmp(a->entry->channel, entry->channel)));
}

/* The index of the newest open region on the channel, or -1. */
static long newest(const struct open_regions *t, const struct catalog_model *model,
		   const struct catalog_event *entry, int64_t channel)
{
	for (size_t i = t->nopen; i-- > 0;)
		if (same_channel(&t->open[i], model, entry, channel))
			return (long)i;
	return -1;
}

static void remove_region(struct open_regions *t, size_t i)
{
	memmove(&t->open[i], &t->open[i + 1], (t->nopen - i - 1) * sizeof(*t->open));
	t->nopen--;
}

static enum event_fault add_region(struct open_regions *t, const struct catalog_model *model,
				   const struct catalog_event *entry, int64_t channel,
				   const struct event *ev)
{
	struct open_region *new = stack_more(t->open, t->nopen, &t->room, sizeof(*new));

	if (!new)
		return FAULT_NOMEM;
	t->open = new;
	new = &t->open[t->nopen++];
	*new = (struct open_region){.model = model,
				    .entry = entry,
				    .channel = channel,
				    .mcv = event_mcv(ev),
				    .single = entry->action == ACTION_SET};
	if (!ev->jumbo && ev->payload_size <= sizeof(new->payload)) {
		new->size = (uint8_t)ev->payload_size;
		if (new->size)
			memcpy(new->payload, ev->payload, new->size);
	}
	return FAULT_NONE;
}

/* Regions of one channel differ in the value of their events, or else in the arguments: the bytes
 * that both events have. */
static bool same_region(const struct open_region *open, const struct catalog_event *entry,
			const struct event *ev)
{
	size_t n = open->size < ev->payload_size ? open->size : ev->payload_size;

	if (entry->value || open->entry->value)
		return entry->value == open->entry->value;
	return !n || !memcmp(open->payload, ev->payload, n);
}

static enum event_fault step_regions(struct open_regions *t, const struct catalog_model *model,
				     const struct catalog_event *entry, const struct event *ev)
{
	int64_t channel = 0;
	long top;

	if (ev->model == 'O' && ev->category == 'M' && ev->payload_size >= 12)
		channel = get_i32(ev->payload + 8);
	top = newest(t, model, entry, channel);
	switch (entry->action) {
	case ACTION_PUSH:
		if (top >= 0 && !model->repeats && same_region(&t->open[top], entry, ev))
			return FAULT_REPEAT;
		return add_region(t, model, entry, channel, ev);
	case ACTION_POP:
		if (top < 0)
			return FAULT_EMPTY;
		if (!same_region(&t->open[top], entry, ev))
			return FAULT_MISMATCH;
		remove_region(t, (size_t)top);
		return FAULT_NONE;
	case ACTION_SET:
		if (top >= 0 && entry->leaves[0])
			return FAULT_REPEAT;
		if (top >= 0)
			remove_region(t, (size_t)top);
		return add_region(t, model, entry, channel, ev);
	case ACTION_CLEAR:
		if (top < 0)
			return FAULT_EMPTY;
		remove_region(t, (size_t)top);
		return FAULT_NONE;
	default:
		return FAULT_NONE;
	}
}

/* A body that pauses or resumes changes no channel of the tables. */
static void pause_body(struct open_regions *t, const struct event *ev)
{
	if ((ev->model != 'V' && ev->model != '6') || ev->category != 'T' ||
	    (ev->value != 'p' && ev->value != 'r'))
		return;
	for (size_t i = t->nopen; i-- > 0;) {
		struct open_region *open = &t->open[i];

		if (open->mcv == MCV(ev->model, 'T', 'x')) {
			open->paused = ev->value == 'p';
			return;
		}
	}
}

static enum event_fault step_thread(struct open_regions *t, const struct event *ev)
{
	switch (sched_state_step(&t->thread, ev, true)) {
	case SCHED_ILLEGAL:
		return FAULT_MOVE;
	case SCHED_INACTIVE:
		return FAULT_STATE;
	default:
		return FAULT_NONE;
	}
}

/* Whether the event is allowed before its effect. */
static enum event_fault judge(const struct open_regions *t, const struct catalog_model *model,
			      const struct signature *sig, const struct event *ev)
{
	enum thread_state state = t->thread.state;

	if (sig && (ev->payload_size < sig->min_size || (sig->jumbo && !ev->jumbo)))
		return FAULT_SHORT;
	if (t->thread.out && !model->out_of_cpu && (ev->model == 'O' || ev->model == 'V'))
		return FAULT_OUT;
	if ((model->when == WHEN_RUNNING && state != THREAD_STATE_RUNNING) ||
	    (model->when == WHEN_ACTIVE && !thread_state_is_active(state)))
		return FAULT_STATE;
	return FAULT_NONE;
}

enum event_fault open_regions_step(struct open_regions *t, const struct event *ev)
{
	const struct catalog_model *model;
	const struct catalog_event *entry;
	const struct signature *sig = NULL;
	enum event_fault before, thread, regions;

	entry = catalog_find(event_mcv(ev), &sig);
	model = entry ? catalog_model((char)ev->model) : NULL;
	if (!model)
		return FAULT_UNKNOWN;
	before = judge(t, model, sig, ev);
	thread = step_thread(t, ev);
	pause_body(t, ev);
	regions = step_regions(t, model, entry, ev);
	if (before)
		return before;
	return thread ? thread : regions;
}

/* ---- closing and entering ---- */

struct output {
	open_regions_put_fn put;
	void *arg;
	const struct open_regions *regions;
};

static uint32_t mcv_of(const char text[4])
{
	return MCV(text[0], text[1], text[2]);
}

static int put_state(const struct output *o, uint32_t mcv, int32_t cpu)
{
	struct __attribute__((packed)) {
		int32_t cpu, creator;
		uint64_t tag;
	} begin = {cpu, -1, 0};

	if (mcv == MCV('O', 'H', 'x'))
		return o->put(o->arg, mcv, &begin, sizeof(begin));
	if (mcv == MCV('O', 'A', 's'))
		return o->put(o->arg, mcv, &cpu, sizeof(cpu));
	return o->put(o->arg, mcv, NULL, 0);
}

/* The event `value` of the category of a region, with its arguments. */
static int put_sibling(const struct output *o, const struct open_region *region, char value)
{
	return o->put(o->arg, (region->mcv & ~0xffu) | (uint8_t)value, region->payload,
		      region->size);
}

/* Leaves one region, with the payload of its entry (marks, tasks). */
static int put_leave(const struct output *o, const struct open_region *region)
{
	bool arguments = region->model->character != 'K';
	int err = region->paused ? put_sibling(o, region, 'r') : 0;

	if (err)
		return err;
	return o->put(o->arg, mcv_of(region->entry->leaves), region->payload,
		      arguments ? region->size : 0);
}

/* Opens one region again. */
static int put_enter(const struct output *o, const struct open_region *region)
{
	int err = o->put(o->arg, region->mcv, region->payload, region->size);

	if (err || !region->paused)
		return err;
	return put_sibling(o, region, 'p');
}

/* A step of thread_state_close(): the open regions are left just before OHe. */
static int put_closing(void *arg, uint32_t mcv, int32_t cpu)
{
	const struct output *o = arg;
	const struct open_regions *t = o->regions;

	for (size_t i = t->nopen; i-- > 0 && mcv == MCV('O', 'H', 'e');) {
		int err;

		if (!t->open[i].entry->leaves[0])
			continue;
		err = put_leave(o, &t->open[i]);
		if (err)
			return err;
	}
	return put_state(o, mcv, cpu);
}

/* Comes back to the CPU: leaves the newest KCO. */
static int close_out(struct open_regions *t, const struct output *o)
{
	for (size_t i = t->nopen; i-- > 0 && t->thread.out;) {
		int err;

		if (t->open[i].mcv != MCV('K', 'C', 'O'))
			continue;
		err = put_leave(o, &t->open[i]);
		remove_region(t, i);
		t->thread.out = false;
		if (err)
			return err;
	}
	return 0;
}

/* Some models are left only while the thread runs, and a cooling thread runs only after a pause. */
static int pause_cooling(struct open_regions *t, const struct output *o)
{
	if (t->thread.state != THREAD_STATE_COOLING)
		return 0;
	for (size_t i = 0; i < t->nopen; i++) {
		if (t->open[i].model->when != WHEN_RUNNING)
			continue;
		t->thread.state = THREAD_STATE_PAUSED;
		return o->put(o->arg, MCV('O', 'H', 'p'), NULL, 0);
	}
	return 0;
}

int open_regions_close(struct open_regions *t, open_regions_put_fn put, void *arg)
{
	struct output output = {put, arg, t};
	int err = close_out(t, &output);

	if (err)
		return err;
	err = pause_cooling(t, &output);
	if (err)
		return err;
	err = thread_state_close(t->thread.state, t->thread.cpu == CPU_VIRTUAL, put_closing,
				 &output);
	if (err)
		return err;
	if (t->thread.state != THREAD_STATE_UNKNOWN)
		t->thread.state = THREAD_STATE_DEAD;
	t->thread.cpu = CPU_NONE;
	t->nopen = 0;
	return 0;
}

/* Enters the open regions that are KCO, or the others. */
static int put_regions(const struct output *o, bool out)
{
	const struct open_regions *t = o->regions;

	for (size_t i = 0; i < t->nopen; i++) {
		int err;

		if ((t->open[i].mcv == MCV('K', 'C', 'O')) != out)
			continue;
		err = put_enter(o, &t->open[i]);
		if (err)
			return err;
	}
	return 0;
}

/* A step of thread_state_enter(): the open regions are entered just after OHx. */
static int put_entering(void *arg, uint32_t mcv, int32_t cpu)
{
	const struct output *o = arg;
	int err = put_state(o, mcv, cpu);

	if (err || mcv != MCV('O', 'H', 'x'))
		return err;
	return put_regions(o, false);
}

int open_regions_enter(const struct open_regions *t, open_regions_put_fn put, void *arg,
		       bool *moves_later)
{
	struct output output = {put, arg, t};
	enum thread_state state = t->thread.state;
	bool running = state == THREAD_STATE_RUNNING;
	int32_t cpu = t->thread.cpu == CPU_NONE ? CPU_VIRTUAL : t->thread.cpu;
	int err;

	*moves_later = false;
	err = thread_state_enter(state, running ? cpu : CPU_VIRTUAL, put_entering, &output);
	if (err)
		return err;
	if (cpu != CPU_VIRTUAL && thread_state_is_active(state) && !running)
		err = put_state(&output, MCV('O', 'A', 's'), cpu);
	else if (cpu != CPU_VIRTUAL && state == THREAD_STATE_PAUSED)
		*moves_later = true;
	if (err)
		return err;
	return put_regions(&output, true);
}
