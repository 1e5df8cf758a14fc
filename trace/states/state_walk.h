/* SPDX-License-Identifier: MIT */
/*
 * state_walk: in which state each thread is, and to which CPU it belongs, event by event.
 *
 * In: the events of all streams in the order of the player; out: state and CPU of
 * the thread of each stream. It never refuses: an event that is illegal in a state is
 * taken for what it says, since tools that look at traces must also look at broken ones
 * (ovni-check is the one that judges). Tids in OAr are searched as the emulator does: in the
 * process of the sender, then in the loom.
 * Specification: models.md 1.1 and 1.2.
 */
#ifndef TRACE_STATES_STATE_WALK_H
#define TRACE_STATES_STATE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/ovni/trace_input.h"
#include "trace/ovni/thread_state.h"

#define CPU_NONE    (-2) /* the thread belongs to no CPU */
#define CPU_VIRTUAL (-1)

struct whereabout {
	enum thread_state state;
	int32_t cpu; /* index in the loom, CPU_VIRTUAL or CPU_NONE */
	bool out;    /* the kernel model says: out of the CPU */
};

struct whereabouts {
	const struct source *source;
	struct whereabout *threads; /* of each stream */
	uint32_t *by_tid;	    /* streams sorted by (loom, tid, pid) */
};

/* Returns 0 or -ENOMEM after one message. */
int whereabouts_init(struct whereabouts *w, const struct source *source)
	__attribute__((warn_unused_result));
void whereabouts_fini(struct whereabouts *w);

/* Takes the event of stream `who` in. Returns the stream whose thread it moved (`who`, but for
 * OAr), or -1 if it moved none. */
int64_t whereabouts_step(struct whereabouts *w, uint32_t who, const struct event *ev);

/* The stream of thread `tid` as stream `who` means it, or -1. */
int64_t whereabouts_find(const struct whereabouts *w, uint32_t who, int64_t tid);

#endif
