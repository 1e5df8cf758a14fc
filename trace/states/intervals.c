/* SPDX-License-Identifier: MIT */
#include "trace/states/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ovni/irq_time.h"
#include "trace/base/log.h"
#include "trace/ovni/player.h"

struct walk {
	struct intervals *intervals;
	const struct interval_listener *listener;
	void *arg;
};

static int64_t between(int64_t from, int64_t to)
{
	int64_t ns;

	if (from == INTERVAL_UNKNOWN || __builtin_sub_overflow(to, from, &ns) || ns < 0)
		return INTERVAL_UNKNOWN;
	return ns;
}

static int span(const struct walk *w, uint32_t stream, int64_t clock)
{
	struct interval_thread *t = &w->intervals->threads[stream];
	int64_t from = t->span_at;

	t->span_at = clock;
	if (!w->listener->span || clock <= from)
		return 0;
	return w->listener->span(w->arg, w->intervals, stream, t->interval.cpu, from, clock);
}

static void start(const struct walk *w, uint32_t stream, int64_t clock)
{
	struct interval_thread *t = &w->intervals->threads[stream];

	t->on = true;
	t->lost = false;
	t->interval.cpu = w->intervals->walk.threads[stream].cpu;
	t->interval.start = t->span_at = clock;
	t->interval.sleep =
		between(t->off_at, t->woken_at == INTERVAL_UNKNOWN ? clock : t->woken_at);
	t->interval.delay = between(t->woken_at, clock);
	t->woken_at = INTERVAL_UNKNOWN;
}

/* `ev` is the event that ends the interval; NULL: none does. */
static int end(const struct walk *w, uint32_t stream, int64_t clock, enum off_cpu why, int32_t next,
	       const struct event *ev)
{
	struct interval_thread *t = &w->intervals->threads[stream];
	int64_t known = t->known < clock ? t->known : clock;
	struct interval told;
	int err = span(w, stream, known);

	t->on = false;
	t->off_at = clock;
	t->interval.end = clock;
	t->interval.why = why;
	t->interval.next = next;
	t->interval.call.call = CALL_UNKNOWN;
	if (ev)
		t->interval.call = sleep_call_of(ev);
	/* a thread is entered or closed on the virtual CPU in no time */
	if (clock == t->interval.start && t->interval.cpu == CPU_VIRTUAL) {
		t->off_at = INTERVAL_UNKNOWN;
		return err;
	}
	if (err)
		return err;
	told = t->interval;
	t->interval.waker = 0;
	if (!w->listener->end)
		return 0;
	if (known < clock) { /* what follows is not known */
		told.end = known;
		told.why = OFF_CPU_LOST;
		told.next = INTERVAL_NEXT_UNKNOWN;
		told.call.call = CALL_UNKNOWN;
	}
	return w->listener->end(w->arg, w->intervals, &told);
}

static void read_off(const struct event *ev, enum off_cpu *why, int32_t *next)
{
	uint16_t value;

	*why = OFF_CPU_UNKNOWN;
	*next = INTERVAL_NEXT_UNKNOWN;
	if (ev->payload_size < 6)
		return;
	value = get_u16(ev->payload);
	if (value < OFF_CPU_COUNT)
		*why = (enum off_cpu)value;
	*next = get_i32(ev->payload + 2);
}

static int handle_kernel(const struct walk *w, uint32_t stream, const struct event *ev)
{
	struct interval_thread *t = &w->intervals->threads[stream];
	enum off_cpu why;
	int32_t next;

	t->kernel = true;
	if (ev->value == 'O' && t->on) {
		read_off(ev, &why, &next);
		return end(w, stream, ev->clock, why, next, ev);
	}
	if (ev->value == 'I' && !t->on) {
		start(w, stream, ev->clock);
		if (ev->payload_size >= 4)
			t->interval.cpu = get_i32(ev->payload);
	}
	return 0;
}

static int handle_state(const struct walk *w, uint32_t stream, const struct event *ev)
{
	struct interval_thread *t = &w->intervals->threads[stream];
	enum off_cpu why = OFF_CPU_UNKNOWN;
	int32_t next = INTERVAL_NEXT_UNKNOWN;

	switch (ev->value) {
	case 'x':
		t->off_at = t->woken_at = INTERVAL_UNKNOWN;
		if (!t->on)
			start(w, stream, ev->clock);
		return 0;
	case 'r':
		if (!t->on && !t->kernel)
			start(w, stream, ev->clock);
		return 0;
	case 'w':
		t->woken_at = t->lost ? INTERVAL_UNKNOWN : ev->clock;
		t->interval.waker = ev->payload_size >= 4 ? get_i32(ev->payload) : 0;
		return 0;
	case 'p':
	case 'c':
		read_off(ev, &why, &next);
		return t->on && !t->kernel ? end(w, stream, ev->clock, why, next, ev) : 0;
	case 'e':
		return t->on ? end(w, stream, ev->clock, OFF_CPU_DEAD, next, ev) : 0;
	default:
		return 0;
	}
}

/* A thread that runs continues on another CPU. */
static int handle_move(const struct walk *w, uint32_t stream, int64_t clock)
{
	struct interval_thread *t = &w->intervals->threads[stream];
	int err;

	if (!t->on)
		return 0;
	err = span(w, stream, clock);
	t->interval.cpu = w->intervals->walk.threads[stream].cpu;
	return err;
}

int interval_payload_size(uint32_t mcv)
{
	switch (mcv) {
	case MCV('O', 'H', 'p'):
	case MCV('K', 'C', 'O'):
		return 6;
	case MCV('O', 'H', 'w'):
	case MCV('K', 'C', 'I'):
		return 4;
	case MCV('O', 'H', 'r'):
	case MCV('O', 'H', 'e'):
		return 0;
	default:
		return -1;
	}
}

int64_t interval_unknown_ns(const struct event *ev)
{
	int size = interval_payload_size(event_mcv(ev));
	uint64_t ns;

	if (size < 0 || ev->payload_size != (uint32_t)size + sizeof(ns))
		return 0;
	ns = get_u64(ev->payload + size);
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

#define REQUEST_PAYLOAD 16 /* bytes: interrupts, device, request */

int64_t interval_irq_ns(const struct event *ev)
{
	uint32_t mcv = event_mcv(ev);

	if ((mcv != MCV('O', 'H', 'r') && mcv != MCV('O', 'H', 'e')) ||
	    (ev->payload_size != sizeof(uint32_t) && ev->payload_size != REQUEST_PAYLOAD))
		return 0;
	return irq_time_decode(get_u32(ev->payload));
}

bool interval_request(const struct event *ev, struct block_request *request)
{
	uint64_t packed;

	if (event_mcv(ev) != MCV('O', 'H', 'r') || ev->payload_size != REQUEST_PAYLOAD ||
	    !get_u32(ev->payload + 4)) /* the stack of a wait */
		return false;
	packed = get_u64(ev->payload + 8);
	*request = (struct block_request){
		.major = get_u32(ev->payload + 4) >> 20,
		.minor = get_u32(ev->payload + 4) & 0xfffff,
		.sector = packed & ((1ull << 48) - 1),
		.sectors = packed >> 48 & 0x7fff,
		.write = packed >> 63,
	};
	return true;
}

static bool leaves_lost(const struct event *ev)
{
	enum off_cpu why;
	int32_t next;

	read_off(ev, &why, &next);
	return (ev->value == 'p' || ev->value == 'O') && why == OFF_CPU_LOST;
}

int64_t interval_known_run(const struct event *ev, int64_t start)
{
	int64_t ns = interval_unknown_ns(ev), known = ev->clock;

	if (ns)
		known = clock_distance(ns, ev->clock);
	else if (leaves_lost(ev))
		known = start;
	return known < start ? start : known;
}

/* How much of the state before the event OH? or KC? is known. On a CPU, a part is. Off the CPU, all
 * or nothing is: a thread of which a switch is missing is unknown until it is on a CPU again. */
static void judge_state(struct interval_thread *t, const struct event *ev)
{
	t->known = ev->clock;
	if (t->on) {
		t->lost = leaves_lost(ev);
		t->known = interval_known_run(ev, t->interval.start);
		return;
	}
	t->lost |= interval_unknown_ns(ev) != 0;
	if (!t->lost)
		return;
	t->known = INTERVAL_UNKNOWN;
	t->off_at = t->woken_at = INTERVAL_UNKNOWN;
}

static int take(const struct walk *w, uint32_t stream, const struct event *ev)
{
	int64_t changed = state_walk_step(&w->intervals->walk, stream, ev);
	int err = 0;

	if ((ev->model == 'K' && ev->category == 'C') || (ev->model == 'O' && ev->category == 'H'))
		judge_state(&w->intervals->threads[stream], ev);
	if (ev->model == 'K' && ev->category == 'C')
		err = handle_kernel(w, stream, ev);
	else if (ev->model == 'O' && ev->category == 'H')
		err = handle_state(w, stream, ev);
	else if (ev->model == 'O' && ev->category == 'A' && changed >= 0)
		err = handle_move(w, (uint32_t)changed, ev->clock);
	if (err || !w->listener->event)
		return err;
	return w->listener->event(w->arg, w->intervals, stream, ev);
}

static inline void prefetch(const struct walk *w, const struct player *player)
{
	struct interval_thread *t = &w->intervals->threads[player->upcoming];

	__builtin_prefetch(&w->intervals->walk.threads[player->upcoming]);
	__builtin_prefetch(&t->interval);
	__builtin_prefetch(&t->known);
	if (!w->listener->prefetch)
		return;
	w->listener->prefetch(w->arg, player->upcoming, false);
	w->listener->prefetch(w->arg, player->soon, true);
}

/* Ends the intervals that are open at the end of the trace. */
static int cut_open(const struct walk *w)
{
	for (size_t i = 0; i < w->intervals->source->trace.nstreams; i++) {
		int err;

		if (!w->intervals->threads[i].on)
			continue;
		w->intervals->threads[i].interval.cut = true;
		w->intervals->threads[i].known = w->intervals->last;
		err = end(w, (uint32_t)i, w->intervals->last, OFF_CPU_UNKNOWN,
			  INTERVAL_NEXT_UNKNOWN, NULL);
		if (err)
			return err;
	}
	return 0;
}

int intervals_init(struct intervals *intervals, const struct source *source)
{
	size_t n = source->trace.nstreams;

	memset(intervals, 0, sizeof(*intervals));
	intervals->source = source;
	intervals->threads = array_lines(n + 1, sizeof(*intervals->threads));
	if (!intervals->threads)
		return log_no_memory("while reading %s", source->trace.path);
	for (size_t i = 0; i < n; i++) {
		intervals->threads[i].interval.stream = (uint32_t)i;
		intervals->threads[i].off_at = intervals->threads[i].woken_at = INTERVAL_UNKNOWN;
	}
	return state_walk_init(&intervals->walk, source);
}

void intervals_step(struct intervals *intervals, uint32_t stream, const struct event *ev)
{
	static const struct interval_listener none;

	(void)take(&(struct walk){intervals, &none, NULL}, stream, ev);
}

int intervals_take(struct intervals *intervals, uint32_t stream, const struct event *ev,
		   const struct interval_listener *listener, void *arg)
{
	if (!intervals->any)
		intervals->first = ev->clock;
	intervals->any = true;
	intervals->last = ev->clock;
	return take(&(struct walk){intervals, listener, arg}, stream, ev);
}

int intervals_cut(struct intervals *intervals, const struct interval_listener *listener, void *arg)
{
	return cut_open(&(struct walk){intervals, listener, arg});
}

int intervals_walk(struct intervals *intervals, const struct source *source,
		   const struct interval_listener *listener, void *arg)
{
	struct walk walk = {intervals, listener, arg};
	size_t n = source->trace.nstreams;
	struct player player;
	int err, step;

	err = intervals_init(intervals, source);
	if (err)
		return err;
	err = source->order ? player_follow(&player, source->streams, n, source->trace.fixes,
					    source->order)
			    : player_open(&player, source->streams, n, source->trace.fixes, false);
	if (err < 0)
		return err;
	while ((step = player_step(&player)) > 0) {
		struct event *ev = &source->streams[player.current].ev;

		prefetch(&walk, &player);
		if (!intervals->any) {
			int64_t last = player.clock;

			intervals->first = player.clock;
			source_extend(source, &intervals->first, &last);
		}
		intervals->any = true;
		intervals->last = ev->clock = player.clock;
		err = take(&walk, player.current, ev);
		if (err)
			goto out;
	}
	if (intervals->any) {
		int64_t first = intervals->first;

		source_extend(source, &first, &intervals->last);
	}
	err = cut_open(&walk); /* of a damaged trace, too */
	if (!err)
		err = step;
out:
	player_close(&player);
	return err;
}

void intervals_fini(struct intervals *intervals)
{
	state_walk_fini(&intervals->walk);
	free(intervals->threads);
	memset(intervals, 0, sizeof(*intervals));
}
