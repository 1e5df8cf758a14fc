/* SPDX-License-Identifier: MIT */
/* player: the heap of streams (see player.h). */
#include "trace/ovni/player.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/log.h"

#define GATE_NS	    (3600ull * 1000 * 1000 * 1000)
#define AHEAD_LEAST 256 /* streams */
#define NODES_ALIGN 64	/* a cache line: eight nodes with the same ancestor */

/*
 * The heap. A step inserts the advanced stream and removes the root; the functions combine both.
 * Insertion moves a node to the end, and removal takes it from there: it is not stored in between.
 */

static void set_size(struct player *player, size_t n)
{
	player->n = n;
	player->levels = n ? 63 - (unsigned)__builtin_clzl(n) : 0;
}

/* Moves a node up from `k` while it is strictly lower than its parent. */
static inline void move_up(struct player *player, size_t k, int64_t clock, uint32_t index)
{
	int64_t *clocks = player->clocks;
	uint32_t *heap = player->heap;

	while (k > 1 && clock < clocks[k / 2]) {
		clocks[k] = clocks[k / 2];
		heap[k] = heap[k / 2];
		k /= 2;
	}
	clocks[k] = clock;
	heap[k] = index;
}

/*
 * Moves the lower child of node *k up into it, and *k down, if that child is strictly lower than
 * `clock`. The right child is the lower one only if it is strictly lower than the left; a missing
 * child has the highest clock. Returns the stream that moved up, or -1.
 */
static inline int64_t descend(struct player *player, size_t *k, int64_t clock)
{
	int64_t *clocks = player->clocks;
	uint32_t *heap = player->heap;
	size_t child = 2 * *k + (clocks[2 * *k + 1] < clocks[2 * *k]);

	if (clocks[child] >= clock)
		return -1;
	clocks[*k] = clocks[child];
	heap[*k] = heap[child];
	*k = child;
	return heap[child];
}

/*
 * Moves a node down from the root while a child is strictly lower. Unrolled, so that each level has
 * its own branch to predict.
 *
 * With thousands of streams the data of a stream leave the caches between its turns. The loop
 * prefetches a stream that moves up, a few steps before its turn: its structure on the sixth
 * level, the bytes of its next event and its fix on the fourth; on the third the caller prefetches
 * its own data (player->upcoming).
 */
static inline void move_down(struct player *player, int64_t clock, uint32_t index)
{
	unsigned levels = player->levels, depth = 0;
	size_t k = 1;

#pragma GCC unroll 6
	for (; depth < 6 && depth < levels; depth++) {
		int64_t risen = descend(player, &k, clock);

		if (risen < 0)
			goto out;
		if (depth == 1) {
			player->soon = (uint32_t)risen;
		} else if (depth == 2) {
			player->upcoming = (uint32_t)risen;
		} else if (depth == 3) {
			__builtin_prefetch(player->streams[risen].at);
			if (player->fixes)
				__builtin_prefetch(&player->fixes[risen]);
		} else if (depth == 5) {
			__builtin_prefetch(&player->streams[risen]);
			__builtin_prefetch(&player->streams[risen].guard);
		}
	}
#pragma GCC unroll 8
	for (; depth < levels; depth++) {
		/* the eight nodes three levels below, even beyond the end */
		__builtin_prefetch(
			(const void *)((uintptr_t)player->clocks + 8 * k * sizeof(clock)));
		if (descend(player, &k, clock) < 0)
			break;
	}
out:
	player->clocks[k] = clock;
	player->heap[k] = index;
}

static void insert(struct player *player, int64_t clock, uint32_t index)
{
	set_size(player, player->n + 1);
	move_up(player, player->n, clock, index);
}

/* Removes the root: it becomes the present event. */
static void remove_root(struct player *player)
{
	size_t last = player->n;
	int64_t clock = player->clocks[last];
	uint32_t index = player->heap[last];

	player->clock = player->clocks[1];
	player->current = player->heap[1];
	set_size(player, last - 1);
	player->clocks[last] = INT64_MAX;
	if (last > 1)
		move_down(player, clock, index);
}

/*
 * True if the heap stays the same after the insertion and removal of a node that is strictly lower
 * than the root. Insertion moves the nodes between the root and the new node down by one, the last
 * one to the end. Removal moves that one to the root, and from there back to its old position,
 * where the others move up again: unless a tie on the way leads it elsewhere.
 */
static inline bool keeps_heap(const struct player *player)
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

/* Inserts a node and removes the root: it becomes the present event. */
static inline void insert_and_remove(struct player *player, int64_t clock, uint32_t index)
{
	int64_t *clocks = player->clocks;
	uint32_t *heap = player->heap;
	size_t parent = (player->n + 1) / 2;

	if (player->n == 0 || (clock < clocks[1] && keeps_heap(player))) {
		player->clock = clock;
		player->current = index;
		return;
	}
	if (clock < clocks[parent]) {
		int64_t last_clock = clocks[parent];
		uint32_t last_index = heap[parent];

		move_up(player, parent, clock, index);
		clock = last_clock;
		index = last_index;
	}
	player->clock = clocks[1];
	player->current = heap[1];
	move_down(player, clock, index);
}

static const char *stream_name(const struct stream *stream)
{
	return *stream->path ? stream->path : ".";
}

/* The next three functions log a fault of a stream. */
static int fail(struct player *player, uint32_t index, int err)
{
	player->failed = index;
	stream_report(&player->streams[index]);
	return err;
}

static int overflows(struct player *player, uint32_t index)
{
	const struct stream *stream = &player->streams[index];

	player->failed = index;
	log_error("%s: clock %lld at byte %llu is out of range with the offset %lld",
		  stream_name(stream), (long long)stream->ev.clock,
		  (unsigned long long)stream_offset(stream),
		  player->fixes ? (long long)player->fixes[index].offset : 0);
	return -EOVERFLOW;
}

static int backwards(struct player *player, uint32_t index, int64_t before, int64_t clock)
{
	const struct stream *stream = &player->streams[index];
	const char *path = stream_name(stream);
	unsigned long long at = stream_offset(stream);

	if (player->unordered) {
		player->backwards++;
		log_warn("%s: clock goes backwards from %lld to %lld at byte %llu", path,
			 (long long)before, (long long)clock, at);
		return 0;
	}
	player->failed = index;
	if (before == 0 && at == STREAM_HEADER_SIZE)
		log_error("%s: the first event has the negative clock %lld", path,
			  (long long)clock);
	else
		log_error("%s: clock goes backwards from %lld to %lld at byte %llu; if it has "
			  "regions to sort (OU[), run ovni-sort",
			  path, (long long)before, (long long)clock, at);
	return -EINVAL;
}

/* The corrected clock of the present event of a stream. False if it is out of range. */
static inline bool fixed(const struct player *player, uint32_t index, int64_t *clock)
{
	*clock = player->streams[index].ev.clock;
	return !player->fixes || clock_fix(&player->fixes[index], *clock, clock);
}

/*
 * Advances a stream with the corrected clock `before`. Returns 1 with the new one in *clock, 0 at
 * the end of the stream, or -errno after a message.
 */
static inline __attribute__((always_inline)) int advance(struct player *player, uint32_t index,
							 int64_t before, int64_t *clock)
{
	struct stream *stream = &player->streams[index];
	int more = stream_step(stream);

	if (__builtin_expect(more <= 0, 0))
		return more < 0 ? fail(player, index, more) : 0;
	if (!fixed(player, index, clock))
		return overflows(player, index);
	if (__builtin_expect(*clock < before, 0)) {
		int err = backwards(player, index, before, *clock);

		if (err < 0)
			return err;
	}
	return 1;
}

/* ---- the order of another player ---- */

struct play_order *play_order_new(void)
{
	struct play_order *order = array_lines(1, sizeof(*order));

	if (!order)
		return NULL;
	sem_init(&order->full, 0, 0);
	sem_init(&order->empty, 0, PLAY_BLOCKS - 1);
	atomic_init(&order->all, UINT64_MAX);
	return order;
}

void play_order_free(struct play_order *order)
{
	if (!order)
		return;
	sem_destroy(&order->full);
	sem_destroy(&order->empty);
	free(order);
}

static void wait_for(sem_t *blocks)
{
	while (sem_wait(blocks)) /* interrupted by a signal */
		;
}

void play_order_put_block(struct play_order *order)
{
	if (order->left)
		return; /* what is put is read by nobody */
	sem_post(&order->full);
	wait_for(&order->empty);
}

void play_order_end(struct play_order *order, int err)
{
	if (order->all == UINT64_MAX) {
		order->err = err;
		order->all = order->put;
	}
	sem_post(&order->full);
}

bool play_order_wait(struct play_order *order)
{
	uint64_t all;

	if (order->taken % PLAY_BLOCK || order->taken == order->all)
		return false;
	if (order->taken)
		sem_post(&order->empty);
	wait_for(&order->full);
	all = order->all;
	order->limit = order->taken + PLAY_BLOCK;
	if (order->limit > all)
		order->limit = all;
	return order->taken < order->limit;
}

void play_order_leave(struct play_order *order)
{
	order->left = true;
	sem_post(&order->empty);
}

static int changed(struct player *player, uint32_t index)
{
	player->failed = index;
	log_error("%s: the stream has changed during the reading",
		  stream_name(&player->streams[index]));
	return -EIO;
}

/* The other player failed, and this one did not. */
static int lacks_order(const struct player *player)
{
	if (player->order->err == -ENOMEM)
		return log_no_memory("while playing %zu streams", player->nstreams);
	log_error("the streams have changed during the reading: try again");
	return -EIO;
}

/* Goes to the next event in the order of the other player; see player_step(). */
static int follow(struct player *player)
{
	struct play_order *order = player->order;
	int64_t before = player->clock, clock;
	uint32_t index;

	if (player->playing) {
		int more = advance(player, player->current, player->clock, &clock);

		if (more < 0)
			return more;
		if (more == 0)
			player->streams[player->current].ev.size = 0;
	}
	player->playing = play_order_more(order);
	if (!player->playing)
		return order->err ? lacks_order(player) : 0;
	/* move_down() prefetches the same by the heap, which only guesses the order */
	__builtin_prefetch(&player->streams[play_order_later(order, 24)]);
	index = play_order_later(order, 16);
	__builtin_prefetch(player->streams[index].at);
	if (player->fixes)
		__builtin_prefetch(&player->fixes[index]);
	player->upcoming = play_order_later(order, 4);
	player->soon = play_order_later(order, 2);
	index = play_order_later(order, 0);
	order->taken++;
	if (!player->streams[index].ev.size || !fixed(player, index, &player->clock) ||
	    player->clock < before)
		return changed(player, index);
	player->current = index;
	return 1;
}

int player_follow(struct player *player, struct stream *streams, size_t nstreams,
		  const struct clock_fix *fixes, struct play_order *order)
{
	memset(player, 0, sizeof(*player));
	player->streams = streams;
	player->fixes = fixes;
	player->nstreams = nstreams;
	player->order = order;
	for (size_t i = 0; i < nstreams; i++) {
		int64_t clock;
		int err = advance(player, (uint32_t)i, 0, &clock);

		if (err < 0) {
			player_close(player);
			return err;
		}
	}
	return 0;
}

int player_open(struct player *player, struct stream *streams, size_t nstreams,
		const struct clock_fix *fixes, bool unordered)
{
	size_t nodes = NODES_ALIGN / sizeof(*player->clocks);
	int64_t clock;
	int err;

	memset(player, 0, sizeof(*player));
	player->streams = streams;
	player->fixes = fixes;
	player->nstreams = nstreams;
	player->unordered = unordered;
	/* node 0 is unused; comparisons need both children of every node */
	while (nodes < 2 * nstreams + 2)
		nodes *= 2;
	if (nstreams <= UINT32_MAX) {
		player->clocks = array_lines(nodes, sizeof(*player->clocks));
		player->heap = array_lines(nodes, sizeof(*player->heap));
	}
	if (!player->clocks || !player->heap) {
		err = log_no_memory("while playing %zu streams", nstreams);
		goto fail;
	}
	for (size_t i = 0; i < nodes; i++)
		player->clocks[i] = INT64_MAX;
	for (size_t i = 0; i < nstreams; i++) {
		err = advance(player, (uint32_t)i, unordered ? INT64_MIN : 0, &clock);
		if (err < 0)
			goto fail;
		if (err > 0)
			insert(player, clock, (uint32_t)i);
	}
	return 0;
fail:
	player_close(player);
	return err;
}

void player_close(struct player *player)
{
	free(player->clocks);
	free(player->heap);
	player->clocks = NULL;
	player->heap = NULL;
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
			continue;			  /* no events */
		(void)fixed(player, (uint32_t)i, &clock); /* player_open() has refused a failure */
		if (!first) {
			first = stream;
			t0 = clock;
		}
		away = clock > t0 ? (uint64_t)clock - (uint64_t)t0 : (uint64_t)t0 - (uint64_t)clock;
		if (away <= GATE_NS)
			continue;
		log_error("%s: starts more than an hour away from %s; if they are from several "
			  "nodes, measure their clock offsets with ovni-sync",
			  stream_name(stream), stream_name(first));
		return -ERANGE;
	}
	return 0;
}

int player_step(struct player *player)
{
	if (__builtin_expect(player->order != NULL, 0))
		return follow(player);
	if (__builtin_expect(player->playing, 1)) {
		int64_t clock;
		int more = advance(player, player->current, player->clock, &clock);

		if (__builtin_expect(more > 0, 1)) {
			insert_and_remove(player, clock, player->current);
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

/* ---- a player in a thread of its own ---- */

static void *play_ahead(void *arg)
{
	struct play_ahead *ahead = arg;
	struct play_order *order = ahead->order;
	struct player player;
	int err;

	log_mute(true);
	err = player_open(&player, ahead->streams, ahead->nstreams, ahead->fixes, false);
	if (!err) {
		while (!order->left && (err = player_step(&player)) > 0)
			play_order_put(order, player.current);
		player_close(&player);
	}
	play_order_end(order, err < 0 ? err : 0);
	return NULL;
}

/* Files that are read through windows would be read twice. */
static bool are_mapped(const struct stream *streams, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (streams[i].path && !streams[i].guard && !streams[i].loaded &&
		    streams[i].size > STREAM_HEADER_SIZE)
			return false;
	return true;
}

struct play_order *play_ahead_begin(struct play_ahead *ahead, const struct stream *streams,
				    size_t nstreams, const struct clock_fix *fixes)
{
	*ahead = (struct play_ahead){.nstreams = nstreams, .fixes = fixes};
	if (nstreams < AHEAD_LEAST || sysconf(_SC_NPROCESSORS_ONLN) < 2 ||
	    !are_mapped(streams, nstreams))
		return NULL;
	ahead->streams = streams_share(streams, nstreams);
	ahead->order = ahead->streams ? play_order_new() : NULL;
	if (ahead->order && pthread_create(&ahead->thread, NULL, play_ahead, ahead)) {
		play_order_free(ahead->order);
		ahead->order = NULL;
	}
	return ahead->order;
}

void play_ahead_end(struct play_ahead *ahead)
{
	if (ahead->order) {
		play_order_leave(ahead->order);
		pthread_join(ahead->thread, NULL);
		play_order_free(ahead->order);
	}
	streams_free(ahead->streams, ahead->nstreams);
	*ahead = (struct play_ahead){0};
}
