/* SPDX-License-Identifier: MIT */
/*
 * trigger: what makes a flight recorder save of itself.
 *
 * In: ordered records; out: has it happened, and in words what. `latency>TIME` is a wanted thread
 * that has waited longer than this for a CPU, since it was woken or since the CPU was taken from
 * it. The name of a function that is probed (or of another place) is that a thread enters it. Pure.
 * Memory follows the threads: what is kept of one that waits is dropped when it runs.
 */
#ifndef USER_SINK_TRIGGER_H
#define USER_SINK_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "user/config/config.h"

#define TRIGGER_TEXT 256

struct site;

struct trigger {
	struct trigger_plan plan;
	bool met;
	uint64_t clock;		 /* once it is met: when */
	char text[TRIGGER_TEXT]; /* once it is met: why */

	struct trigger_page **pages; /* by task id: since when it waits, npages of them */
	size_t npages;
};

/* Reads "latency>5ms", or takes the text as the name of a place. NULL, or one clause that says what
 * is wrong: each can be given once. */
const char *trigger_parse(struct trigger_plan *plan, const char *text);

/* Finds plan->place by its name among the sites: as in the trace, or as its file has it. The bits
 * are for free(). 0; -ENOENT after one message if there is none; -ENOMEM. */
int trigger_find(struct trigger_plan *plan, const struct site *sites, size_t nsites,
		 uint64_t **bits) __attribute__((warn_unused_result));

/* Looks at a record; trigger->met stays set until the caller clears it. 0 or -ENOMEM. */
int trigger_look(struct trigger *trigger, const struct record_head *record);

void trigger_fini(struct trigger *trigger); /* also of a zeroed struct */

#endif
