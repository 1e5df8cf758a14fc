/* SPDX-License-Identifier: MIT */
#include "tools/cut/cutter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/states/open_regions.h"
#include "trace/states/state_walk.h"
#include "trace/base/log.h"
#include "trace/ovni/player.h"

#define BUFFER_BYTES (16 << 10)

struct cut_thread {
	struct open_regions regions; /* as the whole trace has it */
	uint32_t process;
	bool inside;	 /* its events are written */
	bool on_virtual; /* in the new trace, though its regions says otherwise */
	uint8_t idle[2]; /* value of the last VP? and 6P? that the new trace has */
	uint8_t *buffer;
	size_t size;
};

/* Models whose creations wait for a thread, each in a group of its own: they differ in when
 * they accept events. */
static const char groups[] = {'V', 'P', '6'};
#define NGROUPS ((int)sizeof(groups))

struct cut_process {
	const struct owner *owner;
	struct pending { /* creations that no stream has yet */
		uint8_t *bytes;
		size_t size, room;
	} pending[NGROUPS];
	uint32_t inside; /* threads of it that are */
};

/* What creates types and tasks, which belong to the process and not to the thread. */
static bool creates(uint32_t mcv)
{
	static const uint32_t creations[] = {
		MCV('V', 'Y', 'c'), MCV('V', 'T', 'c'), MCV('V', 'T', 'C'), MCV('6', 'Y', 'c'),
		MCV('6', 'T', 'c'), MCV('P', 'O', 'c'), MCV('P', 'P', 'c'),
	};

	for (size_t i = 0; i < sizeof(creations) / sizeof(creations[0]); i++)
		if (creations[i] == mcv)
			return true;
	return false;
}

/* ---- writing ---- */

static int flush(struct cutter *c, uint32_t who)
{
	struct cut_thread *t = &c->threads[who];
	int err = 0;

	if (t->size)
		err = stream_append(c->out_fd, c->source->trace.streams[who], t->buffer, t->size);
	if (err)
		log_error("%s: cannot write: %s", c->source->trace.streams[who], strerror(-err));
	t->size = 0;
	return err;
}

static int create(struct cutter *c, uint32_t who)
{
	struct json *meta = json_new_object();
	int err = -ENOMEM;

	if (meta && json_put_int(meta, "version", 3))
		err = stream_create(c->out_fd, c->source->trace.streams[who], meta);
	json_free(meta);
	if (err)
		log_error("%s: cannot create the stream: %s", c->source->trace.streams[who],
			  strerror(-err));
	return err;
}

static int put(struct cutter *c, uint32_t who, const void *bytes, size_t size)
{
	struct cut_thread *t = &c->threads[who];
	int err = 0;

	if (!c->written[who]++)
		err = create(c, who);
	if (!err && t->size + size > BUFFER_BYTES)
		err = flush(c, who);
	if (err)
		return err;
	if (size > BUFFER_BYTES) {
		err = stream_append(c->out_fd, c->source->trace.streams[who], bytes, size);
		if (err)
			log_error("%s: cannot write: %s", c->source->trace.streams[who],
				  strerror(-err));
		return err;
	}
	if (!t->buffer)
		t->buffer = malloc(BUFFER_BYTES);
	if (!t->buffer)
		return -ENOMEM;
	memcpy(t->buffer + t->size, bytes, size);
	t->size += size;
	return 0;
}

/* The idle state of a thread outlives its death, starts as Progressing, and must not be set to
 * what it is. Where the new trace has it for this event, NULL for other events. */
static uint8_t *idle_of(struct cut_thread *t, uint32_t mcv)
{
	if (mcv >> 8 == MCV(0, 'V', 'P'))
		return &t->idle[0];
	return mcv >> 8 == MCV(0, '6', 'P') ? &t->idle[1] : NULL;
}

/* An event that the cut adds, at one clock. */
struct adding {
	struct cutter *cutter;
	uint32_t who;
	int64_t clock;
	bool create; /* creations that wait go behind the OHx */
};

static int put_some(struct cutter *c, uint32_t who, int64_t clock, struct pending *p)
{
	const uint8_t *at = p->bytes, *end = p->bytes + p->size;
	struct event ev;
	ssize_t n;
	int err = 0;

	while (!err && at < end && (n = event_decode(&ev, at, end)) > 0) {
		memcpy((uint8_t *)at + 4, &clock, sizeof(clock)); /* our copy */
		err = put(c, who, at, (size_t)n);
		c->added++;
		at += n;
	}
	p->size = 0;
	return err;
}

/* Whether the model of a group accepts events of the thread (models.md, first line of each). */
static bool may_write(const struct open_regions *t, int group)
{
	const struct catalog_model *model = catalog_model(groups[group]);

	return (model->out_of_cpu || !t->thread.out) &&
	       (model->when == WHEN_RUNNING ? t->thread.state == THREAD_STATE_RUNNING
					    : thread_state_is_active(t->thread.state));
}

/* Writes the creations that wait and that the thread, which stands so, may write. */
static int put_pending(struct cutter *c, uint32_t who, int64_t clock, const struct open_regions *t)
{
	struct cut_process *p = &c->processes[c->threads[who].process];
	int err = 0;

	for (int i = 0; i < NGROUPS && !err; i++)
		if (p->pending[i].size && may_write(t, i))
			err = put_some(c, who, clock, &p->pending[i]);
	return err;
}

static int add(void *arg, uint32_t mcv, const void *payload, size_t size)
{
	static const struct open_regions begun = {.thread.state = THREAD_STATE_RUNNING};
	const struct adding *a = arg;
	uint8_t bytes[EVENT_SIZE_MAX], *idle = idle_of(&a->cutter->threads[a->who], mcv);
	int err;

	if (idle && *idle == (uint8_t)mcv)
		return 0;
	if (idle)
		*idle = (uint8_t)mcv;
	err = put(a->cutter, a->who, bytes, event_encode(bytes, mcv, a->clock, payload, size));
	a->cutter->added++;
	if (!err && a->create && mcv == MCV('O', 'H', 'x'))
		err = put_pending(a->cutter, a->who, a->clock, &begun);
	return err;
}

/* ---- entering and closing ---- */

static bool wanted_cpu(const struct cutter *c, int32_t cpu)
{
	for (size_t i = 0; i < c->ncpus; i++)
		if (c->cpus[i] == cpu)
			return true;
	return !c->cpus;
}

static bool lives(const struct cut_thread *t)
{
	return t->regions.thread.state != THREAD_STATE_UNKNOWN &&
	       t->regions.thread.state != THREAD_STATE_DEAD;
}

static int enter(struct cutter *c, uint32_t who, int64_t clock)
{
	struct cut_thread *t = &c->threads[who];
	struct cut_process *p = &c->processes[t->process];
	struct adding adding = {c, who, clock, true};
	bool waits = false;

	/* what others of the process may need at this clock is there one before */
	for (int i = 0; i < NGROUPS; i++)
		waits |= p->pending[i].size > 0;
	if (waits && clock > 0)
		adding.clock--;
	t->inside = true;
	p->inside++;
	return open_regions_enter(&t->regions, add, &adding, &t->on_virtual);
}

/* The regions of the whole trace goes on: the closing is done on a copy. */
static int leave(struct cutter *c, uint32_t who, int64_t clock)
{
	struct cut_thread *t = &c->threads[who];
	struct open_regions copy = t->regions;
	struct adding adding = {c, who, clock, false};
	int err;

	copy.open = malloc((copy.nopen + 1) * sizeof(*copy.open));
	if (!copy.open)
		return -ENOMEM;
	if (copy.nopen)
		memcpy(copy.open, t->regions.open, copy.nopen * sizeof(*copy.open));
	copy.room = copy.nopen + 1;
	if (t->on_virtual)
		copy.thread.cpu = CPU_VIRTUAL;
	err = open_regions_close(&copy, add, &adding);
	open_regions_fini(&copy);
	t->inside = t->on_virtual = false;
	c->processes[t->process].inside--;
	return err;
}

static int open_window(struct cutter *c)
{
	int err = 0;

	c->opened = true;
	for (size_t i = 0; i < c->source->trace.nstreams && !err; i++)
		if (c->streams[i] && lives(&c->threads[i]) &&
		    wanted_cpu(c, c->threads[i].regions.thread.cpu))
			err = enter(c, (uint32_t)i, c->from);
	return err;
}

static int close_window(struct cutter *c, int64_t clock)
{
	int err = 0;

	for (size_t i = 0; i < c->source->trace.nstreams && !err; i++)
		if (c->threads[i].inside)
			err = leave(c, (uint32_t)i, clock);
	return err;
}

/* ---- one event ---- */

/* Keeps a creation for a thread of its process that will be written, or writes it at once. */
static int keep_creation(struct cutter *c, uint32_t who, const uint8_t *bytes,
			 const struct event *ev)
{
	uint32_t process = c->threads[who].process;
	int group = ev->model == 'V' ? 0 : ev->model == 'P' ? 1 : 2;
	struct pending *p = &c->processes[process].pending[group];
	uint32_t inside = c->processes[process].inside;

	if (!p->bytes || p->size + ev->size > p->room) {
		size_t room = 2 * (p->size + ev->size);
		uint8_t *grown = realloc(p->bytes, room);

		if (!grown)
			return -ENOMEM;
		p->bytes = grown;
		p->room = room;
	}
	memcpy(p->bytes + p->size, bytes, ev->size);
	p->size += ev->size;
	for (size_t i = 0; inside && i < c->source->trace.nstreams; i++) {
		const struct cut_thread *t = &c->threads[i];

		if (t->process == process && t->inside && may_write(&t->regions, group))
			return put_pending(c, (uint32_t)i, ev->clock, &t->regions);
	}
	return 0;
}

/* An OAr as the new trace can have it: to a thread that is there, and not on that CPU already. */
static int take_move(struct cutter *c, uint32_t who, const struct event *ev, bool *write)
{
	int64_t target = ev->payload_size < 8
				 ? -1
				 : state_walk_find(c->names, who, get_i32(ev->payload + 4));
	int32_t cpu = ev->payload_size < 8 ? CPU_NONE : get_i32(ev->payload);
	struct cut_thread *t;
	int err = 0;

	*write = false;
	if (target < 0)
		return 0;
	t = &c->threads[target];
	if (t->inside && !wanted_cpu(c, cpu))
		err = leave(c, (uint32_t)target, ev->clock);
	t->regions.thread.cpu = cpu;
	if (t->inside)
		*write = !t->on_virtual; /* else it moves when it wakes */
	else if (!err && c->opened && c->streams[target] && lives(t) && c->cpus &&
		 wanted_cpu(c, cpu))
		err = enter(c, (uint32_t)target, ev->clock);
	return err;
}

/* A thread that was entered asleep on the virtual CPU goes to its own one when it wakes. */
static int put_waking(struct cutter *c, uint32_t who, const uint8_t *bytes, const struct event *ev)
{
	struct cut_thread *t = &c->threads[who];
	struct adding adding = {c, who, ev->clock, false};
	int err = 0;

	if (ev->value == 'w')
		err = put(c, who, bytes, ev->size);
	else
		err = add(&adding, MCV('O', 'H', 'w'), NULL, 0);
	if (!err)
		err = add(&adding, MCV('O', 'A', 's'), &t->regions.thread.cpu,
			  sizeof(t->regions.thread.cpu));
	if (!err && ev->value == 'r')
		err = put(c, who, bytes, ev->size);
	t->on_virtual = false;
	c->kept++;
	return err;
}

static int write_event(struct cutter *c, uint32_t who, const uint8_t *bytes, const struct event *ev)
{
	struct cut_thread *t = &c->threads[who];
	uint8_t *idle;
	int err = 0;

	if (t->on_virtual && ev->model == 'O' && ev->category == 'H' &&
	    (ev->value == 'w' || ev->value == 'r'))
		return put_waking(c, who, bytes, ev);
	/* what an event needs is there before it, if its thread may say it */
	if (event_mcv(ev) >> 8 != MCV(0, 'O', 'H'))
		err = put_pending(c, who, ev->clock, &t->regions);
	if (!err)
		err = put(c, who, bytes, ev->size);
	c->kept++;
	idle = idle_of(t, event_mcv(ev));
	if (idle)
		*idle = ev->value;
	return err ? err : put_pending(c, who, ev->clock, &t->regions);
}

/* With a filter of CPUs a thread is inside while it is on one of them. */
static int follow_cpu(struct cutter *c, uint32_t who, const struct event *ev, bool *write)
{
	struct cut_thread *t = &c->threads[who];
	bool on = wanted_cpu(c, t->regions.thread.cpu);

	if (t->inside || !c->streams[who] || !c->opened || !lives(t) || !on)
		return 0;
	/* an OHx is written as it is, unless something was entered before it; whatever else
	 * brings the thread here is told by entering it */
	if (event_mcv(ev) == MCV('O', 'H', 'x') && !t->regions.nopen) {
		t->inside = true;
		c->processes[t->process].inside++;
		return 0;
	}
	*write = false;
	return enter(c, who, ev->clock);
}

static int take(struct cutter *c, uint32_t who, const uint8_t *bytes, const struct event *ev)
{
	struct cut_thread *t = &c->threads[who];
	bool known_model = !c->models || ev->model == 'O' || c->models[ev->model];
	bool write = true;
	int err = 0;

	if (!known_model) {
		c->dropped++;
		return 0;
	}
	if (event_mcv(ev) == MCV('O', 'A', 'r')) {
		err = take_move(c, who, ev, &write);
	} else if (event_mcv(ev) == MCV('O', 'A', 's') && t->inside && ev->payload_size >= 4 &&
		   !wanted_cpu(c, get_i32(ev->payload))) {
		err = leave(c, who, ev->clock);
		write = false;
	}
	if (!err && open_regions_step(&t->regions, ev) == FAULT_NOMEM)
		err = -ENOMEM;
	if (!err)
		err = follow_cpu(c, who, ev, &write);
	if (err)
		return err;
	if (t->inside && write) {
		err = write_event(c, who, bytes, ev);
		if (!err && t->regions.thread.state == THREAD_STATE_DEAD) {
			t->inside = t->on_virtual = false;
			c->processes[t->process].inside--;
		}
		return err;
	}
	c->dropped++;
	return creates(event_mcv(ev)) && !t->inside ? keep_creation(c, who, bytes, ev) : 0;
}

/* ---- all ---- */

static int group(struct cutter *c)
{
	size_t n = c->source->trace.nstreams;

	c->nprocesses = 0;
	for (size_t i = 0; i < n; i++) {
		const struct owner *owner = &c->source->owners[i];
		size_t k = c->nprocesses;

		c->threads[i].regions.thread.cpu = CPU_NONE;
		memset(c->threads[i].idle, 'p', sizeof(c->threads[i].idle));
		/* streams of one process stand together, mostly: look back */
		while (k && (c->processes[k - 1].owner->pid != owner->pid ||
			     strcmp(c->processes[k - 1].owner->loom ?: "", owner->loom ?: "")))
			k--;
		if (!k) {
			c->processes[c->nprocesses].owner = owner;
			k = ++c->nprocesses;
		}
		c->threads[i].process = (uint32_t)(k - 1);
	}
	return 0;
}

static int walk(struct cutter *c)
{
	struct stream *streams = c->source->streams;
	struct player player;
	int64_t last = c->from;
	int err, failed = 0;

	err = player_open(&player, streams, c->source->trace.nstreams, NULL, false);
	if (err < 0)
		return err;
	while (!failed && (err = player_step(&player)) > 0) {
		const struct event *ev = &streams[player.who].ev;
		const uint8_t *bytes = ev->payload - EVENT_HEADER_SIZE - (ev->jumbo ? 4 : 0);

		if (ev->clock > c->to)
			break;
		if (!c->opened && ev->clock >= c->from)
			failed = open_window(c);
		last = ev->clock;
		if (!failed)
			failed = take(c, player.who, bytes, ev);
	}
	if (!failed && err >= 0 && !c->opened && c->from <= c->to && err > 0)
		failed = open_window(c);
	if (!failed && err >= 0)
		failed = close_window(c, err > 0 ? c->to : last);
	player_close(&player);
	return failed ? failed : err < 0 ? err : 0;
}

int cutter_run(struct cutter *c)
{
	size_t n = c->source->trace.nstreams;
	int err = -ENOMEM;

	c->threads = calloc(n + 1, sizeof(*c->threads));
	c->processes = calloc(n + 1, sizeof(*c->processes));
	c->written = calloc(n + 1, sizeof(*c->written));
	c->names = calloc(1, sizeof(*c->names));
	if (c->threads && c->processes && c->written && c->names)
		err = state_walk_init(c->names, c->source);
	if (!err)
		err = group(c);
	if (!err)
		err = walk(c);
	for (size_t i = 0; i < n && !err; i++)
		err = flush(c, (uint32_t)i);
	if (err == -ENOMEM)
		log_error("%s: no memory to cut it", c->source->trace.path);
	return err;
}

void cutter_fini(struct cutter *c)
{
	for (size_t i = 0; c->threads && i < c->source->trace.nstreams; i++) {
		open_regions_fini(&c->threads[i].regions);
		free(c->threads[i].buffer);
	}
	for (size_t i = 0; c->processes && i < c->nprocesses; i++) {
		for (int k = 0; k < NGROUPS; k++)
			free(c->processes[i].pending[k].bytes);
	}
	if (c->names)
		state_walk_fini(c->names);
	free(c->names);
	free(c->threads);
	free(c->processes);
	free(c->written);
}
