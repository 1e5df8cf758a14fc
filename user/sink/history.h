/* SPDX-License-Identifier: MIT */
/*
 * history: the newest records of a session, in bounded memory.
 *
 * In: records in clock order; out: the same records from some clock on, as often as asked. Records
 * lie in chunks. When the memory is used up, or the oldest chunk is older than the time to keep,
 * that chunk is discarded as a whole: its records are passed, in order, to a callback. Chunks are
 * shared by reference with a save in another thread, so nothing is copied; during a save the memory
 * is at most twice the bound.
 * Invariants: every record after history_start() is kept; memory
 * without other owners stays within the bound (one chunk always stays); no allocation per record.
 */
#ifndef USER_SINK_HISTORY_H
#define USER_SINK_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define HISTORY_BYTES_MIN (1u << 20)
#define HISTORY_SLICES	  32 /* chunks within the bound, at least: granularity of discarding */

struct history;

struct history_options {
	uint64_t bytes; /* bound of the memory; below HISTORY_BYTES_MIN much of it is overhead */
	uint64_t ns;	/* time to keep; 0: as much as fits */

	/* Called for each discarded record. history_put() and history_advance() return its error.
	 */
	int (*discarded)(void *arg, unsigned cpu, const struct record_head *record);
	/* Called when a chunk begins, before its first record: returns a note to keep with the
	 * chunk, NULL without memory. */
	void *(*note)(void *arg);
	void (*drop_note)(void *note);
	size_t note_bytes; /* size of a note, for the bound */
	void *arg;
};

/* An empty history that begins at `start` (ns). NULL without memory. */
struct history *history_new(const struct history_options *options, uint64_t start);
void history_free(struct history *history);

/* Appends a record of kernel CPU `cpu`, of a known kind. 0, -ENOMEM, or the error of discarded().
 */
int history_put(struct history *history, unsigned cpu, const struct record_head *record)
	__attribute__((warn_unused_result));

/* Every record before `now` (ns) has been put: discards old chunks. Returns as history_put(). */
int history_advance(struct history *history, uint64_t now) __attribute__((warn_unused_result));

uint64_t history_start(const struct history *history); /* every later record is kept */
uint64_t history_first(const struct history *history); /* clock of the oldest record; 0: none */
size_t
history_memory(const struct history *history); /* bytes, without chunks that only a save holds */
uint64_t history_records(const struct history *history);

/* True if the bound was too small for the time to keep. */
bool history_short(const struct history *history);

/* The records kept at one moment. */
struct history_hold_set {
	struct history_chunk **chunks; /* nchunks of them */
	size_t nchunks;
	uint64_t start, first; /* clock of history_start(), and of the first record (0: none) */
	const void *note;      /* of the first chunk */
};

/* Holds the present records until history_release(), which any thread may call. 0 or -ENOMEM. */
int history_hold(struct history *history, struct history_hold_set *held)
	__attribute__((warn_unused_result));
void history_release(struct history_hold_set *held); /* also of a zeroed struct */

/* Passes all records to `take` in order, until it returns an error; returns that, or 0. */
int history_play(const struct history_hold_set *held,
		 int (*take)(void *arg, unsigned cpu, const struct record_head *record), void *arg);

#endif
