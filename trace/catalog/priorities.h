/* SPDX-License-Identifier: MIT */
/*
 * priorities: scheduling policies and priorities as values of marks, and their names.
 *
 * In: policy, priority and nice value of a thread as the kernel counts; out: one number from 1 to
 * PRIORITY_MAX for each of them, the same in all traces, with a label. Within a policy a larger
 * number is more urgent. A thread that has inherited its priority from a thread that waits for it
 * (priority inheritance) has a number of that priority.
 * Specification: event-mapping.md "The priority of a thread".
 */
#ifndef TRACE_CATALOG_PRIORITIES_H
#define TRACE_CATALOG_PRIORITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MARK_ALLOWED_CPUS	89 /* types of marks: the CPUs on which a thread may run, */
#define MARK_PRIORITY		90 /* and its priority */
#define MARK_ALLOWED_CPUS_TITLE "Allowed CPUs"
#define MARK_PRIORITY_TITLE	"Priority"

#define PRIORITY_MAX  420
#define PRIORITY_TEXT 40 /* bytes of the longest label, with its NUL */

/* `policy` is SCHED_* of sched(7), `priority` the effective one of the kernel (-1 deadline, 0 to 98
 * real-time), `normal` the one without inheritance. 0: a policy that is not known here. */
uint16_t priority_value(uint16_t policy, int32_t priority, int32_t normal, int32_t nice);

/* "SCHED_FIFO 50", "SCHED_OTHER nice 0"; false: no such value. */
bool priority_text(int64_t value, char text[PRIORITY_TEXT]);

/* True if a thread with the value `a` always takes a CPU from one with `b`: real-time before
 * others, the larger priority before the smaller one. Nice values only share the CPU. */
bool priority_is_above(int64_t a, int64_t b);

#endif
