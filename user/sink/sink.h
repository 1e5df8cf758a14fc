/* SPDX-License-Identifier: MIT */
/*
 * sink: takes the ordered records of a session into one trace, or into several in turn.
 *
 * With --rotate a segment (one trace) ends where the next one begins. At the cut, every record
 * older than the watermark is in the old segment, and the new one carries over which threads run,
 * wait and sleep. A wake-up before the cut is reported only at the switch after it, so both
 * segments take the records until the tasks, read once at the cut, are known. Then the finalizer
 * thread closes the old segment. It also keeps an empty segment ready, so that the draining thread
 * never opens a file. A cut waits for the empty segment: a slow disk makes segments longer and
 * loses nothing.
 *
 * With --last nothing is written until a request: flight.h keeps the newest records, and a segment
 * is one saved window of them.
 *
 * Threads: sink_take() to sink_stop() belong to the draining thread; sink_request() to any; the
 * other functions to the session, while no draining thread runs.
 * Invariant: each switch is in exactly one segment, and the event counts of the segments add up to
 * the counts of the session. A gap that is open at the cut has a mark in both: the losses counted
 * by then belong to the old segment, the rest to the new one.
 * Specification: event-mapping.md "The thread state machine", "Clock and window", "Losses".
 */
#ifndef USER_SINK_SINK_H
#define USER_SINK_SINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/sink/segment.h"
#include "user/kernel/snapshot.h"
#include "user/timeline/timeline.h"
#include "user/sink/trigger.h"

struct event_counts;
struct finalizer;
struct finalizer_report;
struct flight;
struct bpf_load;

struct sink_options {
	struct segment_plan plan;
	uint64_t flush_ns;		  /* --flush-interval; 0: when buffers are full */
	uint64_t rotate_ns, rotate_bytes; /* --rotate; both 0: one trace */
	uint64_t last_ns, last_bytes;	  /* --last; both 0: no flight recorder */
	struct trigger_plan trigger;
	unsigned keep;		    /* --keep; 0: all */
	const struct bpf_load *bpf; /* to read the tasks at a cut */
	struct event_counts *counts;
};

struct sink {
	struct sink_options options;
	uint64_t max_bytes; /* of all segments together */
	bool several;

	/* Of the draining thread. */
	struct timeline *timeline; /* of the segment being recorded */
	struct segment *segment,
		*old;	    /* old: already cut; the tasks at the cut are not known yet */
	uint64_t flush_at;  /* ns; time of the next flush to the writer */
	uint64_t old_until; /* ns; later records do not concern the old segment */
	struct snapshot_tasks old_tasks;
	const char *old_why;
	uint64_t *pending; /* by CPU: losses reported in this segment, counted in the one before */
	struct segment_result before; /* sums of the segments already cut */
	bool stopped;

	struct flight *flight; /* --last; `segment` is then the save in progress, or NULL */
	uint64_t t1;

	struct finalizer *finalizer; /* NULL: a single segment */
	struct segment_result only;  /* of a single segment, after sink_end() */
	_Atomic bool requested;	     /* cut at the next opportunity */
	_Atomic uint64_t bytes;
};

/* Makes the first segment. 0 or -errno after one message; the caller must call sink_close() in
 * either case. */
int sink_open(struct sink *sink, const struct sink_options *options)
	__attribute__((warn_unused_result));

/* Opens the window at t0 (ns) with the given tasks; `begin` is copied. 0 or -errno after one
 * message. */
int sink_begin(struct sink *sink, uint64_t t0, const struct window_edge *begin,
	       const struct snapshot_tasks *tasks) __attribute__((warn_unused_result));

int sink_take_unusual(struct sink *sink, unsigned cpu, const struct record_head *record);

/* Takes the next record in clock order; returns as timeline_record() does. */
static inline int sink_take(struct sink *sink, unsigned cpu, const struct record_head *record)
{
	if (__builtin_expect(!sink->several && record->kind != RECORD_LOST, 1))
		return timeline_record(sink->timeline, cpu, record);
	return sink_take_unusual(sink, cpu, record);
}

/* Every record before `watermark` (ns) has been taken: flushes and cuts when due. 0 or -errno. */
int sink_advance(struct sink *sink, uint64_t watermark) __attribute__((warn_unused_result));

/* Closes the window at t1 (ns); `end` is copied. */
void sink_stop(struct sink *sink, uint64_t t1, const struct window_edge *end);

/* Sums of all segments so far; of the present one only the cheap counts. */
void sink_progress(const struct sink *sink, struct segment_result *figures);

/* Asks for a cut, or for a save of the flight recorder, as soon as possible. False without --rotate
 * or --last. */
bool sink_request(struct sink *sink);

/* Reports the segments that the finalizer has closed, one a call, false when there is no other.
 * sink_fd() is readable while there are some; -1 without --rotate or --last. */
int sink_fd(const struct sink *sink);
bool sink_report(struct sink *sink, struct finalizer_report *news);

/*
 * Closes the last segment, as segment_finish() does. Takes over `tasks` and empties it; `left`
 * means that records remain in the rings. 0, or the first error of any segment.
 */
int sink_end(struct sink *sink, struct snapshot_tasks *tasks, const struct segment_end *end,
	     bool left) __attribute__((warn_unused_result));

/* Sums over all segments, after sink_end(). */
const struct segment_result *sink_result(const struct sink *sink);
unsigned sink_segments(const struct sink *sink); /* number of segments */

/* Bytes of events written, or held by the flight recorder. Any thread. */
uint64_t sink_bytes(const struct sink *sink);
bool sink_full(const struct sink *sink); /* --max-size has been reached */

void sink_close(struct sink *sink);

#endif
