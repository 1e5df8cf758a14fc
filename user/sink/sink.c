/* SPDX-License-Identifier: MIT */
/* sink: see sink.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/kernel/event_counts.h"
#include "user/host/clock.h"
#include "user/sink/finalizer.h"
#include "user/sink/flight.h"
#include "user/timeline/carry_over.h"
#include "user/kernel/bpf_load.h"
#include "user/sink/history.h"
#include "user/sink/sink.h"
#include "user/timeline/threads.h"
#include "trace/base/log.h"
#include "user/writer/writer.h"

#define CUT_APART_NS 100000000 /* what begins a trace can be more than --rotate allows it */

int store_open(struct store *store, const struct store_options *options)
{
	*store = (struct store){
		.options = *options,
		.several = options->rotate_ns || options->rotate_bytes || options->last_bytes,
	};
	if (!store->several) {
		store->part = part_open(&store->options.plan, false);
		return store->part ? 0 : -EIO;
	}
	store->max_bytes = options->plan.max_bytes;
	store->options.plan.max_bytes = 0;
	store->pending = calloc(options->links->npossible, sizeof(*store->pending));
	if (!store->pending) {
		return log_no_memory("several traces");
	}
	store->closer = closer_start(&store->options.plan, options->account, options->keep);
	if (!store->closer)
		return -EIO;
	if (options->last_bytes)
		return 0;
	store->part = closer_take(store->closer);
	return closer_settle(store->closer, store->part);
}

static int begin_flight(struct store *store, uint64_t t0, const struct snapshot_tasks *tasks)
{
	const struct store_options *o = &store->options;
	const struct flight_options options = {
		.plan = &o->plan,
		.account = o->account,
		.iterate = true,
		.ns = o->last_ns,
		.bytes = o->last_bytes,
		.trigger = o->trigger,
	};

	store->flight = calloc(1, sizeof(*store->flight));
	if (store->flight)
		return flight_init(store->flight, &options, t0, tasks);
	return log_no_memory("the flight recorder");
}

int store_begin(struct store *store, uint64_t t0, const struct snapshot_tasks *tasks)
{
	struct part *part = store->part;
	int err;

	if (store->options.last_bytes)
		return begin_flight(store, t0, tasks);
	err = part_begin(part, t0);
	part->from = account_mark(store->options.account, ACCOUNT_OPENED);
	if (!err && !part->from)
		err = -ENOMEM;
	store->timeline = part->timeline;
	for (size_t i = 0; i < tasks->ntasks && !err; i++)
		err = timeline_iterated(part->timeline, &tasks->tasks[i]);
	return err;
}

/* ---- records ---- */

/* What was lost before the cut is told after it: the old part has counted it already. */
static int take_lost(struct store *store, unsigned cpu, const struct record_lost *record)
{
	struct record_lost ours = *record;
	uint64_t before = store->pending[cpu] < ours.count ? store->pending[cpu] : ours.count;

	store->pending[cpu] = 0;
	ours.count -= before;
	if (before)
		ours.first_clock = store->part->t0;
	return timeline_record(store->timeline, cpu, &ours.head);
}

int store_take_several(struct store *store, unsigned cpu, const struct record_head *record)
{
	int err = 0;

	if (record->kind == RECORD_LOST)
		account_told(store->options.account, cpu,
			     ((const struct record_lost *)record)->count);
	if (store->flight)
		return flight_take(store->flight, cpu, record);
	if (record->kind == RECORD_LOST && cpu < store->options.links->npossible)
		return take_lost(store, cpu, (const struct record_lost *)record);
	if (store->old)
		err = timeline_record(store->old->timeline, cpu, record);
	return err ? err : timeline_record(store->timeline, cpu, record);
}

/* ---- cuts ---- */

/* The part ends at the clock `at`, and `next` begins there. */
static int cut(struct store *store, struct part *next, uint64_t at, const char *why)
{
	const struct timeline_counts *counts = timeline_counts(store->timeline);
	struct part *part = store->part;
	int err;

	part->to = account_mark(store->options.account, ACCOUNT_NOW);
	next->from = part->to ? account_mark_copy(store->options.account, part->to) : NULL;
	if (!next->from) {
		part_close(next);
		return -ENOMEM;
	}
	err = part_begin(next, at);
	if (!err)
		err = timeline_inherit(next->timeline, part->timeline);
	if (err) {
		part_close(next);
		return err;
	}
	for (unsigned cpu = 0; cpu < store->options.links->npossible; cpu++)
		store->pending[cpu] = part->to->cpus[cpu].untold;
	store->before.records += counts->records;
	store->before.events += counts->events;
	store->before.bytes += counts->bytes;
	store->before.threads += threads_streams(part->threads);
	part_stop(part, at);
	store->old = part;
	store->old_why = why;
	store->part = next;
	store->timeline = next->timeline;
	/* without them, who was woken just before the cut seems to sleep until its end */
	if (snapshot_tasks(store->options.links, false, &store->old_tasks))
		log_warn("who waits for a CPU at the end of a trace is not known");
	store->old_until = clock_now();
	return 0;
}

static void give_old(struct store *store)
{
	const struct closing closing = {
		.part = store->old,
		.next = store->part,
		.tasks = store->old_tasks,
		.end = {.stopped_by = store->old_why, .command_status = -1},
	};

	closer_give(store->closer, &closing);
	store->old = NULL;
	store->old_tasks = (struct snapshot_tasks){0};
}

static bool due(const struct store *store, uint64_t watermark)
{
	const struct store_options *o = &store->options;
	uint64_t length = watermark > store->part->t0 ? watermark - store->part->t0 : 0;

	/* a trace in which nothing has happened goes on */
	if (length < CUT_APART_NS || !timeline_counts(store->timeline)->events)
		return false;
	return (o->rotate_ns && length > o->rotate_ns) ||
	       (o->rotate_bytes && timeline_counts(store->timeline)->bytes >= o->rotate_bytes);
}

/* A crash of ours loses no more than what has come since. */
static int flush(struct store *store, uint64_t watermark)
{
	if (!store->options.flush_ns || watermark < store->flush_at)
		return 0;
	store->flush_at = watermark + store->options.flush_ns;
	return threads_flush(store->part->threads);
}

static int save(struct store *store)
{
	struct closing closing;
	int err = flight_save(store->flight, store->part, &closing);

	if (err)
		return err;
	store->part = NULL;
	closer_give(store->closer, &closing);
	return 0;
}

static int turn_flight(struct store *store, uint64_t watermark)
{
	struct flight *flight = store->flight;
	bool asked = atomic_load(&store->requested), met;
	int err;

	if (watermark < 2)
		return 0;
	met = !store->part && flight_triggered(flight, watermark - 1);
	err = flight_turn(flight, watermark);
	store->bytes = spool_memory(flight->spool);
	if (err)
		return err;
	if (store->part)
		return watermark > flight->until ? save(store) : 0;
	if (store->stopped || !(asked || met))
		return 0;
	store->part = closer_take(store->closer);
	if (!store->part) /* the last one is still being written */
		return 0;
	store->requested = false;
	return flight_begin(flight, watermark - 1, asked ? "request" : "trigger");
}

int store_turn(struct store *store, uint64_t watermark)
{
	const char *why = NULL;
	struct part *next;
	int err = store->closer ? closer_error(store->closer) : 0;

	if (!err && store->flight)
		return turn_flight(store, watermark);
	if (!err)
		err = flush(store, watermark);
	if (err || !store->several)
		return err;
	store->bytes = store->before.bytes + timeline_counts(store->timeline)->bytes;
	if (store->old) {
		if (watermark > store->old_until)
			give_old(store);
		return 0;
	}
	if (store->stopped || watermark <= store->part->t0 + 1)
		return 0;
	if (atomic_load(&store->requested))
		why = "request";
	else if (due(store, watermark))
		why = "rotation";
	next = why ? closer_take(store->closer) : NULL;
	if (!next)
		return 0;
	store->requested = false;
	return cut(store, next, watermark - 1, why);
}

void store_stop(struct store *store, uint64_t t1)
{
	store->stopped = true;
	store->t1 = t1;
	if (!store->flight)
		part_stop(store->part, t1);
}

bool store_request(struct store *store)
{
	if (!store->several)
		return false;
	store->requested = true;
	return true;
}

int store_fd(const struct store *store)
{
	return store->closer ? closer_fd(store->closer) : -1;
}

bool store_news(struct store *store, struct closer_news *news)
{
	return store->closer && closer_news(store->closer, news);
}

/* ---- figures ---- */

void store_figures(const struct store *store, struct part_result *figures)
{
	const struct timeline_counts *counts;

	*figures = store->before;
	if (store->flight) {
		figures->records = store->flight->records;
		figures->events = store->flight->records;
		figures->bytes = spool_memory(store->flight->spool);
		return;
	}
	counts = timeline_counts(store->timeline);
	figures->records += counts->records;
	figures->events += counts->events;
	figures->bytes += counts->bytes;
	figures->threads += threads_streams(store->part->threads);
}

uint64_t store_bytes(const struct store *store)
{
	if (store->several)
		return store->bytes;
	return store->part ? writer_bytes(store->part->writer) : 0;
}

bool store_full(const struct store *store)
{
	return store->several ? store->max_bytes && store->bytes >= store->max_bytes
			      : writer_full(store->part->writer);
}

const struct part_result *store_result(const struct store *store)
{
	return store->several ? closer_result(store->closer) : &store->only;
}

unsigned store_parts(const struct store *store)
{
	return store->several ? closer_parts(store->closer) : 1;
}

/* ---- the end ---- */

/* What is kept at the end is saved, too. */
static int end_flight(struct store *store, struct snapshot_tasks *tasks, const struct part_end *end,
		      struct account_mark *to)
{
	struct closing closing;
	int err = closer_stop(store->closer), failed;

	flight_end(store->flight, store->t1, to, tasks, end);
	if (!store->part)
		store->part = closer_take(store->closer);
	if (!store->part)
		store->part = part_open(&store->options.plan, true);
	failed = store->part ? flight_save(store->flight, store->part, &closing) : -EIO;
	if (!failed) {
		store->part = NULL;
		failed = closer_do(store->closer, &closing);
	}
	return err ? err : failed;
}

int store_end(struct store *store, struct snapshot_tasks *tasks, const struct part_end *end,
	      bool left)
{
	struct account_mark *to =
		account_mark(store->options.account, left ? ACCOUNT_CUT : ACCOUNT_NOW);
	struct closing closing = {.part = store->part, .tasks = *tasks, .end = *end};
	int err = 0, failed;

	if (!to)
		return -ENOMEM;
	if (store->flight)
		return end_flight(store, tasks, end, to);

	*tasks = (struct snapshot_tasks){0};
	store->part->to = to;
	if (!store->several) {
		err = part_finish(store->part, store->options.account, &closing.tasks, end);
		store->only = store->part->result;
		snapshot_tasks_free(&closing.tasks);
		return err;
	}
	if (store->old)
		give_old(store);
	err = closer_stop(store->closer);
	closing.may_go = store->part->number > 1;
	failed = closer_do(store->closer, &closing);
	store->part = NULL;
	return err ? err : failed;
}

void store_close(struct store *store)
{
	if (store->flight)
		flight_fini(store->flight);
	free(store->flight);
	part_close(store->old);
	part_close(store->part);
	closer_free(store->closer);
	snapshot_tasks_free(&store->old_tasks);
	free(store->pending);
	*store = (struct store){0};
}
