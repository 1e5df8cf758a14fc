/* SPDX-License-Identifier: MIT */
/*
 * grammar_rules: checks a whole grammar: cycles, depth, number of occurrences.
 *
 * In: the tables of thread_grammar.h; out: their order and counts. One depth-first walk without
 * recursion orders the sequences, each after those that it contains; in the reverse order, the
 * number of occurrences goes from the root down. The time depends on the number of tokens, not on
 * the length of the expansion.
 * Specification: pallas.md 13, 22; rules R13 and R14.
 */
#include <stdlib.h>

#include "trace/pallas/cursor.h"
#include "trace/pallas/thread_grammar.h"

enum { WHITE, GREY, BLACK };

struct visit {
	uint32_t sequence;
	uint32_t below; /* levels below it so far */
	uint64_t at;	/* next token */
};

static int walk(struct thread_grammar *g, struct visit *stack, uint8_t *colour, uint32_t *depths,
		const char *shown)
{
	size_t n = 0;

	stack[n++] = (struct visit){.sequence = g->root};
	colour[g->root] = GREY;
	while (n) {
		struct visit *top = &stack[n - 1];
		struct pallas_sequence *s = &g->sequences[top->sequence];
		uint32_t token, next, level = 1;

		if (s->ntokens == 0) {
			log_error("%s: sequence %u is used, but has no tokens", shown, s->id);
			return -EBADMSG;
		}
		if (top->at == s->ntokens) {
			colour[top->sequence] = BLACK;
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
		if (colour[next] == GREY) {
			log_error("%s: sequence %u contains itself", shown, g->sequences[next].id);
			return -EBADMSG;
		}
		if (colour[next] == WHITE) {
			colour[next] = GREY;
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

/* Counts the occurrences from the root down. */
static int count(struct thread_grammar *g, uint64_t *events, uint64_t *sequences, const char *shown)
{
	sequences[g->root] = 1;
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

int thread_grammar_verify(struct thread_grammar *g, const char *shown)
{
	size_t n = g->nsequences;
	struct visit *stack = calloc(n + 1, sizeof(*stack));
	uint8_t *colour = calloc(n + 1, 1);
	uint32_t *depths = calloc(n + 1, sizeof(*depths));
	uint64_t *events = calloc(g->nevents + 1, sizeof(*events));
	uint64_t *sequences = calloc(n + 1, sizeof(*sequences));
	int err = -ENOMEM;

	g->order = calloc(n + 1, sizeof(*g->order));
	if (!stack || !colour || !depths || !events || !sequences || !g->order)
		goto out;
	err = walk(g, stack, colour, depths, shown);
	if (err)
		goto out;
	err = count(g, events, sequences, shown);
	if (err)
		goto out;
	err = compare(g, events, sequences, shown);
out:
	free(stack);
	free(colour);
	free(depths);
	free(events);
	free(sequences);
	return err;
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
