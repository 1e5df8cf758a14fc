/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "trace/pallas/cursor.h"
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

/* The number of the next sub-arrays that hold n elements, of `size` bytes each: before version 18
 * the file does not say it. */
static uint64_t count_subs(const struct cursor *c, uint64_t n, size_t size)
{
	uint64_t nsubs = 0, left = n;

	for (; !c->err && left && nsubs < cursor_left(c) / size; nsubs++) {
		uint64_t here = get_u64(c->at + nsubs * size);

		left -= here < left ? here : left;
	}
	return left ? UINT64_MAX : nsubs; /* more than fit */
}

static void vector_read(struct pallas_vector *v, enum pallas_vector_kind kind, struct cursor *c)
{
	size_t size = kind == VECTOR_DURATIONS ? 40 : 32;

	v->kind = kind;
	v->n = cursor_u64(c, "a vector");
	if (c->version >= 18)
		v->nsubs = cursor_u64(c, "a vector");
	if (v->n == 0) {
		v->nsubs = 0;
		return;
	}
	if (kind == VECTOR_DURATIONS) {
		v->min = cursor_u64(c, "a vector");
		v->max = cursor_u64(c, "a vector");
		v->mean = cursor_u64(c, "a vector");
		if (v->min > v->mean || v->mean > v->max)
			cursor_fail(c, "the mean of a vector is not between its bounds");
	}
	if (c->version < 18)
		v->nsubs = count_subs(c, v->n, size);
	if (v->nsubs == 0)
		cursor_fail(c, "a vector of %llu elements has no sub-array",
			    (unsigned long long)v->n);
	v->nsubs = cursor_check(c, v->nsubs, size, "sub-arrays");
	v->subs = cursor_bytes(c, size * (size_t)v->nsubs, "a vector");
	if (c->err)
		return;
	if (kind == VECTOR_TIMES) {
		v->min = pallas_vector_sub(v, 0).min;
		v->max = pallas_vector_sub(v, v->nsubs - 1).max;
	}
	(void)vector_check(v, c);
}

static void event_read(struct pallas_event *e, struct cursor *c)
{
	uint8_t size;

	e->id = PALLAS_NONE;
	e->record = cursor_u32(c, "an event");
	if (c->version < 19 && e->record == 0)
		e->record = PALLAS_BUFFER_FLUSH;
	size = cursor_u8(c, "an event");
	if (size < 5)
		cursor_fail(c, "an event has the size %u, below the 5 of its header", size);
	e->payload_size = (uint8_t)(size - 5);
	e->payload = cursor_bytes(c, e->payload_size, "an event");
	e->attributes_size = cursor_count(c, 1, "attribute bytes");
	e->attributes = cursor_bytes(c, e->attributes_size, "attributes");
	vector_read(&e->times, VECTOR_TIMES, c);
}

static void sequence_read(struct pallas_sequence *s, struct cursor *c)
{
	uint32_t type = cursor_u32(c, "a sequence");

	s->id = PALLAS_NONE;
	if (type > SEQUENCE_LOOP)
		cursor_fail(c, "a sequence has the type %u, which is neither 0 nor 1", type);
	s->type = (enum pallas_sequence_type)type;
	s->ntokens = cursor_count(c, 4, "tokens");
	if (s->ntokens == 0)
		return;
	s->tokens = cursor_bytes(c, 4 * (size_t)s->ntokens, "tokens");
	vector_read(&s->durations, VECTOR_DURATIONS, c);
	vector_read(&s->exclusive, VECTOR_DURATIONS, c);
	vector_read(&s->starts, VECTOR_TIMES, c);
}

static void loop_read(struct pallas_loop *l, struct cursor *c)
{
	l->id = PALLAS_NONE;
	l->sequence = cursor_u32(c, "a loop"); /* a token until tokens_resolve() */
	l->iterations = cursor_u32(c, "a loop");
	if (c->version >= 19)
		l->occurrences = cursor_u64(c, "a loop");
}

/* Reads an id map of a table of `n` entries; `id` of entry i is at ids + i * stride. */
static int map_read(struct pallas_map *map, size_t n, void *ids, size_t stride, struct cursor *c,
		    const char *what)
{
	map->n = c->version < 20 ? n : cursor_count(c, 4, "map entries");
	map->places = cursor_rows(c, map->n, sizeof(*map->places));
	if (!map->places)
		return c->err;
	for (size_t i = 0; i < map->n; i++) {
		uint32_t place = c->version < 20 ? (uint32_t)i : cursor_u32(c, "a map");
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
	return c->err;
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
		if (l->id != PALLAS_NONE && c->version < 20 && token == PALLAS_UNUSED)
			l->id = g->loop_map.places[i] = PALLAS_NONE;
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

/* Reads a table of g->n<field> rows of at least `least` bytes, and its id map. */
#define TABLE(g, c, field, row, map, least, what)                                                  \
	({                                                                                         \
		(g)->n##field = cursor_check(c, (g)->n##field, least, #field);                     \
		(g)->field = cursor_rows(c, (g)->n##field, sizeof(*(g)->field));                   \
		(g)->memory += (g)->n##field * sizeof(*(g)->field);                                \
		for (size_t i = 0; i < (g)->n##field; i++) {                                       \
			if ((c)->err)                                                              \
				break;                                                             \
			row(&(g)->field[i], c);                                                    \
		}                                                                                  \
		map_read(&(g)->map, (g)->n##field, (g)->field, sizeof(*(g)->field), c, what);      \
	})

static int grammar_read(struct thread_grammar *g, struct cursor *c)
{
	int err;

	g->thread = cursor_u32(c, "the header");
	g->archive = cursor_u32(c, "the header");
	g->nevents = cursor_u64(c, "the header");
	g->nsequences = cursor_u64(c, "the header");
	g->nloops = cursor_u64(c, "the header");
	g->root_id = c->version < 20 ? 0 : cursor_u32(c, "the header");
	g->first_time = cursor_u64(c, "the header");
	err = TABLE(g, c, events, event_read, event_map, c->version < 18 ? 21 : 29, "event");
	if (err)
		return err;
	err = TABLE(g, c, sequences, sequence_read, sequence_map, 12, "sequence");
	if (err)
		return err;
	err = TABLE(g, c, loops, loop_read, loop_map, c->version < 19 ? 8 : 16, "loop");
	if (err)
		return err;
	err = tokens_resolve(g, c);
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

/* ---- the whole grammar: cycles, depth, number of occurrences ---- */

/*
 * One depth-first walk without recursion orders the sequences, each after the sequences in it; in
 * the reverse order, the number of occurrences goes from the root down. The time depends on the
 * number of tokens, not on the length of the expansion.
 */
#define OPEN UINT32_MAX /* the depth of a sequence on the stack; 0 before its visit */

struct visit {
	uint32_t sequence;
	uint32_t below; /* levels below it so far */
	uint64_t at;	/* next token */
};

static int walk(struct thread_grammar *g, struct visit *stack, uint32_t *depths, const char *shown)
{
	size_t n = 0;

	stack[n++] = (struct visit){.sequence = g->root};
	depths[g->root] = OPEN;
	while (n) {
		struct visit *top = &stack[n - 1];
		struct pallas_sequence *s = &g->sequences[top->sequence];
		uint32_t token, next, level = 1;

		if (s->ntokens == 0 && top->sequence != g->root) {
			log_error("%s: sequence %u is used, but has no tokens", shown, s->id);
			return -EBADMSG;
		}
		if (top->at == s->ntokens) {
			depths[top->sequence] = top->below + 1;
			g->order[g->norder++] = top->sequence;
			n--;
			continue;
		}
		token = pallas_sequence_token(s, top->at);
		next = token_id(token);
		if (token_type(token) == TOKEN_EVENT) {
			top->at++;
			continue;
		}
		if (token_type(token) == TOKEN_LOOP) {
			next = g->loops[next].sequence;
			level = 2;
		}
		if (depths[next] == OPEN) {
			log_error("%s: sequence %u contains itself", shown, g->sequences[next].id);
			return -EBADMSG;
		}
		if (depths[next] == 0) {
			depths[next] = OPEN;
			stack[n++] = (struct visit){.sequence = next};
			continue;
		}
		if (top->below < depths[next] + level - 1)
			top->below = depths[next] + level - 1;
		top->at++;
	}
	g->depth = depths[g->root];
	return 0;
}

static int too_many(const char *shown)
{
	log_error("%s: the grammar expands to more than 2^64 events", shown);
	return -EBADMSG;
}

/* Counts the occurrences from the root down; a root without tokens has no vectors: the thread is
 * empty. */
static int count(struct thread_grammar *g, uint64_t *events, uint64_t *sequences, const char *shown)
{
	sequences[g->root] = g->sequences[g->root].ntokens != 0;
	for (uint32_t i = g->norder; i-- > 0;) {
		const struct pallas_sequence *s = &g->sequences[g->order[i]];
		uint64_t times = sequences[g->order[i]];

		for (uint64_t k = 0; k < s->ntokens; k++) {
			uint32_t token = pallas_sequence_token(s, k), id = token_id(token);
			uint64_t add = times, *to = &events[id];

			if (token_type(token) == TOKEN_SEQUENCE) {
				to = &sequences[id];
			} else if (token_type(token) == TOKEN_LOOP) {
				struct pallas_loop *l = &g->loops[id];

				to = &sequences[l->sequence];
				if (__builtin_add_overflow(l->runs, times, &l->runs) ||
				    __builtin_mul_overflow(times, (uint64_t)l->iterations, &add))
					return too_many(shown);
			} else if (__builtin_add_overflow(g->total_events, times,
							  &g->total_events)) {
				return too_many(shown);
			}
			if (__builtin_add_overflow(*to, add, to))
				return too_many(shown);
		}
	}
	return 0;
}

static int wrong_length(const char *shown, const char *what, uint32_t id, size_t place,
			uint64_t has, uint64_t want)
{
	log_error("%s: %s %u (entry %zu) has %llu elements, its grammar makes %llu", shown, what,
		  id, place, (unsigned long long)has, (unsigned long long)want);
	return -EBADMSG;
}

static int compare(const struct thread_grammar *g, const uint64_t *events,
		   const uint64_t *sequences, const char *shown)
{
	for (size_t i = 0; i < g->nevents; i++) {
		const struct pallas_event *e = &g->events[i];

		if (e->times.n != events[i])
			return wrong_length(shown, "the vector of event", e->id, i, e->times.n,
					    events[i]);
	}
	for (size_t i = 0; i < g->nsequences; i++) {
		const struct pallas_sequence *s = &g->sequences[i];

		if (s->durations.n != sequences[i])
			return wrong_length(shown, "the duration vector of sequence", s->id, i,
					    s->durations.n, sequences[i]);
		if (s->exclusive.n != sequences[i])
			return wrong_length(shown, "the exclusive duration vector of sequence",
					    s->id, i, s->exclusive.n, sequences[i]);
		if (s->starts.n != sequences[i])
			return wrong_length(shown, "the start vector of sequence", s->id, i,
					    s->starts.n, sequences[i]);
	}
	return 0;
}

static int verify(struct thread_grammar *g, const char *shown)
{
	size_t n = g->nsequences;
	struct visit *stack = calloc(n + 1, sizeof(*stack));
	uint32_t *depths = calloc(n + 1, sizeof(*depths));
	uint64_t *events = calloc(g->nevents + 1, sizeof(*events));
	uint64_t *sequences = calloc(n + 1, sizeof(*sequences));
	int err = -ENOMEM;

	g->order = calloc(n + 1, sizeof(*g->order));
	if (!stack || !depths || !events || !sequences || !g->order)
		goto out;
	err = walk(g, stack, depths, shown);
	if (err)
		goto out;
	err = count(g, events, sequences, shown);
	if (err)
		goto out;
	err = compare(g, events, sequences, shown);
out:
	free(stack);
	free(depths);
	free(events);
	free(sequences);
	return err;
}

int thread_grammar_parse(struct thread_grammar *g, uint8_t *bytes, size_t size, uint8_t version,
			 const char *shown)
{
	struct cursor c;
	int err;

	*g = (struct thread_grammar){.bytes = bytes, .memory = size};
	cursor_init(&c, bytes, size, shown, version);
	err = grammar_read(g, &c);
	if (err)
		goto out;
	err = verify(g, shown);
	for (size_t i = 0; version < 19 && i < g->nloops; i++)
		g->loops[i].occurrences = g->loops[i].runs; /* not in the file */
out:
	if (err == -ENOMEM)
		log_no_memory("for the grammar of %s", shown);
	if (err)
		thread_grammar_free(g);
	return err;
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

void pallas_vector_total(const struct pallas_vector *v, uint64_t *low, uint64_t *high)
{
	uint64_t sum = 0, most = 0;

	/* the mean m of n elements is rounded down: the sum is in [m n, m n + n - 1] */
	for (uint64_t i = 0; i < v->nsubs; i++) {
		struct pallas_sub sub = pallas_vector_sub(v, i);
		uint64_t part, top, exact = sub.min == sub.max;

		if (__builtin_mul_overflow(sub.mean, sub.n, &part) ||
		    __builtin_add_overflow(sum, part, &sum))
			sum = UINT64_MAX;
		if (sub.n == 1 || exact)
			top = part;
		else if (__builtin_add_overflow(part, sub.n - 1, &top))
			top = UINT64_MAX;
		if (__builtin_add_overflow(most, top, &most))
			most = UINT64_MAX;
	}
	*low = sum;
	*high = most;
}

int pallas_list_next(const struct pallas_event *e, const uint8_t **at, struct pallas_list *list)
{
	size_t left = e->attributes_size - (size_t)(*at - e->attributes);
	uint16_t size;

	if (left == 0)
		return 0;
	if (left < PALLAS_LIST_HEADER)
		return -EBADMSG;
	size = get_u16(*at + 4);
	if (size < PALLAS_LIST_HEADER || size > left)
		return -EBADMSG;
	list->occurrence = get_i32(*at);
	list->nvalues = (*at)[6];
	list->values = *at + PALLAS_LIST_HEADER;
	list->end = *at + size;
	*at += size;
	return 1;
}

int pallas_value_next(struct pallas_list *list, struct pallas_value *value)
{
	size_t left = (size_t)(list->end - list->values);
	uint16_t size;

	if (list->nvalues == 0)
		return left ? -EBADMSG : 0;
	if (left < PALLAS_VALUE_HEADER)
		return -EBADMSG;
	size = get_u16(list->values);
	if (size < PALLAS_VALUE_HEADER || size > left)
		return -EBADMSG;
	value->ref = get_u32(list->values + 2);
	value->bytes = list->values + PALLAS_VALUE_HEADER;
	value->size = (uint16_t)(size - PALLAS_VALUE_HEADER);
	list->values += size;
	list->nvalues--;
	return 1;
}
