/* SPDX-License-Identifier: MIT */
/*
 * finalizer: the thread that closes parts while the next one is recorded, and keeps an empty one
 * ready.
 *
 * In: parts whose records are all known; out: finished traces on the disk, and news of them
 * for whoever talks to the user. One part at a time: until it is on the disk there is no other
 * empty one, and the giver goes on with the part that it has.
 * Invariant: what has been given is finished, or an error is kept, when closer_stop() returns.
 */
#ifndef USER_SINK_FINALIZER_H
#define USER_SINK_FINALIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "user/sink/segment.h"
#include "user/kernel/snapshot.h"
#include "user/sink/trigger.h"

struct account;
struct closer;

/* What is to be done with a part, all of which is taken over. */
struct closing {
	struct part *part;
	struct part *next; /* is recorded already, and gets its number; NULL: none */
	bool may_go;	   /* it is not worth a trace if it has no streams */
	struct snapshot_tasks tasks;
	struct part_end end;
	int (*fill)(void *arg, struct part *part); /* gives it its records first; NULL: has them */
	void (*drop)(void *arg);
	void *arg;
};

struct closer_news {
	unsigned number;
	const char *why; /* as in struct part_end */
	char trigger[TRIGGER_TEXT];
	struct part_result result;
};

/* Starts the thread, with one empty part. `keep` is how many finished parts stay on the disk, 0:
 * all. Both pointers stay the caller's. NULL after one message. */
struct closer *closer_start(const struct part_plan *plan, const struct account *account,
			    unsigned keep);

/* An empty part, the caller's from now on; NULL: there is none yet, or there was an error. */
struct part *closer_take(struct closer *closer);

/* The part gets the next number, in the caller's thread, before any is given. 0 or -errno. */
int closer_settle(struct closer *closer, struct part *part) __attribute__((warn_unused_result));

/* Has a part closed (one without a number gets the next one). Never waits: only who has taken an
 * empty part has one to give. */
void closer_give(struct closer *closer, const struct closing *closing);

/* Closes one in the caller's thread, after closer_stop(). 0 or -errno after one message. */
int closer_do(struct closer *closer, const struct closing *closing)
	__attribute__((warn_unused_result));

int closer_fd(const struct closer *closer); /* readable when there are news */
bool closer_news(struct closer *closer, struct closer_news *news);
int closer_error(const struct closer *closer);

/* Waits until all is closed, and ends the thread. 0, or the first error. */
int closer_stop(struct closer *closer);

/* The sum over all parts, and how many. After closer_stop(). */
const struct part_result *closer_result(const struct closer *closer);
unsigned closer_parts(const struct closer *closer);

void closer_free(struct closer *closer); /* stops it first; NULL is fine */

#endif
