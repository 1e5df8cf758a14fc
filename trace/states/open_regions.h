/* SPDX-License-Identifier: MIT */
/*
 * open_regions: what one thread has open at any event of its stream: its state, its CPU, and what
 * it has entered and not left.
 *
 * In: the events of one stream in their order; out: for each, whether the catalog's tables
 * and thread_state allow it; and at any moment the events that close everything and bring the
 * thread to dead, or enter it again as it stands. check, repair and cut are made of these.
 * What needs more than one stream (who else runs on the CPU, tasks) is the emulator's.
 * Specification: models.md; event-mapping.md, "The thread state machine" and "Library APIs".
 */
#ifndef TRACE_STATES_OPEN_REGIONS_H
#define TRACE_STATES_OPEN_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/catalog/catalog.h"
#include "trace/ovni/event.h"
#include "trace/ovni/thread_state.h"

enum track {
	TRACK_OK,
	TRACK_UNKNOWN,	/* no model knows the event */
	TRACK_SHORT,	/* the payload lacks required arguments, or jumbo is wrong */
	TRACK_MOVE,	/* the state of the thread forbids the change of state */
	TRACK_STATE,	/* the model accepts no event in this state */
	TRACK_OUT,	/* ... while the thread is out of the CPU */
	TRACK_REPEAT,	/* enters what it is in already */
	TRACK_EMPTY,	/* leaves what it never entered */
	TRACK_MISMATCH, /* leaves something else than what it entered last */
	TRACK_NOMEM,
	TRACK_COUNT
};
extern const char *const track_names[TRACK_COUNT]; /* "is not known to any model" */

struct tracked { /* one thing that is open, or set */
	const struct catalog_model *model;
	const struct catalog_event *entry; /* of the event that opened it */
	int64_t channel;		   /* of marks: their type; else 0 */
	uint8_t payload[EVENT_PAYLOAD_MAX], size;
	uint32_t mcv;
	bool single; /* set, not pushed */
	bool paused; /* a task body */
};

struct tracker {
	enum thread_state state;
	int32_t cpu;	      /* index, CPU_VIRTUAL or CPU_NONE (state_walk.h) */
	bool out;	      /* of the CPU, says the kernel model */
	struct tracked *open; /* oldest first */
	size_t nopen, room;
};

void tracker_fini(struct tracker *tracker); /* a zeroed one with cpu = CPU_NONE is ready */

/* Takes the effect of `ev` in, also of one that is not allowed, as far as it has a meaning. */
enum track tracker_step(struct tracker *tracker, const struct event *ev);

/* A thread moved by another one (OAr). */
void tracker_move(struct tracker *tracker, int32_t cpu);

typedef int (*tracker_put_fn)(void *arg, uint32_t mcv, const void *payload, size_t size);

/*
 * Puts the events that leave all that is open, innermost first, and bring the thread to
 * dead; the tracker follows. Nothing for a thread that is dead or was never begun. A non-zero
 * return of `put` ends the walk and is returned.
 */
int tracker_close(struct tracker *tracker, tracker_put_fn put, void *arg);

/*
 * Puts the events that begin a thread that stands as `tracker` does, which does not change.
 * One that does not run is entered on the virtual CPU; if it is active it then moves to its
 * own one, else the caller has to do that when it wakes: *moves_later is set.
 */
int tracker_enter(const struct tracker *tracker, tracker_put_fn put, void *arg, bool *moves_later);

#endif
