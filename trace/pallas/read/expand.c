/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "trace/base/log.h"
#include "trace/pallas/read/expand.h"

static void enter(struct pallas_expand *x, uint32_t sequence, uint32_t iterations)
{
	const struct pallas_sequence *s = &x->g->sequences[sequence];

	x->frames[x->depth++] = (struct pallas_frame){
		.at = s->tokens,
		.end = s->tokens + 4 * s->ntokens,
		.sequence = s,
		.left = iterations - 1,
	};
}

int pallas_expand_init(struct pallas_expand *x, struct pallas_loader *loader,
		       const struct pallas_thread *thread)
{
	const struct thread_grammar *g = &thread->grammar;

	*x = (struct pallas_expand){.g = g};
	x->times = calloc(g->nevents + 1, sizeof(*x->times));
	x->seen = calloc(g->nevents + 1, sizeof(*x->seen));
	x->frames = calloc(g->depth + 1, sizeof(*x->frames));
	if (!x->times || !x->seen || !x->frames) {
		log_no_memory("while reading %s", thread->path);
		pallas_expand_fini(x);
		return -ENOMEM;
	}
	for (size_t i = 0; i < g->nevents; i++)
		pallas_walk_init(&x->times[i], loader, thread, &g->events[i].times);
	enter(x, g->root, 1);
	return 0;
}

void pallas_expand_fini(struct pallas_expand *x)
{
	for (size_t i = 0; x->times && i < x->g->nevents; i++)
		pallas_walk_fini(&x->times[i]);
	free(x->times);
	free(x->seen);
	free(x->frames);
	free(x->without);
	*x = (struct pallas_expand){0};
}

int pallas_expand_only(struct pallas_expand *x, const bool *wanted)
{
	const struct thread_grammar *g = x->g;

	x->without = calloc(g->nsequences + 1, sizeof(*x->without));
	if (!x->without)
		return log_no_memory("for the grammar of a thread");
	for (uint32_t i = 0; i < g->norder; i++) { /* each before its parents */
		const struct pallas_sequence *s = &g->sequences[g->order[i]];
		bool without = true;

		for (uint64_t k = 0; without && k < s->ntokens; k++) {
			uint32_t token = pallas_sequence_token(s, k), id = token_id(token);

			if (token_type(token) == TOKEN_EVENT)
				without = !wanted[id];
			else if (token_type(token) == TOKEN_SEQUENCE)
				without = x->without[id];
			else
				without = x->without[g->loops[id].sequence];
		}
		x->without[g->order[i]] = without;
	}
	x->wanted = wanted;
	return 0;
}

int pallas_expand_step(struct pallas_expand *x)
{
	while (x->depth) {
		struct pallas_frame *f = &x->frames[x->depth - 1];
		const struct pallas_loop *l;
		uint32_t token;
		int err;

		if (f->at == f->end) {
			x->ended = f->sequence;
			x->ended_depth = x->depth;
			f->at = f->sequence->tokens;
			if (f->left-- == 0)
				x->depth--;
			return EXPAND_SEQUENCE;
		}
		token = get_u32(f->at);
		f->at += 4;
		switch (token_type(token)) {
		case TOKEN_EVENT:
			x->event = token_id(token);
			if (x->wanted && !x->wanted[x->event])
				break;
			err = pallas_walk_next(&x->times[x->event], &x->time);
			if (err)
				return err;
			x->seen[x->event]++;
			return EXPAND_EVENT;
		case TOKEN_SEQUENCE:
			if (!x->wanted || !x->without[token_id(token)])
				enter(x, token_id(token), 1);
			break;
		default: /* a loop: the parser refuses other types */
			l = &x->g->loops[token_id(token)];
			if (!x->wanted || !x->without[l->sequence])
				enter(x, l->sequence, l->iterations);
			break;
		}
	}
	return EXPAND_END;
}

int pallas_expand_next(struct pallas_expand *x)
{
	int got;

	do
		got = pallas_expand_step(x);
	while (got == EXPAND_SEQUENCE);
	return got;
}

/* True if thread a precedes thread b: by time, then by index. */
static inline bool before(const struct pallas_merge *m, uint32_t a, uint32_t b)
{
	uint64_t x = m->threads[a].time, y = m->threads[b].time;

	return x < y || (x == y && a < b);
}

static void sift_down(struct pallas_merge *m, size_t i)
{
	uint32_t who = m->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= m->n)
			break;
		if (child + 1 < m->n && before(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m, m->heap[child], who))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = who;
}

int pallas_merge_open(struct pallas_merge *m, struct pallas_trace *trace)
{
	int err = -ENOMEM;

	*m = (struct pallas_merge){.trace = trace};
	m->loader = pallas_loader_new(trace);
	m->threads = calloc(trace->nthreads + 1, sizeof(*m->threads));
	m->heap = calloc(trace->nthreads + 1, sizeof(*m->heap));
	if (!m->loader || !m->threads || !m->heap)
		goto fail;
	for (size_t i = 0; i < trace->nthreads; i++) {
		err = pallas_thread_take(trace, &trace->threads[i]);
		if (err < 0)
			goto fail;
		if (err)
			continue;
		err = pallas_expand_init(&m->threads[i], m->loader, &trace->threads[i]);
		if (err)
			goto fail;
	}
	return 0;
fail:
	pallas_merge_close(m);
	return err;
}

void pallas_merge_close(struct pallas_merge *m)
{
	for (size_t i = 0; m->threads && i < m->trace->nthreads; i++)
		pallas_expand_fini(&m->threads[i]);
	free(m->threads);
	free(m->heap);
	pallas_loader_free(m->loader);
	*m = (struct pallas_merge){0};
}

/* Reads the first event of each thread. */
static int start(struct pallas_merge *m)
{
	for (uint32_t i = 0; i < m->trace->nthreads; i++) {
		int got = m->threads[i].g ? pallas_expand_next(&m->threads[i]) : 0;

		if (got < 0)
			return got;
		if (got)
			m->heap[m->n++] = i;
	}
	for (size_t i = m->n / 2; i-- > 0;)
		sift_down(m, i);
	m->started = true;
	return 0;
}

int pallas_merge_next(struct pallas_merge *m, uint32_t *thread)
{
	int got;

	if (!m->started) {
		got = start(m);
		if (got < 0)
			return got;
	} else if (m->n) {
		got = pallas_expand_next(&m->threads[m->heap[0]]);
		if (got < 0)
			return got;
		if (!got)
			m->heap[0] = m->heap[--m->n];
		if (m->n)
			sift_down(m, 0);
	}
	if (!m->n)
		return 0;
	*thread = m->heap[0];
	return 1;
}
