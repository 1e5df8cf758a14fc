/* SPDX-License-Identifier: MIT */
#include "trace/states/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/ovni/player.h"

struct walk {
	struct runs *runs;
	const struct runs_listener *listener;
	void *arg;
};

static int64_t between(int64_t from, int64_t to)
{
	int64_t ns;

	if (from == INTERVAL_UNKNOWN || __builtin_sub_overflow(to, from, &ns) || ns < 0)
		return INTERVAL_UNKNOWN;
	return ns;
}

static int span(const struct walk *w, uint32_t who, int64_t clock)
{
	struct runs_thread *t = &w->runs->threads[who];
	int64_t from = t->span_at;

	t->span_at = clock;
	if (!w->listener->span || clock <= from)
		return 0;
	return w->listener->span(w->arg, w->runs, who, t->run.cpu, from, clock);
}

static int start(const struct walk *w, uint32_t who, int64_t clock)
{
	struct runs_thread *t = &w->runs->threads[who];

	t->on = true;
	t->run.cpu = w->runs->where.threads[who].cpu;
	t->run.start = t->span_at = clock;
	t->run.sleep = between(t->off_at, t->woken_at == INTERVAL_UNKNOWN ? clock : t->woken_at);
	t->run.delay = between(t->woken_at, clock);
	t->woken_at = INTERVAL_UNKNOWN;
	return 0;
}

static int end(const struct walk *w, uint32_t who, int64_t clock, enum off_cpu why, int32_t next)
{
	struct runs_thread *t = &w->runs->threads[who];
	int64_t ns = between(t->run.start, clock);
	int err = span(w, who, clock);

	t->on = false;
	t->off_at = clock;
	t->run.end = clock;
	t->run.why = why;
	t->run.next = next;
	if (ns != INTERVAL_UNKNOWN)
		t->total = clock_sum(t->total, ns);
	/* a thread that is entered or closed where it does not run takes no time there */
	if (ns == 0 && t->run.cpu == CPU_VIRTUAL) {
		t->off_at = INTERVAL_UNKNOWN;
		return err;
	}
	if (!err && w->listener->end)
		err = w->listener->end(w->arg, w->runs, &t->run);
	t->run.waker = 0;
	return err;
}

static void read_off(const struct event *ev, enum off_cpu *why, int32_t *next)
{
	uint16_t value;

	*why = OFF_CPU_UNKNOWN;
	*next = RUN_UNKNOWN;
	if (ev->payload_size < 6)
		return;
	value = get_u16(ev->payload);
	if (value < OFF_CPU_COUNT)
		*why = (enum off_cpu)value;
	*next = get_i32(ev->payload + 2);
}

static int take_kernel(const struct walk *w, uint32_t who, const struct event *ev)
{
	struct runs_thread *t = &w->runs->threads[who];
	enum off_cpu why;
	int32_t next;

	t->kernel = true;
	if (ev->value == 'O' && t->on) {
		read_off(ev, &why, &next);
		return end(w, who, ev->clock, why, next);
	}
	if (ev->value == 'I' && !t->on) {
		int err = start(w, who, ev->clock);

		if (ev->payload_size >= 4)
			t->run.cpu = get_i32(ev->payload);
		return err;
	}
	return 0;
}

static int take_state(const struct walk *w, uint32_t who, const struct event *ev)
{
	struct runs_thread *t = &w->runs->threads[who];
	enum off_cpu why = OFF_CPU_UNKNOWN;
	int32_t next = RUN_UNKNOWN;

	switch (ev->value) {
	case 'x':
		t->off_at = t->woken_at = INTERVAL_UNKNOWN;
		return t->on ? 0 : start(w, who, ev->clock);
	case 'r':
		return t->on || t->kernel ? 0 : start(w, who, ev->clock);
	case 'w':
		t->woken_at = ev->clock;
		t->run.waker = ev->payload_size >= 4 ? get_i32(ev->payload) : 0;
		return 0;
	case 'p':
	case 'c':
		read_off(ev, &why, &next);
		return t->on && !t->kernel ? end(w, who, ev->clock, why, next) : 0;
	case 'e':
		return t->on ? end(w, who, ev->clock, OFF_CPU_DEAD, next) : 0;
	default:
		return 0;
	}
}

static int take(const struct walk *w, uint32_t who, const struct event *ev)
{
	int64_t moved = whereabouts_step(&w->runs->where, who, ev);
	int err = 0;

	if (ev->model == 'K' && ev->category == 'C')
		err = take_kernel(w, who, ev);
	else if (ev->model == 'O' && ev->category == 'H')
		err = take_state(w, who, ev);
	else if (ev->model == 'O' && ev->category == 'A' && moved >= 0 &&
		 w->runs->threads[moved].on) {
		err = span(w, (uint32_t)moved, ev->clock);
		w->runs->threads[moved].run.cpu = w->runs->where.threads[moved].cpu;
	}
	if (!err && w->listener->event)
		err = w->listener->event(w->arg, w->runs, who, ev);
	return err;
}

int runs_walk(struct runs *runs, const struct source *source, const struct runs_listener *listener,
	      void *arg)
{
	struct walk walk = {runs, listener, arg};
	size_t n = source->trace.nstreams;
	struct player player;
	int err, told = 0;

	memset(runs, 0, sizeof(*runs));
	runs->source = source;
	runs->threads = calloc(n + 1, sizeof(*runs->threads));
	if (!runs->threads || whereabouts_init(&runs->where, source) < 0) {
		log_error("%s: no memory for %zu threads", source->trace.path, n);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		runs->threads[i].run.who = (uint32_t)i;
		runs->threads[i].off_at = runs->threads[i].woken_at = INTERVAL_UNKNOWN;
	}
	err = player_open(&player, source->streams, n, NULL, true);
	if (err < 0)
		return err;
	while (!told && (err = player_step(&player)) > 0) {
		if (!runs->any)
			runs->first = player.clock;
		runs->any = true;
		runs->last = player.clock;
		told = take(&walk, player.who, &source->streams[player.who].ev);
	}
	for (size_t i = 0; i < n && !told; i++) {
		if (!runs->threads[i].on)
			continue;
		runs->threads[i].run.cut = true;
		told = end(&walk, (uint32_t)i, runs->last, OFF_CPU_UNKNOWN, RUN_UNKNOWN);
	}
	player_close(&player);
	return told ? told : err < 0 ? err : 0;
}

void runs_fini(struct runs *runs)
{
	whereabouts_fini(&runs->where);
	free(runs->threads);
	memset(runs, 0, sizeof(*runs));
}

int64_t runs_on_cpu(const struct runs *runs, uint32_t who)
{
	const struct runs_thread *t = &runs->threads[who];
	int64_t now = t->on ? between(t->run.start, runs->last) : 0;

	return clock_sum(t->total, now == INTERVAL_UNKNOWN ? 0 : now);
}
