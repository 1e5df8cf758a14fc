/* SPDX-License-Identifier: MIT */
/*
 * finalizer: the thread that closes segments while the next one is recorded, and keeps an empty one
 * ready.
 *
 * In: segments with all their records; out: finished traces on the disk, and a report of each for
 * the user. One segment at a time: until it is on the disk there is no other empty one, and the
 * draining thread keeps its present segment.
 * Invariant: when finalizer_stop() returns, every submitted segment is finished, or the error is
 * kept.
 */
#ifndef USER_SINK_FINALIZER_H
#define USER_SINK_FINALIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "user/sink/segment.h"
#include "user/kernel/snapshot.h"
#include "user/sink/trigger.h"

struct event_counts;
struct finalizer;

/* One segment to close. The finalizer takes over everything here. */
struct finalizer_job {
	struct segment *segment;
	struct segment *next; /* already being recorded; gets its number now; NULL: none */
	bool drop_empty;      /* remove the trace if it has no streams */
	struct snapshot_tasks tasks;
	struct segment_end end;
	int (*fill)(void *arg,
		    struct segment *segment); /* plays the records into it; NULL: it has them */
	void (*drop)(void *arg);
	void *arg;
};

/* A finished segment. */
struct finalizer_report {
	unsigned number;
	const char *why; /* stopped_by of struct segment_end */
	char trigger[TRIGGER_TEXT];
	struct segment_result result;
};

/* Starts the thread, with one empty segment. `keep` finished segments stay on the disk; 0: all.
 * The caller keeps both pointers. NULL after one message. */
struct finalizer *finalizer_start(const struct segment_plan *plan,
				  const struct event_counts *counts, unsigned keep);

/* Gives the empty segment to the caller; NULL if it is not ready, or after an error. */
struct segment *finalizer_get_empty(struct finalizer *finalizer);

/* Gives the first segment its number, in the thread of the caller. 0 or -errno after one message.
 */
int finalizer_name(struct finalizer *finalizer, struct segment *segment)
	__attribute__((warn_unused_result));

/* Queues a segment to close; one without a number gets the next. Never waits: at most one segment
 * is outstanding. */
void finalizer_submit(struct finalizer *finalizer, const struct finalizer_job *job);

/* Closes a segment in the thread of the caller, after finalizer_stop(). 0 or -errno after one
 * message. */
int finalizer_run(struct finalizer *finalizer, const struct finalizer_job *job)
	__attribute__((warn_unused_result));

int finalizer_fd(const struct finalizer *finalizer); /* readable while there are reports */
bool finalizer_report(struct finalizer *finalizer, struct finalizer_report *report);
int finalizer_error(const struct finalizer *finalizer);

/* Waits for all segments given, and ends the thread. 0, or the first error. */
int finalizer_stop(struct finalizer *finalizer);

/* Sums over all segments, and their number. After finalizer_stop(). */
const struct segment_result *finalizer_result(const struct finalizer *finalizer);
unsigned finalizer_segments(const struct finalizer *finalizer);

void finalizer_free(struct finalizer *finalizer); /* stops it first; NULL is fine */

#endif
