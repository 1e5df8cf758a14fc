/* SPDX-License-Identifier: MIT */
/*
 * state_walk: the state and the CPU of each thread of a trace, event by event.
 *
 * In: the events of all streams in the order of the player; out: the scheduling state of the thread
 * of each stream. It accepts every event: one that the state does not allow takes its effect
 * anyway, since the tools also show broken traces (ovni-check reports such events). A tid in OAr is
 * searched as the emulator does: in the process of the sender, then in its loom.
 * Specification: models.md 1.1 and 1.2.
 */
#ifndef TRACE_STATES_STATE_WALK_H
#define TRACE_STATES_STATE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/ovni/thread_state.h"
#include "trace/ovni/trace_input.h"

#define CPU_NONE    (-2) /* the thread belongs to no CPU */
#define CPU_VIRTUAL (-1)

/* ---- one thread ---- */

struct sched_state {
	enum thread_state state;
	int32_t cpu; /* index in the loom, CPU_VIRTUAL or CPU_NONE */
	bool out;    /* off the CPU by the kernel model (KCO) */
};

enum sched_step {
	SCHED_SAME, /* the event changes nothing */
	SCHED_CHANGED,
	SCHED_ILLEGAL,	/* OH?: no legal change from this state */
	SCHED_INACTIVE, /* OAs: the thread is not active */
};

/* Applies an event of the thread itself. With `strict` an event that the state does not allow
 * changes nothing; else only an unknown OH? is SCHED_ILLEGAL. */
enum sched_step sched_state_step(struct sched_state *thread, const struct event *ev, bool strict);

/* ---- all threads of a trace ---- */

struct state_walk {
	const struct source *source;
	struct sched_state *threads; /* of each stream */
	uint32_t *by_tid;	     /* streams sorted by (loom, tid, pid) */
};

/* Returns 0, or -ENOMEM after one message. */
int state_walk_init(struct state_walk *walk, const struct source *source)
	__attribute__((warn_unused_result));
void state_walk_fini(struct state_walk *walk);

/* Applies the event of a stream. Returns the stream whose thread it changed (the same stream except
 * for OAr), or -1. */
int64_t state_walk_step(struct state_walk *walk, uint32_t stream, const struct event *ev);

/* The stream of thread `tid`, as an event of `stream` means it, or -1. */
int64_t state_walk_find(const struct state_walk *walk, uint32_t stream, int64_t tid);

#endif
