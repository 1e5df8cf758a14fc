/* SPDX-License-Identifier: MIT */
/*
 * call_stacks: the functions that a thread is in, and the open states of its stacks.
 *
 * In: the place of a thread (stack pointer, which stack, which call); out: the calls that it has
 * left since, and the events that open and close states. Pure: it knows no record, stream or clock.
 *
 * A *frame* is a call that has begun. It is left by its return, or when the thread is seen higher
 * on the same stack: the frames below are gone (longjmp, an exception, a return that was missed).
 * A stack pointer on another stack says nothing about this one, except that a thread that was on
 * the alternate stack of signal handlers and is off it has left its frames there. A *state* is an
 * effect (action.h) that has begun: of a frame, or free, until it is ended by name. States that
 * share a stack are popped in the opposite order; before one ends below others, these are popped,
 * and then pushed again. Invariants: all written states can be popped in their order at any moment;
 * no stack has more than STACKS_DEPTH states written; equal ones follow each other only where the
 * model lets them. Specification: ebpf.md 11.3; event-mapping.md "User probes and marks", "Library
 * APIs".
 */
#ifndef USER_TIMELINE_CALL_STACKS_H
#define USER_TIMELINE_CALL_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/probes/action.h"

#define STACKS_DEPTH  512   /* states of one stack that are written */
#define STACKS_FRAMES 65536 /* frames that are kept; deeper calls are counted alone */
#define STACKS_FREE   4096  /* free states that are kept */

struct frame {
	uint32_t site, stack;
	uint64_t sp, call;
	uint64_t clock; /* it began then, ns */
	uint64_t ran;	/* the thread had been on CPUs for so long, ns */
	bool inner;	/* a call of the same site is below, not too far */
	bool gone;	/* it has returned where nothing could be written */
};

struct state {
	const struct effect *effect;
	const struct effect *top; /* of its stack, with all that is written up to here; or NULL */
	uint32_t frame;		  /* 1 + the index of its frame; 0: free */
	uint16_t depth;		  /* written ones of its stack, up to here */
	bool written;		  /* it is on its stack */
};

struct stacks {
	struct frame *frames;
	uint32_t nframes, frames_room;
	struct state *states;
	uint32_t nstates, states_room;
	bool shown; /* the stream takes events: states are written */
};

/* The position of a thread, from a record. */
struct stacks_at {
	uint64_t sp, call;
	uint32_t stack, site;
	bool tail; /* entry: jumped to by a frame that it returns through */
};

struct stacks_counts {
	uint64_t too_deep; /* states not written: STACKS_DEPTH; calls not kept: STACKS_FRAMES */
	uint64_t equal;	   /* states not written: the model refuses two equal ones */
	uint64_t reopened; /* states popped and pushed again, since one below them ended */
};

/* Writes the event that opens (`begin`) or closes the effect. 0 or -errno. */
typedef int (*stacks_put_fn)(void *arg, const struct effect *effect, bool begin);

/* The writer of events, and the counts. */
struct stacks_out {
	stacks_put_fn put;
	void *arg;
	struct stacks_counts *counts;
};

/* Returns the number of frames, from the first on, that can still be alive. An entry that is no
 * tail call also ends the frame at its own place. */
uint32_t stacks_alive_at_entry(const struct stacks *stacks, const struct stacks_at *at);
uint32_t stacks_alive_at_point(const struct stacks *stacks, const struct stacks_at *at);

/* Returns the frame that this return leaves, found by its call, if known, else by site and stack
 * pointer; -1: none. */
int64_t stacks_find(const struct stacks *stacks, const struct stacks_at *at);

/* A new frame on top; NULL without memory, or (*deep set) if there are too many. */
struct frame *stacks_push(struct stacks *stacks, const struct stacks_at *at, bool *deep);
/* Takes the topmost frame off; its states must have ended. */
void stacks_pop(struct stacks *stacks);

/* A state begins: of the topmost frame, or a free one. 0 or -errno. */
int stacks_begin(struct stacks *stacks, const struct effect *effect, bool of_frame,
		 const struct stacks_out *out) __attribute__((warn_unused_result));
/* Ends all states of the topmost frame; the topmost free one that is equal. */
int stacks_end_frame(struct stacks *stacks, const struct stacks_out *out)
	__attribute__((warn_unused_result));
int stacks_end(struct stacks *stacks, const struct effect *effect, const struct stacks_out *out)
	__attribute__((warn_unused_result));

/* The stream ends, and begins (again): all written states are popped, innermost first; all
 * states are pushed. */
int stacks_hide(struct stacks *stacks, const struct stacks_out *out)
	__attribute__((warn_unused_result));
int stacks_show(struct stacks *stacks, const struct stacks_out *out)
	__attribute__((warn_unused_result));

/* Removes all frames and states; the written ones must have been hidden. */
void stacks_clear(struct stacks *stacks);

/* The same frames and states, in a stream that has not begun. NULL without memory. */
struct stacks *stacks_copy(const struct stacks *stacks);

void stacks_free(struct stacks *stacks); /* with the struct itself; NULL is fine */

#endif
