/* SPDX-License-Identifier: MIT */
/*
 * grammar_builder: folds the tokens of a thread into sequences and loops.
 *
 * In: events; out: the tables of sequences and loops. A token goes to the frame of the innermost
 * open block and folds with tokens that it repeats. All frames share one stack of items; a block
 * that stays inline only loses its frame. When a frame grows without folding, its oldest tokens,
 * which can no longer change, go to a scratch file. Invariants: equal lists are one sequence; every
 * loop id is used (rule R10), since a loop gets its id with the first stored sequence that contains
 * it.
 * Specification: pallas.md 15.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/pallas/write/grammar_builder.h"

#define FRAME_ITEMS  4096 /* of the innermost frame, before half of them go to the scratch file */
#define HEIGHT_MAX   (PALLAS_DEPTH_MAX - 5) /* of a sequence, without root, wrapper and loops */
#define WORTH_TOKENS 64			    /* minimum of a block that always becomes a sequence */
#define WORTH_FREE                                                                                 \
	256 /* limit of sequences with one occurrence, plus one per WORTH_EVENTS events */
#define WORTH_EVENTS  48
#define SEQUENCES_MAX 65536 /* above it, only unavoidable sequences are added */
#define TOKENS_HELD                                                                                \
	(8u << 20) /* bytes of tokens in memory, before long lists go to the scratch file */
#define TOKENS_LONG 64
#define DISORDER    2048  /* score of an irregular frame */
#define FOLD_ORDER  16	  /* subtracted from the score per fold, beside its tokens */
#define PAIR_SLOTS  65536 /* a power of 2 */
#define PAIR_SEEN   32	  /* repetitions of two successive calls before they become one token */
#define TAIL_TOKENS 4	  /* minimum length of a known pattern outside a loop */
#define SEEN_SLOTS  65536 /* a power of 2 */
#define LAST_SLOTS  4096  /* chains of loop bodies by their last two tokens; a power of 2 */
#define CHAIN_MAX   8	  /* loop bodies compared per token */

/* ---- keys ---- */

/*
 * A key is a token. The key of a loop has its iterations in the upper half and the id of its
 * sequence below, so it has a value before the loop is complete.
 */
static uint64_t key_loop(uint32_t sequence, uint32_t iterations)
{
	return (uint64_t)iterations << 32 | pallas_token(TOKEN_LOOP, sequence);
}

static bool key_is_loop(uint64_t key)
{
	return (key & 3) == TOKEN_LOOP;
}

static uint32_t key_id(uint64_t key)
{
	return token_id((uint32_t)key);
}

static uint64_t hash_step(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t keys_hash(const uint64_t *keys, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++)
		h = hash_step(h, keys[i]);
	return h;
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

/* The token of a key; gives a loop its id. PALLAS_NONE out of memory. */
static uint32_t key_token(struct thread_writer *w, uint64_t key)
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

void loops_count(struct thread_writer *w, const uint32_t *tokens, size_t n, uint64_t times)
{
	for (size_t i = 0; i < n; i++) {
		if (token_type(tokens[i]) == TOKEN_LOOP)
			w->loops[token_id(tokens[i])].occurrences += times;
	}
}

/* ---- sequences ---- */

static bool same_tokens(const struct thread_writer *w, const struct sequence *s,
			const uint64_t *keys)
{
	for (uint32_t i = s->ntokens; i-- > 0;) {
		if (known_token(w, keys[i]) != s->tokens[i])
			return false;
	}
	return true;
}

static uint8_t keys_height(const struct thread_writer *w, const uint64_t *keys, size_t n)
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

/* The chain of loop bodies with these last two tokens. */
static uint32_t *last_slot(const struct thread_writer *w, uint32_t before, uint32_t last)
{
	return &w->last_table[hash_step(hash_step(2, before), last) & (LAST_SLOTS - 1)];
}

static struct hash_key sequence_key(uint64_t hash, size_t n, enum pallas_sequence_type type)
{
	return (struct hash_key){.a = hash, .b = n, .c = type};
}

/* The sequence with these keys and type, or PALLAS_NONE. */
static uint32_t sequence_find(const struct thread_writer *w, const uint64_t *keys, size_t n,
			      uint64_t hash, enum pallas_sequence_type type)
{
	uint32_t id = hash_get(&w->sequence_of, sequence_key(hash, n, type));

	if (id == HASH_NONE || w->sequences[id].spilled || !same_tokens(w, &w->sequences[id], keys))
		return PALLAS_NONE;
	return id;
}

/* Adds a sequence without occurrences. Returns its id, or PALLAS_NONE out of memory. */
static uint32_t sequence_add(struct thread_writer *w, const uint64_t *keys, size_t n, uint64_t hash,
			     enum pallas_sequence_type type)
{
	struct sequence *s =
		w->nsequences < PALLAS_ID_MAX ? ARRAY_ADD(w->sequences, w->nsequences) : NULL;
	uint32_t id = w->nsequences - 1, *slot;

	if (!s)
		return PALLAS_NONE;
	*s = (struct sequence){.type = (uint8_t)type, .next_last = PALLAS_NONE};
	s->tokens = malloc(n ? n * sizeof(*s->tokens) : 1);
	if (!s->tokens)
		return PALLAS_NONE;
	s->ntokens = (uint32_t)n;
	w->held_tokens += 4 * n;
	s->height = keys_height(w, keys, n);
	for (size_t i = 0; i < n; i++) {
		s->tokens[i] = key_token(w, keys[i]);
		if (s->tokens[i] == PALLAS_NONE)
			return PALLAS_NONE;
	}
	if (id == 0)
		return id;
	slot = hash_at(&w->sequence_of, sequence_key(hash, n, type));
	if (!slot)
		return PALLAS_NONE;
	*slot = id;
	if (type == SEQUENCE_LOOP && n >= 2 && n <= THREAD_PATTERN) {
		slot = last_slot(w, s->tokens[n - 2], s->tokens[n - 1]);
		s->next_last = *slot;
		*slot = id;
	}
	return id;
}

/* The sequence with these keys and type, added if it is new; PALLAS_NONE out of memory. */
static uint32_t sequence_of(struct thread_writer *w, const uint64_t *keys, size_t n,
			    enum pallas_sequence_type type)
{
	uint64_t hash = keys_hash(keys, n);
	uint32_t id = sequence_find(w, keys, n, hash, type);

	return id == PALLAS_NONE ? sequence_add(w, keys, n, hash, type) : id;
}

/* The loop body of 2 to `most` tokens that equals the last keys; PALLAS_NONE if there is none. */
static uint32_t sequence_tail(const struct thread_writer *w, const uint64_t *end, size_t most)
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

static bool sequence_starts(const struct thread_writer *w, uint32_t id, uint64_t key)
{
	const struct sequence *s = &w->sequences[id];

	return s->ntokens > 1 && s->tokens[0] == known_token(w, key);
}

static int sequence_occurs(struct thread_writer *w, uint32_t id, uint64_t first, uint64_t last,
			   uint64_t exclusive)
{
	struct sequence *s = &w->sequences[id];
	int err;

	s->count++;
	if (s->count <= 2)
		w->once += s->count == 1 ? 1u : -1u;
	err = series_add(&s->durations, last - first, &w->held);
	if (err)
		return err;
	err = series_add(&s->exclusive, exclusive, &w->held);
	if (err)
		return err;
	err = series_add(&s->starts, first, &w->held);
	if (err)
		return err;
	return s->starts.n == CHUNK_ELEMENTS_MAX ? sequence_flush(w, s) : 0;
}

int sequence_flush(struct thread_writer *w, struct sequence *s)
{
	uint64_t durations = PALLAS_INVALID, exclusive = PALLAS_INVALID, starts = PALLAS_INVALID;
	bool same = s->durations.n &&
		    memcmp(s->exclusive.v, s->durations.v, 8 * (size_t)s->durations.n) == 0;
	int err = series_flush(&s->durations, VECTOR_DURATIONS, w->sequence_data, &durations,
			       &w->held);

	if (err)
		return err;
	if (same)
		exclusive = durations;
	err = series_flush(&s->exclusive, VECTOR_DURATIONS, w->sequence_data, &exclusive, &w->held);
	if (err)
		return err;
	return series_flush(&s->starts, VECTOR_TIMES, w->sequence_data, &starts, &w->held);
}

/* ---- frames and items ---- */

static struct frame *top(struct thread_writer *w)
{
	return &w->frames[w->nframes - 1];
}

static int frame_push(struct thread_writer *w, uint32_t entry, uint64_t time)
{
	struct frame *frames = stack_more(w->frames, w->nframes, &w->frame_room, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	w->frames = frames;
	frames[w->nframes++] =
		(struct frame){.start = w->nitems, .opened_by = entry, .opened_at = time};
	if (entry != PALLAS_NONE && w->events[entry].region != PALLAS_NONE)
		w->regions[w->events[entry].region].open++;
	return 0;
}

static int items_grow(struct thread_writer *w)
{
	size_t room = w->item_room ? 2 * w->item_room : 1024;
	uint64_t *keys = realloc(w->keys, room * sizeof(*keys));
	struct item *items;

	if (!keys)
		return -ENOMEM;
	w->keys = keys;
	items = realloc(w->items, room * sizeof(*items));
	if (!items)
		return -ENOMEM;
	w->items = items;
	w->item_room = room;
	return 0;
}

/* ---- folding ---- */

/*
 * Updates the score of disorder of the innermost frame: each new token adds one, each fold
 * subtracts more than its tokens, so a program that repeats stays near 0.
 */
static void order(struct thread_writer *w, size_t ntokens)
{
	struct frame *f = top(w);
	size_t take = 2 * ntokens + FOLD_ORDER;

	f->disorder = f->disorder > take ? f->disorder - (uint32_t)take : 0;
}

/* Time in blocks of n items. */
static uint64_t block_sum(const struct item *items, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += items[i].block;
	return sum;
}

/* Replaces the last n items with one item with `key`. */
static void replace(struct thread_writer *w, size_t n, uint64_t key)
{
	size_t at = w->nitems - n;
	struct item whole = {
		.first = w->items[at].first,
		.last = w->items[w->nitems - 1].last,
		.block = block_sum(&w->items[at], n),
	};

	w->keys[at] = key;
	w->items[at] = whole;
	w->nitems = at + 1;
	order(w, n);
}

/* Joins the last item with the loop before it, if it is a further iteration. */
static bool join(struct thread_writer *w, size_t count)
{
	uint64_t *end = w->keys + w->nitems;

	if (count < 2 || !key_is_loop(end[-2]) || (end[-1] & 3) != TOKEN_SEQUENCE ||
	    key_id(end[-2]) != key_id(end[-1]) || end[-2] >> 32 >= PALLAS_ITERATIONS_MAX)
		return false;
	replace(w, 2, end[-2] + (1ull << 32));
	return true;
}

/*
 * Folds a known loop body at the tail: as a further iteration of the loop before it, or by itself
 * if it is long enough. Returns 1 if the tail changed.
 */
static int fold_known(struct thread_writer *w, size_t count)
{
	uint64_t *end = w->keys + w->nitems;
	size_t most = count < THREAD_PATTERN ? count : THREAD_PATTERN;
	uint32_t id = sequence_tail(w, end, most);
	const struct sequence *s;
	struct item *tail;
	uint32_t n;
	int err;

	if (id == PALLAS_NONE)
		return 0;
	s = &w->sequences[id];
	n = s->ntokens;
	if (n < TAIL_TOKENS && (count == n || !key_is_loop(end[-1 - (ptrdiff_t)n]) ||
				key_id(end[-1 - (ptrdiff_t)n]) != id))
		return 0;
	tail = &w->items[w->nitems - n];
	err = sequence_occurs(w, id, tail[0].first, tail[n - 1].last, block_sum(tail, n));
	if (err)
		return err;
	replace(w, n, pallas_token(TOKEN_SEQUENCE, id));
	return 1;
}

/*
 * Makes the sequence of a new loop, with its first two occurrences; *out is PALLAS_NONE if there
 * are too many sequences.
 */
static int pattern(struct thread_writer *w, size_t n, uint32_t *out)
{
	uint64_t *keys = w->keys + w->nitems - n, hash;
	struct item *half = w->items + w->nitems - 2 * n;
	uint32_t id;
	int err = 0;

	*out = PALLAS_NONE;
	if (n == 1 && (keys[0] & 3) == TOKEN_SEQUENCE) {
		*out = key_id(keys[0]);
		return 0;
	}
	hash = keys_hash(keys, n);
	id = sequence_find(w, keys, n, hash, SEQUENCE_LOOP);
	if (id == PALLAS_NONE && w->nsequences >= 2 * SEQUENCES_MAX)
		return 0;
	if (id == PALLAS_NONE)
		id = sequence_add(w, keys, n, hash, SEQUENCE_LOOP);
	if (id == PALLAS_NONE)
		return -ENOMEM;
	for (unsigned i = 0; i < 2; i++, half += n) {
		err = sequence_occurs(w, id, half[0].first, half[n - 1].last, block_sum(half, n));
		if (err)
			goto out;
	}
out:
	*out = id;
	return err;
}

/* True if a loop may repeat these keys: they do not begin as a block, and are not too high. */
static bool may_repeat(const struct thread_writer *w, const uint64_t *keys, size_t n)
{
	if ((keys[0] & 3) == TOKEN_EVENT && w->events[key_id(keys[0])].record == PALLAS_ENTER)
		return false;
	return !(n == 1 && key_is_loop(keys[0])) && keys_height(w, keys, n) < HEIGHT_MAX;
}

/* Folds a tail that equals the items before it into a loop of two iterations. Returns 1 if so. */
static int fold_repeated(struct thread_writer *w, size_t count)
{
	const uint64_t *end = w->keys + w->nitems;
	size_t most = count / 2 < THREAD_PATTERN - 1 ? count / 2 : THREAD_PATTERN - 1;
	uint64_t last = end[-1];

	for (size_t n = 1; n <= most; n++) {
		uint32_t id;
		int err;

		if (end[-1 - (ptrdiff_t)n] != last ||
		    (n > 1 && end[-2] != end[-2 - (ptrdiff_t)n]) ||
		    memcmp(end - n, end - 2 * n, n * sizeof(*end)) != 0 ||
		    !may_repeat(w, end - n, n))
			continue;
		err = pattern(w, n, &id);
		if (err || id == PALLAS_NONE)
			return err;
		replace(w, 2 * n, key_loop(id, 2));
		return 1;
	}
	return 0;
}

/* Folds the tail of the innermost frame until nothing changes. */
static int reduce(struct thread_writer *w)
{
	for (;;) {
		size_t count = w->nitems - top(w)->start;
		int got;

		if (join(w, count))
			return 0;
		got = fold_known(w, count);
		if (got < 0)
			return got;
		if (got)
			continue;
		got = fold_repeated(w, count);
		return got < 0 ? got : 0;
	}
}

/* ---- spilling ---- */

/* Writes the first n items (at most FRAME_ITEMS) of the innermost frame to the scratch file. */
static int spill(struct thread_writer *w, size_t n)
{
	struct frame *f = top(w);
	uint32_t tokens[FRAME_ITEMS];
	size_t rest = w->nitems - f->start - n;
	uint8_t height = keys_height(w, w->keys + f->start, n);
	int err;

	for (size_t i = 0; i < n; i++) {
		tokens[i] = key_token(w, w->keys[f->start + i]);
		if (tokens[i] == PALLAS_NONE)
			return -ENOMEM;
	}
	err = thread_writer_spill(w, tokens, n * sizeof(*tokens), &f->spills);
	if (err)
		return err;
	if (!f->spilled)
		f->first = w->items[f->start].first;
	f->spilled += n;
	f->block += block_sum(&w->items[f->start], n);
	f->height = height > f->height ? height : f->height;
	memmove(w->keys + f->start, w->keys + f->start + n, rest * sizeof(*w->keys));
	memmove(w->items + f->start, w->items + f->start + n, rest * sizeof(*w->items));
	w->nitems -= n;
	return 0;
}

/* ---- tokens and blocks ---- */

static int append(struct thread_writer *w, uint64_t key, uint64_t first, uint64_t last,
		  uint64_t block)
{
	size_t count = w->nitems - top(w)->start;
	int err = 0;

	if (count && key_is_loop(w->keys[w->nitems - 1])) {
		uint64_t *loop = &w->keys[w->nitems - 1];

		if ((key & 3) == TOKEN_SEQUENCE && key_id(*loop) == key_id(key) &&
		    *loop >> 32 < PALLAS_ITERATIONS_MAX) {
			*loop += 1ull << 32;
			w->items[w->nitems - 1].last = last;
			w->items[w->nitems - 1].block += block;
			order(w, 1);
			return 0;
		}
		/* the loop is complete, unless this token begins a further iteration of several
		 * tokens */
		if (!sequence_starts(w, key_id(*loop), key)) {
			err = reduce(w);
			if (err)
				return err;
		}
	}
	err = w->nitems == w->item_room ? items_grow(w) : 0;
	if (err)
		return err;
	w->keys[w->nitems] = key;
	w->items[w->nitems++] = (struct item){first, last, block};
	if (top(w)->disorder < 2 * DISORDER)
		top(w)->disorder++;
	err = reduce(w);
	if (err)
		return err;
	return w->nitems - top(w)->start > FRAME_ITEMS ? spill(w, FRAME_ITEMS / 2) : 0;
}

/* True if an END event closes the innermost block. */
static bool closes(const struct thread_writer *w, const struct event_entry *end)
{
	const struct frame *f = &w->frames[w->nframes - 1];
	const struct event_entry *start;

	if (f->opened_by == PALLAS_NONE)
		return false;
	start = &w->events[f->opened_by];
	if (start->record != end->closes)
		return false;
	return end->record != PALLAS_LEAVE || (start->ref == end->ref && end->ref != PALLAS_NONE);
}

/* True if a new block becomes a sequence; otherwise keeps its hash for the next time. */
static bool worth(struct thread_writer *w, size_t ntokens, uint64_t hash)
{
	uint32_t *seen = &w->seen[hash & (SEEN_SLOTS - 1)], tag = (uint32_t)(hash >> 32) | 1;
	bool known = *seen == tag;

	*seen = tag;
	if (w->whole_blocks)
		return true;
	return w->nsequences < SEQUENCES_MAX &&
	       (known || ntokens >= WORTH_TOKENS ||
		w->once < WORTH_FREE + w->total_events / WORTH_EVENTS);
}

static void summarize(struct thread_writer *w, const struct frame *f, uint64_t time, bool inlined)
{
	uint32_t place = w->events[f->opened_by].region;
	uint64_t duration = time - f->opened_at, exclusive = duration - f->called;
	struct region_summary *r;

	w->inlined += inlined;
	if (place == PALLAS_NONE)
		return;
	r = &w->regions[place];
	if (r->calls == 0 || duration < r->min)
		r->min = duration;
	if (r->calls == 0 || exclusive < r->excl_min)
		r->excl_min = exclusive;
	r->max = duration > r->max ? duration : r->max;
	r->excl_max = exclusive > r->excl_max ? exclusive : r->excl_max;
	r->sum += duration;
	r->excl_sum += exclusive;
	r->calls++;
	r->inlined += inlined;
	r->open--;
	r->outer_sum += r->open == 0 ? duration : 0;
}

/*
 * Stores the sequence of the block in the innermost frame, or PALLAS_NONE if it stays inline, which
 * `always` excludes. May move its tokens to the scratch file.
 */
static int block_sequence(struct thread_writer *w, enum pallas_sequence_type type, bool always,
			  uint32_t *out)
{
	struct frame *f = top(w);
	size_t n = w->nitems - f->start;
	uint64_t hash = keys_hash(w->keys + f->start, n);
	uint8_t height;

	*out = PALLAS_NONE;
	if (!f->spilled)
		*out = sequence_find(w, w->keys + f->start, n, hash, type);
	if (*out != PALLAS_NONE)
		return 0;
	height = keys_height(w, w->keys + f->start, n);
	height = f->height > height ? f->height : height;
	if (!always && height > HEIGHT_MAX)
		return 0;
	if (!always && !f->spilled && !worth(w, n, hash))
		return 0;
	if (n > TOKENS_LONG && (f->spilled || w->held_tokens > TOKENS_HELD)) {
		for (; n; n = w->nitems - f->start) {
			int err = spill(w, n < FRAME_ITEMS ? n : FRAME_ITEMS);

			if (err)
				return err;
		}
	}
	*out = sequence_add(w, w->keys + f->start, n, hash, type);
	if (*out == PALLAS_NONE)
		return -ENOMEM;
	w->sequences[*out].spilled = f->spilled;
	w->sequences[*out].spills = f->spills;
	w->sequences[*out].height = height;
	f->spills = (struct bytes){0};
	return 0;
}

/* Closes the innermost frame: its tokens become a sequence, or stay inline. */
static int block_close(struct thread_writer *w, uint64_t time)
{
	struct frame f = *top(w);
	enum pallas_sequence_type type =
		w->events[f.opened_by].record == PALLAS_ENTER ? SEQUENCE_BLOCK : SEQUENCE_LOOP;
	uint64_t first = f.spilled ? f.first : w->items[f.start].first;
	uint64_t block = f.block + block_sum(&w->items[f.start], w->nitems - f.start);
	uint32_t id;
	int err = block_sequence(w, type, w->nframes == 2, &id);

	if (err)
		return err;
	summarize(w, &f, time, id == PALLAS_NONE);
	w->nframes--;
	top(w)->called += type == SEQUENCE_BLOCK ? time - f.opened_at : f.called;
	if (id == PALLAS_NONE) {
		if (w->nitems - top(w)->start > FRAME_ITEMS)
			return spill(w, FRAME_ITEMS / 2);
		return 0;
	}
	w->nitems = f.start;
	err = sequence_occurs(w, id, first, time,
			      type == SEQUENCE_BLOCK ? time - first - block : block);
	if (err)
		return err;
	return append(w, pallas_token(TOKEN_SEQUENCE, id), first, time,
		      type == SEQUENCE_BLOCK ? time - first : block);
}

/* ---- calls in irregular frames ---- */

/*
 * Without an order of calls, an archive has one token and one occurrence of a sequence per call. So
 * two calls that often follow each other become one token, a sequence of their four events. Their
 * durations are in no vector of their region, but in its summary.
 */

static bool pair_is_usual(struct thread_writer *w, const uint64_t *keys)
{
	uint8_t *seen = &w->pairs[keys_hash(keys, 4) >> 8 & (PAIR_SLOTS - 1)];

	if (*seen < PAIR_SEEN)
		++*seen;
	return *seen == PAIR_SEEN;
}

static void count_inlined(struct thread_writer *w, uint64_t enter)
{
	w->regions[w->events[key_id(enter)].region].inlined++;
	w->inlined++;
}

/* True if the innermost block is an empty call in an irregular frame. */
static bool is_plain_call(const struct thread_writer *w)
{
	const struct frame *f = &w->frames[w->nframes - 1];

	return !w->whole_blocks && w->nframes > 2 && w->nitems - f->start == 2 && !f->spilled &&
	       f[-1].disorder >= DISORDER && w->events[f->opened_by].region != PALLAS_NONE;
}

/* True if the last item is the call directly before the present one, and can be taken back: it did
 * not fold, its times are in memory, and its sequence has others (rule R10). */
static bool call_is_last(const struct thread_writer *w)
{
	const struct sequence *s = &w->sequences[key_id(w->call.key)];

	return w->call.end == w->total_events - 2 && w->call.nitems == w->nitems &&
	       w->keys[w->nitems - 1] == w->call.key && s->durations.n && s->count > 1;
}

/* Takes the last call back. Returns the time of its first event. */
static uint64_t call_undo(struct thread_writer *w)
{
	struct sequence *s = &w->sequences[key_id(w->call.key)];

	s->durations.n--;
	s->exclusive.n--;
	s->starts.n--;
	w->once += --s->count == 1;
	return w->items[--w->nitems].first;
}

/* Closes the innermost frame, an empty call in an irregular frame. */
static int call_close(struct thread_writer *w, uint64_t time)
{
	struct frame f = *top(w);
	uint64_t keys[4] = {w->call.enter, w->call.leave, w->keys[f.start], w->keys[f.start + 1]};
	uint64_t first = f.opened_at;
	bool pair;
	uint32_t id;
	int err;

	summarize(w, &f, time, false);
	w->nframes--;
	top(w)->called += time - first;
	w->nitems = f.start;
	pair = call_is_last(w) && pair_is_usual(w, keys);
	if (pair) {
		first = call_undo(w);
		count_inlined(w, keys[0]);
		count_inlined(w, keys[2]);
		id = sequence_of(w, keys, 4, SEQUENCE_LOOP);
	} else {
		id = sequence_of(w, keys + 2, 2, SEQUENCE_BLOCK);
	}
	if (id == PALLAS_NONE)
		return -ENOMEM;
	err = sequence_occurs(w, id, first, time, pair ? 0 : time - first);
	if (err)
		return err;
	err = append(w, pallas_token(TOKEN_SEQUENCE, id), first, time, pair ? 0 : time - first);
	if (err || pair)
		return err;
	w->call = (struct last_call){.enter = keys[2],
				     .leave = keys[3],
				     .key = pallas_token(TOKEN_SEQUENCE, id),
				     .nitems = w->nitems,
				     .end = w->total_events};
	return 0;
}

int grammar_builder_event(struct thread_writer *w, uint32_t entry, uint64_t time)
{
	const struct event_entry *e = &w->events[entry];
	bool end = e->kind == PALLAS_END && closes(w, e);
	int err = e->kind == PALLAS_START ? frame_push(w, entry, time) : 0;

	if (err)
		return err;
	err = append(w, pallas_token(TOKEN_EVENT, entry), time, time, 0);
	if (err || !end)
		return err;
	return is_plain_call(w) ? call_close(w, time) : block_close(w, time);
}

/* Blocks that are still open stay inline; the root gets one token for all. */
int grammar_builder_finish(struct thread_writer *w)
{
	struct frame *f;
	struct sequence *root;
	uint64_t block, first;
	uint32_t id, token;
	int err;

	while (w->nframes > 1) {
		struct frame open = *top(w);

		if (open.spilled) {
			/* tokens in the scratch file cannot move: the others follow as a sequence
			 */
			err = block_close(w, w->last_time);
			if (err)
				return err;
			continue;
		}
		w->nframes--;
		top(w)->called += open.called;
		w->inlined++;
	}
	f = top(w);
	if (w->nitems == f->start + 1 && !f->spilled && (w->keys[f->start] & 3) != TOKEN_EVENT) {
		token = key_token(w, w->keys[f->start]);
		if (token == PALLAS_NONE)
			return -ENOMEM;
	} else {
		first = f->spilled ? f->first : w->items[f->start].first;
		block = f->block + block_sum(&w->items[f->start], w->nitems - f->start);
		err = block_sequence(w, SEQUENCE_LOOP, true, &id);
		if (err)
			return err;
		err = sequence_occurs(w, id, first, w->last_time, block);
		if (err)
			return err;
		token = pallas_token(TOKEN_SEQUENCE, id);
	}
	root = &w->sequences[0];
	free(root->tokens);
	root->tokens = malloc(sizeof(*root->tokens));
	if (!root->tokens)
		return -ENOMEM;
	root->tokens[0] = token;
	root->ntokens = 1;
	return sequence_occurs(w, 0, w->first_time, w->last_time, 0);
}

int grammar_builder_init(struct thread_writer *w)
{
	w->last_table = malloc(LAST_SLOTS * sizeof(*w->last_table));
	w->seen = calloc(SEEN_SLOTS, sizeof(*w->seen));
	w->pairs = calloc(PAIR_SLOTS, 1);
	if (!w->last_table || !w->seen || !w->pairs || frame_push(w, PALLAS_NONE, 0))
		return -ENOMEM;
	memset(w->last_table, 0xff, LAST_SLOTS * sizeof(*w->last_table));
	/* id 0 is the root, which gets its tokens at the end */
	return sequence_add(w, NULL, 0, 0, SEQUENCE_BLOCK) == 0 ? 0 : -ENOMEM;
}

void grammar_builder_fini(struct thread_writer *w)
{
	for (uint32_t i = 0; i < w->nsequences; i++) {
		struct sequence *s = &w->sequences[i];

		free(s->tokens);
		bytes_free(&s->spills);
		series_free(&s->durations);
		series_free(&s->exclusive);
		series_free(&s->starts);
	}
	free(w->sequences);
	hash_free(&w->sequence_of);
	free(w->last_table);
	free(w->loops);
	hash_free(&w->loop_of);
	free(w->seen);
	free(w->pairs);
	free(w->keys);
	free(w->items);
	for (size_t i = 0; i < w->nframes; i++)
		bytes_free(&w->frames[i].spills);
	free(w->frames);
}
