/* SPDX-License-Identifier: MIT */
/*
 * thread_priority: the scheduling priority of each thread in a walk over a trace (--why=prio).
 *
 * In: the labels of the marks titled "Priority" in the metadata (struct owner), and the events of
 * all streams in the order of the player; out: the label that holds for a thread now, and the one
 * that it had longest. A value holds until the next mark of its thread.
 * Specification: event-mapping.md "The priority of a thread".
 */
#ifndef TRACE_STATES_THREAD_PRIORITY_H
#define TRACE_STATES_THREAD_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/ovni/trace.h"

struct thread_priorities {
	const struct source *source;
	struct thread_priority *threads; /* of each stream; NULL: no stream has priorities */
};

/* Returns 0 or -ENOMEM. */
int thread_priorities_init(struct thread_priorities *priorities, const struct source *source)
	__attribute__((warn_unused_result));
void thread_priorities_fini(struct thread_priorities *priorities);

/* One event; returns whether the thread has another priority from here on. */
bool thread_priorities_step(struct thread_priorities *priorities, uint32_t stream,
			    const struct event *ev);

/* "SCHED_FIFO 50" (untrusted bytes); NULL: not known. */
const char *thread_priority_now(const struct thread_priorities *priorities, uint32_t stream);
/* The same of the priority that the thread had longest, until the clock `end`. */
const char *thread_priority_longest(const struct thread_priorities *priorities, uint32_t stream,
				    int64_t end);

#endif
