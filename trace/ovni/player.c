/* SPDX-License-Identifier: MIT */
#include "trace/ovni/player.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

#define GATE_NS	    (3600ull * 1000 * 1000 * 1000)
#define NODES_ALIGN 64 /* a cache line: eight nodes that are below the same one */

/*
 * The heap. A step inserts the stream that it has advanced and removes the root, so the
 * two are done as one: the node that insertion leaves at the end is the one that removal
 * takes from there, and never needs to be stored in between.
 */

static void set_size(struct player *player, size_t n)
{
	player->n = n;
	player->levels = n ? 63 - (unsigned)__builtin_clzl(n) : 0;
}

/* Puts a node at `k` and moves it up while it is strictly lower than its parent. */
static inline void move_up(struct player *player, size_t k, int64_t clock, uint32_t who)
{
	int64_t *clocks = player->clocks;
	uint32_t *whos = player->whos;

	while (k > 1 && clock < clocks[k / 2]) {
		clocks[k] = clocks[k / 2];
		whos[k] = whos[k / 2];
		k /= 2;
	}
	clocks[k] = clock;
	whos[k] = who;
}

/*
 * Moves the lower child of the node *k into it, if that is strictly lower than `clock`, and *k down
 * to where it was. The right child is the one if it is strictly lower than the left; one that is
 * missing never is. Returns the stream that has moved up, -1 if none has.
 */
static inline int64_t sink(struct player *player, size_t *k, int64_t clock)
{
	int64_t *clocks = player->clocks;
	uint32_t *whos = player->whos;
	size_t child = 2 * *k + (clocks[2 * *k + 1] < clocks[2 * *k]);

	if (clocks[child] >= clock)
		return -1;
	clocks[*k] = clocks[child];
	whos[*k] = whos[child];
	*k = child;
	return whos[child];
}

/*
 * Puts a node at the root and moves it down while a child is strictly lower. Unrolled: each
 * level has branches of its own to predict.
 *
 * With thousands of streams each step finds its stream out of the caches. So they are asked for
 * while a stream rises, a few steps before its turn: its structure on the fourth level, on the
 * third one the bytes of its next event, and what the caller keeps of it (player->near).
 */
static inline void move_down(struct player *player, int64_t clock, uint32_t who)
{
	unsigned levels = player->levels, depth = 0;
	size_t k = 1;

#pragma GCC unroll 4
	for (; depth < 4 && depth < levels; depth++) {
		int64_t risen = sink(player, &k, clock);

		if (risen < 0)
			goto out;
		if (depth == 2) {
			player->near = (uint32_t)risen;
			__builtin_prefetch(player->streams[risen].at);
		} else if (depth == 3) {
			__builtin_prefetch(&player->streams[risen]);
		}
	}
#pragma GCC unroll 8
	for (; depth < levels; depth++) {
		/* the eight nodes three levels below, which may not be there */
		__builtin_prefetch(
			(const void *)((uintptr_t)player->clocks + 8 * k * sizeof(clock)));
		if (sink(player, &k, clock) < 0)
			break;
	}
out:
	player->clocks[k] = clock;
	player->whos[k] = who;
}

static void insert(struct player *player, int64_t clock, uint32_t who)
{
	set_size(player, player->n + 1);
	move_up(player, player->n, clock, who);
}

/* Removes the root, which becomes the present event. */
static void remove_root(struct player *player)
{
	size_t last = player->n;
	int64_t clock = player->clocks[last];
	uint32_t who = player->whos[last];

	player->clock = player->clocks[1];
	player->who = player->whos[1];
	set_size(player, last - 1);
	player->clocks[last] = INT64_MAX;
	if (last > 1)
		move_down(player, clock, who);
}

/*
 * True if a node that is strictly lower than the root would leave the heap as it is when it
 * is inserted and removed. Insertion moves the nodes on the way from the root to the new
 * place down by one, the last of them to the end. Removal brings that one to the root,
 * from where it comes back to its old place and moves the others up again: unless a tie on
 * the way leads it elsewhere.
 */
static inline bool passes_through(const struct player *player)
{
	const int64_t *clocks = player->clocks;
	size_t k = (player->n + 1) / 2;

	if (k > 1 && clocks[k / 2] == clocks[k])
		return false;
	for (; k > 1; k /= 2)
		if (k % 2 && clocks[k / 2] == clocks[k - 1])
			return false;
	return true;
}

/* Inserts a node and removes the root, which becomes the present event. */
static inline void insert_and_remove(struct player *player, int64_t clock, uint32_t who)
{
	int64_t *clocks = player->clocks;
	uint32_t *whos = player->whos;
	size_t parent = (player->n + 1) / 2;

	if (player->n == 0 || (clock < clocks[1] && passes_through(player))) {
		player->clock = clock;
		player->who = who;
		return;
	}
	if (clock < clocks[parent]) {
		int64_t last_clock = clocks[parent];
		uint32_t last_who = whos[parent];

		move_up(player, parent, clock, who);
		clock = last_clock;
		who = last_who;
	}
	player->clock = clocks[1];
	player->who = whos[1];
	move_down(player, clock, who);
}

static const char *called(const struct stream *stream)
{
	return *stream->path ? stream->path : ".";
}

/* The three ways in which stream `who` may be at fault. */
static int fail(struct player *player, uint32_t who, int err)
{
	player->bad = who;
	stream_report(&player->streams[who]);
	return err;
}

static int overflows(struct player *player, uint32_t who)
{
	const struct stream *stream = &player->streams[who];

	player->bad = who;
	log_error("%s: clock %lld at byte %llu is out of range with the offset %lld",
		  called(stream), (long long)stream->ev.clock,
		  (unsigned long long)stream_offset(stream),
		  player->offsets ? (long long)player->offsets[who] : 0);
	return -EOVERFLOW;
}

static int backwards(struct player *player, uint32_t who, int64_t before, int64_t clock)
{
	const struct stream *stream = &player->streams[who];
	const char *path = called(stream);
	unsigned long long at = stream_offset(stream);

	if (player->unordered) {
		player->backwards++;
		log_warn("%s: clock goes backwards from %lld to %lld at byte %llu", path,
			 (long long)before, (long long)clock, at);
		return 0;
	}
	player->bad = who;
	if (before == 0 && at == STREAM_HEADER_SIZE)
		log_error("%s: first event has the negative clock %lld", path, (long long)clock);
	else
		log_error("%s: clock goes backwards from %lld to %lld at byte %llu; if it has "
			  "regions to sort (OU[), run ovni-sort",
			  path, (long long)before, (long long)clock, at);
	return -EINVAL;
}

/*
 * Advances stream `who`, whose corrected clock was `before`. Returns 1 with the new one in
 * *clock, 0 if it has no more events, or a negative errno after a message.
 */
static inline __attribute__((always_inline)) int advance(struct player *player, uint32_t who,
							 int64_t before, int64_t *clock)
{
	struct stream *stream = &player->streams[who];
	int64_t offset = player->offsets ? player->offsets[who] : 0;
	int more = stream_step(stream);

	if (__builtin_expect(more <= 0, 0))
		return more < 0 ? fail(player, who, more) : 0;
	if (__builtin_add_overflow(stream->ev.clock, offset, clock))
		return overflows(player, who);
	if (__builtin_expect(*clock < before, 0)) {
		int err = backwards(player, who, before, *clock);

		if (err < 0)
			return err;
	}
	return 1;
}

int player_open(struct player *player, struct stream *streams, size_t nstreams,
		const int64_t *offsets, bool unordered)
{
	size_t nodes = NODES_ALIGN / sizeof(*player->clocks);
	int64_t clock;
	int err = 0;

	memset(player, 0, sizeof(*player));
	player->streams = streams;
	player->offsets = offsets;
	player->nstreams = nstreams;
	player->unordered = unordered;
	/* node 0 is not used; both children of every node must be there to be compared */
	while (nodes < 2 * nstreams + 2)
		nodes *= 2;
	if (nstreams <= UINT32_MAX) {
		player->clocks = aligned_alloc(NODES_ALIGN, nodes * sizeof(*player->clocks));
		player->whos = calloc(nodes, sizeof(*player->whos));
	}
	if (!player->clocks || !player->whos) {
		log_error("no memory to play %zu streams", nstreams);
		err = -ENOMEM;
	} else {
		for (size_t i = 0; i < nodes; i++)
			player->clocks[i] = INT64_MAX;
	}
	for (size_t i = 0; i < nstreams && err >= 0; i++) {
		err = advance(player, (uint32_t)i, unordered ? INT64_MIN : 0, &clock);
		if (err > 0)
			insert(player, clock, (uint32_t)i);
	}
	if (err < 0) {
		player_close(player);
		return err;
	}
	return 0;
}

void player_close(struct player *player)
{
	free(player->clocks);
	free(player->whos);
	player->clocks = NULL;
	player->whos = NULL;
	player->n = 0;
	player->playing = false;
}

int player_gate(const struct player *player)
{
	const struct stream *first = NULL;
	int64_t t0 = 0;

	for (size_t i = 0; i < player->nstreams; i++) {
		const struct stream *stream = &player->streams[i];
		int64_t clock;
		uint64_t away;

		if (stream->ev.size == 0)
			continue; /* it has no events */
		clock = stream->ev.clock + (player->offsets ? player->offsets[i] : 0);
		if (!first) {
			first = stream;
			t0 = clock;
		}
		away = clock > t0 ? (uint64_t)clock - (uint64_t)t0 : (uint64_t)t0 - (uint64_t)clock;
		if (away <= GATE_NS)
			continue;
		log_error("%s: starts more than an hour away from %s; if they are from several "
			  "nodes, measure their clock offsets with ovni-sync",
			  called(stream), called(first));
		return -ERANGE;
	}
	return 0;
}

int player_step(struct player *player)
{
	if (__builtin_expect(player->playing, 1)) {
		int64_t clock;
		int more = advance(player, player->who, player->clock, &clock);

		if (__builtin_expect(more > 0, 1)) {
			insert_and_remove(player, clock, player->who);
			return 1;
		}
		if (more < 0)
			return more;
	}
	player->playing = player->n > 0;
	if (player->playing)
		remove_root(player);
	return player->playing;
}

void player_drop(struct player *player)
{
	player->playing = false;
}
