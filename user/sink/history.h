/* SPDX-License-Identifier: MIT */
/*
 * history: the newest records of a session, in bounded memory.
 *
 * In: records in their one order (main.h); out: the same, from some clock on, as often as
 * asked. They lie in chunks; when there is no more room, or the oldest chunk is older than
 * is to be kept, that one is forgotten as a whole: its records are handed, in order, to who
 * follows what has been forgotten. Chunks are shared with who holds them (a save in another
 * thread), so nothing is ever copied; memory is at most twice the bound while one does.
 * Invariants: what is kept is everything after history_start(), without a hole; memory that nobody
 * holds is within the bound (one chunk is always kept); no allocation per record.
 */
#ifndef USER_SINK_HISTORY_H
#define USER_SINK_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define HISTORY_BYTES_MIN (1u << 20)
#define HISTORY_SLICES	  32 /* chunks in the bound, at least: how fine it forgets */

struct history;

struct history_options {
	uint64_t bytes; /* bound of the memory; below HISTORY_BYTES_MIN much of it is overhead */
	uint64_t ns;	/* how far back is to be kept, 0: as far as there is room */

	/* A record is forgotten. Not 0: an error, which history_put() or history_advance() returns.
	 */
	int (*forgotten)(void *arg, unsigned cpu, const struct record_head *record);
	/* A chunk begins, before the record that is being put: what is to be known of this moment,
	 * NULL on failure (no memory). */
	void *(*note)(void *arg);
	void (*drop_note)(void *note);
	size_t note_bytes; /* what a note counts for */
	void *arg;
};

/* Nothing before `start` ns is kept. NULL without memory. */
struct history *history_new(const struct history_options *options, uint64_t start);
void history_free(struct history *history);

/* Appends a record of kernel CPU `cpu`, of a known kind. 0, -ENOMEM, or the error of forgotten().
 */
int history_put(struct history *history, unsigned cpu, const struct record_head *record)
	__attribute__((warn_unused_result));

/* All records before `now` ns have been put: forgets what is too old. As history_put(). */
int history_advance(struct history *history, uint64_t now) __attribute__((warn_unused_result));

uint64_t history_start(const struct history *history); /* all that is later has been kept */
uint64_t history_first(const struct history *history); /* clock of the oldest record; 0: none */
size_t history_memory(const struct history *history);  /* bytes; without what only others hold */
uint64_t history_records(const struct history *history);

/* Has there been no room for all of `ns`? */
bool history_short(const struct history *history);

/* All that is kept at one moment. */
struct history_hold_set {
	struct history_chunk **chunks; /* nchunks of them */
	size_t nchunks;
	uint64_t start, first; /* clock of history_start(), and of the first record (0: none) */
	const void *note;      /* of the first chunk */
};

/* To be ended, in any thread, by history_release(). 0 or -ENOMEM. */
int history_hold(struct history *history, struct history_hold_set *held)
	__attribute__((warn_unused_result));
void history_release(struct history_hold_set *held); /* also of a zeroed struct */

/* Hands over all records in order, until `take` does not return 0; returns that, or 0. */
int history_play(const struct history_hold_set *held,
		 int (*take)(void *arg, unsigned cpu, const struct record_head *record), void *arg);

#endif
