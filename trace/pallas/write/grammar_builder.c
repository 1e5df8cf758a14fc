/* SPDX-License-Identifier: MIT */
/*
 * grammar_builder: folds the tokens of a thread into sequences and loops.
 *
 * In: events; out: the tables of sequences.c. A token goes to the frame of the innermost open block
 * and folds with tokens that it repeats. All frames share one stack of items; a block that stays
 * inline only loses its frame. When a frame grows without folding, its oldest tokens, which can no
 * longer change, go to a scratch file.
 * Specification: pallas.md 15.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/ovni/event.h"
#include "trace/base/log.h"
#include "trace/pallas/write/grammar_builder.h"
#include "trace/pallas/pallas_record.h"

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

int grammar_builder_init(struct thread_writer *w)
{
	w->seen = calloc(SEEN_SLOTS, sizeof(*w->seen));
	w->frames = malloc(16 * sizeof(*w->frames));
	w->frame_room = 16;
	w->pairs = calloc(PAIR_SLOTS, 1);
	if (!w->seen || !w->frames || !w->pairs)
		return -ENOMEM;
	w->frames[w->nframes++] = (struct frame){.opened_by = PALLAS_NONE};
	return pallas_sequences_init(w);
}

void grammar_builder_fini(struct thread_writer *w)
{
	pallas_sequences_fini(w);
	free(w->seen);
	free(w->pairs);
	free(w->keys);
	free(w->items);
	for (size_t i = 0; i < w->nframes; i++)
		bytes_free(&w->frames[i].spills);
	free(w->frames);
}

static struct frame *top(struct thread_writer *w)
{
	return &w->frames[w->nframes - 1];
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
	uint32_t id = pallas_sequence_tail(w, end, most);
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
	err = pallas_sequence_occurs(w, id, tail[0].first, tail[n - 1].last, block_sum(tail, n));
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
	hash = pallas_keys_hash(keys, n);
	id = pallas_sequence_find(w, keys, n, hash, SEQUENCE_LOOP);
	if (id == PALLAS_NONE && w->nsequences >= 2 * SEQUENCES_MAX)
		return 0;
	if (id == PALLAS_NONE)
		id = pallas_sequence_add(w, keys, n, hash, SEQUENCE_LOOP);
	if (id == PALLAS_NONE)
		return -ENOMEM;
	for (unsigned i = 0; i < 2; i++, half += n) {
		err = pallas_sequence_occurs(w, id, half[0].first, half[n - 1].last,
					     block_sum(half, n));
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
	return !(n == 1 && key_is_loop(keys[0])) && pallas_keys_height(w, keys, n) < HEIGHT_MAX;
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
	uint8_t height = pallas_keys_height(w, w->keys + f->start, n);
	int err;

	for (size_t i = 0; i < n; i++) {
		tokens[i] = pallas_key_token(w, w->keys[f->start + i]);
		if (tokens[i] == PALLAS_NONE)
			return -ENOMEM;
	}
	err = pallas_scratch_put(&w->scratch, w->dirfd, w->shown, tokens, n * sizeof(*tokens),
				 &f->spills);
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
		if (!pallas_sequence_starts(w, key_id(*loop), key)) {
			err = reduce(w);
			if (err)
				return err;
		}
	}
	if (w->nitems == w->item_room) {
		err = items_grow(w);
		if (err)
			return err;
	}
	w->keys[w->nitems] = key;
	w->items[w->nitems++] = (struct item){first, last, block};
	if (top(w)->disorder < 2 * DISORDER)
		top(w)->disorder++;
	err = reduce(w);
	if (err)
		return err;
	return w->nitems - top(w)->start > FRAME_ITEMS ? spill(w, FRAME_ITEMS / 2) : 0;
}

static int frame_push(struct thread_writer *w, uint32_t entry, uint64_t time)
{
	if (w->nframes == w->frame_room) {
		struct frame *frames = realloc(w->frames, 2 * w->frame_room * sizeof(*frames));

		if (!frames)
			return -ENOMEM;
		w->frames = frames;
		w->frame_room *= 2;
	}
	w->frames[w->nframes++] =
		(struct frame){.start = w->nitems, .opened_by = entry, .opened_at = time};
	return 0;
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
	return end->record != PALLAS_LEAVE || (start->size >= 4 && end->size >= 4 &&
					       get_u32(start->payload) == get_u32(end->payload));
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
	uint64_t hash = pallas_keys_hash(w->keys + f->start, n);
	uint8_t height;

	*out = PALLAS_NONE;
	if (!f->spilled)
		*out = pallas_sequence_find(w, w->keys + f->start, n, hash, type);
	if (*out != PALLAS_NONE)
		return 0;
	height = pallas_keys_height(w, w->keys + f->start, n);
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
	*out = pallas_sequence_add(w, w->keys + f->start, n, hash, type);
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
	err = pallas_sequence_occurs(w, id, first, time,
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

/* Appends the held call to its frame, which must be the innermost one. */
static int held_append(struct thread_writer *w)
{
	struct held_call call = w->call;
	uint64_t keys[2] = {call.enter, call.leave};
	uint64_t hash = pallas_keys_hash(keys, 2);
	uint32_t id = pallas_sequence_find(w, keys, 2, hash, SEQUENCE_BLOCK);
	int err;

	w->call.active = false;
	if (id == PALLAS_NONE)
		id = pallas_sequence_add(w, keys, 2, hash, SEQUENCE_BLOCK);
	if (id == PALLAS_NONE)
		return -ENOMEM;
	err = pallas_sequence_occurs(w, id, call.first, call.last, call.last - call.first);
	if (err)
		return err;
	return append(w, pallas_token(TOKEN_SEQUENCE, id), call.first, call.last,
		      call.last - call.first);
}

/* Appends the held call alone, below a block that is already open in its frame. */
static int held_flush(struct thread_writer *w)
{
	struct frame opened;
	struct item item;
	uint64_t key;
	int err;

	if (w->nframes - 1 == w->call.frame)
		return held_append(w);
	opened = *top(w);
	w->nframes--;
	w->nitems--;
	key = w->keys[w->nitems];
	item = w->items[w->nitems];
	err = held_append(w);
	if (err)
		return err;
	if (w->nitems == w->item_room && items_grow(w))
		return -ENOMEM;
	opened.start = w->nitems;
	w->frames[w->nframes++] = opened;
	w->keys[w->nitems] = key;
	w->items[w->nitems++] = item;
	return 0;
}

/* True if the next event may belong to a second call directly after the held one. */
static bool held_goes_on(const struct thread_writer *w, const struct event_entry *e, bool end)
{
	if (w->nframes - 1 == w->call.frame)
		return e->region != PALLAS_NONE;
	return end; /* the next block is open, with its first event only */
}

static bool pair_is_usual(struct thread_writer *w, const uint64_t *keys)
{
	uint8_t *seen = &w->pairs[pallas_keys_hash(keys, 4) >> 8 & (PAIR_SLOTS - 1)];

	if (*seen < PAIR_SEEN)
		++*seen;
	return *seen == PAIR_SEEN;
}

static void count_inlined(struct thread_writer *w, uint64_t enter)
{
	w->regions[w->events[key_id(enter)].region].inlined++;
	w->inlined++;
}

/* Ends an empty call in an irregular frame, which is the innermost one. */
static int call_ended(struct thread_writer *w, uint64_t enter, uint64_t leave, uint64_t first,
		      uint64_t last)
{
	uint64_t keys[4] = {w->call.enter, w->call.leave, enter, leave}, hash;
	struct held_call call = w->call;
	uint32_t id;
	int err = 0;

	if (!call.active || !pair_is_usual(w, keys)) {
		if (call.active)
			err = held_append(w);
		w->call = (struct held_call){true, w->nframes - 1, enter, leave, first, last};
		return err;
	}
	w->call.active = false;
	hash = pallas_keys_hash(keys, 4);
	id = pallas_sequence_find(w, keys, 4, hash, SEQUENCE_LOOP);
	if (id == PALLAS_NONE)
		id = pallas_sequence_add(w, keys, 4, hash, SEQUENCE_LOOP);
	if (id == PALLAS_NONE)
		return -ENOMEM;
	count_inlined(w, call.enter);
	count_inlined(w, enter);
	err = pallas_sequence_occurs(w, id, call.first, last, 0);
	return err ? err : append(w, pallas_token(TOKEN_SEQUENCE, id), call.first, last, 0);
}

/* True if the innermost block is an empty call in an irregular frame, or after a held call. */
static bool is_plain_call(const struct thread_writer *w)
{
	const struct frame *f = &w->frames[w->nframes - 1];

	return !w->whole_blocks && w->nframes > 2 && w->nitems - f->start == 2 && !f->spilled &&
	       (w->call.active || f[-1].disorder >= DISORDER) &&
	       w->events[f->opened_by].region != PALLAS_NONE;
}

int grammar_builder_event(struct thread_writer *w, uint32_t entry, uint64_t time)
{
	const struct event_entry *e = &w->events[entry];
	bool end = e->kind == PALLAS_END && closes(w, e);
	struct frame f;
	uint64_t *keys;
	int err = 0;

	if (w->call.active && !held_goes_on(w, e, end))
		err = held_flush(w);
	if (err)
		goto out;
	if (e->kind == PALLAS_START)
		err = frame_push(w, entry, time);
	if (err)
		goto out;
	err = append(w, pallas_token(TOKEN_EVENT, entry), time, time, 0);
out:
	if (err || !end)
		return err;
	if (!is_plain_call(w))
		return block_close(w, time);
	f = *top(w);
	keys = w->keys + f.start;
	summarize(w, &f, time, false);
	w->nframes--;
	top(w)->called += time - f.opened_at;
	w->nitems = f.start;
	return call_ended(w, keys[0], keys[1], f.opened_at, time);
}

/* Blocks that are still open stay inline; the root gets one token for all. */
int grammar_builder_finish(struct thread_writer *w)
{
	struct frame *f;
	struct sequence *root;
	uint64_t block, first;
	uint32_t id, token;
	int err = w->call.active ? held_flush(w) : 0;

	if (err)
		return err;
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
		token = pallas_key_token(w, w->keys[f->start]);
		if (token == PALLAS_NONE)
			return -ENOMEM;
	} else {
		first = f->spilled ? f->first : w->items[f->start].first;
		block = f->block + block_sum(&w->items[f->start], w->nitems - f->start);
		err = block_sequence(w, SEQUENCE_LOOP, true, &id);
		if (err)
			return err;
		err = pallas_sequence_occurs(w, id, first, w->last_time, block);
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
	return pallas_sequence_occurs(w, 0, w->first_time, w->last_time, 0);
}
