/* SPDX-License-Identifier: MIT */
/*
 * player: all streams of a trace as one, in the order of their corrected clocks.
 *
 * In: opened streams and an offset for each; out: one event at a time. Ties leave in
 * the order that the heap of the specification gives, which is observable and so
 * reproduced exactly: insert moves up while strictly lower, remove moves the last
 * node down to the strictly lowest child. Memory: one node of the heap per stream.
 * Specification: emulator.md 6.
 */
#ifndef TRACE_OVNI_PLAYER_H
#define TRACE_OVNI_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/stream.h"

struct player {
	struct stream *streams; /* the caller's array, in sorted order */
	const int64_t *offsets; /* ns per stream, or NULL for none; the caller's */
	size_t nstreams;
	/* the heap: node 1 is the root; nodes beyond n have the highest clock there is */
	int64_t *clocks; /* corrected: clock of the event + offset of the stream */
	uint32_t *whos;	 /* index of the stream */
	size_t n;
	unsigned levels;    /* below the root */
	bool unordered;	    /* accept clocks that go back (dump, top, sort): a warning each */
	uint64_t backwards; /* how many did, when accepted */

	/* the present event, after player_step() returned 1 */
	uint32_t who;  /* the stream it came from: streams[who].ev is the event */
	int64_t clock; /* corrected, ns */
	bool playing;  /* there is a present event */
	uint32_t near; /* a stream that will have its turn some events later: worth a prefetch */

	/* after player_open() or player_step() failed */
	uint32_t bad; /* the stream at fault */
};

/*
 * Loads the first event of each stream (they must be open and rewound) and builds the heap.
 * Returns 0, or a negative errno after one message: an incomplete first event (as
 * stream_step()), a clock below 0 (-EINVAL; accepted if `unordered`), no memory. On
 * failure nothing is left to close.
 */
int player_open(struct player *player, struct stream *streams, size_t nstreams,
		const int64_t *offsets, bool unordered) __attribute__((warn_unused_result));
void player_close(struct player *player); /* the streams stay the caller's */

/*
 * The clock gate: fails (-ERANGE, one message) if a stream starts more than an hour
 * away from the first one that has events. To be called between open and step.
 */
int player_gate(const struct player *player) __attribute__((warn_unused_result));

/*
 * Goes to the next event. Returns 1; 0 when there are no more; a negative errno
 * after one message when the stream of the present event cannot go on (as stream_step();
 * -EINVAL: clock going backwards). It first advances the stream of the event that it
 * returned last, as the specification says. After a failure it must not be called again,
 * unless with player_drop().
 */
int player_step(struct player *player) __attribute__((warn_unused_result));

/* After player_step() failed: leaves the rest of that stream out, so that the others can
 * be played on (--tolerant). */
void player_drop(struct player *player);

#endif
