/* SPDX-License-Identifier: MIT */
/*
 * finalizer: the thread that closes parts while the next one is recorded, and keeps an empty one
 * ready.
 *
 * In: parts whose records are all known; out: finished traces on the disk, and news of them
 * for whoever talks to the user. One part at a time: until it is on the disk there is no other
 * empty one, and the giver goes on with the part that it has.
 * Invariant: what has been given is finished, or an error is kept, when finalizer_stop() returns.
 */
#ifndef USER_SINK_FINALIZER_H
#define USER_SINK_FINALIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "user/sink/segment.h"
#include "user/kernel/snapshot.h"
#include "user/sink/trigger.h"

struct account;
struct finalizer;

/* What is to be done with a part, all of which is taken over. */
struct finalizer_job {
	struct segment *segment;
	struct segment *next; /* is recorded already, and gets its number; NULL: none */
	bool may_go;	      /* it is not worth a trace if it has no streams */
	struct snapshot_tasks tasks;
	struct segment_end end;
	int (*fill)(void *arg,
		    struct segment *segment); /* gives it its records first; NULL: has them */
	void (*drop)(void *arg);
	void *arg;
};

struct finalizer_report {
	unsigned number;
	const char *why; /* as in struct segment_end */
	char trigger[TRIGGER_TEXT];
	struct segment_result result;
};

/* Starts the thread, with one empty part. `keep` is how many finished parts stay on the disk, 0:
 * all. Both pointers stay the caller's. NULL after one message. */
struct finalizer *finalizer_start(const struct segment_plan *plan, const struct account *account,
				  unsigned keep);

/* An empty part, the caller's from now on; NULL: there is none yet, or there was an error. */
struct segment *finalizer_take_empty(struct finalizer *finalizer);

/* The part gets the next number, in the caller's thread, before any is given. 0 or -errno. */
int finalizer_name(struct finalizer *finalizer, struct segment *segment)
	__attribute__((warn_unused_result));

/* Has a part closed (one without a number gets the next one). Never waits: only who has taken an
 * empty part has one to give. */
void finalizer_give(struct finalizer *finalizer, const struct finalizer_job *job);

/* Closes one in the caller's thread, after finalizer_stop(). 0 or -errno after one message. */
int finalizer_run(struct finalizer *finalizer, const struct finalizer_job *job)
	__attribute__((warn_unused_result));

int finalizer_fd(const struct finalizer *finalizer); /* readable when there are news */
bool finalizer_report(struct finalizer *finalizer, struct finalizer_report *news);
int finalizer_error(const struct finalizer *finalizer);

/* Waits until all is closed, and ends the thread. 0, or the first error. */
int finalizer_stop(struct finalizer *finalizer);

/* The sum over all parts, and how many. After finalizer_stop(). */
const struct segment_result *finalizer_result(const struct finalizer *finalizer);
unsigned finalizer_segments(const struct finalizer *finalizer);

void finalizer_free(struct finalizer *finalizer); /* stops it first; NULL is fine */

#endif
