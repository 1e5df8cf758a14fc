/* SPDX-License-Identifier: MIT */
#include "tools/merge/merge_streams.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "trace/catalog/catalog.h"

#define OUT MCV('K', 'C', 'O')
#define IN  MCV('K', 'C', 'I')

/* The next event of each side, if there is one. */
struct side {
	struct mapped_stream *image;
	bool has;
	int64_t clock;
	const uint8_t *bytes;
};

struct interval { /* out of the CPU */
	bool open;
	uint8_t out[EVENT_SIZE_MAX], in[EVENT_SIZE_MAX]; /* the K events that bound it */
	size_t out_size, in_size;
	int64_t seen;	  /* when the kernel saw it leave */
	int64_t from, to; /* where it begins now, and ends: INT64_MAX if it never came back */
	bool written;	  /* its KCO stands in the output */
};

static int step(struct side *side, int64_t offset)
{
	int64_t last = side->clock;
	bool had = side->has;
	int err = mapped_stream_step(side->image);

	side->has = err > 0;
	if (err <= 0)
		return err;
	if (__builtin_add_overflow(side->image->ev.clock, offset, &side->clock))
		return -ERANGE;
	side->bytes = side->image->at - side->image->ev.size;
	return had && side->clock < last ? -ERANGE : 0;
}

static int next_program(struct merge_streams *w, struct side *side)
{
	int err = step(side, 0);

	if (!err && side->has) {
		w->program_events++;
		if (side->image->ev.model == 'K')
			return -EEXIST;
	}
	return err;
}

/* Goes to the next KCO or KCI. */
static int next_kernel(struct merge_streams *w, struct side *side)
{
	int err;

	do {
		err = step(side, w->offset);
	} while (!err && side->has && event_mcv(&side->image->ev) != OUT &&
		 event_mcv(&side->image->ev) != IN);
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

/* Reads the interval that the KCO at hand begins, up to its KCI. */
static int take_interval(struct merge_streams *w, struct side *kernel, struct interval *iv)
{
	static const uint8_t bare[EVENT_HEADER_SIZE] = {0, 'K', 'C', 'I'};
	int err;

	if (kernel->image->ev.size > sizeof(iv->out))
		return -EBADMSG;
	iv->open = true;
	iv->written = false;
	iv->from = iv->seen = kernel->clock;
	iv->to = INT64_MAX;
	iv->out_size = kernel->image->ev.size;
	memcpy(iv->out, kernel->bytes, iv->out_size);
	iv->in_size = sizeof(bare);
	memcpy(iv->in, bare, sizeof(bare));
	do {
		err = next_kernel(w, kernel); /* a second KCO in a row tells nothing new */
	} while (!err && kernel->has && event_mcv(&kernel->image->ev) == OUT);
	if (err || !kernel->has)
		return err;
	if (kernel->image->ev.size > sizeof(iv->in))
		return -EBADMSG;
	iv->to = kernel->clock;
	iv->in_size = kernel->image->ev.size;
	memcpy(iv->in, kernel->bytes, iv->in_size);
	return next_kernel(w, kernel);
}

static void moved(struct merge_streams *w, int64_t by)
{
	w->moved++;
	if (by > w->most_moved)
		w->most_moved = by;
}

/* One event of the program, strictly inside of the interval. */
static int put_inside(struct merge_streams *w, struct side *program, struct interval *iv)
{
	const struct event *ev = &program->image->ev;
	int64_t clock = program->clock;
	int err = 0;

	if (!needs_cpu(ev)) {
		if (!iv->written)
			err = put_at(w, iv->out, iv->out_size, iv->from);
		iv->written = true;
		return err ? err : w->put(w->arg, program->bytes, ev->size);
	}
	if (!iv->written && clock_distance(iv->seen, clock) <= w->tolerance) {
		moved(w, clock_distance(
				 iv->seen,
				 clock)); /* it was read before the switch: KCO comes after it */
		err = w->put(w->arg, program->bytes, ev->size);
		iv->from = clock;
		return err;
	}
	if (!iv->written)
		err = put_at(w, iv->out, iv->out_size, iv->from);
	iv->written = true;
	if (!err)
		err = put_at(w, iv->in, iv->in_size, clock);
	if (!err)
		err = w->put(w->arg, program->bytes, ev->size);
	if (iv->to != INT64_MAX && clock_distance(clock, iv->to) <= w->tolerance) {
		moved(w, clock_distance(clock,
					iv->to)); /* it came back a little earlier than was seen */
		iv->open = false;
		return err;
	}
	w->split++;
	iv->from = clock;
	return err ? err : put_at(w, iv->out, iv->out_size, clock);
}

static int close_interval(struct merge_streams *w, struct interval *iv, int64_t last)
{
	int64_t to = iv->to == INT64_MAX ? (last > iv->from ? last : iv->from) : iv->to;
	int err = 0;

	if (!iv->written)
		err = put_at(w, iv->out, iv->out_size, iv->from);
	iv->open = false;
	return err ? err : put_at(w, iv->in, iv->in_size, to);
}

int merge_streams(struct merge_streams *w)
{
	struct side program = {.image = w->program}, kernel = {.image = w->kernel};
	struct interval iv = {.open = false};
	int64_t last = INT64_MIN;
	int err = next_program(w, &program);

	if (!err)
		err = next_kernel(w, &kernel);
	while (!err && (program.has || kernel.has || iv.open)) {
		if (iv.open && (!program.has || program.clock >= iv.to)) {
			err = close_interval(w, &iv, last);
		} else if (iv.open) {
			last = program.clock;
			err = put_inside(w, &program, &iv);
			if (!err)
				err = next_program(w, &program);
		} else if (program.has && (!kernel.has || program.clock <= kernel.clock)) {
			last = program.clock;
			err = w->put(w->arg, program.bytes, program.image->ev.size);
			if (!err)
				err = next_program(w, &program);
		} else if (event_mcv(&kernel.image->ev) == IN) {
			err = next_kernel(w, &kernel); /* it was on the CPU already */
		} else {
			err = take_interval(w, &kernel, &iv);
		}
	}
	return err;
}
