/* SPDX-License-Identifier: MIT */
/* flight: see flight.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/kernel/event_counts.h"
#include "user/host/clock.h"
#include "user/sink/flight.h"
#include "user/kernel/bpf_load.h"
#include "user/sink/segment.h"
#include "user/sink/history.h"
#include "user/timeline/threads.h"
#include "trace/base/log.h"

#define HISTORY_TEXT 80

/* ---- discarded records ---- */

/* The event counts when a chunk begins. Its first record has already left the ring. */
static void *note(void *arg)
{
	const struct flight *flight = arg;
	struct event_counts_mark *mark = event_counts_mark(flight->options.counts, COUNTS_NOW);

	if (mark && flight->taking)
		event_counts_mark_untake(mark, flight->taking_cpu, flight->taking);
	return mark;
}

static int discarded(void *arg, unsigned cpu, const struct record_head *record)
{
	const struct flight *flight = arg;

	return timeline_record(flight->base, cpu, record);
}

static int begin_base(struct flight *flight, const struct snapshot_tasks *tasks)
{
	struct timeline_options options = flight->options.plan->timeline;
	int err;

	options.t0 = UINT64_MAX;
	flight->info = flight->options.plan->info;
	flight->info.proc = NULL; /* nothing is ever written */
	err = topology_copy(&flight->topology, flight->options.plan->topology);
	if (err)
		return err;
	flight->threads = threads_new(NULL, &flight->info, &flight->topology);
	if (flight->threads)
		flight->base = timeline_new(&options, flight->threads, &flight->topology);
	if (!flight->base)
		return -ENOMEM;
	return segment_add_tasks(flight->base, tasks);
}

int flight_init(struct flight *flight, const struct flight_options *options, uint64_t t0,
		const struct window_edge *begin, const struct snapshot_tasks *tasks)
{
	const struct history_options history = {
		.bytes = options->bytes,
		.ns = options->ns,
		.discarded = discarded,
		.note = note,
		.drop_note = free,
		.note_bytes = event_counts_mark_size(options->counts),
		.arg = flight,
	};
	int err;

	*flight = (struct flight){
		.options = *options,
		.trigger.plan = options->trigger,
		.saved_t1 = t0,
		.begin = *begin,
	};
	flight->begin.steal_ns = NULL; /* not known at the beginning of a saved window */
	flight->begin.irqs = NULL;
	err = begin_base(flight, tasks);
	if (err)
		return err == -ENOMEM ? log_no_memory("for the flight recorder") : err;
	for (size_t i = 0; tasks && i < tasks->ntasks; i++) {
		err = trigger_task(&flight->trigger, &tasks->tasks[i].task);
		if (err)
			return err;
	}
	flight->history = history_new(&history, t0);
	return flight->history ? 0 : log_no_memory("for the flight recorder");
}

void flight_fini(struct flight *flight)
{
	history_free(flight->history);
	trigger_fini(&flight->trigger);
	timeline_free(flight->base);
	threads_free(flight->threads);
	topology_free(&flight->topology);
	free(flight->to);
	snapshot_tasks_free(&flight->tasks);
	memset(flight, 0, sizeof(*flight));
}

/* ---- records ---- */

int flight_take(struct flight *flight, unsigned cpu, const struct record_head *record)
{
	int err = trigger_record(&flight->trigger, record);

	/* a gap that the save in progress counts as open */
	if (record->kind == RECORD_LOST && flight->saving)
		event_counts_mark_gap(flight->to, cpu,
				      ((const struct record_lost *)record)->first_clock);
	flight->taking = record;
	flight->taking_cpu = cpu;
	if (!err)
		err = history_put(flight->history, cpu, record);
	flight->taking = NULL;
	if (err == -ENOMEM)
		log_no_memory("for the flight recorder");
	flight->records++;
	return err;
}

/* During a save, or while one waits for the previous, records are discarded only if the history is
 * full. / */
int flight_advance(struct flight *flight, uint64_t watermark)
{
	return flight->saving || flight->trigger.met ? 0
						     : history_advance(flight->history, watermark);
}

/* Start of a window that ends at t1: the time to keep before t1 (or before the trigger), or the
 * start of the history; never within a chunk, so that the event counts are exact. */
static uint64_t window_start(const struct flight *flight, uint64_t t1)
{
	uint64_t ns = flight->options.ns, start = history_start(flight->history),
		 first = history_first(flight->history), t0 = start, end = t1;

	if (flight->trigger.met && flight->trigger.clock < end)
		end = flight->trigger.clock;
	if (ns && end > ns && end - ns > t0)
		t0 = end - ns;
	if (first && t0 >= first)
		t0 = first > start ? first - 1 : start;
	return t0 < t1 ? t0 : t1;
}

/* A trigger that fires within the last saved window is dropped. */
bool flight_triggered(struct flight *flight, uint64_t t1)
{
	uint64_t t0 = window_start(flight, t1);

	if (t0 < flight->saved_t1 || t0 >= flight->trigger.clock)
		flight->trigger.met = false;
	return flight->trigger.met;
}

/* The words about its trigger in a trace: the reason, and the length of the history before it if
 * that is shorter than --last. A trigger does not wait for more, which would come after the event.
 * Returns the clock, ns, from which on there is history. */
static uint64_t name_trigger(struct flight *flight, uint64_t t1)
{
	uint64_t t0 = window_start(flight, t1), before = flight->trigger.clock - t0;
	char more[HISTORY_TEXT] = "";

	if (before < flight->options.ns)
		snprintf(more, sizeof(more), "; history of %.3f s before it instead of %.3f s",
			 (double)before / 1e9, (double)flight->options.ns / 1e9);
	snprintf(flight->text, sizeof(flight->text), "%.*s%s", TRIGGER_TEXT - HISTORY_TEXT,
		 flight->trigger.text, more);
	flight->end.trigger = flight->text;
	return t0;
}

/* Warns if a trigger fires before the history has the requested length. */
static void warn_if_young(const struct flight *flight, uint64_t t0)
{
	uint64_t before = flight->trigger.clock - t0;

	if (before < flight->options.ns && !history_short(flight->history))
		log_warn("--trigger: the recording is young: the trace has %.3f s before the "
			 "trigger instead of %.3f s",
			 (double)before / 1e9, (double)flight->options.ns / 1e9);
}

/* The losses that no record has reported by the end of the window belong to it. */
static void count_open_gaps(struct flight *flight)
{
	for (unsigned cpu = 0; cpu < flight->options.counts->bpf->npossible; cpu++)
		flight->to->cpus[cpu].gap_count = event_counts_mark_unreported(flight->to, cpu);
}

int flight_begin(struct flight *flight, uint64_t t1, const char *why)
{
	flight->to = event_counts_mark(flight->options.counts, COUNTS_NOW);
	if (!flight->to)
		return -ENOMEM;
	count_open_gaps(flight);
	flight->end = (struct segment_end){.stopped_by = why, .command_status = -1, .aged = true};
	if (flight->trigger.met)
		warn_if_young(flight, name_trigger(flight, t1));
	flight->t1 = t1;
	window_edge_read(&flight->edge, NULL, 0);
	flight->saving = true;
	if (flight->options.iterate &&
	    snapshot_tasks(flight->options.counts->bpf, false, &flight->tasks))
		log_warn("cannot find the threads that are runnable at the end of the trace");
	flight->until = clock_now();
	return 0;
}

/* ---- saving ---- */

/* A save on its way to the finalizer. */
struct saving {
	struct history_hold_set held;
	struct segment *segment;
	uint64_t t1;
	bool ended; /* the session has: all gaps that began in the window are in records */
	char text[TRIGGER_TEXT];
};

static void drop(void *arg)
{
	struct saving *saving = arg;

	history_release(&saving->held);
	free(saving);
}

static int play(void *arg, unsigned cpu, const struct record_head *record)
{
	struct saving *saving = arg;
	struct segment *segment = saving->segment;

	if (record->clock > saving->t1 && !segment->t1)
		segment_stop(segment, saving->t1);
	if (record->kind == RECORD_LOST && record->clock > saving->t1 && !saving->ended)
		return 0; /* counted as open: segment->to */
	return timeline_record(segment->timeline, cpu, record);
}

static int fill(void *arg, struct segment *segment)
{
	struct saving *saving = arg;
	int err;

	saving->segment = segment;
	err = history_play(&saving->held, play, saving);
	if (!segment->t1)
		segment_stop(segment, saving->t1);
	return err;
}

static struct saving *saving_new(struct flight *flight)
{
	struct saving *saving = calloc(1, sizeof(*saving));

	if (!saving)
		return NULL;
	saving->ended = flight->ended;
	saving->t1 = flight->t1;
	memcpy(saving->text, flight->text, sizeof(saving->text));
	if (history_hold(flight->history, &saving->held)) {
		drop(saving);
		return NULL;
	}
	return saving;
}

int flight_save(struct flight *flight, struct segment *segment, struct finalizer_job *job)
{
	struct saving *saving = saving_new(flight);
	int err = -ENOMEM;

	if (!saving)
		goto no_memory;
	segment->from = event_counts_mark_copy(flight->options.counts, saving->held.note);
	if (!segment->from)
		goto no_memory;
	event_counts_mark_before_gaps(flight->options.counts, segment->from);
	segment->info.begin = flight->begin;
	segment->info.end = flight->edge;
	err = segment_begin(segment, window_start(flight, flight->t1));
	if (err)
		goto failed;
	err = timeline_carry_over(segment->timeline, flight->base);
	if (err)
		goto failed;
	if (history_short(flight->history) && !flight->short_reported) {
		flight->short_reported = true;
		log_warn("--last: the memory holds %.3f s instead of %.3f s (give it more, as in "
			 "--last 10s,1G)",
			 (double)(flight->t1 - segment->t0) / 1e9,
			 (double)flight->options.ns / 1e9);
	}
	segment->to = flight->to;
	*job = (struct finalizer_job){
		.segment = segment,
		.tasks = flight->tasks,
		.end = flight->end,
		.fill = fill,
		.drop = drop,
		.arg = saving,
	};
	if (flight->end.trigger)
		job->end.trigger = saving->text;
	flight->to = NULL;
	flight->tasks = (struct snapshot_tasks){0};
	flight->saving = false;
	flight->saved_t1 = flight->t1;
	flight->trigger.met = false;
	return 0;
no_memory:
	log_no_memory("for the trace to be saved");
failed:
	if (saving)
		drop(saving);
	return err;
}

void flight_stop(struct flight *flight, const struct window_edge *end)
{
	flight->edge = *end;
	flight->edge.steal_ns = NULL;
	flight->edge.irqs = NULL;
}

void flight_end(struct flight *flight, uint64_t t1, struct event_counts_mark *to,
		struct snapshot_tasks *tasks, const struct segment_end *end)
{
	free(flight->to);
	snapshot_tasks_free(&flight->tasks);
	flight->to = to;
	flight->ended = true;
	count_open_gaps(flight);
	flight->tasks = *tasks;
	*tasks = (struct snapshot_tasks){0};
	flight->t1 = t1;
	flight->end = *end;
	flight->end.aged = true;
	if (flight_triggered(flight, t1))
		name_trigger(flight, t1);
}
