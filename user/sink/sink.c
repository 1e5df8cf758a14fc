/* SPDX-License-Identifier: MIT */
/* sink: see sink.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/kernel/event_counts.h"
#include "user/host/clock.h"
#include "user/sink/finalizer.h"
#include "user/sink/flight.h"
#include "user/kernel/bpf_load.h"
#include "user/sink/history.h"
#include "user/sink/sink.h"
#include "user/timeline/threads.h"
#include "trace/base/log.h"
#include "user/writer/writer.h"

#define CUT_APART_NS 100000000 /* the opening events alone may exceed the size of --rotate */

int sink_open(struct sink *sink, const struct sink_options *options)
{
	*sink = (struct sink){
		.options = *options,
		.several = options->rotate_ns || options->rotate_bytes || options->last_bytes,
	};
	if (!sink->several) {
		sink->segment = segment_open(&sink->options.plan, false);
		return sink->segment ? 0 : -EIO;
	}
	sink->max_bytes = options->plan.max_bytes;
	sink->options.plan.max_bytes = 0;
	sink->pending = calloc(options->bpf->npossible, sizeof(*sink->pending));
	if (!sink->pending)
		return log_no_memory("for several traces");
	sink->finalizer = finalizer_start(&sink->options.plan, options->counts, options->keep);
	if (!sink->finalizer)
		return -EIO;
	if (options->last_bytes)
		return 0;
	sink->segment = finalizer_get_empty(sink->finalizer);
	return finalizer_name(sink->finalizer, sink->segment);
}

static int begin_flight(struct sink *sink, uint64_t t0, const struct window_edge *begin,
			const struct snapshot_tasks *tasks)
{
	const struct sink_options *o = &sink->options;
	const struct flight_options options = {
		.plan = &o->plan,
		.counts = o->counts,
		.iterate = true,
		.ns = o->last_ns,
		.bytes = o->last_bytes,
		.trigger = o->trigger,
	};

	sink->flight = calloc(1, sizeof(*sink->flight));
	if (sink->flight)
		return flight_init(sink->flight, &options, t0, begin, tasks);
	return log_no_memory("for the flight recorder");
}

int sink_begin(struct sink *sink, uint64_t t0, const struct window_edge *begin,
	       const struct snapshot_tasks *tasks)
{
	struct segment *segment = sink->segment;
	int err;

	if (sink->options.last_bytes)
		return begin_flight(sink, t0, begin, tasks);
	segment->info.begin = window_edge_copy(begin);
	err = segment_begin(segment, t0);
	if (err)
		return err;
	segment->from = event_counts_mark(sink->options.counts, COUNTS_OPENED);
	if (!segment->from)
		return -ENOMEM;
	sink->timeline = segment->timeline;
	return segment_add_tasks(segment->timeline, tasks);
}

/* ---- records ---- */

/* A record of losses may cover losses from before the window, which do not count, and from before
 * the cut, which the old segment has counted: only the rest belongs to this one. */
static int handle_lost(struct sink *sink, unsigned cpu, const struct record_lost *record)
{
	struct record_lost ours;
	uint64_t before;

	event_counts_take_lost(sink->options.counts, cpu, record, &ours);
	if (sink->flight)
		return flight_take(sink->flight, cpu, &ours.head);
	if (sink->pending && cpu < sink->options.bpf->npossible) {
		if (sink->old)
			event_counts_mark_gap(sink->old->to, cpu, ours.first_clock);
		before = sink->pending[cpu] < ours.count ? sink->pending[cpu] : ours.count;
		sink->pending[cpu] -= before;
		ours.count -= before;
		if (before)
			ours.first_clock = sink->segment->t0;
	}
	return timeline_record(sink->timeline, cpu, &ours.head);
}

int sink_take_unusual(struct sink *sink, unsigned cpu, const struct record_head *record)
{
	int err = 0;

	if (record->kind == RECORD_LOST)
		return handle_lost(sink, cpu, (const struct record_lost *)record);
	if (sink->flight)
		return flight_take(sink->flight, cpu, record);
	if (sink->old)
		err = timeline_record(sink->old->timeline, cpu, record);
	return err ? err : timeline_record(sink->timeline, cpu, record);
}

/* ---- cuts ---- */

/* Losses that no record has reported by the end of the segment belong to it, unless the previous
 * segment has counted them. */
static void count_open_gaps(const struct sink *sink, struct event_counts_mark *to)
{
	for (unsigned cpu = 0; cpu < sink->options.bpf->npossible; cpu++) {
		uint64_t unreported = event_counts_mark_unreported(to, cpu);
		uint64_t before = sink->pending ? sink->pending[cpu] : 0;

		to->cpus[cpu].gap_count = unreported > before ? unreported - before : 0;
	}
}

/* Ends the segment at the clock `at`, where `next` begins. */
static int cut(struct sink *sink, struct segment *next, uint64_t at, const char *why)
{
	const struct timeline_counts *counts = timeline_counts(sink->timeline);
	struct segment *segment = sink->segment;
	int err;

	segment->to = event_counts_mark(sink->options.counts, COUNTS_NOW);
	next->from = segment->to ? event_counts_mark_copy(sink->options.counts, segment->to) : NULL;
	if (!next->from) {
		segment_close(next);
		return -ENOMEM;
	}
	/* the writer reads `end` only when the segment is closed */
	window_edge_read(&segment->info.end, segment->info.proc, sink->options.bpf->npossible);
	next->info.begin = window_edge_copy(&segment->info.end);
	err = segment_begin(next, at);
	if (!err)
		err = timeline_carry_over(next->timeline, segment->timeline);
	if (err) {
		segment_close(next);
		return err;
	}
	count_open_gaps(sink, segment->to);
	for (unsigned cpu = 0; cpu < sink->options.bpf->npossible; cpu++)
		sink->pending[cpu] = event_counts_mark_unreported(segment->to, cpu);
	sink->before.records += counts->records;
	sink->before.events += counts->events;
	sink->before.bytes += counts->bytes;
	sink->before.threads += threads_streams(segment->threads);
	segment_stop(segment, at);
	sink->old = segment;
	sink->old_why = why;
	sink->segment = next;
	sink->timeline = next->timeline;
	/* without the tasks, a thread woken just before the cut would seem to sleep until the end
	 */
	if (snapshot_tasks(sink->options.bpf, false, &sink->old_tasks))
		log_warn("cannot find the threads that are runnable at the end of the trace");
	sink->old_until = clock_now();
	return 0;
}

static void submit_old(struct sink *sink)
{
	const struct finalizer_job job = {
		.segment = sink->old,
		.next = sink->segment,
		.tasks = sink->old_tasks,
		.end = {.stopped_by = sink->old_why, .command_status = -1},
	};

	finalizer_submit(sink->finalizer, &job);
	sink->old = NULL;
	sink->old_tasks = (struct snapshot_tasks){0};
}

static bool due(const struct sink *sink, uint64_t watermark)
{
	const struct sink_options *o = &sink->options;
	uint64_t length = watermark > sink->segment->t0 ? watermark - sink->segment->t0 : 0;

	/* a trace without events is not cut */
	if (length < CUT_APART_NS || !timeline_counts(sink->timeline)->events)
		return false;
	return (o->rotate_ns && length > o->rotate_ns) ||
	       (o->rotate_bytes && timeline_counts(sink->timeline)->bytes >= o->rotate_bytes);
}

/* A crash of the recorder loses at most the events since the last flush. */
static int flush(struct sink *sink, uint64_t watermark)
{
	if (!sink->options.flush_ns || watermark < sink->flush_at)
		return 0;
	sink->flush_at = watermark + sink->options.flush_ns;
	return threads_flush(sink->segment->threads);
}

static int save(struct sink *sink)
{
	struct finalizer_job job;
	int err = flight_save(sink->flight, sink->segment, &job);

	if (err)
		return err;
	sink->segment = NULL;
	finalizer_submit(sink->finalizer, &job);
	return 0;
}

static int turn_flight(struct sink *sink, uint64_t watermark)
{
	struct flight *flight = sink->flight;
	bool asked = atomic_load(&sink->requested), met;
	int err;

	if (watermark < 2)
		return 0;
	met = !sink->segment && flight_triggered(flight, watermark - 1);
	/* the last window ends at t1: its records stay, however late this is */
	err = flight_advance(flight, sink->stopped && watermark > sink->t1 ? sink->t1 : watermark);
	sink->bytes = history_memory(flight->history);
	if (err)
		return err;
	if (sink->segment)
		return watermark > flight->until ? save(sink) : 0;
	if (sink->stopped || !(asked || met))
		return 0;
	sink->segment = finalizer_get_empty(sink->finalizer);
	if (!sink->segment) /* the previous save is still being written */
		return 0;
	sink->requested = false;
	return flight_begin(flight, watermark - 1, asked ? "request" : "trigger");
}

int sink_advance(struct sink *sink, uint64_t watermark)
{
	const char *why = NULL;
	struct segment *next;
	int err = sink->finalizer ? finalizer_error(sink->finalizer) : 0;

	if (err)
		return err;
	if (sink->flight)
		return turn_flight(sink, watermark);
	err = flush(sink, watermark);
	if (err || !sink->several)
		return err;
	sink->bytes = sink->before.bytes + timeline_counts(sink->timeline)->bytes;
	if (sink->old) {
		if (watermark > sink->old_until)
			submit_old(sink);
		return 0;
	}
	if (sink->stopped || watermark <= sink->segment->t0 + 1)
		return 0;
	if (atomic_load(&sink->requested))
		why = "request";
	else if (due(sink, watermark))
		why = "rotation";
	next = why ? finalizer_get_empty(sink->finalizer) : NULL;
	if (!next)
		return 0;
	sink->requested = false;
	return cut(sink, next, watermark - 1, why);
}

void sink_stop(struct sink *sink, uint64_t t1, const struct window_edge *end)
{
	sink->stopped = true;
	sink->t1 = t1;
	if (sink->flight) {
		flight_stop(sink->flight, end);
		return;
	}
	sink->segment->info.end = window_edge_copy(end);
	segment_stop(sink->segment, t1);
}

bool sink_request(struct sink *sink)
{
	if (!sink->several)
		return false;
	sink->requested = true;
	return true;
}

int sink_fd(const struct sink *sink)
{
	return sink->finalizer ? finalizer_fd(sink->finalizer) : -1;
}

bool sink_report(struct sink *sink, struct finalizer_report *report)
{
	return sink->finalizer && finalizer_report(sink->finalizer, report);
}

/* ---- figures ---- */

void sink_progress(const struct sink *sink, struct segment_result *figures)
{
	const struct timeline_counts *counts;

	*figures = sink->before;
	if (sink->flight) {
		figures->records = sink->flight->records;
		figures->events = sink->flight->records;
		figures->bytes = history_memory(sink->flight->history);
		return;
	}
	counts = timeline_counts(sink->timeline);
	figures->records += counts->records;
	figures->events += counts->events;
	figures->bytes += counts->bytes;
	figures->threads += threads_streams(sink->segment->threads);
}

uint64_t sink_bytes(const struct sink *sink)
{
	if (sink->several)
		return sink->bytes;
	return sink->segment ? writer_bytes(sink->segment->writer) : 0;
}

bool sink_full(const struct sink *sink)
{
	return sink->several ? sink->max_bytes && sink->bytes >= sink->max_bytes
			     : writer_full(sink->segment->writer);
}

const struct segment_result *sink_result(const struct sink *sink)
{
	return sink->several ? finalizer_result(sink->finalizer) : &sink->only;
}

unsigned sink_segments(const struct sink *sink)
{
	return sink->several ? finalizer_segments(sink->finalizer) : 1;
}

/* ---- the end ---- */

/* Saves the content of the flight recorder at the end of the session. */
static int end_flight(struct sink *sink, struct snapshot_tasks *tasks,
		      const struct segment_end *end, struct event_counts_mark *to)
{
	struct finalizer_job job;
	int err = finalizer_stop(sink->finalizer), failed;

	flight_end(sink->flight, sink->t1, to, tasks, end);
	if (!sink->segment)
		sink->segment = finalizer_get_empty(sink->finalizer);
	if (!sink->segment)
		sink->segment = segment_open(&sink->options.plan, true);
	failed = sink->segment ? flight_save(sink->flight, sink->segment, &job) : -EIO;
	if (!failed) {
		sink->segment = NULL;
		failed = finalizer_run(sink->finalizer, &job);
	}
	return err ? err : failed;
}

int sink_end(struct sink *sink, struct snapshot_tasks *tasks, const struct segment_end *end,
	     bool left)
{
	struct event_counts_mark *to =
		event_counts_mark(sink->options.counts, left ? COUNTS_CUT : COUNTS_NOW);
	struct finalizer_job job = {.segment = sink->segment, .tasks = *tasks, .end = *end};
	int err = 0, failed;

	if (!to)
		return -ENOMEM;
	if (sink->flight)
		return end_flight(sink, tasks, end, to);

	*tasks = (struct snapshot_tasks){0};
	count_open_gaps(sink, to);
	sink->segment->to = to;
	if (!sink->several) {
		err = segment_finish(sink->segment, sink->options.counts, &job.tasks, end);
		sink->only = sink->segment->result;
		snapshot_tasks_free(&job.tasks);
		return err;
	}
	if (sink->old)
		submit_old(sink);
	err = finalizer_stop(sink->finalizer);
	job.drop_empty = sink->segment->number > 1;
	failed = finalizer_run(sink->finalizer, &job);
	sink->segment = NULL;
	return err ? err : failed;
}

void sink_close(struct sink *sink)
{
	if (sink->flight)
		flight_fini(sink->flight);
	free(sink->flight);
	segment_close(sink->old);
	segment_close(sink->segment);
	finalizer_free(sink->finalizer);
	snapshot_tasks_free(&sink->old_tasks);
	free(sink->pending);
	*sink = (struct sink){0};
}
