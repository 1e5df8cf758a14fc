/* SPDX-License-Identifier: MIT */
/*
 * flight: the flight recorder: keeps the newest records and saves them as a trace on request.
 *
 * In: ordered records, kept in a history; out: segments for the finalizer, each with the records of
 * its window [T0, T1], which the finalizer plays into the timeline of the segment. Discarded
 * records go to a timeline whose window never opens: it only knows which threads run, wait and
 * sleep at T0, and the saved trace carries that over. Saved records stay in the history: traces may
 * overlap, but traces of triggers never do. A gap belongs as a whole to each trace whose window it
 * overlaps, also if it is still open in the kernel. Everything here belongs to the draining thread;
 * a job for the finalizer is shared with no other. Specification: loom.md 11 (drop-old),
 * event-mapping.md "The thread state machine", "Losses".
 */
#ifndef USER_SINK_FLIGHT_H
#define USER_SINK_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/sink/finalizer.h"
#include "user/kernel/snapshot.h"
#include "user/timeline/timeline.h"
#include "user/host/topology.h"
#include "user/sink/trigger.h"

struct event_counts;
struct segment_plan;
struct history;

struct flight_options {
	const struct segment_plan *plan;
	const struct event_counts *counts;
	bool iterate;	    /* read the tasks at a save (not in tests) */
	uint64_t ns, bytes; /* time and memory to keep; bytes is never 0 */
	struct trigger_plan trigger;
};

struct flight {
	struct flight_options options;
	struct history *history;
	struct trigger trigger;
	const struct record_head *taking; /* the record being taken; NULL: none */
	unsigned taking_cpu;

	/* State at the start of the history, from the discarded records. */
	struct session_info info;
	struct topology topology;
	struct threads *threads;
	struct timeline *base;
	struct window_edge begin; /* of the session, without steal */

	/* Of the save in progress. */
	struct segment_end end;
	char text[TRIGGER_TEXT];
	uint64_t t1, until;
	struct event_counts_mark *to;
	struct snapshot_tasks tasks;
	struct window_edge edge; /* its end, without steal: that at its begin is not known */
	bool saving, ended;
	bool short_reported; /* the user knows that the memory is too small */

	uint64_t saved_t1; /* end of the last save */
	uint64_t records;  /* number of records taken */
};

/* Opens the window at t0 (ns) with the given tasks; `begin` is copied. 0 or -errno after one
 * message; the caller must call flight_fini() in either case. */
int flight_init(struct flight *flight, const struct flight_options *options, uint64_t t0,
		const struct window_edge *begin, const struct snapshot_tasks *tasks)
	__attribute__((warn_unused_result));
void flight_fini(struct flight *flight);

int flight_take(struct flight *flight, unsigned cpu, const struct record_head *record);

/* Every record before `watermark` (ns) has been taken: discards old ones. 0 or -errno. */
int flight_advance(struct flight *flight, uint64_t watermark) __attribute__((warn_unused_result));

/* True if a trigger fired and a trace that ends at t1 does not overlap the last one. Stays true
 * until flight_begin(). */
bool flight_triggered(struct flight *flight, uint64_t t1);

/* Begins a save of a trace that ends at t1; every record up to t1 has been taken. The caller calls
 * flight_save() after it has taken every record up to flight->until. 0 or -ENOMEM after one
 * message.
 */
int flight_begin(struct flight *flight, uint64_t t1, const char *why)
	__attribute__((warn_unused_result));

/*
 * Makes a job for the finalizer from the empty segment. 0, or -errno after one message; the caller
 * then still owns the segment.
 */
int flight_save(struct flight *flight, struct segment *segment, struct finalizer_job *job)
	__attribute__((warn_unused_result));

/* The window has closed; `end` is copied. */
void flight_stop(struct flight *flight, const struct window_edge *end);

/* The recording, and with it the last save, ends at t1. Takes over `to`, the event counts, and
 * `tasks`, both of that time. The caller calls flight_save() next. */
void flight_end(struct flight *flight, uint64_t t1, struct event_counts_mark *to,
		struct snapshot_tasks *tasks, const struct segment_end *end);

#endif
