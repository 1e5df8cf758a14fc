/* SPDX-License-Identifier: MIT */
/*
 * player: merges all streams of a trace in the order of their corrected clocks.
 *
 * In: open streams and the correction of the clock of each; out: one event at a time. Memory: one
 * node of the heap per stream. Invariant: events with equal clocks leave in the order of the heap
 * of the specification, which is visible in the output: insertion moves a node up while it is
 * strictly lower, removal moves the last node down to the strictly lowest child. Specification:
 * emulator.md 6.
 */
#ifndef TRACE_OVNI_PLAYER_H
#define TRACE_OVNI_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/clock_fix.h"
#include "trace/ovni/stream.h"

struct player {
	struct stream *streams;	       /* sorted; owned by the caller */
	const struct clock_fix *fixes; /* per stream, NULL for none; owned by the caller */
	size_t nstreams;
	/* the heap: node 1 is the root; unused nodes have the highest clock */
	int64_t *clocks; /* corrected by the fix of the stream */
	uint32_t *heap;	 /* index of the stream */
	size_t n;
	unsigned levels;    /* below the root */
	bool unordered;	    /* accept clocks that go backwards, with a warning (dump, top, sort) */
	uint64_t backwards; /* number of accepted ones */

	/* the present event, after player_step() returned 1 */
	uint32_t current;  /* index of its stream: streams[current].ev is the event */
	int64_t clock;	   /* corrected, ns */
	bool playing;	   /* false before the first event and after the last one */
	uint32_t upcoming; /* index of a stream to prefetch: its turn is some events later; */
	uint32_t soon;	   /* here, one to three events later */

	/* after player_open() or player_step() failed */
	uint32_t failed; /* the stream at fault */
};

/*
 * Loads the first event of each stream, all open and rewound, and builds the heap. Returns 0, or
 * -errno after one message: as stream_step() for an incomplete first event, -EINVAL for a clock
 * below 0 unless `unordered`, or -ENOMEM. After a failure there is nothing to close.
 */
int player_open(struct player *player, struct stream *streams, size_t nstreams,
		const struct clock_fix *fixes, bool unordered) __attribute__((warn_unused_result));
void player_close(struct player *player); /* leaves the streams open */

/*
 * Fails with -ERANGE and one message if a stream starts more than an hour away from the first one
 * with events. Call it between player_open() and player_step().
 */
int player_gate(const struct player *player) __attribute__((warn_unused_result));

/*
 * Goes to the next event. Returns 1; 0 at the end; or -errno after one message about the stream of
 * the present event (as stream_step(); -EINVAL: its clock goes backwards). As in the specification,
 * it first advances the stream of the last event. After a failure, only player_drop() allows
 * another call.
 */
int player_step(struct player *player) __attribute__((warn_unused_result));

/* After a failure of player_step(): leaves out the rest of that stream (--tolerant). */
void player_drop(struct player *player);

#endif
