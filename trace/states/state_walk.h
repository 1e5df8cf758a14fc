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

#include "trace/base/hash.h"
#include "trace/ovni/thread_state.h"
#include "trace/ovni/trace.h"

#define CPU_NONE    (-2) /* the thread belongs to no CPU */
#define CPU_VIRTUAL (-1)

/* ---- one thread ---- */

struct sched_state {
	enum thread_state state;
	int32_t cpu;  /* index in the loom, CPU_VIRTUAL or CPU_NONE */
	bool out;     /* off the CPU by the kernel model (KCO) */
	bool stopper; /* the kernel's, "migration/N", which moves other threads to another CPU */
};

enum sched_step {
	SCHED_SAME, /* the event changes nothing */
	SCHED_CHANGED,
	SCHED_ILLEGAL,	/* OH?: no legal change from this state */
	SCHED_INACTIVE, /* OAs: the thread is not active */
};

/* The state that an event OH? sets, from any state; -1: none. */
static inline int sched_named_state(uint8_t value)
{
	switch (value) {
	case 'x':
	case 'r':
		return THREAD_STATE_RUNNING;
	case 'p':
		return THREAD_STATE_PAUSED;
	case 'w':
		return THREAD_STATE_WARMING;
	case 'c':
		return THREAD_STATE_COOLING;
	case 'e':
		return THREAD_STATE_DEAD;
	default:
		return -1;
	}
}

static inline enum sched_step sched_step_state(struct sched_state *t, const struct event *ev,
					       bool strict)
{
	int next = strict ? thread_state_next(t->state, (char)ev->value)
			  : sched_named_state(ev->value);

	if (next < 0)
		return SCHED_ILLEGAL;
	t->state = (enum thread_state)next;
	if (ev->value == 'x' && ev->payload_size >= 4)
		t->cpu = get_i32(ev->payload);
	else if (ev->value == 'e')
		t->cpu = CPU_NONE;
	return SCHED_CHANGED;
}

/* Applies an event of the thread itself. With `strict` an event that the state does not allow
 * changes nothing; else only an unknown OH? is SCHED_ILLEGAL. */
static inline enum sched_step sched_state_step(struct sched_state *t, const struct event *ev,
					       bool strict)
{
	if (ev->model == 'K' && ev->category == 'C') {
		t->out = ev->value == 'O';
		return SCHED_CHANGED;
	}
	if (ev->model != 'O')
		return SCHED_SAME;
	if (ev->category == 'H')
		return sched_step_state(t, ev, strict);
	if (ev->category != 'A' || ev->value != 's')
		return SCHED_SAME;
	if (strict && !thread_state_is_active(t->state))
		return SCHED_INACTIVE;
	if (ev->payload_size < 4)
		return SCHED_SAME;
	t->cpu = get_i32(ev->payload);
	return SCHED_CHANGED;
}

/* ---- all threads of a trace ---- */

struct state_walk {
	const struct source *source;
	struct sched_state *threads; /* of each stream */
	uint32_t *by_tid;	     /* streams sorted by (loom, tid, pid) */
	uint32_t *looms;	     /* of each stream, numbered in their order */
	struct hash first_of;	     /* (loom, tid): index in by_tid of the first one */
	uint32_t *dense; /* the same by tid - dense_from, of one loom with tids that are near each
			    other; NULL: they are not */
	int64_t dense_from;
	uint64_t ndense;
	bool shared; /* several streams of a loom have the same tid */
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
