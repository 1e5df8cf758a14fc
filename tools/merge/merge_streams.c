/* SPDX-License-Identifier: MIT */
#include "tools/merge/merge_streams.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "trace/catalog/catalog.h"

#define OUT MCV('K', 'C', 'O')
#define IN  MCV('K', 'C', 'I')

/* The next event of one input. */
struct side {
	struct mapped_stream *stream;
	bool has;
	int64_t clock;
	const uint8_t *bytes;
};

struct interval { /* off the CPU */
	bool open;
	uint8_t out[EVENT_SIZE_MAX], in[EVENT_SIZE_MAX]; /* the K events that bound it */
	size_t out_size, in_size;
	int64_t seen;	  /* clock of the KCO */
	int64_t from, to; /* present begin; end, INT64_MAX without a KCI */
	bool written;	  /* its KCO is in the output */
};

static int step(struct side *side, int64_t offset)
{
	int64_t last = side->clock;
	bool had = side->has;
	int err = mapped_stream_step(side->stream);

	side->has = err > 0;
	if (err <= 0)
		return err;
	if (__builtin_add_overflow(side->stream->ev.clock, offset, &side->clock))
		return -ERANGE;
	side->bytes = side->stream->at - side->stream->ev.size;
	return had && side->clock < last ? -ERANGE : 0;
}

static int next_program(struct merge_streams *w, struct side *side)
{
	int err = step(side, 0);

	if (err || !side->has)
		return err;
	w->program_events++;
	return side->stream->ev.model == 'K' ? -EEXIST : 0;
}

/* Steps to the next KCO or KCI. */
static int next_kernel(struct merge_streams *w, struct side *side)
{
	int err;

	do {
		err = step(side, w->offset);
	} while (!err && side->has && event_mcv(&side->stream->ev) != OUT &&
		 event_mcv(&side->stream->ev) != IN);
	return err;
}

static int put_at(struct merge_streams *w, uint8_t *bytes, size_t size, int64_t clock)
{
	memcpy(bytes + 4, &clock, sizeof(clock));
	w->kernel_events++;
	return w->put(w->arg, bytes, size);
}

static bool needs_cpu(const struct event *ev)
{
	const struct catalog_model *model = catalog_model((char)ev->model);

	return model && !model->out_of_cpu;
}

/* Reads the interval from the present KCO to its KCI. */
static int take_interval(struct merge_streams *w, struct side *kernel, struct interval *iv)
{
	static const uint8_t bare[EVENT_HEADER_SIZE] = {0, 'K', 'C', 'I'};
	int err;

	if (kernel->stream->ev.size > sizeof(iv->out))
		return -EBADMSG;
	iv->open = true;
	iv->written = false;
	iv->from = iv->seen = kernel->clock;
	iv->to = INT64_MAX;
	iv->out_size = kernel->stream->ev.size;
	memcpy(iv->out, kernel->bytes, iv->out_size);
	iv->in_size = sizeof(bare);
	memcpy(iv->in, bare, sizeof(bare));
	do {
		err = next_kernel(w, kernel); /* a repeated KCO has no effect */
	} while (!err && kernel->has && event_mcv(&kernel->stream->ev) == OUT);
	if (err || !kernel->has)
		return err;
	if (kernel->stream->ev.size > sizeof(iv->in))
		return -EBADMSG;
	iv->to = kernel->clock;
	iv->in_size = kernel->stream->ev.size;
	memcpy(iv->in, kernel->bytes, iv->in_size);
	return next_kernel(w, kernel);
}

static void count_moved(struct merge_streams *w, int64_t by)
{
	w->moved++;
	if (by > w->most_moved)
		w->most_moved = by;
}

/* Writes the KCO of the interval, once. */
static int write_out(struct merge_streams *w, struct interval *iv)
{
	if (iv->written)
		return 0;
	iv->written = true;
	return put_at(w, iv->out, iv->out_size, iv->from);
}

/* Writes an event that needs the CPU in the middle of the interval: KCI, event, KCO. */
static int split_interval(struct merge_streams *w, struct side *program, struct interval *iv)
{
	int64_t clock = program->clock;
	int err = put_at(w, iv->in, iv->in_size, clock);

	if (err)
		return err;
	err = w->put(w->arg, program->bytes, program->stream->ev.size);
	if (err)
		return err;
	if (iv->to != INT64_MAX && clock_distance(clock, iv->to) <= w->tolerance) {
		count_moved(w, clock_distance(clock, iv->to)); /* it came back at this event */
		iv->open = false;
		return 0;
	}
	w->split++;
	iv->from = clock;
	return put_at(w, iv->out, iv->out_size, clock);
}

/* Writes one event of the program that is strictly inside the interval. */
static int put_inside(struct merge_streams *w, struct side *program, struct interval *iv)
{
	const struct event *ev = &program->stream->ev;
	int64_t clock = program->clock;
	int err;

	if (needs_cpu(ev) && !iv->written && clock_distance(iv->seen, clock) <= w->tolerance) {
		count_moved(w, clock_distance(iv->seen, clock)); /* the KCO comes after the event */
		iv->from = clock;
		return w->put(w->arg, program->bytes, ev->size);
	}
	err = write_out(w, iv);
	if (err)
		return err;
	if (needs_cpu(ev))
		return split_interval(w, program, iv);
	return w->put(w->arg, program->bytes, ev->size);
}

static int close_interval(struct merge_streams *w, struct interval *iv, int64_t last)
{
	int64_t to = iv->to;
	int err = write_out(w, iv);

	if (to == INT64_MAX)
		to = last > iv->from ? last : iv->from;
	iv->open = false;
	return err ? err : put_at(w, iv->in, iv->in_size, to);
}

/* Writes the next event of the program, and steps. */
static int put_program(struct merge_streams *w, struct side *program, struct interval *iv)
{
	int err;

	if (iv->open)
		err = put_inside(w, program, iv);
	else
		err = w->put(w->arg, program->bytes, program->stream->ev.size);
	return err ? err : next_program(w, program);
}

int merge_streams(struct merge_streams *w)
{
	struct side program = {.stream = w->program}, kernel = {.stream = w->kernel};
	struct interval iv = {.open = false};
	int64_t last = INT64_MIN;
	int err = next_program(w, &program);

	if (err)
		return err;
	err = next_kernel(w, &kernel);
	while (!err) {
		bool first = !kernel.has || program.clock <= kernel.clock;

		if (!program.has && !kernel.has && !iv.open)
			break;
		if (iv.open && (!program.has || program.clock >= iv.to)) {
			err = close_interval(w, &iv, last);
		} else if (program.has && (iv.open || first)) {
			last = program.clock;
			err = put_program(w, &program, &iv);
		} else if (event_mcv(&kernel.stream->ev) == IN) {
			err = next_kernel(w, &kernel); /* the thread is on the CPU already */
		} else {
			err = take_interval(w, &kernel, &iv);
		}
	}
	return err;
}
