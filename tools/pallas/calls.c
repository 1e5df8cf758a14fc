/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pallas/calls.h"
#include "trace/base/array.h"
#include "trace/base/log.h"

#define OPEN_MOST  (1u << 20) /* open calls */
#define STEPS_MOST (1u << 28) /* of one search for the open calls */

struct open_call {
	uint32_t row;
	bool outer, cut;
	uint64_t begin, called;
};

struct walk {
	const struct calls *c;
	const struct thread_grammar *g;
	struct open_call *stack;
	size_t nstack;
	uint32_t *nopen; /* open calls of each row */
	uint64_t first, last;
	calls_fn fn;
	void *to;
};

static int by_ref(const void *a, const void *b)
{
	return pallas_by_id(a, b);
}

int calls_init(struct calls *c, const struct selection *s, const struct pallas_trace *trace,
	       const struct pallas_thread *thread)
{
	const struct thread_grammar *g = &thread->grammar;

	*c = (struct calls){.thread = thread};
	if (pallas_lossy(trace)) {
		log_error("%s: the compression %s keeps only approximate times, which give no "
			  "durations of calls; stats without a window has exact ones",
			  trace->path, pallas_compression_names[trace->compression]);
		return -EPROTONOSUPPORT;
	}
	c->wanted = selection_calls(s, trace, thread, false);
	if (!c->wanted)
		return -ENOMEM;
	c->refs = calloc(g->nevents + 1, sizeof(*c->refs));
	c->row_of = calloc(g->nevents + 1, sizeof(*c->row_of));
	if (!c->refs || !c->row_of) {
		calls_fini(c);
		return log_no_memory("for the regions of a thread");
	}
	for (size_t i = 0; i < g->nevents; i++) {
		if (c->wanted[i])
			c->refs[c->nrows++] = get_u32(g->events[i].payload);
	}
	qsort(c->refs, c->nrows, sizeof(*c->refs), by_ref);
	for (uint32_t i = 0, n = c->nrows; i < n; i++) {
		if (i == 0)
			c->nrows = 0;
		if (c->nrows == 0 || c->refs[c->nrows - 1] != c->refs[i])
			c->refs[c->nrows++] = c->refs[i];
	}
	for (size_t i = 0; i < g->nevents; i++) {
		uint32_t ref, *at = NULL;

		if (c->wanted[i]) {
			ref = get_u32(g->events[i].payload);
			at = bsearch(&ref, c->refs, c->nrows, sizeof(*c->refs), by_ref);
		}
		c->row_of[i] = at ? (uint32_t)(at - c->refs) : PALLAS_NONE;
	}
	return 0;
}

void calls_fini(struct calls *c)
{
	free(c->refs);
	free(c->row_of);
	free(c->wanted);
	*c = (struct calls){0};
}

/* ---- open calls ---- */

static int enter(struct walk *w, uint32_t row, uint64_t time)
{
	struct open_call *call;

	if (w->nstack == OPEN_MOST) {
		log_error("%s: more than %u calls are open at a time", w->c->thread->path,
			  OPEN_MOST);
		return -EBADMSG;
	}
	call = ARRAY_ADD(w->stack, w->nstack);
	if (!call)
		return log_no_memory("for the calls of a thread");
	*call = (struct open_call){.row = row, .outer = w->nopen[row]++ == 0, .begin = time};
	return 0;
}

/* Ends the innermost call at a time. */
static int leave(struct walk *w, uint64_t time)
{
	struct open_call *o = &w->stack[--w->nstack];
	struct call call = {.row = o->row,
			    .begin = o->begin,
			    .end = time > o->begin ? time : o->begin,
			    .called = o->called,
			    .outer = o->outer,
			    .cut = o->cut};

	w->nopen[o->row]--;
	if (w->nstack)
		w->stack[w->nstack - 1].called += call.end - call.begin;
	return w->fn(w->to, &call);
}

/* Handles an event: 1 if it changed the open calls, 0, or -errno. */
static int put(struct walk *w, uint32_t event, uint64_t time)
{
	uint32_t row = w->c->row_of[event];

	if (row == PALLAS_NONE)
		return 0;
	if (w->g->events[event].record == PALLAS_ENTER)
		return enter(w, row, time);
	if (!w->nstack || w->stack[w->nstack - 1].row != row)
		return 0;
	return leave(w, time);
}

/* ---- the calls that are open where the window begins ---- */

/* Tells for a sequence whether it ends each call that it begins, and no other. */
static bool closes(const struct walk *w, const struct pallas_sequence *s, const bool *closed,
		   uint32_t *rows)
{
	size_t n = 0;

	for (uint64_t i = 0; i < s->ntokens; i++) {
		uint32_t token = pallas_sequence_token(s, i), id = token_id(token), row;

		if (token_type(token) != TOKEN_EVENT) {
			if (token_type(token) == TOKEN_LOOP)
				id = w->g->loops[id].sequence;
			if (!closed[id])
				return false;
			continue;
		}
		row = w->c->row_of[id];
		if (row == PALLAS_NONE)
			continue;
		if (w->g->events[id].record == PALLAS_ENTER)
			rows[n++] = row;
		else if (!n)
			return false;
		else if (rows[n - 1] == row)
			n--;
	}
	return n == 0;
}

struct structure {
	bool *closed;	/* of each sequence: closes() */
	uint64_t *size; /* events of each sequence */
	uint32_t *rows;
	struct pallas_frame *frames;
};

static int structure_init(struct structure *t, const struct walk *w)
{
	const struct thread_grammar *g = w->g;
	uint64_t longest = 0;

	for (size_t i = 0; i < g->nsequences; i++)
		longest = g->sequences[i].ntokens > longest ? g->sequences[i].ntokens : longest;
	t->closed = calloc(g->nsequences + 1, sizeof(*t->closed));
	t->size = calloc(g->nsequences + 1, sizeof(*t->size));
	t->rows = calloc(longest + 1, sizeof(*t->rows));
	t->frames = calloc(g->depth + 1, sizeof(*t->frames));
	if (!t->closed || !t->size || !t->rows || !t->frames)
		return log_no_memory("for the grammar of a thread");
	for (uint32_t i = 0; i < g->norder; i++) { /* each before its parents */
		uint32_t place = g->order[i];
		const struct pallas_sequence *s = &g->sequences[place];

		t->closed[place] = closes(w, s, t->closed, t->rows);
		for (uint64_t k = 0; k < s->ntokens; k++) {
			uint32_t token = pallas_sequence_token(s, k), id = token_id(token);

			if (token_type(token) == TOKEN_EVENT)
				t->size[place]++;
			else if (token_type(token) == TOKEN_SEQUENCE)
				t->size[place] += t->size[id];
			else
				t->size[place] +=
					t->size[g->loops[id].sequence] * g->loops[id].iterations;
		}
	}
	return 0;
}

/*
 * Passes the first `left` events of the thread, without their times. Whole sequences that close
 * what they open are passed at once.
 */
static int pass_events(struct walk *w, struct structure *t, uint64_t left)
{
	const struct pallas_sequence *s = &w->g->sequences[w->g->root];
	uint32_t depth = 1, steps = 0;

	t->frames[0] = (struct pallas_frame){
		.at = s->tokens, .end = s->tokens + 4 * s->ntokens, .sequence = s};
	while (left && depth) {
		struct pallas_frame *f = &t->frames[depth - 1];
		uint32_t token, id, iterations = 1;
		uint64_t passed;

		if (++steps == STEPS_MOST) {
			log_error("%s: its calls do not nest in its grammar, so the search for the "
				  "open ones takes too long",
				  w->c->thread->path);
			return -EFBIG;
		}
		if (f->at == f->end) {
			f->at = f->sequence->tokens;
			if (f->left-- == 0)
				depth--;
			continue;
		}
		token = get_u32(f->at);
		id = token_id(token);
		f->at += 4;
		if (token_type(token) == TOKEN_EVENT) {
			int err = put(w, id, w->first);

			if (err)
				return err;
			left--;
			continue;
		}
		if (token_type(token) == TOKEN_LOOP) {
			iterations = w->g->loops[id].iterations;
			id = w->g->loops[id].sequence;
		}
		passed = t->closed[id] && t->size[id] ? left / t->size[id] : 0;
		passed = passed < iterations ? passed : iterations;
		left -= passed * t->size[id];
		if (passed == iterations)
			continue;
		s = &w->g->sequences[id];
		t->frames[depth++] = (struct pallas_frame){
			.at = s->tokens,
			.end = s->tokens + 4 * s->ntokens,
			.sequence = s,
			.left = iterations - (uint32_t)passed - 1,
		};
	}
	return 0;
}

static int ignore(void *to, const struct call *call)
{
	(void)to;
	(void)call;
	return 0;
}

static int find_open(struct walk *w, uint64_t before)
{
	struct structure t = {0};
	calls_fn fn = w->fn;
	int err = structure_init(&t, w);

	w->fn = ignore;
	if (!err)
		err = pass_events(w, &t, before);
	w->fn = fn;
	for (size_t i = 0; i < w->nstack; i++) {
		w->stack[i].called = 0;
		w->stack[i].cut = true;
	}
	free(t.closed);
	free(t.size);
	free(t.rows);
	free(t.frames);
	return err;
}

/* ---- the walk ---- */

static int walk_window(struct walk *w, struct pallas_expand *x)
{
	int got, err = 0;

	while (!err && (got = pallas_expand_next(x)) == 1 && x->time <= w->last)
		err = put(w, x->event, x->time);
	return err ? err : got < 0 ? got : 0;
}

int calls_walk(const struct calls *c, struct pallas_loader *loader, const struct selection *s,
	       calls_fn fn, void *to)
{
	const struct thread_grammar *g = &c->thread->grammar;
	struct walk w = {.c = c, .g = g, .first = s->first, .last = s->last, .fn = fn, .to = to};
	struct pallas_expand x = {0};
	uint64_t before, end = 0;
	int err;

	if (!g->total_events || !selection_overlaps(s, c->thread))
		return 0;
	for (size_t i = 0; i < g->nevents; i++)
		end = g->events[i].times.max > end ? g->events[i].times.max : end;
	w.nopen = calloc(c->nrows + 1, sizeof(*w.nopen));
	if (!w.nopen)
		return log_no_memory("for the calls of a thread");
	err = pallas_expand_init(&x, loader, c->thread);
	if (err)
		goto out;
	if (s->first) {
		err = pallas_expand_seek(&x, s->first, &before);
		if (err)
			goto out;
		err = find_open(&w, before);
		if (err)
			goto out;
	}
	err = pallas_expand_only(&x, c->wanted);
	if (err)
		goto out;
	err = walk_window(&w, &x);
	/* the calls that are open there end with the window or the thread */
	end = s->last < end ? s->last : end;
	while (!err && w.nstack) {
		w.stack[w.nstack - 1].cut = true;
		err = leave(&w, end);
	}
out:
	free(w.stack);
	free(w.nopen);
	pallas_expand_fini(&x);
	return err;
}
