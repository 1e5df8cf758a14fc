/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/pallas/read/expand.h"

#define UNKNOWN UINT64_MAX

struct seek {
	struct pallas_expand *x;
	const struct thread_grammar *g;
	uint64_t from;
	uint32_t *first;	     /* event of each sequence */
	uint64_t *early;	     /* occurrences of each event before `from`, or UNKNOWN */
	uint64_t *events;	     /* occurrences before the position */
	uint64_t *inside, *repeated; /* of events and sequences in a part: count() */
};

/* Finds the first event of each sequence. */
static void find_firsts(struct seek *k)
{
	for (uint32_t i = 0; i < k->g->norder; i++) { /* each before its parents */
		const struct pallas_sequence *s = &k->g->sequences[k->g->order[i]];
		uint32_t token, id;

		if (s->ntokens == 0)
			continue;
		token = pallas_sequence_token(s, 0);
		id = token_id(token);
		if (token_type(token) == TOKEN_LOOP)
			id = k->g->loops[id].sequence;
		k->first[k->g->order[i]] = token_type(token) == TOKEN_EVENT ? id : k->first[id];
	}
}

/* Counts into k->inside the events of n tokens, the last sequence or loop of which is repeated
 * `iterations` times. The parser has shown that no sum overflows. */
static void count(struct seek *k, const uint8_t *tokens, uint64_t n, uint64_t iterations)
{
	const struct thread_grammar *g = k->g;
	uint64_t times = 1;

	memset(k->inside, 0, g->nevents * sizeof(*k->inside));
	memset(k->repeated, 0, g->nsequences * sizeof(*k->repeated));
	for (uint32_t i = 0;; i++) {
		for (uint64_t t = 0; times && t < n; t++) {
			uint32_t token = get_u32(tokens + 4 * t), id = token_id(token);

			if (token_type(token) == TOKEN_EVENT)
				k->inside[id] += times;
			else if (token_type(token) == TOKEN_SEQUENCE)
				k->repeated[id] += times;
			else
				k->repeated[g->loops[id].sequence] +=
					times * (iterations ? iterations : g->loops[id].iterations);
		}
		iterations = 0;
		if (i == g->norder)
			break;
		/* each sequence after those that contain it */
		times = k->repeated[g->order[g->norder - 1 - i]];
		tokens = g->sequences[g->order[g->norder - 1 - i]].tokens;
		n = g->sequences[g->order[g->norder - 1 - i]].ntokens;
	}
}

/* Adds what was counted to the events before the position. */
static void pass(struct seek *k)
{
	for (size_t i = 0; i < k->g->nevents; i++)
		k->events[i] += k->inside[i];
}

/* The occurrences of an event before k->from: from thread.pallas, and one chunk at most. */
static int early(struct seek *k, uint32_t event, uint64_t *out)
{
	struct pallas_walk *w = &k->x->times[event];
	const struct pallas_vector *v = w->vector;
	uint64_t n = 0, time;
	int err;

	if (k->early[event] == UNKNOWN) {
		for (uint64_t i = 0; i < v->nsubs; i++) {
			struct pallas_sub sub = pallas_vector_sub(v, i);

			if (sub.min >= k->from)
				break;
			if (sub.max < k->from) {
				n += sub.n;
				continue;
			}
			pallas_walk_skip(w, n);
			for (uint64_t left = sub.n; left; left--, n++) {
				err = pallas_walk_next(w, &time);
				if (err)
					return err;
				if (time >= k->from)
					break;
			}
			break;
		}
		k->early[event] = n;
	}
	*out = k->early[event];
	return 0;
}

static uint32_t sequence_of(const struct seek *k, uint32_t token)
{
	return token_type(token) == TOKEN_LOOP ? k->g->loops[token_id(token)].sequence
					       : token_id(token);
}

static uint32_t first_event(const struct seek *k, uint32_t token)
{
	return token_type(token) == TOKEN_EVENT ? token_id(token) : k->first[sequence_of(k, token)];
}

/* The number of tokens of a sequence that begin before k->from, by bisection: times of events do
 * not decrease (rule R15). */
static int tokens_before(struct seek *k, const struct pallas_sequence *s, uint64_t *n)
{
	uint64_t low = 0, high = s->ntokens;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2, before;
		uint32_t event = first_event(k, pallas_sequence_token(s, middle));
		int err = early(k, event, &before);

		if (err)
			return err;
		count(k, s->tokens, middle, 0);
		if (k->events[event] + k->inside[event] < before)
			low = middle + 1;
		else
			high = middle;
	}
	*n = low;
	return 0;
}

/* The number of iterations of a loop that begin before k->from, at least 1. */
static int iterations_before(struct seek *k, uint32_t token, uint32_t *n)
{
	uint32_t sequence = sequence_of(k, token), event = k->first[sequence];
	uint32_t iterations = k->g->loops[token_id(token)].iterations;
	const struct pallas_sequence *s = &k->g->sequences[sequence];
	uint64_t before, each;
	int err = early(k, event, &before);

	if (err)
		return err;
	count(k, s->tokens, s->ntokens, 0);
	each = k->inside[event];
	before = before > k->events[event] ? (before - k->events[event] + each - 1) / each : 1;
	*n = before < iterations ? (uint32_t)before : iterations;
	return 0;
}

/* Goes down from the root, each time into the last token that begins before k->from. */
static int descend(struct seek *k)
{
	struct pallas_expand *x = k->x;

	for (;;) {
		struct pallas_frame *f = &x->frames[x->depth - 1];
		const struct pallas_sequence *s = f->sequence;
		uint32_t token, begun = 1, iterations = 1;
		uint64_t n;
		int err = tokens_before(k, s, &n);

		if (err)
			return err;
		f->at = s->tokens + 4 * n;
		if (n == 0)
			return 0;
		token = pallas_sequence_token(s, n - 1);
		count(k, s->tokens, token_type(token) == TOKEN_EVENT ? n : n - 1, 0);
		pass(k);
		if (token_type(token) == TOKEN_EVENT)
			return 0;
		if (token_type(token) == TOKEN_LOOP) {
			iterations = k->g->loops[token_id(token)].iterations;
			err = iterations_before(k, token, &begun);
			if (err)
				return err;
			if (begun > 1) {
				count(k, f->at - 4, 1, begun - 1);
				pass(k);
			}
		}
		s = &k->g->sequences[sequence_of(k, token)];
		x->frames[x->depth++] = (struct pallas_frame){
			.at = s->tokens,
			.end = s->tokens + 4 * s->ntokens,
			.sequence = s,
			.left = iterations - begun,
		};
	}
}

int pallas_expand_seek(struct pallas_expand *x, uint64_t from, uint64_t *before)
{
	const struct thread_grammar *g = x->g;
	struct seek k = {.x = x, .g = g, .from = from};
	int err = 0;

	*before = 0;
	k.first = calloc(g->nsequences + 1, sizeof(*k.first));
	k.early = malloc((g->nevents + 1) * sizeof(*k.early));
	k.events = calloc(g->nevents + 1, sizeof(*k.events));
	k.inside = calloc(g->nevents + 1, sizeof(*k.inside));
	k.repeated = calloc(g->nsequences + 1, sizeof(*k.repeated));
	if (!k.first || !k.early || !k.events || !k.inside || !k.repeated) {
		err = log_no_memory("for the grammar of a thread");
		goto out;
	}
	memset(k.early, 0xff, (g->nevents + 1) * sizeof(*k.early));
	find_firsts(&k);
	err = descend(&k);
	for (size_t i = 0; !err && i < g->nevents; i++) {
		pallas_walk_skip(&x->times[i], k.events[i]);
		x->seen[i] = k.events[i];
		*before += k.events[i];
	}
out:
	free(k.first);
	free(k.early);
	free(k.events);
	free(k.inside);
	free(k.repeated);
	return err;
}
