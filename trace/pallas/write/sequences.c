/* SPDX-License-Identifier: MIT */
/*
 * sequences: the tables of sequences and loops of a growing grammar.
 *
 * In: keys; out: ids. The hash of the keys finds a sequence, and a comparison confirms it.
 * Invariants: equal lists are one sequence; every loop id is used (rule R10), since a loop gets its
 * id with the first stored sequence that contains it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

#include "trace/pallas/write/grammar_builder.h"

#define LAST_SLOTS 4096 /* chains of loop bodies by their last two tokens; a power of 2 */
#define CHAIN_MAX  8	/* loop bodies compared per token */

int pallas_sequences_init(struct thread_writer *w)
{
	w->last_table = malloc(LAST_SLOTS * sizeof(*w->last_table));
	if (!w->last_table)
		return -ENOMEM;
	memset(w->last_table, 0xff, LAST_SLOTS * sizeof(*w->last_table));
	/* id 0 is the root, which gets its tokens at the end */
	return pallas_sequence_add(w, NULL, 0, 0, SEQUENCE_BLOCK) == 0 ? 0 : -ENOMEM;
}

void pallas_sequences_fini(struct thread_writer *w)
{
	for (uint32_t i = 0; i < w->nsequences; i++) {
		struct sequence *s = &w->sequences[i];

		free(s->tokens);
		bytes_free(&s->spills);
		pallas_series_free(&s->durations, &w->held);
		pallas_series_free(&s->exclusive, &w->held);
		pallas_series_free(&s->starts, &w->held);
	}
	free(w->sequences);
	free(w->sequence_table);
	free(w->last_table);
	free(w->loops);
	hash_free(&w->loop_of);
}

/* ---- loops ---- */

/* In a key of a loop: its sequence and its iterations. */
static struct hash_key loop_key(uint64_t key)
{
	return (struct hash_key){.a = key_id(key), .b = key >> 32};
}

/* The token of a key, or PALLAS_NONE for a loop without an id. */
static uint32_t known_token(const struct thread_writer *w, uint64_t key)
{
	uint32_t id;

	if (!key_is_loop(key))
		return (uint32_t)key;
	id = hash_get(&w->loop_of, loop_key(key));
	return id == HASH_NONE ? PALLAS_NONE : pallas_token(TOKEN_LOOP, id);
}

uint32_t pallas_key_token(struct thread_writer *w, uint64_t key)
{
	uint32_t token = known_token(w, key), *at;
	struct loop_entry *loop;

	if (token != PALLAS_NONE)
		return token;
	if (w->nloops >= PALLAS_ID_MAX)
		return PALLAS_NONE;
	at = hash_at(&w->loop_of, loop_key(key));
	loop = at ? ARRAY_ADD(w->loops, w->nloops) : NULL;
	if (!loop)
		return PALLAS_NONE;
	*loop = (struct loop_entry){key_id(key), (uint32_t)(key >> 32), 0};
	*at = (uint32_t)(loop - w->loops);
	return pallas_token(TOKEN_LOOP, *at);
}

void pallas_loops_count(struct thread_writer *w, const uint32_t *tokens, size_t n, uint64_t times)
{
	for (size_t i = 0; i < n; i++) {
		if (token_type(tokens[i]) == TOKEN_LOOP)
			w->loops[token_id(tokens[i])].occurrences += times;
	}
}

/* ---- sequences ---- */

uint64_t pallas_keys_hash(const uint64_t *keys, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++)
		h = hash_step(h, keys[i]);
	return h;
}

static bool same_tokens(const struct thread_writer *w, const struct sequence *s,
			const uint64_t *keys)
{
	for (uint32_t i = s->ntokens; i-- > 0;) {
		if (known_token(w, keys[i]) != s->tokens[i])
			return false;
	}
	return true;
}

uint32_t pallas_sequence_find(const struct thread_writer *w, const uint64_t *keys, size_t n,
			      uint64_t hash, enum pallas_sequence_type type)
{
	size_t mask = 2 * (size_t)w->sequence_room - 1;

	for (size_t slot = hash & mask; w->sequence_table[slot] != PALLAS_NONE;
	     slot = (slot + 1) & mask) {
		const struct sequence *s = &w->sequences[w->sequence_table[slot]];

		if (s->hash == hash && s->ntokens == n && s->type == type && !s->spilled &&
		    same_tokens(w, s, keys))
			return w->sequence_table[slot];
	}
	return PALLAS_NONE;
}

static void table_insert(struct thread_writer *w, uint32_t id)
{
	size_t mask = 2 * (size_t)w->sequence_room - 1;
	size_t slot = w->sequences[id].hash & mask;

	while (w->sequence_table[slot] != PALLAS_NONE)
		slot = (slot + 1) & mask;
	w->sequence_table[slot] = id;
}

static int sequences_grow(struct thread_writer *w)
{
	uint32_t room = w->sequence_room ? 2 * w->sequence_room : 64;
	struct sequence *sequences = realloc(w->sequences, room * sizeof(*sequences));
	uint32_t *table;

	if (!sequences)
		return -ENOMEM;
	w->sequences = sequences;
	table = malloc(2 * (size_t)room * sizeof(*table));
	if (!table)
		return -ENOMEM;
	memset(table, 0xff, 2 * (size_t)room * sizeof(*table));
	free(w->sequence_table);
	w->sequence_table = table;
	w->sequence_room = room;
	for (uint32_t i = 1; i < w->nsequences; i++)
		table_insert(w, i);
	return 0;
}

/* The chain of loop bodies with these last two tokens. */
static uint32_t *last_slot(const struct thread_writer *w, uint32_t before, uint32_t last)
{
	return &w->last_table[hash_step(hash_step(2, before), last) & (LAST_SLOTS - 1)];
}

uint32_t pallas_sequence_add(struct thread_writer *w, const uint64_t *keys, size_t n, uint64_t hash,
			     enum pallas_sequence_type type)
{
	struct sequence *s;
	uint32_t id = w->nsequences, *slot;

	if (id >= PALLAS_ID_MAX || n > UINT32_MAX || (id == w->sequence_room && sequences_grow(w)))
		return PALLAS_NONE;
	s = &w->sequences[id];
	*s = (struct sequence){.hash = hash, .type = (uint8_t)type, .same = true};
	s->next_last = PALLAS_NONE;
	s->tokens = malloc(n ? n * sizeof(*s->tokens) : 1);
	if (!s->tokens)
		return PALLAS_NONE;
	s->ntokens = (uint32_t)n;
	w->held_tokens += 4 * n;
	s->height = pallas_keys_height(w, keys, n);
	w->nsequences++;
	for (size_t i = 0; i < n; i++) {
		s->tokens[i] = pallas_key_token(w, keys[i]);
		if (s->tokens[i] == PALLAS_NONE)
			return PALLAS_NONE;
	}
	if (id == 0)
		return id;
	table_insert(w, id);
	if (type == SEQUENCE_LOOP && n >= 2 && n <= THREAD_PATTERN) {
		slot = last_slot(w, s->tokens[n - 2], s->tokens[n - 1]);
		s->next_last = *slot;
		*slot = id;
	}
	return id;
}

uint32_t pallas_sequence_tail(const struct thread_writer *w, const uint64_t *end, size_t most)
{
	uint32_t last, before, id;
	unsigned looked = 0;

	if (most < 2)
		return PALLAS_NONE;
	last = known_token(w, end[-1]);
	before = known_token(w, end[-2]);
	if (last == PALLAS_NONE || before == PALLAS_NONE)
		return PALLAS_NONE;
	for (id = *last_slot(w, before, last); id != PALLAS_NONE && looked < CHAIN_MAX; looked++) {
		const struct sequence *s = &w->sequences[id];

		if (s->ntokens <= most && same_tokens(w, s, end - s->ntokens))
			return id;
		id = s->next_last;
	}
	return PALLAS_NONE;
}

bool pallas_sequence_starts(const struct thread_writer *w, uint32_t id, uint64_t key)
{
	const struct sequence *s = &w->sequences[id];

	return s->ntokens > 1 && s->tokens[0] == known_token(w, key);
}

uint8_t pallas_keys_height(const struct thread_writer *w, const uint64_t *keys, size_t n)
{
	unsigned below = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned h = 0;

		if ((keys[i] & 3) != TOKEN_EVENT)
			h = w->sequences[key_id(keys[i])].height + (key_is_loop(keys[i]) ? 1u : 0u);
		below = h > below ? h : below;
	}
	return (uint8_t)(below + 1);
}

/* Stores exclusive durations separately, from the first one that differs from its duration. */
static int exclusive_split(struct thread_writer *w, struct sequence *s)
{
	int err = 0;

	if (s->durations.nsubs) {
		/* the sub-arrays so far are equal: they share descriptions and chunks */
		bytes_put(&s->exclusive.subs, s->durations.subs.data, s->durations.subs.size);
		s->exclusive.total = s->durations.total;
		s->exclusive.nsubs = s->durations.nsubs;
		s->exclusive.min = s->durations.min;
		s->exclusive.max = s->durations.max;
		s->exclusive.sum = s->durations.sum;
	}
	for (uint32_t i = 0; i < s->durations.n; i++) {
		err = pallas_series_add(&s->exclusive, s->durations.v[i], &w->held);
		if (err)
			goto out;
	}
out:
	s->same = false;
	return err;
}

int pallas_sequence_occurs(struct thread_writer *w, uint32_t id, uint64_t first, uint64_t last,
			   uint64_t exclusive)
{
	struct sequence *s = &w->sequences[id];
	int err = 0;

	s->count++;
	if (s->count <= 2)
		w->once += s->count == 1 ? 1u : -1u;
	if (s->same && exclusive != last - first)
		err = exclusive_split(w, s);
	if (err)
		return err;
	err = pallas_series_add(&s->durations, last - first, &w->held);
	if (err)
		return err;
	if (!s->same)
		err = pallas_series_add(&s->exclusive, exclusive, &w->held);
	if (err)
		return err;
	err = pallas_series_add(&s->starts, first, &w->held);
	if (err)
		return err;
	if (s->starts.n == CHUNK_ELEMENTS_MAX)
		err = pallas_sequence_flush(w, s);
	return err;
}

int pallas_sequence_flush(struct thread_writer *w, struct sequence *s)
{
	uint64_t place = PALLAS_INVALID;
	bool same = !s->same && s->exclusive.n &&
		    memcmp(s->exclusive.v, s->durations.v, 8 * (size_t)s->exclusive.n) == 0;
	int err = pallas_series_flush(&s->durations, VECTOR_DURATIONS, w->sequence_data, &place,
				      &w->held);

	if (!same)
		place = PALLAS_INVALID;
	if (err)
		return err;
	if (!s->same)
		err = pallas_series_flush(&s->exclusive, VECTOR_DURATIONS, w->sequence_data, &place,
					  &w->held);
	if (err)
		return err;
	err = pallas_series_flush(&s->starts, VECTOR_TIMES, w->sequence_data, NULL, &w->held);
	return err;
}
