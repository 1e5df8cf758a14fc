/* SPDX-License-Identifier: MIT */
/*
 * trigger: what makes a flight recorder save of itself.
 *
 * In: ordered records; out: has it happened, and in words what. `latency>TIME` is a wanted thread
 * that has waited longer than this for a CPU, since it was woken or since the CPU was taken from
 * it. Pure. Memory follows the threads: what is kept of one that waits is dropped when it runs.
 */
#ifndef USER_TRIGGER_H
#define USER_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define TRIGGER_TEXT 128

struct trigger {
	uint64_t latency_ns; /* 0: no such trigger */
	bool met;
	char text[TRIGGER_TEXT]; /* once it is met: why */

	struct trigger_page **pages; /* by task id: since when it waits, npages of them */
	size_t npages;
};

/* Reads "latency>5ms". NULL, or one clause that says what is wrong. */
const char *trigger_parse(const char *text, uint64_t *latency_ns);

/* Looks at a record; trigger->met stays set until the caller clears it. 0 or -ENOMEM. */
int trigger_look(struct trigger *trigger, const struct record_head *record);

void trigger_fini(struct trigger *trigger); /* also of a zeroed struct */

#endif
