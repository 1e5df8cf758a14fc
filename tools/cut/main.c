/* SPDX-License-Identifier: MIT */
/*
 * ovni-cut: a part of a trace as a new trace.
 *
 * In: a trace, and a selection: a window of time, threads, processes, looms, CPUs, models; out: a
 * new, valid trace. A thread that lives where the part begins is entered there (its state, its CPU,
 * its open regions), and closed where the part ends. A state that the whole trace does not know
 * there is not known in the part, either.
 * Invariant: the creation of a type or a task is never lost with its thread or its clock: it is
 * written into the stream of another thread of the same process.
 * Specification: models.md; event-mapping.md, "The thread state machine".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cut/clock_offsets.h"
#include "tools/lib/filter.h"
#include "tools/lib/metadata_subset.h"
#include "tools/lib/replace_file.h"
#include "trace/base/array.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/player.h"
#include "trace/ovni/stack_file.h"
#include "trace/states/cpu_time.h"
#include "trace/states/intervals.h"
#include "trace/states/open_regions.h"
#include "trace/states/sleep_call.h"

struct options {
	const char *path, *out;
	struct filter filter;
	int32_t *cpus;
	size_t ncpus;
	bool models[256], some_models;
};

#define TO(member) offsetof(struct options, member)

static int add_cpu(const struct cli_option *option, const char *text, void *to)
{
	struct options *options = to;
	int32_t *added;
	uint64_t cpu;
	int err = cli_number(option, text, &cpu);

	if (err)
		return err;
	added = ARRAY_ADD(options->cpus, options->ncpus);
	if (!added)
		return log_no_memory("for the list of CPUs");
	*added = (int32_t)cpu;
	return 0;
}

static int add_model(const struct cli_option *option, const char *text, void *to)
{
	const struct catalog_model *model = catalog_model_by_name(text);
	struct options *options = to;

	if (!model && strlen(text) == 1)
		model = catalog_model(*text);
	if (!model)
		return cli_refuse(option, text, "no such model; ovni-version lists them");
	options->models[(uint8_t)model->character] = options->some_models = true;
	return 0;
}

static const struct cli_option cli_options[] = {
	{"output", 'o', "DIR", cli_text, TO(out), "new directory of the part (TRACE.cut)"},
	{"from", 0, "TIME", moment_option, TO(filter.from),
	 "begin at this clock, in ns; "
	 "+TIME counts from the first event and takes ns, us, ms, s; "
	 "03:12:05 is a time of day, in the local time of the recording"},
	{"to", 0, "TIME", moment_option, TO(filter.to), "end at this clock, which is included"},
	{"tid", 0, "TID", filter_add_tid, TO(filter), "only threads with this id"},
	{"pid", 0, "PID", filter_add_pid, TO(filter), "only processes with this id"},
	{"loom", 0, "LOOM", filter_add_loom, TO(filter), "only this loom"},
	{"cpu", 0, "INDEX", add_cpu, 0,
	 "threads only while they are on this CPU, by its index in the loom", .max = INT32_MAX},
	{"model", 0, "MODEL", add_model, 0,
	 "only events of this model, by name or character; ovni events are always kept"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-cut",
	.operands = "TRACE",
	.about = "Write a part of an ovni trace as a new trace.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # half a second\n"
		 "  ovni-cut --from +1s --to +1.5s trace\n\n"
		 "  # one thread\n"
		 "  ovni-cut --tid 1204 -o one trace\n\n"
		 "  # the threads on CPU 3, while they are there\n"
		 "  ovni-cut --cpu 3 --model kernel trace",
};

/* ---- the part ---- */

#define BUFFER_BYTES (16 << 10)

struct cut_thread {
	struct open_regions regions; /* in the whole trace */
	uint32_t process;
	bool inside;	 /* its events are written */
	bool on_virtual; /* in the new trace alone */
	uint8_t idle[2]; /* value of the last VP? and 6P? in the new trace */
	/* of the last OHp in the whole trace: the reason, the next thread, the call */
	uint8_t left[EVENT_PAYLOAD_MAX], left_size;
	uint64_t taken; /* offset of the first byte of its stream that is not applied */
	uint8_t *buffer;
	size_t size;
};

/* Models whose creations wait for a thread, each in its own group: they accept events in different
 * states. */
static const char groups[] = {'V', 'P', '6'};
#define NGROUPS ((int)sizeof(groups))

struct cut_process {
	const struct owner *owner;
	struct bytes pending[NGROUPS]; /* creations that are not written yet */
	uint32_t inside;	       /* number of its threads that are written */
};

struct cutter {
	const struct options *options;
	const struct filter *filter; /* streams, and the first and last clock, both included */
	const struct source *source;
	int out_fd; /* directory of the new trace */

	uint64_t kept, added, dropped;
	uint64_t *written; /* events of each stream; 0: it was not made */

	struct cut_thread *threads;
	struct cut_process *processes;
	size_t nprocesses;
	struct intervals intervals; /* the states in the whole trace */
	struct cpu_times cpus;	    /* of the part, if the whole trace has some that are unknown */
	bool opened;		    /* the window */
	struct stack_table stacks;
	bool marked, counted; /* a stream has the mark, and the numbers, of the whole part */
};

/* Whether the event creates a type or a task, which belong to the process, not to the thread. */
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

static int append(const struct cutter *c, uint32_t stream, const void *bytes, size_t size)
{
	const char *path = c->source->trace.streams[stream];
	int err = stream_append(c->out_fd, path, bytes, size);

	if (err)
		log_error("cannot write '%s': %s", path, strerror(-err));
	return err;
}

static int flush(struct cutter *c, uint32_t stream)
{
	struct cut_thread *t = &c->threads[stream];
	size_t size = t->size;

	t->size = 0;
	return size ? append(c, stream, t->buffer, size) : 0;
}

static int create(struct cutter *c, uint32_t stream)
{
	struct json *meta = json_new_object();
	int err;

	json_put_int(meta, "version", 3);
	err = stream_create(c->out_fd, c->source->trace.streams[stream], meta);
	json_free(meta);
	if (err)
		log_error("cannot create the stream '%s': %s", c->source->trace.streams[stream],
			  strerror(-err));
	return err;
}

static int put(struct cutter *c, uint32_t stream, const void *bytes, size_t size)
{
	struct cut_thread *t = &c->threads[stream];
	int err = 0;

	if (!c->written[stream]++)
		err = create(c, stream);
	if (err)
		return err;
	if (t->size + size > BUFFER_BYTES)
		err = flush(c, stream);
	if (err)
		return err;
	if (size > BUFFER_BYTES)
		return append(c, stream, bytes, size);
	if (!t->buffer)
		t->buffer = malloc(BUFFER_BYTES);
	if (!t->buffer)
		return -ENOMEM;
	memcpy(t->buffer + t->size, bytes, size);
	t->size += size;
	return 0;
}

/* The idle state that the event sets, in the new trace; NULL for other events. It starts as
 * Progressing, outlives the thread, and must not be set to its present value. */
static uint8_t *idle_of(struct cut_thread *t, uint32_t mcv)
{
	if (mcv >> 8 == MCV(0, 'V', 'P'))
		return &t->idle[0];
	return mcv >> 8 == MCV(0, '6', 'P') ? &t->idle[1] : NULL;
}

/* An event that the cut adds, at one clock. */
struct adding {
	struct cutter *cutter;
	uint32_t stream;
	int64_t clock;
	bool create;	 /* pending creations follow the OHx */
	int64_t unknown; /* ns, for the first event of a state */
};

/* Writes the events of one group. */
static int put_group(struct cutter *c, uint32_t stream, int64_t clock, struct bytes *p)
{
	const uint8_t *at = p->data, *end = p->data + p->size;
	struct event ev;
	ssize_t n;

	p->size = 0;
	while (at < end && (n = event_decode(&ev, at, end)) > 0) {
		int err;

		memcpy((uint8_t *)at + 4, &clock, sizeof(clock)); /* our copy */
		err = put(c, stream, at, (size_t)n);
		c->added++;
		if (err)
			return err;
		at += n;
	}
	return 0;
}

/* Whether the model of a group accepts events of the thread (models.md, first line of each). */
static bool may_write(const struct open_regions *t, int group)
{
	const struct catalog_model *model = catalog_model(groups[group]);

	return (model->out_of_cpu || !t->thread.out) &&
	       (model->when == WHEN_RUNNING ? t->thread.state == THREAD_STATE_RUNNING
					    : thread_state_is_active(t->thread.state));
}

/* Writes the pending creations that the thread may write in this condition. */
static int put_pending(struct cutter *c, uint32_t stream, int64_t clock,
		       const struct open_regions *regions)
{
	struct cut_process *p = &c->processes[c->threads[stream].process];

	for (int i = 0; i < NGROUPS; i++) {
		int err = 0;

		if (p->pending[i].size && may_write(regions, i))
			err = put_group(c, stream, clock, &p->pending[i]);
		if (err)
			return err;
	}
	return 0;
}

/* The payload of an added event of a state, which has none of its own: what the whole trace knows
 * where a thread is entered, and the unknown time where it is closed. Returns its bytes. */
static size_t state_payload(struct adding *a, uint32_t mcv, uint8_t payload[EVENT_PAYLOAD_MAX])
{
	static const uint8_t lost[6] = {OFF_CPU_LOST, 0, 0xff, 0xff, 0xff, 0xff};
	const struct cut_thread *t = &a->cutter->threads[a->stream];
	const struct interval_thread *state = &a->cutter->intervals.threads[a->stream];
	int size = interval_payload_size(mcv);

	if (a->unknown && size >= 0) {
		/* no CPU (KCI), an unknown waker (OHw) */
		memset(payload, mcv == MCV('K', 'C', 'I') ? 0xff : 0, (size_t)size);
		memcpy(payload + size, &a->unknown, sizeof(a->unknown));
		a->unknown = 0;
		return (size_t)size + sizeof(a->unknown);
	}
	if (!a->create)
		return 0;
	if (mcv == MCV('O', 'H', 'p')) {
		size_t known = state->lost ? sizeof(lost) : t->left_size;

		memcpy(payload, state->lost ? lost : t->left, known);
		return known;
	}
	if (mcv != MCV('O', 'H', 'w') || !state->interval.waker)
		return 0;
	memcpy(payload, &state->interval.waker, sizeof(state->interval.waker));
	return sizeof(state->interval.waker);
}

static int add(void *arg, uint32_t mcv, const void *payload, size_t size)
{
	static const struct open_regions begun = {.thread.state = THREAD_STATE_RUNNING};
	struct adding *a = arg;
	uint8_t bytes[EVENT_SIZE_MAX], *idle = idle_of(&a->cutter->threads[a->stream], mcv);
	uint8_t own[EVENT_PAYLOAD_MAX];
	int err;

	if (!size) {
		size = state_payload(a, mcv, own);
		payload = own;
	}
	if (idle && *idle == (uint8_t)mcv)
		return 0;
	if (idle)
		*idle = (uint8_t)mcv;
	err = put(a->cutter, a->stream, bytes, event_encode(bytes, mcv, a->clock, payload, size));
	a->cutter->added++;
	if (err || !a->create || mcv != MCV('O', 'H', 'x'))
		return err;
	return put_pending(a->cutter, a->stream, a->clock, &begun);
}

/* ---- entering and closing ---- */

static bool wanted_cpu(const struct cutter *c, int32_t cpu)
{
	for (size_t i = 0; i < c->options->ncpus; i++)
		if (c->options->cpus[i] == cpu)
			return true;
	return !c->options->cpus;
}

static bool lives(const struct cut_thread *t)
{
	return t->regions.thread.state != THREAD_STATE_UNKNOWN &&
	       t->regions.thread.state != THREAD_STATE_DEAD;
}

static int enter(struct cutter *c, uint32_t stream, int64_t clock)
{
	struct cut_thread *t = &c->threads[stream];
	struct cut_process *p = &c->processes[t->process];
	struct adding adding = {c, stream, clock, .create = true};
	bool waits = false;

	/* other threads of the process may need the creations at this clock: one earlier */
	for (int i = 0; i < NGROUPS; i++)
		waits |= p->pending[i].size > 0;
	if (waits && clock > 0)
		adding.clock--;
	t->inside = true;
	p->inside++;
	return open_regions_enter(&t->regions, add, &adding, &t->on_virtual);
}

/* ns before `clock` for which the state of the thread is not known, by its events from there on, up
 * to the one that tells: at most STREAM_PEEK bytes ahead. */
static int64_t unknown_at(const struct cutter *c, uint32_t stream, int64_t clock)
{
	const struct interval_thread *t = &c->intervals.threads[stream];
	const struct stream *s = &c->source->streams[stream];
	const uint8_t *at = s->at, *end = stream_peek_end(s);
	int64_t from = t->on ? t->interval.start : t->off_at;
	bool lost = !t->on && t->lost;
	struct event ev = s->ev;

	if (stream_offset(s) < c->threads[stream].taken)
		ev.size = 0; /* applied already */
	while (!lost) {
		bool kernel = ev.size && ev.model == 'K' && ev.category == 'C';
		bool state = ev.size && ev.model == 'O' && ev.category == 'H' && ev.value != 'C';

		if (kernel || (state && (!t->kernel || ev.value == 'e'))) {
			int64_t known = interval_known_run(&ev, from);

			if (t->on)
				return known < clock ? clock_distance(known, clock) : 0;
			lost = interval_unknown_ns(&ev) != 0;
			if (lost || ev.value == 'r' || ev.value == 'I' || ev.value == 'e')
				break;
		}
		if (event_decode(&ev, at, end) <= 0 || !ev.model)
			break;
		at += ev.size;
	}
	if (!lost)
		return 0;
	/* off its CPU a length stands for the whole stay */
	return from < clock && from != INTERVAL_UNKNOWN ? clock_distance(from, clock) : 1;
}

/* Closes a copy: the regions of the whole trace continue. */
static int leave(struct cutter *c, uint32_t stream, int64_t clock)
{
	struct cut_thread *t = &c->threads[stream];
	struct open_regions copy = t->regions;
	struct adding adding = {c, stream, clock, .unknown = unknown_at(c, stream, clock)};
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
	c->opened = true;
	for (size_t i = 0; i < c->source->trace.nstreams; i++) {
		const struct cut_thread *t = &c->threads[i];
		int err = 0;

		if (c->filter->streams[i] && lives(t) && wanted_cpu(c, t->regions.thread.cpu))
			err = enter(c, (uint32_t)i, c->filter->first);
		if (err)
			return err;
	}
	return 0;
}

static int close_window(struct cutter *c, int64_t clock)
{
	for (size_t i = 0; i < c->source->trace.nstreams; i++) {
		int err = c->threads[i].inside ? leave(c, (uint32_t)i, clock) : 0;

		if (err)
			return err;
	}
	return 0;
}

/* ---- one event ---- */

/* Keeps a creation for the next thread of its process that is written, or writes it at once. */
static int keep_creation(struct cutter *c, uint32_t stream, const uint8_t *bytes,
			 const struct event *ev)
{
	uint32_t process = c->threads[stream].process;
	int group = (int)((const char *)memchr(groups, ev->model, sizeof(groups)) - groups);
	struct bytes *p = &c->processes[process].pending[group];
	uint32_t inside = c->processes[process].inside;

	bytes_put(p, bytes, ev->size);
	if (p->failed)
		return -ENOMEM;
	for (size_t i = 0; inside && i < c->source->trace.nstreams; i++) {
		const struct cut_thread *t = &c->threads[i];

		if (t->process == process && t->inside && may_write(&t->regions, group))
			return put_pending(c, (uint32_t)i, ev->clock, &t->regions);
	}
	return 0;
}

/* Applies an OAr; *write if the new trace can have it: its thread is there, on another CPU. */
static int take_move(struct cutter *c, uint32_t stream, const struct event *ev, bool *write)
{
	int64_t target = ev->payload_size < 8 ? -1
					      : state_walk_find(&c->intervals.walk, stream,
								get_i32(ev->payload + 4));
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
	if (err)
		return err;
	if (t->inside)
		*write = !t->on_virtual; /* else it moves when it wakes */
	else if (c->opened && c->filter->streams[target] && lives(t) && c->options->cpus &&
		 wanted_cpu(c, cpu))
		err = enter(c, (uint32_t)target, ev->clock);
	return err;
}

/* The new trace has the stack of a sleep that ends in it. */
static void use_stack(struct cutter *c, const struct event *ev)
{
	uint32_t number = sleep_stack(ev);
	struct stack_line *line = number ? stack_table_find(&c->stacks, number) : NULL;

	if (line)
		line->used = true;
}

/* A thread that was entered as paused, on the virtual CPU, moves to its own CPU when it wakes. */
static int put_waking(struct cutter *c, uint32_t stream, const uint8_t *bytes,
		      const struct event *ev)
{
	struct cut_thread *t = &c->threads[stream];
	struct adding adding = {c, stream, ev->clock};
	int32_t cpu = t->regions.thread.cpu;
	int err;

	t->on_virtual = false;
	c->kept++;
	use_stack(c, ev);
	if (ev->value == 'w')
		err = put(c, stream, bytes, ev->size);
	else
		err = add(&adding, MCV('O', 'H', 'w'), NULL, 0);
	if (err)
		return err;
	err = add(&adding, MCV('O', 'A', 's'), &cpu, sizeof(cpu));
	if (err || ev->value != 'r')
		return err;
	return put(c, stream, bytes, ev->size);
}

static int write_event(struct cutter *c, uint32_t stream, const uint8_t *bytes,
		       const struct event *ev)
{
	struct cut_thread *t = &c->threads[stream];
	uint8_t *idle;
	int err = 0;

	if (t->on_virtual && ev->model == 'O' && ev->category == 'H' &&
	    (ev->value == 'w' || ev->value == 'r'))
		return put_waking(c, stream, bytes, ev);
	/* pending creations come before the event that may need them, if the thread may write them
	 */
	if (event_mcv(ev) >> 8 != MCV(0, 'O', 'H'))
		err = put_pending(c, stream, ev->clock, &t->regions);
	if (err)
		return err;
	err = put(c, stream, bytes, ev->size);
	if (err)
		return err;
	c->kept++;
	use_stack(c, ev);
	idle = idle_of(t, event_mcv(ev));
	if (idle)
		*idle = ev->value;
	return put_pending(c, stream, ev->clock, &t->regions);
}

/* With a filter of CPUs a thread is written while it is on one of them. */
static int follow_cpu(struct cutter *c, uint32_t stream, const struct event *ev, bool *write)
{
	struct cut_thread *t = &c->threads[stream];
	bool on = wanted_cpu(c, t->regions.thread.cpu);

	if (t->inside || !c->filter->streams[stream] || !c->opened || !lives(t) || !on)
		return 0;
	/* an OHx without open regions is copied; after any other event the thread is entered */
	if (event_mcv(ev) == MCV('O', 'H', 'x') && !t->regions.nopen) {
		t->inside = true;
		c->processes[t->process].inside++;
		return 0;
	}
	*write = false;
	return enter(c, stream, ev->clock);
}

/* Applies the event to its thread; *write if the thread is written and the event, too. */
static int apply(struct cutter *c, uint32_t stream, const struct event *ev, bool *write)
{
	struct cut_thread *t = &c->threads[stream];
	uint32_t mcv = event_mcv(ev);
	int err = 0;

	if (mcv == MCV('O', 'A', 'r')) {
		err = take_move(c, stream, ev, write);
	} else if (mcv == MCV('O', 'A', 's') && t->inside && ev->payload_size >= 4 &&
		   !wanted_cpu(c, get_i32(ev->payload))) {
		err = leave(c, stream, ev->clock);
		*write = false;
	}
	if (err)
		return err;
	if (open_regions_step(&t->regions, ev) == FAULT_NOMEM)
		return -ENOMEM;
	intervals_step(&c->intervals, stream, ev);
	t->taken = stream_offset(&c->source->streams[stream]) + ev->size;
	if (mcv == MCV('O', 'H', 'p') && ev->payload_size <= EVENT_PAYLOAD_MAX) {
		t->left_size = interval_unknown_ns(ev) ? 6 : (uint8_t)ev->payload_size;
		if (t->left_size)
			memcpy(t->left, ev->payload, t->left_size);
	}
	return follow_cpu(c, stream, ev, write);
}

static int take(struct cutter *c, uint32_t stream, const uint8_t *bytes, const struct event *ev)
{
	struct cut_thread *t = &c->threads[stream];
	bool write = true;
	int err;

	if (c->options->some_models && ev->model != 'O' && !c->options->models[ev->model]) {
		c->dropped++;
		return 0;
	}
	err = apply(c, stream, ev, &write);
	if (err)
		return err;
	if (!t->inside || !write) {
		c->dropped++;
		if (creates(event_mcv(ev)) && !t->inside)
			err = keep_creation(c, stream, bytes, ev);
		return err;
	}
	err = write_event(c, stream, bytes, ev);
	if (err)
		return err;
	if (t->regions.thread.state == THREAD_STATE_DEAD) {
		t->inside = t->on_virtual = false;
		c->processes[t->process].inside--;
	}
	return 0;
}

/* ---- the whole trace ---- */

/* Finds the process of each stream. */
static void group_streams(struct cutter *c)
{
	size_t n = c->source->trace.nstreams;

	c->nprocesses = 0;
	for (size_t i = 0; i < n; i++) {
		const struct owner *owner = &c->source->owners[i];
		size_t k = c->nprocesses;

		c->threads[i].regions.thread.cpu = CPU_NONE;
		memset(c->threads[i].idle, 'p', sizeof(c->threads[i].idle));
		/* streams of one process are mostly neighbours */
		while (k && (c->processes[k - 1].owner->pid != owner->pid ||
			     strcmp(c->processes[k - 1].owner->loom, owner->loom)))
			k--;
		if (!k) {
			c->processes[c->nprocesses].owner = owner;
			k = ++c->nprocesses;
		}
		c->threads[i].process = (uint32_t)(k - 1);
	}
}

static int walk(struct cutter *c)
{
	struct stream *streams = c->source->streams;
	struct player player;
	int64_t last = c->filter->first;
	int err, step;

	err = player_open(&player, streams, c->source->trace.nstreams, NULL, false);
	if (err < 0)
		return err;
	while ((step = player_step(&player)) > 0) {
		const struct event *ev = &streams[player.current].ev;
		const uint8_t *bytes = ev->payload - EVENT_HEADER_SIZE - (ev->jumbo ? 4 : 0);

		if (ev->clock > c->filter->last)
			break;
		if (!c->opened && ev->clock >= c->filter->first)
			err = open_window(c);
		if (err)
			goto out;
		last = ev->clock;
		err = take(c, player.current, bytes, ev);
		if (err)
			goto out;
	}
	if (step < 0) {
		err = step;
		goto out;
	}
	/* events follow the window, but none is inside */
	if (step > 0 && !c->opened && c->filter->first <= c->filter->last)
		err = open_window(c);
	if (err)
		goto out;
	err = close_window(c, step > 0 ? c->filter->last : last);
out:
	player_close(&player);
	return err;
}

/* Writes the streams, without their metadata. Returns 0, or -errno after one message. */
static int cutter_run(struct cutter *c)
{
	size_t n = c->source->trace.nstreams;
	int err = -ENOMEM;

	c->threads = calloc(n + 1, sizeof(*c->threads));
	c->processes = calloc(n + 1, sizeof(*c->processes));
	c->written = calloc(n + 1, sizeof(*c->written));
	if (!c->threads || !c->processes || !c->written)
		goto out;
	err = intervals_init(&c->intervals, c->source);
	if (err)
		return err; /* after a message */
	err = stack_table_load(&c->stacks, c->source->trace.fd, c->source->trace.path);
	if (err)
		return err;
	group_streams(c);
	err = walk(c);
	if (err)
		goto out;
	for (size_t i = 0; i < n; i++) {
		err = flush(c, (uint32_t)i);
		if (err)
			goto out;
	}
	return stack_table_write(&c->stacks, c->out_fd, 0);
out:
	if (err == -ENOMEM)
		log_no_memory("while cutting %s", c->source->trace.path);
	return err;
}

static void cutter_fini(struct cutter *c)
{
	for (size_t i = 0; c->threads && i < c->source->trace.nstreams; i++) {
		open_regions_fini(&c->threads[i].regions);
		free(c->threads[i].buffer);
	}
	for (size_t i = 0; c->processes && i < c->nprocesses; i++) {
		for (int k = 0; k < NGROUPS; k++)
			bytes_free(&c->processes[i].pending[k]);
	}
	intervals_fini(&c->intervals);
	cpu_times_fini(&c->cpus);
	stack_table_free(&c->stacks);
	free(c->threads);
	free(c->processes);
	free(c->written);
}

/* ---- metadata ---- */

static int take_span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		     int64_t from, int64_t to)
{
	return cpu_times_add(arg, intervals, stream, cpu, from, to);
}

static int take_event(void *arg, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	return cpu_times_step(arg, intervals, stream, ev);
}

/* Computes the times of the CPUs in the part, in a walk of its own, if a recorder counted them. */
static int read_cpus(struct cutter *c)
{
	static const struct interval_listener listener = {.span = take_span, .event = take_event};
	const struct source *source = c->source;
	struct intervals intervals;
	bool counted = false;
	int err;

	for (size_t i = 0; i < source->trace.nstreams && !counted; i++) {
		struct json *meta = trace_metadata(&source->trace, i);

		counted = json_first(json_get(meta, "bpf.session.cpus"));
		json_free(meta);
	}
	if (!counted)
		return 0;
	for (size_t i = 0; i < source->trace.nstreams; i++)
		stream_rewind(&source->streams[i]);
	c->cpus.part = true;
	c->cpus.first = c->filter->first;
	c->cpus.last = c->filter->last;
	err = intervals_walk(&intervals, source, &listener, &c->cpus);
	if (!err)
		err = cpu_times_finish(&c->cpus, &intervals);
	intervals_fini(&intervals);
	return err;
}

/* The times of the CPUs in the part. If threads are left out, idle times are not known. */
static void correct_cpus(struct json *meta, const struct cutter *c, const char *loom)
{
	bool idle_known = cpu_times_idle_known(json_get(meta, "bpf.session"));
	struct json *list;

	for (size_t i = 0; i < c->source->trace.nstreams; i++)
		idle_known &= c->filter->streams[i];
	for (size_t i = 0; i < c->cpus.ncpus; i++)
		if (!strcmp(c->cpus.cpus[i].loom, loom))
			idle_known &= c->cpus.cpus[i].idle_known && !c->options->cpus;
	list = json_put_array(meta, "bpf.session.cpus");
	for (size_t i = 0; i < c->cpus.ncpus; i++) {
		const struct cpu_time *from = &c->cpus.cpus[i];
		struct json *cpu, *ns;

		if (strcmp(from->loom, loom) != 0)
			continue;
		cpu = json_put_object(list, NULL);
		json_put_int(cpu, "index", from->cpu);
		ns = json_put_object(cpu, "ns");
		json_put_i64(ns, "unknown", from->unknown);
		json_put_i64(ns, "idle", idle_known ? from->idle : 0);
		json_put_i64(ns, "other",
			     idle_known ? from->other : clock_sum(from->other, from->idle));
	}
	json_put_bool(meta, "bpf.session.idle_known", idle_known);
}

/* Gives the session the counts of the part. A second session of the trace gets counts of 0. */
static void correct_counts(struct json *meta, struct cutter *c)
{
	uint64_t streams = 0, events = 0;

	for (size_t i = 0; i < c->source->trace.nstreams && !c->counted; i++) {
		if (!c->written[i] || !c->source->owners[i].recorded)
			continue;
		streams++;
		events += c->written[i];
	}
	c->counted = true;
	json_put_u64(meta, "bpf.session.streams", streams);
	json_put_u64(meta, "bpf.session.counts.events", events);
}

/* Corrects the counts and the window of the recorder, which describe the whole trace. */
static void correct_metadata(struct json *meta, struct cutter *c, const char *loom)
{
	uint64_t t0, t1;

	if (json_u64(json_get(meta, "bpf.session.t0"), &t0) && c->filter->first > 0 &&
	    t0 < (uint64_t)c->filter->first)
		json_put_u64(meta, "bpf.session.t0", (uint64_t)c->filter->first);
	if (json_u64(json_get(meta, "bpf.session.t1"), &t1) && c->filter->last >= 0 &&
	    t1 > (uint64_t)c->filter->last)
		json_put_u64(meta, "bpf.session.t1", (uint64_t)c->filter->last);
	if (json_get(meta, "bpf.session.cpus"))
		correct_cpus(meta, c, loom);
	if (json_is_object(json_get(meta, "bpf.session.counts")))
		correct_counts(meta, c);
	whole_leave_files(meta);
	json_put_string(meta, "cut.by", "ovni-cut");
	json_put_i64(meta, "cut.from", c->filter->first);
	json_put_i64(meta, "cut.to", c->filter->last);
	json_put_int(meta, "ovni.finished", 1);
}

static int describe_stream(struct cutter *c, const bool *kept, size_t i)
{
	const char *path = c->source->trace.streams[i];
	struct json *meta = metadata_subset(c->source, kept, i);
	struct whole rest = c->source->whole;
	int err;

	if (!meta)
		return -EINVAL;
	correct_metadata(meta, c, c->source->owners[i].loom ?: "");
	rest.lost = 0; /* its session has that */
	if (!c->marked) {
		whole_mark(meta, &rest);
		whole_count_stacks(meta, c->out_fd);
	}
	c->marked = true;
	err = whole_describe(meta, c->out_fd, path);
	if (err)
		goto out;
	err = stream_describe(c->out_fd, path, meta);
out:
	json_free(meta);
	if (err)
		log_error("cannot write the metadata '%s': %s", path, strerror(-err));
	return err;
}

static int describe(struct cutter *c)
{
	size_t n = c->source->trace.nstreams;
	bool *kept = calloc(n + 1, sizeof(*kept));
	int err = 0;

	if (!kept)
		return log_no_memory("while cutting %s", c->source->trace.path);
	for (size_t i = 0; i < n; i++)
		kept[i] = c->written[i];
	for (size_t i = 0; i < n; i++) {
		if (kept[i])
			err = describe_stream(c, kept, i);
		if (err)
			break;
	}
	free(kept);
	return err;
}

static int run(struct options *options, struct source *source)
{
	struct cutter cutter = {.options = options, .filter = &options->filter, .source = source};
	size_t streams = 0;
	bool active;
	int err = filter_start(&options->filter, source, &active);

	if (err)
		return err;
	cutter.out_fd = output_create(options->out);
	if (cutter.out_fd < 0)
		return cutter.out_fd;
	err = cutter_run(&cutter);
	if (err)
		goto out;
	err = read_cpus(&cutter);
	if (err)
		goto out;
	err = describe(&cutter);
	if (!err)
		err = copy_clock_offsets(source, cutter.written, cutter.out_fd, options->out);
	if (err)
		goto out;
	for (size_t i = 0; i < source->trace.nstreams; i++)
		streams += cutter.written[i] > 0;
	log_info("%s: %zu stream%s, %llu event%s kept, %llu added at the edges, %llu left out",
		 options->out, streams, plural(streams, "", "s"), (unsigned long long)cutter.kept,
		 plural(cutter.kept, "", "s"), (unsigned long long)cutter.added,
		 (unsigned long long)cutter.dropped);
	if (!streams)
		log_warn("%s: the part has no events", options->out);
out:
	cutter_fini(&cutter);
	close(cutter.out_fd);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct source source;
	enum status status;
	char *out;
	int err;

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	options.out = out = output_path(options.out, options.path, ".cut");
	if (!out)
		return STATUS_FAILED;
	err = source_open(&source, options.path);
	if (err)
		goto out;
	err = run(&options, &source);
out:
	status = err ? STATUS_FAILED : whole_report(&source.whole, options.path);
	filter_free(&options.filter);
	source_close(&source);
	free(options.cpus);
	free(out);
	return status;
}
