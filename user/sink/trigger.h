/* SPDX-License-Identifier: MIT */
/*
 * trigger: the event that makes a flight recorder save its records.
 *
 * In: ordered records; out: whether the trigger fired, and a sentence about it. `latency>TIME`
 * fires when a traced thread has waited longer than this for a CPU, since its wake-up or since it
 * lost its CPU. A function name (or another probed place) fires when a thread enters it. Both may
 * be limited to a process, a thread or a name. Pure. Memory follows the waiting threads, and, with
 * a limit by name, the threads with this name.
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
	uint64_t clock;		 /* ns, of the event; valid if met */
	char text[TRIGGER_TEXT]; /* the reason; valid if met */

	struct trigger_page **pages; /* npages of them, by task id */
	size_t npages;
};

/* Reads "latency>5ms", or takes the text as the name of a probed place; each may be given once,
 * with limits behind it: ",pid=N", ",tid=N", ",comm=GLOB". Returns NULL, or one clause about the
 * mistake. */
const char *trigger_parse(struct trigger_plan *plan, const char *text);
void trigger_plan_free(struct trigger_plan *plan); /* also of a zeroed struct */

/* Examines a task that exists when the recording begins. 0 or -ENOMEM after one message. */
int trigger_task(struct trigger *trigger, const struct record_task *task)
	__attribute__((warn_unused_result));

/* Checks that the processes and threads of the limits exist, below `proc`. 0, or -errno after one
 * message. */
int trigger_check(const struct trigger_plan *plan, const char *proc)
	__attribute__((warn_unused_result));

/* Finds plan->place among the sites by its label in the trace or its symbol. The caller frees
 * *bits. 0; -ENOENT after one message if there is none; -ENOMEM. */
int trigger_find(struct trigger_plan *plan, const struct site *sites, size_t nsites,
		 uint64_t **bits) __attribute__((warn_unused_result));

/* Examines a record; trigger->met stays set until the caller clears it. 0 or -ENOMEM. */
int trigger_record(struct trigger *trigger, const struct record_head *record);

void trigger_fini(struct trigger *trigger); /* also of a zeroed struct */

#endif
