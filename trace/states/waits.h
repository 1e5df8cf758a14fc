/* SPDX-License-Identifier: MIT */
/*
 * waits: why a thread waits for a CPU.
 *
 * In: the condition of a thread in a walk (intervals.h); out: whether it is runnable without a CPU,
 * and the cause. A thread waits while it is Warming; with events of the kernel model, from the KCO
 * of a runnable thread to its KCI; a newborn, from its creator's OHC to its OHx. Specification:
 * event-mapping.md, "The thread state machine".
 */
#ifndef TRACE_STATES_WAITS_H
#define TRACE_STATES_WAITS_H

#include "trace/states/intervals.h"

enum wait_cause {
	WAIT_PREEMPTED,
	WAIT_YIELDED,
	WAIT_THROTTLED, /* by the CPU quota of a cgroup */
	WAIT_WOKEN,	/* by a thread, an interrupt, or an unknown waker */
	WAIT_NEWBORN,
	WAIT_CAUSES
};

/* Whether the thread of a stream waits after the present event, and why. A newborn does not: see
 * wait_newborn(). */
bool wait_cause_now(const struct intervals *intervals, uint32_t stream, enum wait_cause *cause);

/* The CPU on whose queue the thread of a stream begins to wait after the present event, which is
 * the last one of the stream; `cpu` is the CPU of its state. At a wake-up the scheduler chooses the
 * CPU at once, and the stopper moves a thread at once. A thread that is moved later waits on its
 * old CPU until its OAs. */
int32_t wait_cpu(const struct intervals *intervals, uint32_t stream, enum wait_cause cause,
		 int32_t cpu);

/* The stream of the thread that `creator` makes by the event OHC, if it is about to begin; or -1.
 */
int64_t wait_newborn(const struct intervals *intervals, uint32_t creator, const struct event *ev);

/* "preempted", "woken", ... */
const char *wait_cause_word(enum wait_cause cause);

#endif
