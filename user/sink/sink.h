/* SPDX-License-Identifier: MIT */
/*
 * sink: where the ordered records of a session go: into one trace, or into several, one after
 * the other.
 *
 * With --rotate a trace ends where the next one begins: at a cut all that is older than
 * the watermark has gone into the old part, and the new one inherits who runs, waits and sleeps.
 * Who was woken before the cut tells so when it runs; therefore records go to both
 * parts until the tasks, read once at the cut, are known. The old part is then closed by a
 * thread of the store's own, which also keeps an empty part ready, so that the drain never opens
 * a file. A cut waits until there is one: a slow disk makes parts longer, it loses nothing.
 *
 * With --last nothing is written until it is asked for: flight.h keeps the newest records, and a
 * part is what it saves of them.
 *
 * Threads: store_take() to store_stop() belong to the drain; store_request() is for
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
struct closer;
struct closer_news;
struct flight;
struct links;

struct store_options {
	struct part_plan plan;
	uint64_t flush_ns;		  /* --flush-interval; 0: when buffers are full */
	uint64_t rotate_ns, rotate_bytes; /* --rotate; 0, 0: one trace */
	uint64_t last_ns, last_bytes;	  /* --last; 0, 0: no flight recorder */
	struct trigger_plan trigger;
	unsigned keep;		   /* --keep; 0: all */
	const struct links *links; /* for the tasks at a cut */
	struct account *account;
};

struct store {
	struct store_options options;
	uint64_t max_bytes; /* of all parts */
	bool several;

	/* The drain's. */
	struct timeline *timeline; /* of the part that is recorded */
	struct part *part, *old;   /* old: has been cut, but not all is known of it */
	uint64_t flush_at;	   /* ns; when what is buffered goes to the writer */
	uint64_t old_until;	   /* ns; what is taken beyond it tells nothing more of old */
	struct snapshot_tasks old_tasks;
	const char *old_why;
	uint64_t *pending;	   /* by CPU: lost, told in this part, counted in the one before */
	struct part_result before; /* of the parts that have been cut */
	bool stopped;

	struct flight *flight; /* --last; `part` is then what is being saved, or NULL */
	uint64_t t1;

	struct closer *closer;	 /* NULL: one part */
	struct part_result only; /* of one part, after store_end() */
	_Atomic bool requested;	 /* cut now */
	_Atomic uint64_t bytes;
};

/* Makes the first part. 0 or -errno after one message; store_close() is due in any case. */
int store_open(struct store *store, const struct store_options *options)
	__attribute__((warn_unused_result));

/* The window opens at t0, with these tasks. 0 or -errno after one message. */
int store_begin(struct store *store, uint64_t t0, const struct snapshot_tasks *tasks)
	__attribute__((warn_unused_result));

int store_take_several(struct store *store, unsigned cpu, const struct record_head *record);

/* Takes the next record in order, as timeline_record(). */
static inline int store_take(struct store *store, unsigned cpu, const struct record_head *record)
{
	if (__builtin_expect(!store->several, 1))
		return timeline_record(store->timeline, cpu, record);
	return store_take_several(store, cpu, record);
}

/* All records before `watermark` ns have been taken. Flushes and cuts, if it is time. 0 or
 * -errno. */
int store_turn(struct store *store, uint64_t watermark) __attribute__((warn_unused_result));

/* The window closes at t1. */
void store_stop(struct store *store, uint64_t t1);

/* What the parts have seen so far; of the present one only what is cheap to tell. */
void store_figures(const struct store *store, struct part_result *figures);

/* Have a new part begin, or what is kept be saved, as soon as possible. False if there is but one
 * part. */
bool store_request(struct store *store);

/* A part has been closed: its news, as long as there are any. store_fd() is readable then; it is
 * -1 if there is but one part. */
int store_fd(const struct store *store);
bool store_news(struct store *store, struct closer_news *news);

/*
 * The last part is closed, as part_finish(). `tasks` is taken over (and emptied), `left`:
 * not all was taken out of the rings. Returns 0, or the first error of any part.
 */
int store_end(struct store *store, struct snapshot_tasks *tasks, const struct part_end *end,
	      bool left) __attribute__((warn_unused_result));

/* Of all parts, after store_end(). */
const struct part_result *store_result(const struct store *store);
unsigned store_parts(const struct store *store); /* how many there were */

/* Of events, or kept in memory; any thread. */
uint64_t store_bytes(const struct store *store);
bool store_full(const struct store *store); /* --max-size has been reached */

void store_close(struct store *store);

#endif
