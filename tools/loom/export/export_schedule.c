/* SPDX-License-Identifier: MIT */
/*
 * export_schedule: converts the scheduling of threads into records of an accelerator.
 *
 *   CPU               core, by its index; before the first CPU: the core after the last one
 *   thread            node, by its tid
 *   life of a thread  invocation, numbered in the order of their begin
 *   running           NODE_FIRE
 *   waits for a CPU   NODE_STALL_OUT
 *   asleep            NODE_STALL_IN
 *   migration         ROUTE_USE, from CPU arg0 to CPU arg1
 *   events lost       DEVICE_ERROR, arg0 of them
 *
 * In: streams, merged while they are read; out: records at the begin of their interval, with its
 * length (style span): the difference of the rounded ends, so that the lengths of a thread add up.
 * Invariant: memory follows threads, and the events inside one interval of each.
 * Specification: loom.md 9.5.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/loom/export/export.h"
#include "trace/ovni/event.h"
#include "trace/ovni/thread_state.h"
#include "trace/base/array.h"
#include "trace/base/log.h"

#define MARK_LOST 92
#define NONE	  SIZE_MAX

struct thread {
	struct stream stream;
	const struct run_clock *clock;
	uint32_t tid;
	uint16_t nowhere; /* core of threads without a CPU */
	enum thread_state state;
	int32_t cpu;	 /* the last real CPU; -1: none yet */
	bool on_virtual; /* it is on the virtual CPU */
	uint64_t since;	 /* first cycle of the present state */
	uint64_t last;	 /* cycle of the last event */
	uint64_t life;	 /* its invocation, numbered when its start leaves the merge */
	/* records in order: the interval, and the events in it */
	struct loom_record *queue;
	size_t first, n, slots; /* `slots` never shrinks */
	size_t open;		/* index of the interval without a length, or NONE */
};

static int push(struct thread *t, uint64_t cycle, uint8_t kind, int32_t cpu, uint32_t arg0,
		uint32_t arg1)
{
	if (t->n == t->slots && !ARRAY_ADD(t->queue, t->slots))
		return -ENOMEM;
	t->queue[t->n++] = (struct loom_record){
		.cycle = cycle,
		.epoch_id = 1,
		.core_id = cpu < 0 ? t->nowhere : (uint16_t)cpu,
		.hw_node_id = t->tid,
		.event_kind = kind,
		.arg0 = arg0,
		.arg1 = arg1,
	};
	return 0;
}

/* Begins an interval with a record, which gets its length at the end. */
static int begin(struct thread *t, uint64_t cycle)
{
	static const int kinds[THREAD_STATE_COUNT] = {
		[THREAD_STATE_UNKNOWN] = -1,
		[THREAD_STATE_RUNNING] = LOOM_NODE_FIRE,
		[THREAD_STATE_PAUSED] = LOOM_NODE_STALL_IN,
		[THREAD_STATE_DEAD] = -1,
		[THREAD_STATE_COOLING] = LOOM_NODE_FIRE,
		[THREAD_STATE_WARMING] = LOOM_NODE_STALL_OUT,
	};

	int err;

	t->since = cycle;
	if (kinds[t->state] < 0)
		return 0;
	t->open = t->n;
	err = push(t, cycle, (uint8_t)kinds[t->state], t->cpu, 0, 0);
	if (err)
		return err;
	t->queue[t->open].lane = t->on_virtual;
	return err;
}

static void end(struct thread *t, uint64_t cycle)
{
	if (t->open != NONE)
		loom_record_set_span(&t->queue[t->open], cycle - t->since);
	t->open = NONE;
}

static int take(struct thread *t, const struct event *ev, uint64_t cycle)
{
	int next = thread_state_next(t->state, (char)ev->value), err = 0;
	int32_t cpu;

	if (ev->model == 'O' && ev->category == 'A' && ev->value == 's' && ev->payload_size >= 4) {
		cpu = get_i32(ev->payload);
		t->on_virtual = cpu < 0;
		if (cpu >= 0 && t->cpu >= 0 && cpu != t->cpu)
			err = push(t, cycle, LOOM_ROUTE_USE, cpu, (uint32_t)t->cpu, (uint32_t)cpu);
		t->cpu = cpu >= 0 ? cpu : t->cpu;
		return err;
	}
	if (event_mcv(ev) == MCV('O', 'M', '[') && ev->payload_size == 12 &&
	    get_i32(ev->payload + 8) == MARK_LOST) {
		int64_t lost = get_i64(ev->payload);

		return push(t, cycle, LOOM_DEVICE_ERROR, t->cpu,
			    lost > UINT32_MAX || lost < 0 ? UINT32_MAX : (uint32_t)lost, 0);
	}
	if (ev->model != 'O' || ev->category != 'H' || ev->value == 'C')
		return 0;
	if (next < 0) {
		log_error("%s: byte %" PRIu64 ": OH%c in the state %s; see 'ovni-check'",
			  t->stream.path, stream_offset(&t->stream), ev->value,
			  thread_state_names[t->state]);
		return -EINVAL;
	}
	end(t, cycle);
	t->state = (enum thread_state)next;
	if (ev->value == 'x') {
		cpu = ev->payload_size >= 4 ? get_i32(ev->payload) : -1;
		t->cpu = cpu;
		t->on_virtual = cpu < 0;
		if (cpu >= t->nowhere) {
			log_error("%s: byte %" PRIu64 ": there is no CPU %" PRId32, t->stream.path,
				  stream_offset(&t->stream), cpu);
			return -EINVAL;
		}
		err = push(t, cycle, LOOM_INVOCATION_START, t->cpu, 0, 0);
		if (err)
			return err;
	}
	if (ev->value == 'e')
		return push(t, cycle, LOOM_INVOCATION_DONE, t->cpu, 0, 0);
	return begin(t, cycle);
}

/* True for a thread that runs: not on the virtual CPU (marked by the lane) at a border of a window.
 */
static bool is_real(struct loom_record *r)
{
	bool on_virtual = r->lane;

	r->lane = 0;
	return r->event_kind != LOOM_NODE_FIRE || !on_virtual || r->arg0 || r->arg1;
}

static int next(void *source, struct loom_record *r)
{
	struct thread *t = source;

	while (true) {
		int got, err;

		/* records after an interval wait for its end */
		if (t->first < (t->open < t->n ? t->open : t->n)) {
			*r = t->queue[t->first++];
			if (!is_real(r))
				continue;
			return 1;
		}
		if (t->first) {
			t->n -= t->first;
			memmove(t->queue, t->queue + t->first, t->n * sizeof(*t->queue));
			t->open = t->open == NONE ? NONE : t->open - t->first;
			t->first = 0;
		}
		got = stream_step(&t->stream);
		if (got < 0) {
			stream_report(&t->stream);
			return got;
		}
		if (!got && t->state != THREAD_STATE_DEAD && t->state != THREAD_STATE_UNKNOWN) {
			log_error("%s: the thread is not dead at the end; see 'ovni-check'",
				  t->stream.path);
			return -EINVAL;
		}
		if (!got)
			return 0;
		if (t->stream.ev.clock < 0 || (uint64_t)t->stream.ev.clock < t->last) {
			log_error("%s: byte %" PRIu64 ": the clock goes back; put the events in "
				  "order with ovni-sort first",
				  t->stream.path, stream_offset(&t->stream));
			return -EINVAL;
		}
		t->last = (uint64_t)t->stream.ev.clock;
		err = take(t, &t->stream.ev,
			   (uint64_t)((unsigned __int128)t->last * 1000 / t->clock->period_ps));
		if (err)
			return err;
	}
}

static int open_threads(struct loom_export *x, struct thread *threads)
{
	int64_t cpus = -1;
	int err;

	for (size_t i = 0; i < x->nstreams; i++) {
		struct json *meta = trace_metadata(&x->trace, x->streams[i]);
		const struct json *cpu = json_first(json_get(meta, "ovni.loom_cpus"));

		if (!meta)
			return -EINVAL;
		threads[i].tid = (uint32_t)json_int(json_get(meta, "ovni.tid"));
		for (; cpu; cpu = json_next(cpu)) {
			if (json_int(json_get(cpu, "index")) > cpus)
				cpus = json_int(json_get(cpu, "index"));
		}
		json_free(meta);
	}
	if (cpus >= UINT16_MAX) {
		log_error("%s: a CPU has the index %" PRId64
			  "; a Loom trace can distinguish %d CPUs",
			  x->trace.path, cpus, UINT16_MAX);
		return -EOVERFLOW;
	}
	for (size_t i = 0; i < x->nstreams; i++) {
		threads[i].clock = &x->clock;
		threads[i].nowhere = (uint16_t)(cpus + 1);
		threads[i].cpu = -1;
		threads[i].open = NONE;
		err = stream_open(&threads[i].stream, x->trace.fd, x->trace.streams[x->streams[i]]);
		if (err)
			return err;
	}
	return 0;
}

/* Numbers the lives of threads as they begin, and counts the lost events. */
static bool complete(struct loom_export *x, void *source, struct loom_record *r)
{
	struct thread *t = source;

	if (r->event_kind == LOOM_INVOCATION_START)
		t->life = ++x->lives;
	r->invocation_id = t->life;
	if (r->event_kind == LOOM_DEVICE_ERROR)
		x->lost += r->arg0;
	return true;
}

int loom_export_schedule(struct loom_export *x)
{
	struct thread *threads = calloc(x->nstreams + 1, sizeof(*threads));
	struct loom_writer *w = NULL;
	int err = threads ? open_threads(x, threads) : -ENOMEM;

	x->as.style = LOOM_STYLE_SPAN;
	if (err)
		goto out;
	err = loom_export_merge(x, &w, threads, x->nstreams, sizeof(*threads), next, complete);
out:
	err = loom_export_close(x, w, err);
	if (err == -ENOMEM)
		log_no_memory("while exporting %s", x->trace.path);
	for (size_t i = 0; threads && i < x->nstreams; i++) {
		stream_close(&threads[i].stream);
		free(threads[i].queue);
	}
	free(threads);
	return err;
}
