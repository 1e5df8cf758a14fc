/* SPDX-License-Identifier: MIT */
/*
 * grammar_builder: the data of a thread_writer, for its three files alone.
 *
 *   thread_writer.c    events, and the file thread.pallas
 *   grammar_builder.c  frames, items, and the folding of repetitions
 *   sequences.c        the tables of sequences and loops
 *
 * In: the events of a thread; out: its grammar. Invariant: memory follows the size of the grammar,
 * not the number of events.
 */
#ifndef TRACE_PALLAS_WRITE_GRAMMAR_BUILDER_H
#define TRACE_PALLAS_WRITE_GRAMMAR_BUILDER_H

#include <stdbool.h>

#include "trace/pallas/write/scratch.h"
#include "trace/base/hash.h"
#include "trace/pallas/write/series.h"
#include "trace/pallas/write/thread_writer.h"

struct event_entry {
	uint64_t hash;
	uint8_t *payload;
	uint32_t record;
	uint32_t region; /* of an ENTER: index in regions */
	uint16_t closes; /* of an END: the record of its START */
	uint8_t size, kind;
	struct series times;
	struct bytes attributes;
	struct bytes attribute_spills; /* earlier lists, in the scratch file */
	uint64_t attributes_spilled;   /* bytes */
};

struct sequence {
	uint64_t hash;
	uint32_t *tokens;
	uint32_t ntokens;
	uint32_t next_last;  /* next loop body with the same last token */
	struct bytes spills; /* earlier tokens, in the scratch file */
	uint64_t spilled;    /* their number */
	uint64_t count;	     /* occurrences */
	uint8_t type, height;
	bool same; /* exclusive durations equal the durations so far, and are not stored */
	struct series durations, exclusive, starts;
};

struct loop_entry {
	uint32_t sequence, iterations;
	uint64_t occurrences;
};

/* The occurrence of a key on the stack of items. */
struct item {
	uint64_t first, last, block; /* ns */
};

struct frame {
	size_t start;	    /* of its items */
	uint32_t opened_by; /* event entry; PALLAS_NONE for the bottom frame */
	uint64_t opened_at;
	uint64_t called;   /* time in regions called directly from it */
	uint32_t disorder; /* score: see order() in grammar_builder.c */
	/* tokens in the scratch file */
	struct bytes spills;
	uint64_t spilled, first, block;
	uint8_t height;
};

/* A complete call, held back because it may become one token with the next call. */
struct held_call {
	bool active;
	size_t frame;	       /* its frame */
	uint64_t enter, leave; /* keys */
	uint64_t first, last;
};

struct thread_writer {
	char *shown;
	int dirfd;
	struct scratch scratch;
	uint32_t archive, thread;
	struct chunk_writer *event_data, *sequence_data;
	size_t held;		/* bytes of unwritten elements */
	size_t held_attributes; /* bytes of attribute lists in memory */
	size_t held_tokens;	/* bytes of tokens in memory */
	uint64_t total_events, first_time, last_time;
	bool failed, whole_blocks;

	struct event_entry *events;
	size_t nevents, event_room;
	uint32_t *event_table; /* twice event_room slots */

	struct sequence *sequences; /* 0 is the root */
	uint32_t nsequences, sequence_room;
	uint32_t *sequence_table;
	uint32_t once;	      /* sequences with one occurrence */
	uint32_t *last_table; /* loop bodies by their last token */
	struct loop_entry *loops;
	uint32_t nloops;
	struct hash loop_of; /* sequence, iterations */
	uint32_t *seen;	     /* hashes of blocks that stayed inline */

	uint64_t *keys; /* of all frames, one after the other */
	struct item *items;
	size_t nitems, item_room;
	struct frame *frames;
	size_t nframes, frame_room;

	struct held_call call;
	uint8_t *pairs; /* numbers of successive calls */

	struct region_summary *regions;
	size_t nregions, region_room;
	uint64_t inlined;
};

static inline uint64_t hash_step(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/*
 * A key is a token. The key of a loop has its iterations in the upper half and the id of its
 * sequence below, so it has a value before the loop is complete.
 */
static inline uint64_t key_loop(uint32_t sequence, uint32_t iterations)
{
	return (uint64_t)iterations << 32 | pallas_token(TOKEN_LOOP, sequence);
}

static inline bool key_is_loop(uint64_t key)
{
	return (key & 3) == TOKEN_LOOP;
}

static inline uint32_t key_id(uint64_t key)
{
	return token_id((uint32_t)key);
}

int grammar_builder_init(struct thread_writer *w);
void grammar_builder_fini(struct thread_writer *w);
int grammar_builder_event(struct thread_writer *w, uint32_t entry, uint64_t time);
int grammar_builder_finish(struct thread_writer *w);

/* sequences.c: hash of keys; the sequence with these keys and type, or PALLAS_NONE; adds one. */
uint64_t pallas_keys_hash(const uint64_t *keys, size_t n);
uint32_t pallas_sequence_find(const struct thread_writer *w, const uint64_t *keys, size_t n,
			      uint64_t hash, enum pallas_sequence_type type);
uint32_t pallas_sequence_add(struct thread_writer *w, const uint64_t *keys, size_t n, uint64_t hash,
			     enum pallas_sequence_type type);
/* The loop body of 2 to `most` tokens that equals the last keys; PALLAS_NONE if there is none. */
uint32_t pallas_sequence_tail(const struct thread_writer *w, const uint64_t *end, size_t most);
bool pallas_sequence_starts(const struct thread_writer *w, uint32_t id, uint64_t key);
uint8_t pallas_keys_height(const struct thread_writer *w, const uint64_t *keys, size_t n);
int pallas_sequence_occurs(struct thread_writer *w, uint32_t id, uint64_t first, uint64_t last,
			   uint64_t exclusive);
int pallas_sequence_flush(struct thread_writer *w, struct sequence *s);
/* The token of a key; gives a loop its id. PALLAS_NONE out of memory. */
uint32_t pallas_key_token(struct thread_writer *w, uint64_t key);
void pallas_loops_count(struct thread_writer *w, const uint32_t *tokens, size_t n, uint64_t times);
int pallas_sequences_init(struct thread_writer *w);
void pallas_sequences_fini(struct thread_writer *w);
int archive_writer_fail(struct thread_writer *w, int err);

#endif
