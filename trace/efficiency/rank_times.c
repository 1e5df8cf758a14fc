/* SPDX-License-Identifier: MIT */
/* rank_times: the events of the walk (see rank_times.h). */
#include "trace/efficiency/rank_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/catalog/catalog.h"

static int64_t clamp(const struct rank_times *t, int64_t clock)
{
	if (clock < t->settings->first)
		return t->settings->first;
	return clock > t->settings->last ? t->settings->last : clock;
}

/* The communicator of a collective that begins. */
static int take_collective(void *arg, const struct collective_call *c)
{
	struct rank_times *t = arg;
	uint32_t unit = t->unit_of[c->stream];

	if (!c->over && unit != NO_UNIT)
		t->list[unit].comm = c->world		     ? UNIT_COMM_WORLD
				     : c->comm == UINT32_MAX ? UNIT_COMM_UNKNOWN
							     : UNIT_COMM_OTHER;
	return 0;
}

int rank_times_init(struct rank_times *t, const struct source *source,
		    const struct efficiency_settings *settings)
{
	int err;

	*t = (struct rank_times){.source = source, .settings = settings};
	err = thread_times_init(&t->times, source, settings->first, settings->last);
	if (err)
		return err;
	err = culprits_init(&t->culprits, source, settings->first, settings->last);
	if (err)
		return err;
	culprits_select_none(&t->culprits);
	err = rank_list_init(t);
	if (err && err != -ENOMEM)
		return err;
	/* a run whose end was not recorded is known to be one at its end: only then look for it */
	t->times.ahead = t->repairs || !whole_is(&source->whole);
	if (!err)
		err = phase_init(t, &t->whole);
	if (!err)
		err = collectives_init(&t->collectives, t->nranks);
	if (!err && t->communicators) {
		err = messages_init(&t->messages, source);
		if (err)
			return err;
		t->messages.only_collectives = true;
		t->messages.collective = take_collective;
		t->messages.arg = t;
	}
	if (source->trace.fixes && source->trace.clock_bound > 0)
		t->collectives.clock_bound = source->trace.clock_bound;
	return err ? log_no_memory("for the ranks of %s", source->trace.path) : 0;
}

void rank_times_fini(struct rank_times *t)
{
	for (size_t i = 0; i < t->nphases; i++)
		phase_fini(&t->phases[i]);
	for (size_t i = 0; i < t->nranks; i++)
		free(t->ranks[i].marks);
	phase_fini(&t->whole);
	free(t->phases);
	hash_free(&t->phase_of);
	free(t->ranks);
	free(t->kept);
	free(t->list);
	free(t->unit_of);
	free(t->kernel);
	free(t->parents);
	if (t->communicators)
		messages_fini(&t->messages);
	collectives_fini(&t->collectives);
	culprits_fini(&t->culprits);
	thread_times_fini(&t->times);
	*t = (struct rank_times){.nphases = 0};
}

/* ---- places ---- */

static enum unit_place place_of(const struct rank_times *t, uint32_t unit)
{
	const struct unit_walk *u = &t->list[unit];
	const struct rank_walk *r = &t->ranks[u->rank];

	if (!r->open)
		return PLACE_NONE;
	if (u->mpi_depth)
		return PLACE_MPI;
	if (!r->region)
		return unit == r->master ? PLACE_USEFUL : PLACE_NONE;
	return u->depth && (u->regions & 1) ? PLACE_USEFUL : PLACE_NONE;
}

/* Something has changed at the clock: sums up before, if the thread is in another place now. */
static int set_place(struct rank_times *t, const struct intervals *intervals, uint32_t unit,
		     int64_t clock)
{
	struct unit_walk *u = &t->list[unit];
	struct rank_walk *r = &t->ranks[u->rank];
	enum unit_place place = place_of(t, unit);

	if (place == u->place)
		return 0;
	if (unit == r->master) {
		sum_window(t, r, clock);
		if (r->workers_in_mpi)
			sum_units(t, r, clock);
	} else {
		r->workers_in_mpi += (place == PLACE_MPI) - (u->place == PLACE_MPI);
	}
	sum_unit(t, unit, clock);
	u->place = place;
	return culprits_select(&t->culprits, intervals, u->stream, place == PLACE_USEFUL, clock);
}

static int set_places(struct rank_times *t, const struct intervals *intervals,
		      const struct rank_walk *r, int64_t clock)
{
	for (uint32_t i = r->first; i < r->first + r->n; i++) {
		int err = set_place(t, intervals, i, clock);

		if (err)
			return err;
	}
	return 0;
}

/* ---- phases ---- */

/* The number of a phase, made if it is new. Returns 0, -ENOMEM, or -E2BIG after one message. */
static int phase_get(struct rank_times *t, int64_t value, int64_t clock, uint32_t *number)
{
	uint32_t *at = hash_at(&t->phase_of, (struct hash_key){.a = (uint64_t)value});
	struct phase_times *phase;

	if (!at)
		return -ENOMEM;
	*number = *at;
	if (*at != HASH_NONE)
		return 0;
	if (t->nphases == PHASES_MAX) {
		log_error("%s: more than %d phases (choose a longer --every TIME, another mark, or "
			  "a part with --from and --to)",
			  t->source->trace.path, PHASES_MAX);
		return -E2BIG;
	}
	phase = ARRAY_ADD(t->phases, t->nphases);
	if (!phase)
		return -ENOMEM;
	*phase = (struct phase_times){.value = value, .begin = clock};
	*at = *number = (uint32_t)t->nphases - 1;
	return phase_init(t, phase);
}

static int goto_phase(struct rank_times *t, struct rank_walk *r, int64_t value, int64_t clock)
{
	uint32_t phase;
	int err = phase_get(t, value, clock, &phase);

	if (!err)
		phase_switch(t, r, phase, clock);
	return err;
}

/* --every: the slices that end before the clock. The first one begins with the first window. */
static int end_slices(struct rank_times *t, int64_t clock)
{
	while (t->next_slice && clock >= t->next_slice) {
		int64_t begin = t->next_slice, number = (int64_t)t->nphases;

		for (size_t i = 0; i < t->nranks; i++) {
			int err = t->ranks[i].open ? goto_phase(t, &t->ranks[i], number, begin) : 0;

			if (err)
				return err;
		}
		if ((size_t)number == t->nphases) { /* no window is open */
			uint32_t unused;
			int err = phase_get(t, number, begin, &unused);

			if (err)
				return err;
		}
		t->next_slice = clock_sum(begin, t->settings->every);
	}
	return 0;
}

static int take_mark(struct rank_times *t, uint32_t unit, const struct event *ev, int64_t clock)
{
	struct rank_walk *r = &t->ranks[t->list[unit].rank];
	int64_t value;

	if (unit != r->master || ev->payload_size < 12 ||
	    get_i32(ev->payload + 8) != t->settings->mark)
		return 0;
	value = get_i64(ev->payload);
	if (ev->value == '=') {
		r->nmarks = 0;
		if (!value) {
			phase_switch(t, r, NO_PHASE, clock);
			return 0;
		}
	}
	if (ev->value == '[' || ev->value == '=') {
		int64_t *marks = stack_more(r->marks, r->nmarks, &r->marks_room, sizeof(*marks));

		if (!marks)
			return -ENOMEM;
		r->marks = marks;
		marks[r->nmarks++] = value;
		return goto_phase(t, r, value, clock);
	}
	if (ev->value != ']')
		return 0;
	r->nmarks -= r->nmarks > 0;
	if (r->nmarks)
		return goto_phase(t, r, r->marks[r->nmarks - 1], clock);
	phase_switch(t, r, NO_PHASE, clock);
	return 0;
}

/* ---- windows ---- */

static int window_open(struct rank_times *t, const struct intervals *intervals, struct rank_walk *r,
		       int64_t clock)
{
	int err = 0;

	if (r->open || r->left_out)
		return 0;
	r->since = clock;
	if (!r->began)
		r->begin = clock;
	r->open = r->began = true;
	collectives_join(&t->collectives, (size_t)(r - t->ranks));
	if (t->settings->phases == PHASES_COLLECTIVES)
		err = goto_phase(t, r, 0, clock);
	if (t->settings->phases == PHASES_SLICES) {
		if (!t->next_slice)
			t->next_slice = clock_sum(clock, t->settings->every);
		err = goto_phase(t, r, t->nphases ? (int64_t)t->nphases - 1 : 0, clock);
	}
	return err ? err : set_places(t, intervals, r, clock);
}

static int window_close(struct rank_times *t, const struct intervals *intervals,
			struct rank_walk *r, int64_t clock)
{
	if (!r->open)
		return 0;
	sum_window(t, r, clock);
	sum_units(t, r, clock);
	if (r->region)
		region_end(t, r, clock);
	r->end = clock;
	r->open = false;
	return set_places(t, intervals, r, clock);
}

/* Whether the window is the life of the main thread in the recording. */
static bool window_is_life(const struct rank_times *t, const struct rank_walk *r)
{
	return !r->has_mpi || (t->settings->recording && !r->has_init);
}

/* ---- MPI ---- */

/* The longest useful time of a thread of the rank since the last collective, with and without its
 * waits for a CPU. */
static struct collective_rank since_collective(struct rank_times *t, struct rank_walk *r,
					       int64_t clock)
{
	struct collective_rank most = {0};

	sum_units(t, r, clock);
	for (uint32_t i = r->first; i < r->first + r->n; i++) {
		struct unit_walk *u = &t->list[i];
		const struct place_times *useful = &t->whole.units[i].useful;
		int64_t all = place_sum(useful), own = clock_distance(useful->wait, all);

		if (clock_distance(u->useful, all) > most.useful)
			most.useful = clock_distance(u->useful, all);
		if (clock_distance(u->own, own) > most.own)
			most.own = clock_distance(u->own, own);
		u->useful = all;
		u->own = own;
	}
	return most;
}

static int mpi_enter(struct rank_times *t, const struct intervals *intervals, uint32_t unit,
		     const struct event *ev, int function, int64_t clock)
{
	struct unit_walk *u = &t->list[unit];
	struct rank_walk *r = &t->ranks[u->rank];
	int err = 0;

	if (u->mpi_depth++)
		return 0;
	if (ev->category == 'U' && ev->value == 'f') {
		err = window_close(t, intervals, r, clock);
		r->ended = true;
	}
	if (err || !r->open)
		return err;
	r->calls++;
	if (unit != r->master) {
		r->several_mpi = true;
		collectives_refuse(&t->collectives, COLLECTIVES_SEVERAL);
	} else {
		err = collectives_enter(&t->collectives, u->rank, function, clock);
	}
	return err ? err : set_place(t, intervals, unit, clock);
}

static int mpi_leave(struct rank_times *t, const struct intervals *intervals, uint32_t unit,
		     const struct event *ev, int64_t clock)
{
	struct unit_walk *u = &t->list[unit];
	struct rank_walk *r = &t->ranks[u->rank];
	enum unit_comm comm = u->comm;
	int err;

	if (!u->mpi_depth || --u->mpi_depth)
		return 0;
	u->comm = UNIT_COMM_NONE;
	if (ev->category == 'U' && (ev->value == 'I' || ev->value == 'T')) {
		r->master = unit;
		return window_open(t, intervals, r, clock);
	}
	err = set_place(t, intervals, unit, clock);
	if (err || !r->open || unit != r->master || t->collectives.fault)
		return err;
	if (t->communicators && comm != UNIT_COMM_WORLD) {
		collectives_refuse(&t->collectives, comm == UNIT_COMM_OTHER ? COLLECTIVES_OTHERS
									    : COLLECTIVES_GROUP);
		return 0;
	}
	{
		struct collective_rank since = since_collective(t, r, clock);

		collectives_leave(&t->collectives, u->rank, clock, since.useful, since.own);
	}
	if (t->settings->phases != PHASES_COLLECTIVES || t->collectives.fault)
		return 0;
	return goto_phase(t, r, (int64_t)t->collectives.next[u->rank], clock);
}

static int take_mpi(struct rank_times *t, const struct intervals *intervals, uint32_t unit,
		    const struct event *ev, int64_t clock)
{
	const struct catalog_event *event = catalog_find(event_mcv(ev), NULL);

	if (event && event->action == ACTION_PUSH)
		return mpi_enter(t, intervals, unit, ev, event->value, clock);
	if (event && event->action == ACTION_POP)
		return mpi_leave(t, intervals, unit, ev, clock);
	return 0;
}

/* ---- OpenMP ---- */

/* Whether a thread works in a state of the runtime: 1, 0, or -1 for as in the state around it. */
static int openmp_works(const struct event *ev)
{
	switch (ev->category) {
	case 'B':
		return 0;
	case 'I':
		return ev->value == 'a' ? 0 : -1;
	case 'M':
		return ev->value == 'u' ? 1 : -1;
	case 'T':
		if (ev->value == '[' || ev->value == 'i')
			return 1;
		return strchr("twsacr", ev->value) ? 0 : -1;
	case 'W':
		return ev->value == 'y' || ev->value == 'd' ? 0 : -1;
	default:
		return -1;
	}
}

static int take_region(struct rank_times *t, const struct intervals *intervals, uint32_t unit,
		       bool begin, int64_t clock)
{
	struct rank_walk *r = &t->ranks[t->list[unit].rank];

	if (!r->open)
		return 0;
	if (begin) {
		r->seen_fork = t->forks = true;
		if (unit != r->master || r->region) {
			r->nested = true;
			return 0;
		}
		region_begin(t, r, clock);
	} else {
		if (unit != r->master || !r->region)
			return 0;
		region_end(t, r, clock);
	}
	return set_places(t, intervals, r, clock);
}

static int take_openmp(struct rank_times *t, const struct intervals *intervals, uint32_t unit,
		       const struct event *ev, int64_t clock)
{
	const struct catalog_event *event = catalog_find(event_mcv(ev), NULL);
	struct unit_walk *u = &t->list[unit];
	const struct rank_walk *r = &t->ranks[u->rank];
	bool begin, microtask = ev->category == 'M' && (ev->value == 'u' || ev->value == 'U');
	int works;

	if (!event || !event->value ||
	    (event->action != ACTION_PUSH && event->action != ACTION_POP))
		return 0;
	begin = event->action == ACTION_PUSH;
	if (microtask && begin) {
		u->microtasks++;
		if (r->open && r->region) {
			u->member = t->microtasks = true;
		}
	} else if (microtask) {
		u->microtasks -= u->microtasks > 0;
	}
	if (begin) {
		works = openmp_works(ev);
		u->regions = u->regions << 1 | (works < 0 ? u->regions & 1 : (unsigned)works);
		u->depth++;
	} else if (u->depth) {
		u->regions >>= 1;
		u->depth--;
	}
	if (ev->category == 'C' && (ev->value == 'f' || ev->value == 'F')) {
		int err = take_region(t, intervals, unit, begin, clock);

		if (err)
			return err;
	}
	return set_place(t, intervals, unit, clock);
}

/* ---- states of threads ---- */

static int take_state(struct rank_times *t, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev, int64_t clock)
{
	uint32_t unit = t->unit_of[stream];
	struct rank_walk *r = unit == NO_UNIT ? NULL : &t->ranks[t->list[unit].rank];
	bool life = r && unit == r->master && window_is_life(t, r);
	int err = 0;

	if (!r)
		return 0;
	if (ev->model == 'K')
		r->kernel = true;
	if (ev->value == 'e' && ev->model == 'O') {
		r->left |= r->region && t->list[unit].microtasks && unit != r->master;
		if (unit == r->master && r->open && (life || t->settings->recording))
			err = window_close(t, intervals, r, clock);
	}
	if (err)
		return err;
	thread_times_step(&t->times, intervals, stream, ev);
	if (t->times.ahead && t->times.threads[stream].use == TIME_RUNNING) {
		int64_t ns[TIME_CLASSES]; /* finds the known part of the run at its first event */

		thread_times_read(&t->times, stream, clock, ns);
	}
	if (life && ev->value == 'x' && ev->model == 'O')
		err = window_open(t, intervals, r, clock);
	return err;
}

int rank_times_step(struct rank_times *t, const struct intervals *intervals, uint32_t stream,
		    const struct event *ev)
{
	uint32_t unit = t->unit_of[stream];
	int64_t clock = clamp(t, ev->clock);
	int err = t->next_slice && clock >= t->next_slice ? end_slices(t, clock) : 0;

	if (!err && t->communicators)
		err = messages_step(&t->messages, stream, ev);
	if (err)
		return err;
	switch (ev->model) {
	case 'M':
		return unit == NO_UNIT ? 0 : take_mpi(t, intervals, unit, ev, clock);
	case 'P':
		t->openmp = true;
		return unit == NO_UNIT ? 0 : take_openmp(t, intervals, unit, ev, clock);
	case 'O':
		if (ev->category == 'M' && unit != NO_UNIT && t->settings->phases == PHASES_MARK)
			err = take_mark(t, unit, ev, clock);
		else if (ev->category == 'H')
			err = take_state(t, intervals, stream, ev, clock);
		break;
	case 'K':
		if (ev->category == 'C')
			err = take_state(t, intervals, stream, ev, clock);
		break;
	default:
		return 0;
	}
	return err ? err : culprits_step(&t->culprits, intervals, stream, ev);
}

void rank_times_prefetch(const struct rank_times *t, uint32_t stream, bool soon)
{
	culprits_prefetch(&t->culprits, stream, soon);
	thread_times_prefetch(&t->times, stream, soon);
}

int rank_times_finish(struct rank_times *t, const struct intervals *intervals)
{
	int64_t clock = clamp(t, intervals->last);
	struct collective_rank *last = calloc(t->nranks + 1, sizeof(*last));
	int err = t->next_slice && clock > t->next_slice ? end_slices(t, clock - 1) : 0;

	if (!last)
		err = err ? err : -ENOMEM;
	for (size_t i = 0; i < t->nranks && !err; i++) {
		last[i] = since_collective(t, &t->ranks[i], clock);
		err = window_close(t, intervals, &t->ranks[i], clock);
	}
	if (!err)
		collectives_finish(&t->collectives, last);
	free(last);
	if (err)
		return err;
	thread_times_finish(&t->times, intervals);
	if (t->times.no_memory)
		return -ENOMEM;
	err = culprits_finish(&t->culprits, intervals);
	return err ? err : rank_list_finish(t);
}
