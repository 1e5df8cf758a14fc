/* SPDX-License-Identifier: MIT */
#include "trace/player.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/log.h"

#define GATE_NS (3600ull * 1000 * 1000 * 1000)

/* Puts `slot` at the end and moves it up while it is strictly lower than its parent. */
static inline void heap_insert(struct player_slot *heap, size_t n, struct player_slot slot)
{
	size_t k = n;

	while (k > 1 && slot.clock < heap[k / 2].clock) {
		heap[k] = heap[k / 2];
		k /= 2;
	}
	heap[k] = slot;
}

/*
 * Moves `slot`, which takes the place of the root, down to where it belongs among the
 * nodes 1 to n. The child to compare with is the right one only if it is strictly lower
 * than the left one. heap[n + 1] is the highest clock there is, so a node with a
 * left child alone needs no case of its own.
 */
static inline void heap_sink(struct player_slot *heap, size_t n, struct player_slot slot)
{
	size_t k = 1, child = 2;

	heap[n + 1].clock = INT64_MAX;
	while (child <= n) {
		child += heap[child + 1].clock < heap[child].clock;
		if (heap[child].clock >= slot.clock)
			break;
		heap[k] = heap[child];
		k = child;
		child *= 2;
	}
	heap[k] = slot;
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
		  (unsigned long long)stream_offset(stream), (long long)player->offsets[who]);
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
 * Advances stream `who`, whose corrected clock was `before`, and inserts it if it has
 * another event. Returns 1 if it has, 0 if not, or a negative errno after a message.
 */
static inline int advance(struct player *player, uint32_t who, int64_t before)
{
	struct stream *stream = &player->streams[who];
	int more = stream_step(stream);
	int64_t offset = player->offsets ? player->offsets[who] : 0, clock;

	if (__builtin_expect(more <= 0, 0))
		return more < 0 ? fail(player, who, more) : 0;
	if (__builtin_add_overflow(stream->ev.clock, offset, &clock))
		return overflows(player, who);
	if (__builtin_expect(clock < before, 0)) {
		int err = backwards(player, who, before, clock);

		if (err < 0)
			return err;
	}
	heap_insert(player->heap, ++player->n, (struct player_slot){clock, who});
	return 1;
}

int player_open(struct player *player, struct stream *streams, size_t nstreams,
		const int64_t *offsets, bool unordered)
{
	int err = 0;

	memset(player, 0, sizeof(*player));
	player->streams = streams;
	player->offsets = offsets;
	player->nstreams = nstreams;
	player->unordered = unordered;
	/* heap[0] is not used, and there is one more beyond the last for heap_sink() */
	if (nstreams <= UINT32_MAX)
		player->heap = calloc(nstreams + 2, sizeof(*player->heap));
	if (!player->heap) {
		log_error("no memory to play %zu streams", nstreams);
		return -ENOMEM;
	}
	for (size_t i = 0; i < nstreams && err >= 0; i++)
		err = advance(player, (uint32_t)i, unordered ? INT64_MIN : 0);
	if (err < 0) {
		player_close(player);
		return err;
	}
	return 0;
}

void player_close(struct player *player)
{
	free(player->heap);
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
		int64_t clock = stream->ev.clock + (player->offsets ? player->offsets[i] : 0);
		uint64_t away;

		if (stream->ev.size == 0)
			continue; /* it has no events */
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
	struct player_slot *heap = player->heap, root;

	if (__builtin_expect(player->playing, 1)) {
		int more = advance(player, player->who, player->clock);

		if (__builtin_expect(more < 0, 0))
			return more;
	}
	if (__builtin_expect(player->n == 0, 0)) {
		player->playing = false;
		return 0;
	}
	root = heap[1];
	player->n--;
	heap_sink(heap, player->n, heap[player->n + 1]);
	player->who = root.who;
	player->clock = root.clock;
	player->playing = true;
	return 1;
}

void player_drop(struct player *player)
{
	player->playing = false;
}
