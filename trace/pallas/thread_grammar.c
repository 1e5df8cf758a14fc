/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/pallas/cursor.h"
#include "trace/pallas/pallas_file.h"
#include "trace/pallas/thread_grammar.h"

/* Compares the sub-arrays of a vector with its summary: sizes, order, bounds. */
static int vector_check(const struct pallas_vector *v, struct cursor *c)
{
	uint64_t left = v->n, before = 0;

	for (uint64_t i = 0; i < v->nsubs; i++) {
		struct pallas_sub sub = pallas_vector_sub(v, i);

		if (sub.n == 0 || sub.n > left)
			return cursor_fail(
				c, "sub-array %llu has %llu elements where 1 to %llu can be",
				(unsigned long long)i, (unsigned long long)sub.n,
				(unsigned long long)left);
		left -= sub.n;
		if (sub.min > sub.max)
			return cursor_fail(c, "sub-array %llu: %llu is above %llu",
					   (unsigned long long)i, (unsigned long long)sub.min,
					   (unsigned long long)sub.max);
		if (v->kind == VECTOR_TIMES) {
			if (sub.min < before)
				return cursor_fail(
					c, "sub-array %llu starts before its predecessor ends",
					(unsigned long long)i);
			before = sub.max;
		} else if (sub.mean < sub.min || sub.mean > sub.max) {
			return cursor_fail(c, "sub-array %llu: the mean is not between the bounds",
					   (unsigned long long)i);
		}
	}
	if (left)
		return cursor_fail(c, "the sub-arrays hold %llu elements fewer than the vector",
				   (unsigned long long)left);
	return 0;
}

static int vector_read(struct pallas_vector *v, enum pallas_vector_kind kind, struct cursor *c)
{
	size_t size = kind == VECTOR_DURATIONS ? 40 : 32;

	v->kind = kind;
	v->n = cursor_u64(c, "a vector");
	v->nsubs = cursor_u64(c, "a vector");
	if (c->bad)
		return -EBADMSG;
	if (v->n == 0) {
		v->nsubs = 0;
		return 0;
	}
	if (kind == VECTOR_DURATIONS) {
		v->min = cursor_u64(c, "a vector");
		v->max = cursor_u64(c, "a vector");
		v->mean = cursor_u64(c, "a vector");
		if (!c->bad && (v->min > v->mean || v->mean > v->max))
			return cursor_fail(c, "the mean of a vector is not between its bounds");
	}
	if (cursor_check(c, v->nsubs, size, "sub-arrays") != v->nsubs || c->bad)
		return -EBADMSG;
	if (v->nsubs == 0)
		return cursor_fail(c, "a vector of %llu elements has no sub-array",
				   (unsigned long long)v->n);
	v->subs = cursor_bytes(c, size * (size_t)v->nsubs, "a vector");
	if (kind == VECTOR_TIMES) {
		v->min = pallas_vector_sub(v, 0).min;
		v->max = pallas_vector_sub(v, v->nsubs - 1).max;
	}
	return vector_check(v, c);
}

static int event_read(struct pallas_event *e, struct cursor *c)
{
	uint8_t size;

	e->id = PALLAS_NONE;
	e->record = cursor_u32(c, "an event");
	size = cursor_u8(c, "an event");
	if (!c->bad && size < 5)
		return cursor_fail(c, "an event has the size %u, below the 5 of its header", size);
	if (c->bad)
		return -EBADMSG;
	e->payload_size = (uint8_t)(size - 5);
	e->payload = cursor_bytes(c, e->payload_size, "an event");
	e->attributes_size = cursor_u64(c, "an event");
	if (cursor_check(c, e->attributes_size, 1, "attribute bytes") != e->attributes_size)
		return -EBADMSG;
	e->attributes = cursor_bytes(c, e->attributes_size, "attributes");
	return c->bad ? -EBADMSG : vector_read(&e->times, VECTOR_TIMES, c);
}

static int sequence_read(struct pallas_sequence *s, struct cursor *c)
{
	uint32_t type = cursor_u32(c, "a sequence");
	int err;

	s->id = PALLAS_NONE;
	s->ntokens = cursor_u64(c, "a sequence");
	if (!c->bad && type > SEQUENCE_LOOP)
		return cursor_fail(c, "a sequence has the type %u, which is neither 0 nor 1", type);
	s->type = (enum pallas_sequence_type)type;
	if (cursor_check(c, s->ntokens, 4, "tokens") != s->ntokens || c->bad)
		return -EBADMSG;
	if (s->ntokens == 0)
		return 0;
	s->tokens = cursor_bytes(c, 4 * (size_t)s->ntokens, "tokens");
	err = vector_read(&s->durations, VECTOR_DURATIONS, c);
	if (err)
		return err;
	err = vector_read(&s->exclusive, VECTOR_DURATIONS, c);
	if (err)
		return err;
	err = vector_read(&s->starts, VECTOR_TIMES, c);
	return err;
}

static int loop_read(struct pallas_loop *l, struct cursor *c)
{
	l->id = PALLAS_NONE;
	l->sequence = cursor_u32(c, "a loop"); /* a token until tokens_resolve() */
	l->iterations = cursor_u32(c, "a loop");
	l->occurrences = cursor_u64(c, "a loop");
	return c->bad ? -EBADMSG : 0;
}

/* Reads an id map of a table of `n` entries; `id` of entry i is at ids + i * stride. */
static int map_read(struct pallas_map *map, size_t n, void *ids, size_t stride, struct cursor *c,
		    const char *what)
{
	size_t count = cursor_count(c, 4, "map entries");

	if (c->bad)
		return -EBADMSG;
	map->places = malloc(count ? count * sizeof(*map->places) : 1);
	if (!map->places)
		return -ENOMEM;
	map->n = count;
	for (size_t i = 0; i < count; i++) {
		uint32_t place = cursor_u32(c, "a map");
		uint32_t *id;

		map->places[i] = place;
		if (place == PALLAS_NONE)
			continue;
		if (place >= n)
			return cursor_fail(c, "%s %zu is entry %u of a table of %zu", what, i,
					   place, n);
		id = (uint32_t *)((char *)ids + place * stride);
		if (*id != PALLAS_NONE)
			return cursor_fail(c, "%s %zu and %u are the same entry", what, i, *id);
		*id = (uint32_t)i;
	}
	return 0;
}

static uint32_t map_place(const struct pallas_map *map, uint32_t id)
{
	return id < map->n ? map->places[id] : PALLAS_NONE;
}

/* Replaces the ids in all tokens with indices. The maps are not used afterwards. */
static int tokens_resolve(struct thread_grammar *g, struct cursor *c)
{
	for (size_t i = 0; i < g->nloops; i++) {
		struct pallas_loop *l = &g->loops[i];
		uint32_t token = l->sequence;

		l->sequence = PALLAS_NONE;
		if (l->id == PALLAS_NONE)
			continue; /* an unused slot */
		if (token_type(token) == TOKEN_SEQUENCE)
			l->sequence = map_place(&g->sequence_map, token_id(token));
		if (l->sequence == PALLAS_NONE)
			return cursor_fail(c, "loop %u repeats the token %u, which is no sequence",
					   l->id, token);
		if (l->iterations < 1)
			return cursor_fail(c, "loop %u has no iterations", l->id);
	}
	for (size_t i = 0; i < g->nsequences; i++) {
		struct pallas_sequence *s = &g->sequences[i];

		for (uint64_t k = 0; k < s->ntokens; k++) {
			uint32_t token = pallas_sequence_token(s, k), place = PALLAS_NONE;
			const struct pallas_map *maps[] = {NULL, &g->event_map, &g->sequence_map,
							   &g->loop_map};

			if (token_type(token) != TOKEN_INVALID)
				place = map_place(maps[token_type(token)], token_id(token));
			if (place == PALLAS_NONE)
				return cursor_fail(
					c, "token %llu of sequence %zu (%u) refers to nothing",
					(unsigned long long)k, i, token);
			token = pallas_token(token_type(token), place);
			memcpy(s->tokens + 4 * k, &token, 4);
		}
	}
	return 0;
}

#define TABLE(g, field, c, least, what)                                                            \
	({                                                                                         \
		(g)->n##field = cursor_check(c, (g)->n##field, least, what);                       \
		(g)->field = calloc((g)->n##field ? (g)->n##field : 1, sizeof(*(g)->field));       \
		(g)->memory += (g)->n##field * sizeof(*(g)->field);                                \
		(c)->bad ? -EBADMSG : (g)->field ? 0 : -ENOMEM;                                    \
	})

static int grammar_read(struct thread_grammar *g, struct cursor *c)
{
	int err;

	g->thread = cursor_u32(c, "the header");
	g->archive = cursor_u32(c, "the header");
	g->nevents = cursor_u64(c, "the header");
	g->nsequences = cursor_u64(c, "the header");
	g->nloops = cursor_u64(c, "the header");
	g->root_id = cursor_u32(c, "the header");
	g->first_time = cursor_u64(c, "the header");
	if (c->bad)
		return -EBADMSG;

	err = TABLE(g, events, c, 29, "events");
	if (err)
		goto out;
	for (size_t i = 0; i < g->nevents; i++) {
		err = event_read(&g->events[i], c);
		if (err)
			goto out;
	}
	if (err)
		goto out;
	err = map_read(&g->event_map, g->nevents, g->events, sizeof(*g->events), c, "event");
	if (err)
		goto out;
	err = TABLE(g, sequences, c, 12, "sequences");
	if (err)
		goto out;
	for (size_t i = 0; i < g->nsequences; i++) {
		err = sequence_read(&g->sequences[i], c);
		if (err)
			goto out;
	}
	if (err)
		goto out;
	err = map_read(&g->sequence_map, g->nsequences, g->sequences, sizeof(*g->sequences), c,
		       "sequence");
	if (err)
		goto out;
	err = TABLE(g, loops, c, 16, "loops");
	if (err)
		goto out;
	for (size_t i = 0; i < g->nloops; i++) {
		err = loop_read(&g->loops[i], c);
		if (err)
			goto out;
	}
	if (err)
		goto out;
	err = map_read(&g->loop_map, g->nloops, g->loops, sizeof(*g->loops), c, "loop");
	if (err)
		goto out;
	err = tokens_resolve(g, c);
out:
	if (err)
		return err;
	if (cursor_left(c))
		log_warn("%s: %zu bytes after the last section are not understood", c->path,
			 cursor_left(c));
	g->memory += 4 * (g->event_map.n + g->sequence_map.n + g->loop_map.n + 3 * g->nsequences);
	g->root = map_place(&g->sequence_map, g->root_id);
	if (g->root == PALLAS_NONE)
		return cursor_fail(c, "the root is sequence %u, which does not exist", g->root_id);
	return 0;
}

int thread_grammar_parse(struct thread_grammar *g, uint8_t *bytes, size_t size, const char *shown)
{
	struct cursor c;
	int err;

	*g = (struct thread_grammar){.bytes = bytes, .memory = size};
	cursor_init(&c, bytes, size, shown);
	err = grammar_read(g, &c);
	if (err)
		goto out;
	err = thread_grammar_verify(g, shown);
out:
	if (err == -ENOMEM)
		log_no_memory("for the grammar of %s", shown);
	if (err)
		thread_grammar_free(g);
	return err;
}

int thread_grammar_load(struct thread_grammar *g, int dirfd, const char *path, const char *shown,
			size_t most)
{
	uint8_t *bytes;
	size_t size;
	int err;

	*g = (struct thread_grammar){0};
	err = pallas_file_read(dirfd, path, shown, most, &bytes, &size);
	return err ? err : thread_grammar_parse(g, bytes, size, shown);
}

void thread_grammar_free(struct thread_grammar *g)
{
	free(g->events);
	free(g->sequences);
	free(g->loops);
	free(g->event_map.places);
	free(g->sequence_map.places);
	free(g->loop_map.places);
	free(g->order);
	free(g->bytes);
	*g = (struct thread_grammar){0};
}
