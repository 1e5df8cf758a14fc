/* SPDX-License-Identifier: MIT */
/*
 * tree: prints the structure of a thread: its blocks and loops, with the durations of their
 * sequences.
 *
 * In: thread.pallas; out: a line for each token that is no event, below that of the sequence around
 * it. The summaries are those of all occurrences of a sequence in the thread. A sequence that was
 * printed before is not printed again below its line, so the tree has at most as many lines as the
 * grammar has tokens. Specification: pallas.md 7, 14.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/pallas/pallas_command.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define NAME_BYTES 512
#define INDENT_MAX 200 /* levels that move to the right */

static void show_line(const struct pallas_trace *trace, const struct pallas_thread *t,
		      uint32_t place, uint32_t iterations, uint32_t depth, bool again)
{
	const struct pallas_sequence *s = &t->grammar.sequences[place];
	char name[NAME_BYTES], times[32] = "";
	uint64_t low, high;

	pallas_vector_total(&s->durations, &low, &high);
	if (iterations)
		snprintf(times, sizeof(times), "%u x ", iterations);
	printf("%11" PRIu64 " %13" PRIu64 " %13" PRIu64 " %13" PRIu64 " %17" PRIu64 " %9" PRIu64
	       "  %*s%s%s%s\n",
	       s->durations.n, s->durations.min, s->durations.mean, s->durations.max, low,
	       high - low, 2 * (int)(depth < INDENT_MAX ? depth : INDENT_MAX), "", times,
	       text_shown(pallas_sequence_name(trace, t, place, name, sizeof(name))),
	       again ? " (as above)" : "");
}

int pallas_tree(const struct pallas_trace *trace, const struct pallas_thread *t)
{
	const struct thread_grammar *g = &t->grammar;
	struct {
		uint32_t sequence;
		uint64_t at; /* next token */
	} *stack = calloc(g->depth + 1, sizeof(*stack));
	bool *shown = calloc(g->nsequences + 1, sizeof(*shown));
	uint32_t depth = 1;

	if (!stack || !shown) {
		free(stack);
		free(shown);
		return log_no_memory("for the grammar of a thread");
	}
	printf("%11s %13s %13s %13s %17s %9s  %s\n", "occurrences", "min (ns)", "mean (ns)",
	       "max (ns)", "total (ns)", "+ at most", "structure");
	stack[0].sequence = g->root;
	while (depth) {
		const struct pallas_sequence *s = &g->sequences[stack[depth - 1].sequence];
		uint32_t token, place, iterations = 0;

		if (stack[depth - 1].at == s->ntokens) {
			depth--;
			continue;
		}
		token = pallas_sequence_token(s, stack[depth - 1].at++);
		place = token_id(token);
		if (token_type(token) == TOKEN_EVENT)
			continue;
		if (token_type(token) == TOKEN_LOOP) {
			iterations = g->loops[place].iterations;
			place = g->loops[place].sequence;
		}
		show_line(trace, t, place, iterations, depth - 1, shown[place]);
		if (shown[place])
			continue;
		shown[place] = true;
		stack[depth].sequence = place;
		stack[depth++].at = 0;
	}
	free(stack);
	free(shown);
	return 0;
}
