/* SPDX-License-Identifier: MIT */
/*
 * loom_random: unusual runs, through the Loom writer.
 *
 *     loom_random LAST [FIRST]  writes random.FIRST (1), ..., random.LAST
 *
 * Calls are as wild as the writer allows: overlapping invocations on shared nodes, cores that rely
 * on others, ends that never come, records that are refused. The accepted records must be a valid
 * run.
 */
#include <stdio.h>
#include <stdlib.h>

#include <ovni-loom/writer.h>

enum { CORES = 2, EPOCHS = 3, IDS = 2 };

struct wild {
	struct loom_writer *w;
	struct loom_writer_options options;
	struct loom_controls controls;
	unsigned state;
	bool started[EPOCHS][IDS][CORES], done[EPOCHS][IDS][CORES], any_done[EPOCHS][IDS];
};

static unsigned any(struct wild *x, unsigned most)
{
	x->state = x->state * 1664525u + 1013904223u;
	return (x->state >> 16) % most;
}

static void choose(struct wild *x, unsigned seed)
{
	struct loom_writer_options *o = &x->options;

	o->style = (enum loom_style)(seed % LOOM_STYLES);
	/* with style edge the last call within a cycle determines the state */
	o->sort_cycles = o->style != LOOM_STYLE_EDGE && seed / 3 % 2;
	o->snapshot_cycles = seed % 5 ? 0 : 1 + seed % 7;
	o->as = seed % 4 ? LOOM_AS_LTRC : LOOM_AS_NATURAL48;
	if (seed % 7 == 0) {
		o->on_full = seed % 2 ? LOOM_DROP_NEW : LOOM_DROP_OLD;
		o->buffer_records = 1 + seed % 20;
	}
	if (seed % 11 == 0 && !loom_controls_sample(&x->controls, "1/3"))
		o->controls = &x->controls;
	if (seed % 13 == 0 && !o->controls && !o->on_full && !o->style && !o->snapshot_cycles)
		o->statistics = LOOM_STATISTICS_LEGACY;
}

static int put(struct wild *x, struct loom_record *r)
{
	unsigned epoch = r->epoch_id, id = (unsigned)r->invocation_id, core = r->core_id;
	int err;

	if (r->event_kind > LOOM_ROUTE_USE && r->event_kind < LOOM_DEVICE_ERROR)
		r->hw_node_id = 0;
	r->arg0 = r->event_kind == LOOM_DEVICE_ERROR ? 256 : any(x, 4);
	r->arg1 = 0;
	err = loom_writer_event(x->w, r);
	if (err)
		return err;
	x->started[epoch][id][core] |= r->event_kind == LOOM_INVOCATION_START;
	if (r->event_kind == LOOM_INVOCATION_DONE)
		x->done[epoch][id][core] = x->any_done[epoch][id] = true;
	return 0;
}

/* A core that has started an invocation that others have ended must end it, too. */
static void end(struct wild *x, uint64_t cycle)
{
	struct loom_record r = {.cycle = cycle + 1, .event_kind = LOOM_INVOCATION_DONE};

	for (r.epoch_id = 0; r.epoch_id < EPOCHS; r.epoch_id++) {
		for (r.invocation_id = 0; r.invocation_id < IDS; r.invocation_id++) {
			for (r.core_id = 0; r.core_id < CORES; r.core_id++) {
				if (x->any_done[r.epoch_id][r.invocation_id] &&
				    x->started[r.epoch_id][r.invocation_id][r.core_id] &&
				    !x->done[r.epoch_id][r.invocation_id][r.core_id])
					(void)put(x, &r);
			}
		}
	}
}

static int run(unsigned seed)
{
	struct wild x = {.state = seed};
	struct loom_account a;
	uint64_t cycle;
	unsigned n;
	char name[32];
	bool simple;
	int err;

	choose(&x, seed);
	simple = x.options.statistics == LOOM_STATISTICS_LEGACY;
	snprintf(name, sizeof(name), "random.%u", seed);
	if (loom_writer_open(&x.w, name, &x.options))
		return 1;
	cycle = any(&x, 5);
	n = 5 + any(&x, 60);
	for (unsigned i = 0; i < n; i++) {
		struct loom_record r = {.epoch_id = simple || i < n / 2 ? 1 : 1 + any(&x, 2),
					.invocation_id = simple ? 0 : any(&x, IDS),
					.core_id = (uint16_t)(simple ? 0 : any(&x, CORES)),
					.hw_node_id = any(&x, 3)};

		cycle += any(&x, 3) ? 0 : any(&x, 4);
		r.cycle = cycle;
		r.event_kind = (uint8_t)(any(&x, 3) ? any(&x, 4) : any(&x, 8));
		if (any(&x, 6) == 0)
			r.event_kind = LOOM_INVOCATION_START;
		if (put(&x, &r) == 0 && r.event_kind <= LOOM_ROUTE_USE &&
		    loom_writer_tokens(x.w, r.core_id, r.hw_node_id, any(&x, 3), any(&x, 3)))
			return 1;
		if (any(&x, 20) == 0 && loom_writer_flush(x.w))
			return 1;
	}
	end(&x, cycle);
	err = loom_writer_close(x.w, &a);
	loom_controls_free(&x.controls);
	return err || a.seen != a.written + a.filtered + a.sampled_out + a.dropped;
}

int main(int argc, char **argv)
{
	int last = argc > 1 ? atoi(argv[1]) : 1;

	for (int seed = argc > 2 ? atoi(argv[2]) : 1; seed <= last; seed++) {
		if (run((unsigned)seed)) {
			fprintf(stderr, "seed %d: failed, or the account does not close\n", seed);
			return 1;
		}
	}
	return 0;
}
