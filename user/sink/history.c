/* SPDX-License-Identifier: MIT */
/* history: see history.h. A record lies behind its CPU and size, on eight bytes. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/kernel/rings.h"
#include "user/sink/history.h"

#define CHUNK_FIRST 1024 /* bytes of a chunk, which grows up to */
#define CHUNK_MAX   (1u << 20)

struct entry {
	uint32_t cpu, size;
};

struct spool_chunk {
	struct spool_chunk *next; /* younger; the spool's */
	_Atomic unsigned refs;
	uint64_t start;	      /* records in older chunks are not later, */
	uint64_t first, last; /* clocks of those in here (0, start: none) */
	uint64_t records;
	size_t used, size;
	uint8_t *data;
	void *note;
	void (*drop_note)(void *note);
};

struct spool {
	struct spool_options options;
	struct spool_chunk *oldest, *youngest;
	size_t nchunks, memory, chunk_max;
	uint64_t slice_ns;
	uint64_t records;
	bool is_short;
};

static void unref(struct spool_chunk *chunk)
{
	if (atomic_fetch_sub(&chunk->refs, 1) > 1)
		return;
	if (chunk->note)
		chunk->drop_note(chunk->note);
	free(chunk->data);
	free(chunk);
}

static int begin_chunk(struct spool *spool, uint64_t start)
{
	struct spool_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return -ENOMEM;
	chunk->refs = 1;
	chunk->start = chunk->last = start;
	chunk->drop_note = spool->options.drop_note;
	if (spool->options.note) {
		chunk->note = spool->options.note(spool->options.arg);
		if (!chunk->note) {
			free(chunk);
			return -ENOMEM;
		}
	}
	if (spool->youngest)
		spool->youngest->next = chunk;
	else
		spool->oldest = chunk;
	spool->youngest = chunk;
	spool->nchunks++;
	spool->memory += sizeof(*chunk) + spool->options.note_bytes;
	return 0;
}

struct spool *spool_new(const struct spool_options *options, uint64_t start)
{
	struct spool *spool = calloc(1, sizeof(*spool));

	if (!spool)
		return NULL;
	spool->options = *options;
	spool->slice_ns = options->ns / SPOOL_SLICES;
	spool->chunk_max = CHUNK_FIRST;
	while (spool->chunk_max < CHUNK_MAX &&
	       2 * spool->chunk_max * (SPOOL_SLICES + 1) <= options->bytes)
		spool->chunk_max *= 2;
	if (begin_chunk(spool, start)) {
		free(spool);
		return NULL;
	}
	return spool;
}

void spool_free(struct spool *spool)
{
	struct spool_chunk *next;

	for (struct spool_chunk *chunk = spool ? spool->oldest : NULL; chunk; chunk = next) {
		next = chunk->next;
		unref(chunk);
	}
	free(spool);
}

static int play(const struct spool_chunk *chunk,
		int (*take)(void *arg, unsigned cpu, const struct record_head *record), void *arg)
{
	int err = 0;

	for (size_t at = 0; at < chunk->used && !err;) {
		const struct entry *entry = (const struct entry *)(chunk->data + at);

		err = take(arg, entry->cpu, (const struct record_head *)(entry + 1));
		at += sizeof(*entry) + entry->size;
	}
	return err;
}

static int forget_oldest(struct spool *spool)
{
	struct spool_chunk *chunk = spool->oldest;
	int err = play(chunk, spool->options.forgotten, spool->options.arg);

	spool->oldest = chunk->next;
	spool->nchunks--;
	spool->memory -= sizeof(*chunk) + spool->options.note_bytes + chunk->size;
	spool->records -= chunk->records;
	unref(chunk);
	return err;
}

/* Room for `more` bytes of memory. The youngest chunk always stays. */
static int make_way(struct spool *spool, size_t more)
{
	int err = 0;

	while (!err && spool->nchunks > 1 && spool->memory + more > spool->options.bytes) {
		uint64_t ns = spool->options.ns, now = spool->youngest->last;

		if (ns && now - spool->oldest->last < ns)
			spool->is_short = true;
		err = forget_oldest(spool);
	}
	return err;
}

static int grow(struct spool *spool, struct spool_chunk *chunk)
{
	size_t size = chunk->size ? 2 * chunk->size : CHUNK_FIRST;
	uint8_t *data;
	int err = make_way(spool, size - chunk->size);

	if (err)
		return err;
	data = realloc(chunk->data, size);
	if (!data)
		return -ENOMEM;
	spool->memory += size - chunk->size;
	chunk->data = data;
	chunk->size = size;
	return 0;
}

int spool_put(struct spool *spool, unsigned cpu, const struct record_head *record)
{
	struct spool_chunk *chunk = spool->youngest;
	uint32_t size = rings_record_size[record->kind];
	struct entry *entry;
	int err;

	if (spool->slice_ns && chunk->records && record->clock > chunk->start &&
	    record->clock - chunk->start > spool->slice_ns) {
		err = begin_chunk(spool, chunk->last);
		if (err)
			return err;
		chunk = spool->youngest;
	}
	while (chunk->size - chunk->used < sizeof(*entry) + size) {
		if (chunk->size < spool->chunk_max) {
			err = grow(spool, chunk);
		} else {
			err = begin_chunk(spool, chunk->last);
			chunk = spool->youngest;
		}
		if (err)
			return err;
	}
	entry = (struct entry *)(chunk->data + chunk->used);
	*entry = (struct entry){.cpu = cpu, .size = size};
	memcpy(entry + 1, record, size);
	chunk->used += sizeof(*entry) + size;
	if (!chunk->records)
		chunk->first = record->clock;
	if (record->clock > chunk->last)
		chunk->last = record->clock;
	chunk->records++;
	spool->records++;
	return 0;
}

int spool_turn(struct spool *spool, uint64_t now)
{
	uint64_t ns = spool->options.ns;
	struct spool_chunk *chunk = spool->youngest;
	int err = 0;

	if (!ns || now <= ns)
		return 0;
	/* also if nothing happens any more, so that it can be forgotten */
	if (chunk->records && now > chunk->start && now - chunk->start > spool->slice_ns)
		err = begin_chunk(spool, chunk->last);
	while (!err && spool->nchunks > 1 && spool->oldest->last < now - ns)
		err = forget_oldest(spool);
	return err;
}

uint64_t spool_start(const struct spool *spool)
{
	return spool->oldest->start;
}

uint64_t spool_first(const struct spool *spool)
{
	for (const struct spool_chunk *chunk = spool->oldest; chunk; chunk = chunk->next)
		if (chunk->records)
			return chunk->first;
	return 0;
}

size_t spool_memory(const struct spool *spool)
{
	return spool->memory;
}

uint64_t spool_records(const struct spool *spool)
{
	return spool->records;
}

bool spool_short(const struct spool *spool)
{
	return spool->is_short;
}

int spool_hold(struct spool *spool, struct spool_held *held)
{
	struct spool_chunk *last = spool->youngest;
	int err;

	/* what is shared does not change any more */
	err = begin_chunk(spool, last->last);
	if (err)
		return err;
	*held = (struct spool_held){
		.chunks = calloc(spool->nchunks, sizeof(struct spool_chunk *)),
		.start = spool->oldest->start,
		.first = spool_first(spool),
		.note = spool->oldest->note,
	};
	if (!held->chunks)
		return -ENOMEM;
	for (struct spool_chunk *chunk = spool->oldest; chunk != spool->youngest;
	     chunk = chunk->next) {
		chunk->refs++;
		held->chunks[held->nchunks++] = chunk;
	}
	return 0;
}

void spool_release(struct spool_held *held)
{
	for (size_t i = 0; i < held->nchunks; i++)
		unref(held->chunks[i]);
	free(held->chunks);
	*held = (struct spool_held){0};
}

int spool_play(const struct spool_held *held,
	       int (*take)(void *arg, unsigned cpu, const struct record_head *record), void *arg)
{
	int err = 0;

	for (size_t i = 0; i < held->nchunks && !err; i++)
		err = play(held->chunks[i], take, arg);
	return err;
}
