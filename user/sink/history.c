/* SPDX-License-Identifier: MIT */
/* history: see history.h. Each record is preceded by its CPU and size, aligned to eight bytes. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/kernel/rings.h"
#include "user/sink/history.h"

#define CHUNK_FIRST 1024 /* bytes of a new chunk, which grows up to CHUNK_MAX */
#define CHUNK_MAX   (1u << 20)

struct entry {
	uint32_t cpu, size;
};

struct history_chunk {
	struct history_chunk *next; /* the next younger chunk; of the history alone */
	_Atomic unsigned refs;
	uint64_t start;	      /* no record of an older chunk is later */
	uint64_t first, last; /* clocks of its records (0 and start: none) */
	uint64_t records;
	size_t used, size;
	uint8_t *data;
	void *note;
	void (*drop_note)(void *note);
};

struct history {
	struct history_options options;
	struct history_chunk *oldest, *youngest;
	size_t nchunks, memory, chunk_max;
	uint64_t slice_ns;
	uint64_t records;
	bool is_short;
};

static void unref(struct history_chunk *chunk)
{
	if (atomic_fetch_sub(&chunk->refs, 1) > 1)
		return;
	if (chunk->note)
		chunk->drop_note(chunk->note);
	free(chunk->data);
	free(chunk);
}

static int begin_chunk(struct history *history, uint64_t start)
{
	struct history_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return -ENOMEM;
	chunk->refs = 1;
	chunk->start = chunk->last = start;
	chunk->drop_note = history->options.drop_note;
	if (history->options.note) {
		chunk->note = history->options.note(history->options.arg);
		if (!chunk->note) {
			free(chunk);
			return -ENOMEM;
		}
	}
	if (history->youngest)
		history->youngest->next = chunk;
	else
		history->oldest = chunk;
	history->youngest = chunk;
	history->nchunks++;
	history->memory += sizeof(*chunk) + history->options.note_bytes;
	return 0;
}

struct history *history_new(const struct history_options *options, uint64_t start)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history)
		return NULL;
	history->options = *options;
	history->slice_ns = options->ns / HISTORY_SLICES;
	history->chunk_max = CHUNK_FIRST;
	while (history->chunk_max < CHUNK_MAX &&
	       2 * history->chunk_max * (HISTORY_SLICES + 1) <= options->bytes)
		history->chunk_max *= 2;
	if (begin_chunk(history, start)) {
		free(history);
		return NULL;
	}
	return history;
}

void history_free(struct history *history)
{
	struct history_chunk *next;

	for (struct history_chunk *chunk = history ? history->oldest : NULL; chunk; chunk = next) {
		next = chunk->next;
		unref(chunk);
	}
	free(history);
}

static int play(const struct history_chunk *chunk,
		int (*take)(void *arg, unsigned cpu, const struct record_head *record), void *arg)
{
	for (size_t at = 0; at < chunk->used;) {
		const struct entry *entry = (const struct entry *)(chunk->data + at);
		int err = take(arg, entry->cpu, (const struct record_head *)(entry + 1));

		if (err)
			return err;
		at += sizeof(*entry) + entry->size;
	}
	return 0;
}

static int discard_oldest(struct history *history)
{
	struct history_chunk *chunk = history->oldest;
	int err = play(chunk, history->options.discarded, history->options.arg);

	history->oldest = chunk->next;
	history->nchunks--;
	history->memory -= sizeof(*chunk) + history->options.note_bytes + chunk->size;
	history->records -= chunk->records;
	unref(chunk);
	return err;
}

/* Makes room for `more` bytes. The youngest chunk always stays. */
static int evict(struct history *history, size_t more)
{
	while (history->nchunks > 1 && history->memory + more > history->options.bytes) {
		uint64_t ns = history->options.ns, now = history->youngest->last;
		int err;

		if (ns && now - history->oldest->last < ns)
			history->is_short = true;
		err = discard_oldest(history);
		if (err)
			return err;
	}
	return 0;
}

static int grow(struct history *history, struct history_chunk *chunk)
{
	size_t size = chunk->size ? 2 * chunk->size : CHUNK_FIRST;
	uint8_t *data;
	int err = evict(history, size - chunk->size);

	if (err)
		return err;
	data = realloc(chunk->data, size);
	if (!data)
		return -ENOMEM;
	history->memory += size - chunk->size;
	chunk->data = data;
	chunk->size = size;
	return 0;
}

int history_put(struct history *history, unsigned cpu, const struct record_head *record)
{
	struct history_chunk *chunk = history->youngest;
	uint32_t size = record_bytes(record);
	struct entry *entry;
	int err;

	if (history->slice_ns && chunk->records && record->clock > chunk->start &&
	    record->clock - chunk->start > history->slice_ns) {
		err = begin_chunk(history, chunk->last);
		if (err)
			return err;
		chunk = history->youngest;
	}
	while (chunk->size - chunk->used < sizeof(*entry) + size) {
		if (chunk->size < history->chunk_max) {
			err = grow(history, chunk);
		} else {
			err = begin_chunk(history, chunk->last);
			chunk = history->youngest;
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
	history->records++;
	return 0;
}

int history_advance(struct history *history, uint64_t now)
{
	uint64_t ns = history->options.ns;
	struct history_chunk *chunk = history->youngest;
	int err = 0;

	if (!ns || now <= ns)
		return 0;
	/* also when no records arrive, so that the chunk can be discarded */
	if (chunk->records && now > chunk->start && now - chunk->start > history->slice_ns)
		err = begin_chunk(history, chunk->last);
	if (err)
		return err;
	while (history->nchunks > 1 && history->oldest->last < now - ns) {
		err = discard_oldest(history);
		if (err)
			return err;
	}
	return 0;
}

uint64_t history_start(const struct history *history)
{
	return history->oldest->start;
}

uint64_t history_first(const struct history *history)
{
	for (const struct history_chunk *chunk = history->oldest; chunk; chunk = chunk->next)
		if (chunk->records)
			return chunk->first;
	return 0;
}

size_t history_memory(const struct history *history)
{
	return history->memory;
}

uint64_t history_records(const struct history *history)
{
	return history->records;
}

bool history_short(const struct history *history)
{
	return history->is_short;
}

int history_hold(struct history *history, struct history_hold_set *held)
{
	struct history_chunk *last = history->youngest;
	int err;

	/* a shared chunk must not change: the next record begins another */
	err = begin_chunk(history, last->last);
	if (err)
		return err;
	*held = (struct history_hold_set){
		.chunks = calloc(history->nchunks, sizeof(struct history_chunk *)),
		.start = history->oldest->start,
		.first = history_first(history),
		.note = history->oldest->note,
	};
	if (!held->chunks)
		return -ENOMEM;
	for (struct history_chunk *chunk = history->oldest; chunk != history->youngest;
	     chunk = chunk->next) {
		chunk->refs++;
		held->chunks[held->nchunks++] = chunk;
	}
	return 0;
}

void history_release(struct history_hold_set *held)
{
	for (size_t i = 0; i < held->nchunks; i++)
		unref(held->chunks[i]);
	free(held->chunks);
	*held = (struct history_hold_set){0};
}

int history_play(const struct history_hold_set *held,
		 int (*take)(void *arg, unsigned cpu, const struct record_head *record), void *arg)
{
	for (size_t i = 0; i < held->nchunks; i++) {
		int err = play(held->chunks[i], take, arg);

		if (err)
			return err;
	}
	return 0;
}
