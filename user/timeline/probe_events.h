/* SPDX-License-Identifier: MIT */
/*
 * probe_events: the events that a hit of a probe adds to the stream of its thread.
 *
 * In: records of probes, in the order of the timeline, and the steps of threads; out: marks and
 * events of models (by the actions), and for each site the number of calls and their time. Each
 * thread has its stacks (call_stacks.h), made at its first probe.
 * Invariants: a state that begins in a stream ends before its OHe, and begins again after its next
 * OHx if it is still open; nothing is written while a thread is off its CPU, since another record
 * brings it in first.
 * Specification: event-mapping.md "User probes and marks", "Library APIs"; ebpf.md 11.3.
 */
#ifndef USER_TIMELINE_PROBE_EVENTS_H
#define USER_TIMELINE_PROBE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/timeline/call_stacks.h"

struct cpu;
struct record_probe;
struct site;
struct task;
struct timeline;

/* Of one site. Of calls in each other the outermost counts, for the times. */
struct call_figures {
	uint64_t calls;	    /* entries, or hits of a point */
	uint64_t wall_ns;   /* of calls that are over, or were at the end of the recording */
	uint64_t on_cpu_ns; /* of these the time on a CPU */
	uint64_t left;	    /* left otherwise than by their return (call_stacks.h), or at the end */
};

struct calls_counts {
	uint64_t unmatched; /* returns without an entry */
	uint64_t valueless; /* values that could not be read */
	uint64_t strays;    /* records of threads that have no stream */
	struct stacks_counts stacks;
};

/* The probes, the same for all timelines of a session. All of it stays the caller's. */
struct calls_plan {
	const struct actions *actions;
	const struct site *sites;
	bool sampled; /* calls are left out: a return may be all that is seen of one */
};

struct calls {
	const struct calls_plan *plan;
	struct call_figures *figures; /* by site */
	struct calls_counts counts;
	uint64_t thread_ns; /* time that the threads which are recorded had CPUs */
};

/* Of one timeline. NULL without memory. */
struct calls *calls_new(const struct calls_plan *plan);
void calls_free(struct calls *calls); /* NULL is fine */

/* Adds the counts of one timeline to those of the session. */
void calls_add(struct calls *sum, const struct calls *calls);

/* All that follow return 0 or -errno after one message. */

/* A record in the window; and one before it, of which only the frames are kept. */
int calls_record(struct timeline *tl, struct cpu *cpu, const struct record_probe *r);
int calls_before(struct timeline *tl, struct task *task, const struct record_probe *r);

/* The stream of `task` has begun (OHx), and is about to end (OHe). */
int calls_show(struct timeline *tl, struct task *task, uint64_t clock);
int calls_hide(struct timeline *tl, struct task *task, uint64_t clock);

/* The task has left all its functions: exec. */
int calls_exec(struct timeline *tl, struct task *task, uint64_t clock);

/* A new timeline begins at t0 where `old` of another one is: in the same functions. 0 or -ENOMEM.
 */
int calls_carry_over(struct task *task, const struct task *old, uint64_t t0);

/* The task ends: its open calls are counted, before its stream ends, and forgotten, after. */
void calls_account(struct timeline *tl, struct task *task, uint64_t clock);
void calls_forget(struct task *task);

#endif
