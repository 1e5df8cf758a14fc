/* SPDX-License-Identifier: MIT */
/*
 * flight: the flight recorder: keeps the newest records, and saves them as a trace when asked.
 *
 * In: ordered records, which go into a history; out: parts for the finalizer, each with the
 * records of the window [T0, T1] to be played into its timeline there. What the history
 * forgets is told to a timeline whose window never opens: it only knows who runs, waits and
 * sleeps at T0, and the saved trace inherits that. What is saved is kept, too: traces may overlap,
 * but those of triggers never do.
 * All of it belongs to the drain; what goes to the finalizer is shared with nobody.
 * Specification: loom.md 11 (drop-old), event-mapping.md "The thread state machine".
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

struct account;
struct segment_plan;
struct history;

struct flight_options {
	const struct segment_plan *plan;
	const struct account *account;
	bool iterate;	    /* at a save, have the tasks read (not in tests) */
	uint64_t ns, bytes; /* how much is kept; bytes is never 0 */
	struct trigger_plan trigger;
};

struct flight {
	struct flight_options options;
	struct history *history;
	struct trigger trigger;
	const struct record_head *taking; /* from this CPU; NULL: none just now */
	unsigned taking_cpu;

	/* What has been forgotten. */
	struct facts facts;
	struct topology topology;
	struct threads *threads;
	struct timeline *base;

	/* Of the save that has begun. */
	struct segment_end end;
	char text[TRIGGER_TEXT];
	uint64_t t1, until;
	struct account_mark *to;
	struct snapshot_tasks tasks;
	bool saving;
	bool short_told; /* that there is too little room */

	uint64_t saved_t1; /* of the last save */
	uint64_t records;  /* taken */
};

/* The window opens at t0, with these tasks. 0 or -errno after one message; flight_fini() is due. */
int flight_init(struct flight *flight, const struct flight_options *options, uint64_t t0,
		const struct snapshot_tasks *tasks) __attribute__((warn_unused_result));
void flight_fini(struct flight *flight);

int flight_take(struct flight *flight, unsigned cpu, const struct record_head *record);

/* All records before `watermark` have been taken: forgets what is too old. 0 or -errno. */
int flight_advance(struct flight *flight, uint64_t watermark) __attribute__((warn_unused_result));

/* Has a trigger been met, and would a trace that ends at t1 not overlap the last one? Stays so
 * until flight_begin(). */
bool flight_triggered(struct flight *flight, uint64_t t1);

/* A save begins: the trace ends at t1, up to which all has been taken. It is complete, and
 * flight_save() due, once all up to flight->until has been. 0 or -ENOMEM after one message. */
int flight_begin(struct flight *flight, uint64_t t1, const char *why)
	__attribute__((warn_unused_result));

/*
 * Makes of `part`, an empty one, what is to be given to the finalizer. 0, or -errno after one
 * message; the part is then still the caller's.
 */
int flight_save(struct flight *flight, struct segment *segment, struct finalizer_job *job)
	__attribute__((warn_unused_result));

/* The recording ends at t1, and so does this save. `to` (taken over) is the account then, `tasks`
 * (taken over) those of then. Then flight_save() is due. */
void flight_end(struct flight *flight, uint64_t t1, struct account_mark *to,
		struct snapshot_tasks *tasks, const struct segment_end *end);

#endif
