/* SPDX-License-Identifier: MIT */
/*
 * sink: where the ordered records of a session go: into one trace, or into several, one after
 * the other.
 *
 * With --rotate a trace ends where the next one begins: at a cut all that is older than
 * the watermark has gone into the old part, and the new one inherits who runs, waits and sleeps.
 * Who was woken before the cut tells so when it runs; therefore records go to both
 * parts until the tasks, read once at the cut, are known. The old part is then closed by a
 * thread of the sink's own, which also keeps an empty part ready, so that the drain never opens
 * a file. A cut waits until there is one: a slow disk makes parts longer, it loses nothing.
 *
 * With --last nothing is written until it is asked for: flight.h keeps the newest records, and a
 * part is what it saves of them.
 *
 * Threads: sink_take() to sink_stop() belong to the drain; sink_request() is for
 * anybody; the rest is the session's, while no drain runs.
 * Invariant: each switch is in exactly one part, and the accounts of the parts add up to that of
 * the session.
 * Specification: event-mapping.md "The thread state machine", "Clock and window".
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

struct account;
struct finalizer;
struct finalizer_report;
struct flight;
struct links;

struct sink_options {
	struct segment_plan plan;
	uint64_t flush_ns;		  /* --flush-interval; 0: when buffers are full */
	uint64_t rotate_ns, rotate_bytes; /* --rotate; 0, 0: one trace */
	uint64_t last_ns, last_bytes;	  /* --last; 0, 0: no flight recorder */
	struct trigger_plan trigger;
	unsigned keep;		   /* --keep; 0: all */
	const struct links *links; /* for the tasks at a cut */
	struct account *account;
};

struct sink {
	struct sink_options options;
	uint64_t max_bytes; /* of all parts */
	bool several;

	/* The drain's. */
	struct timeline *timeline;     /* of the part that is recorded */
	struct segment *segment, *old; /* old: has been cut, but not all is known of it */
	uint64_t flush_at;	       /* ns; when what is buffered goes to the writer */
	uint64_t old_until;	       /* ns; what is taken beyond it tells nothing more of old */
	struct snapshot_tasks old_tasks;
	const char *old_why;
	uint64_t *pending; /* by CPU: lost, told in this part, counted in the one before */
	struct segment_result before; /* of the parts that have been cut */
	bool stopped;

	struct flight *flight; /* --last; `part` is then what is being saved, or NULL */
	uint64_t t1;

	struct finalizer *finalizer; /* NULL: one part */
	struct segment_result only;  /* of one part, after sink_end() */
	_Atomic bool requested;	     /* cut now */
	_Atomic uint64_t bytes;
};

/* Makes the first part. 0 or -errno after one message; sink_close() is due in any case. */
int sink_open(struct sink *sink, const struct sink_options *options)
	__attribute__((warn_unused_result));

/* The window opens at t0, with these tasks. 0 or -errno after one message. */
int sink_begin(struct sink *sink, uint64_t t0, const struct snapshot_tasks *tasks)
	__attribute__((warn_unused_result));

int sink_take_several(struct sink *sink, unsigned cpu, const struct record_head *record);

/* Takes the next record in order, as timeline_record(). */
static inline int sink_take(struct sink *sink, unsigned cpu, const struct record_head *record)
{
	if (__builtin_expect(!sink->several, 1))
		return timeline_record(sink->timeline, cpu, record);
	return sink_take_several(sink, cpu, record);
}

/* All records before `watermark` ns have been taken. Flushes and cuts, if it is time. 0 or
 * -errno. */
int sink_advance(struct sink *sink, uint64_t watermark) __attribute__((warn_unused_result));

/* The window closes at t1. */
void sink_stop(struct sink *sink, uint64_t t1);

/* What the parts have seen so far; of the present one only what is cheap to tell. */
void sink_progress(const struct sink *sink, struct segment_result *figures);

/* Have a new part begin, or what is kept be saved, as soon as possible. False if there is but one
 * part. */
bool sink_request(struct sink *sink);

/* A part has been closed: its news, as long as there are any. sink_fd() is readable then; it is
 * -1 if there is but one part. */
int sink_fd(const struct sink *sink);
bool sink_report(struct sink *sink, struct finalizer_report *news);

/*
 * The last part is closed, as segment_finish(). `tasks` is taken over (and emptied), `left`:
 * not all was taken out of the rings. Returns 0, or the first error of any part.
 */
int sink_end(struct sink *sink, struct snapshot_tasks *tasks, const struct segment_end *end,
	     bool left) __attribute__((warn_unused_result));

/* Of all parts, after sink_end(). */
const struct segment_result *sink_result(const struct sink *sink);
unsigned sink_segments(const struct sink *sink); /* how many there were */

/* Of events, or kept in memory; any thread. */
uint64_t sink_bytes(const struct sink *sink);
bool sink_full(const struct sink *sink); /* --max-size has been reached */

void sink_close(struct sink *sink);

#endif
