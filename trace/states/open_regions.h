/* SPDX-License-Identifier: MIT */
/*
 * open_regions: the scheduling state of one thread and its open regions, at any event of its
 * stream.
 *
 * In: the events of one stream in their order; out: for each, whether the tables of the catalog
 * and the state of the thread allow it; and at any moment the events that close all open regions
 * and end the thread, or enter it again in the same condition. check, repair and cut use it.
 * Rules that need several streams (one running thread per CPU, tasks) are the emulator's.
 * Specification: models.md; event-mapping.md, "The thread state machine" and "Library APIs".
 */
#ifndef TRACE_STATES_OPEN_REGIONS_H
#define TRACE_STATES_OPEN_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/catalog/catalog.h"
#include "trace/ovni/event.h"
#include "trace/states/state_walk.h"

enum event_fault {
	FAULT_NONE,
	FAULT_UNKNOWN,	/* no model has the event */
	FAULT_SHORT,	/* required arguments are missing, or jumbo is wrong */
	FAULT_MOVE,	/* the state of the thread forbids the change of state */
	FAULT_STATE,	/* the model accepts no event in this state */
	FAULT_OUT,	/* ... while the thread is off the CPU */
	FAULT_REPEAT,	/* enters an open region again */
	FAULT_EMPTY,	/* leaves a region that is not open */
	FAULT_MISMATCH, /* leaves another region than the innermost one */
	FAULT_NOMEM,
	FAULT_COUNT
};
extern const char *const event_fault_names[FAULT_COUNT]; /* "is unknown to all models" */

struct open_region {
	const struct catalog_model *model;
	const struct catalog_event *entry; /* of the event that opened it */
	int64_t channel;		   /* of marks: their type; else 0 */
	uint8_t payload[EVENT_PAYLOAD_MAX], size;
	uint32_t mcv;
	bool single; /* set, not pushed */
	bool paused; /* a task body */
};

struct open_regions {
	struct sched_state thread;
	struct open_region *open; /* oldest first */
	size_t nopen;
	uint32_t room;
};

void open_regions_fini(
	struct open_regions *regions); /* a zeroed one with cpu = CPU_NONE is ready */

/* Applies the event. One that is not allowed also changes the regions, as far as it has a meaning.
 */
enum event_fault open_regions_step(struct open_regions *regions, const struct event *ev);

typedef int (*open_regions_put_fn)(void *arg, uint32_t mcv, const void *payload, size_t size);

/*
 * Puts the events that leave all open regions, innermost first, and end the thread; `regions`
 * changes accordingly. No event for a thread that is dead or never began. A non-zero return of
 * `put` ends the walk and is returned.
 */
int open_regions_close(struct open_regions *regions, open_regions_put_fn put, void *arg);

/*
 * Puts the events that begin a thread in the condition of `regions`, which does not change.
 * A thread that does not run is entered on the virtual CPU. An active one then moves to its own
 * CPU; a paused one cannot: *moves_later is set, and the caller moves it when it wakes.
 */
int open_regions_enter(const struct open_regions *regions, open_regions_put_fn put, void *arg,
		       bool *moves_later);

#endif
