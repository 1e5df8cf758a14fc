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

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/array.h"
#include "trace/ovni/clock_fix.h"
#include "trace/ovni/stream.h"

#define PLAY_BLOCK  4096 /* events */
#define PLAY_BLOCKS 16

/*
 * The order of the events that one player found, for a second one that plays the same streams in
 * another thread: it needs no heap, and knows in time whose data to prefetch. In: the stream of
 * each event, by the thread of the first player; out: the same, in that of the second one. Each
 * waits for the other while all blocks are full, or empty, until that one has ended, or left.
 */
struct play_order {
	uint32_t streams[PLAY_BLOCKS][PLAY_BLOCK];
	sem_t full, empty;     /* blocks */
	_Atomic(uint64_t) all; /* events; UINT64_MAX before the end */
	_Atomic(int) err;      /* of the first player, before the end */
	_Atomic(bool) left;    /* the second player takes no more */
	/* events; of the first player's thread, and on another line of the cache, of the second's:
	 * limit: what it may take without waiting */
	uint64_t put __attribute__((aligned(ARRAY_LINE)));
	uint64_t taken __attribute__((aligned(ARRAY_LINE)));
	uint64_t limit;
};

struct player {
	struct stream *streams;	       /* sorted; owned by the caller */
	const struct clock_fix *fixes; /* per stream, NULL for none; owned by the caller */
	size_t nstreams;
	/* the heap: node 1 is the root; unused nodes have the highest clock */
	int64_t *clocks; /* corrected by the fix of the stream */
	uint32_t *heap;	 /* index of the stream */
	size_t n;
	unsigned levels;	  /* below the root */
	struct play_order *order; /* instead of the heap: player_follow() */
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

/* The same without a heap, in the order of another player of the same streams. play_order_leave()
 * must follow player_close(). A stream that changed in between fails with -EIO, and
 * so does the end of a player that failed where this one does not. */
int player_follow(struct player *player, struct stream *streams, size_t nstreams,
		  const struct clock_fix *fixes, struct play_order *order)
	__attribute__((warn_unused_result));
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

/* ---- a player in a thread of its own ---- */

struct play_order *play_order_new(void); /* NULL without memory */
void play_order_free(struct play_order *order);

/* In the thread of the first player: */

void play_order_put_block(struct play_order *order); /* the cold part of play_order_put() */

/* Puts the stream of the present event. */
static inline void play_order_put(struct play_order *order, uint32_t stream)
{
	order->streams[order->put / PLAY_BLOCK % PLAY_BLOCKS][order->put % PLAY_BLOCK] = stream;
	if (++order->put % PLAY_BLOCK == 0)
		play_order_put_block(order);
}

/* There are no more events, or the player gives up with -errno: so does the second one, which finds
 * damage by itself before. More than once is no harm: the first end counts. */
void play_order_end(struct play_order *order, int err);

/* In the thread of the second one: */

bool play_order_wait(struct play_order *order); /* the cold part of play_order_more() */

/* Waits for the next event. False at the end. */
static inline bool play_order_more(struct play_order *order)
{
	return order->taken < order->limit || play_order_wait(order);
}

/* After play_order_more(): the stream of the event `n` events later, or of the last one of the
 * block. */
static inline uint32_t play_order_later(const struct play_order *order, uint64_t n)
{
	uint64_t at = order->taken + n;

	if (at >= order->limit)
		at = order->limit - 1;
	return order->streams[at / PLAY_BLOCK % PLAY_BLOCKS][at % PLAY_BLOCK];
}

/* The second player takes no more events, so the first one must not wait for it. */
void play_order_leave(struct play_order *order);

/* A player in a thread of its own, for one that follows it. */
struct play_ahead {
	struct play_order *order; /* NULL: there is none */
	struct stream *streams;	  /* its own; they share the mapped files */
	size_t nstreams;
	const struct clock_fix *fixes;
	pthread_t thread;
};

/* Begins to play `streams`, which must stay, and returns the order; NULL where it would be of no
 * use: few streams, whose heap stays in the caches, files that are not mapped, or one CPU. It says
 * nothing of faults, which the other player finds, too. play_ahead_end() must follow. */
struct play_order *play_ahead_begin(struct play_ahead *ahead, const struct stream *streams,
				    size_t nstreams, const struct clock_fix *fixes);
void play_ahead_end(struct play_ahead *ahead); /* after the other player, wherever that ended */

#endif
