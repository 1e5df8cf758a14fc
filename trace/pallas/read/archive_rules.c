/* SPDX-License-Identifier: MIT */
/*
 * archive_rules: checks the rules that the reference tools need.
 *
 * In: an open archive; out: a line for each violation, with its rule. The reader itself refuses
 * violations of R11, R13, R14, R16 and R17; pallas_open() refuses violations of R4. R19 is an order
 * of writes that is not visible in the files. Further checks: exact summaries of every sub-array,
 * attribute lists inside their buffers, and the number of occurrences of loops. Specification:
 * pallas.md 8, 12, 16.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/pallas/read/expand.h"

#define SHOWN_MAX 100 /* lines; further violations are only counted */

struct check {
	struct pallas_trace *trace;
	FILE *out;
	const struct pallas_thread *thread; /* the present one */
	int violations;
};

__attribute__((format(printf, 3, 4))) static void say(struct check *c, const char *rule,
						      const char *fmt, ...)
{
	va_list args;

	if (c->violations++ >= SHOWN_MAX)
		return;
	fprintf(c->out, "%s: %s%s", rule, c->thread ? c->thread->path : "", c->thread ? ": " : "");
	va_start(args, fmt);
	vfprintf(c->out, fmt, args);
	va_end(args);
	fputc('\n', c->out);
}

/* ---- names and locations: R5 to R9 ---- */

static void check_regions(struct check *c, const struct pallas_part *part, const char *where)
{
	for (size_t i = 0; i < part->defs.nregions; i++) {
		if (!pallas_part_string(part, part->defs.regions[i].name))
			say(c, "R9", "%s: the name of region %u is not in the same file", where,
			    part->defs.regions[i].ref);
	}
}

static void check_places(struct check *c)
{
	struct pallas_trace *t = c->trace;
	char where[32];

	check_regions(c, &t->part, PALLAS_MAIN);
	for (size_t i = 0; i < t->part.ngroups; i++) {
		if (!pallas_string(t, NULL, t->part.groups[i].name))
			say(c, "R9", "location group %u has no name in the main file",
			    t->part.groups[i].id);
	}
	for (size_t i = 0; i < t->narchives; i++) {
		const struct pallas_archive *a = &t->archives[i];
		size_t n = 0;

		snprintf(where, sizeof(where), "archive_%u", a->id);
		check_regions(c, &a->part, where);
		for (size_t k = 0; k < t->nthreads; k++)
			n += t->threads[k].archive == a;
		if (a->nthreads != n)
			say(c, "R6", "%s: %u threads, but %zu locations", where, a->nthreads, n);
		for (size_t k = 0; k < a->part.nlocations; k++) {
			if (a->part.locations[k].parent != a->id)
				say(c, "R7", "%s: location %u belongs to group %u", where,
				    a->part.locations[k].id, a->part.locations[k].parent);
		}
	}
	for (size_t i = 1; i < t->nthreads; i++) {
		const struct pallas_thread *a = &t->threads[i - 1], *b = &t->threads[i];

		if (a->archive == b->archive && b->id != a->id + 1)
			say(c, "R6", "archive_%u: location %u follows %u", a->archive->id, b->id,
			    a->id);
	}
	for (size_t i = 0; i < t->nthreads; i++) {
		if (!pallas_string(t, t->threads[i].archive, t->threads[i].name))
			say(c, "R9", "%s: the location has no name", t->threads[i].path);
	}
}

static int check_unique(struct check *c)
{
	uint32_t *ids = malloc((c->trace->nthreads + 1) * sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < c->trace->nthreads; i++)
		ids[i] = c->trace->threads[i].id;
	qsort(ids, c->trace->nthreads, sizeof(*ids), pallas_by_id);
	for (size_t i = 1; i < c->trace->nthreads; i++) {
		if (ids[i] == ids[i - 1])
			say(c, "R8", "two threads have the id %u", ids[i]);
	}
	free(ids);
	return 0;
}

/* ---- the grammar: R1 to R3, R10, R12, R18 ---- */

static void check_map(struct check *c, const struct pallas_map *map, size_t n, const char *rule,
		      const char *what)
{
	bool same = map->n == n;

	for (size_t i = 0; same && i < n; i++)
		same = map->places[i] == i;
	if (!same)
		say(c, rule, "the map of the %s is not the identity", what);
}

static void check_event(struct check *c, const struct pallas_event *e)
{
	const uint8_t *at = e->attributes;
	struct pallas_list list;
	struct pallas_value value;
	int got;

	if (e->times.n == 0)
		say(c, "R10", "event %u never occurs", e->id);
	if (e->record == PALLAS_GENERIC &&
	    (e->payload_size < 4 ||
	     !pallas_string(c->trace, c->thread->archive, get_u32(e->payload))))
		say(c, "R9", "event %u names a string that does not exist", e->id);
	if (e->payload_size > PALLAS_PAYLOAD_MAX)
		say(c, "R18", "event %u has a payload of %u bytes", e->id, e->payload_size);
	while ((got = pallas_list_next(e, &at, &list)) == 1) {
		if (list.occurrence < 0 || (uint64_t)list.occurrence >= e->times.n)
			say(c, "attributes", "event %u has no occurrence %d", e->id,
			    list.occurrence);
		while ((got = pallas_value_next(&list, &value)) == 1)
			;
		if (got < 0)
			break;
	}
	if (got < 0)
		say(c, "attributes", "event %u: a list leaves its buffer", e->id);
}

static bool same_split(const struct pallas_vector *a, const struct pallas_vector *b)
{
	if (a->nsubs != b->nsubs)
		return false;
	for (uint64_t i = 0; i < a->nsubs; i++) {
		if (pallas_vector_sub(a, i).n != pallas_vector_sub(b, i).n)
			return false;
	}
	return true;
}

static void check_sequence(struct check *c, const struct thread_grammar *g,
			   const struct pallas_sequence *s)
{
	bool block = false;
	uint32_t token;

	if (s->ntokens == 0 || s->durations.n == 0) {
		say(c, "R10", "sequence %u never occurs", s->id);
		return;
	}
	if (!same_split(&s->durations, &s->exclusive) || !same_split(&s->durations, &s->starts))
		say(c, "R10", "the vectors of sequence %u are not split alike", s->id);
	token = pallas_sequence_token(s, 0);
	if (token_type(token) == TOKEN_EVENT)
		block = g->events[token_id(token)].record == PALLAS_ENTER;
	if (s != &g->sequences[g->root] && s->type == SEQUENCE_BLOCK && !block)
		say(c, "type", "sequence %u is a block that nothing enters", s->id);
}

static void check_tables(struct check *c, const struct thread_grammar *g)
{
	const struct pallas_sequence *root = &g->sequences[g->root];

	if (g->root_id != 0)
		say(c, "R1", "the root is sequence %u", g->root_id);
	check_map(c, &g->sequence_map, g->nsequences, "R1", "sequences");
	check_map(c, &g->event_map, g->nevents, "R10", "events");
	check_map(c, &g->loop_map, g->nloops, "R10", "loops");
	if (root->ntokens != 1 || token_type(pallas_sequence_token(root, 0)) == TOKEN_EVENT)
		say(c, "R2", "the root has %llu tokens, or an event",
		    (unsigned long long)root->ntokens);
	if (root->type != SEQUENCE_BLOCK)
		say(c, "type", "the root has the type %d", root->type);
	if (g->total_events == 0)
		say(c, "R3", "the thread has no events");
	if (g->depth > PALLAS_DEPTH_MAX)
		say(c, "R12", "the grammar has %u levels", g->depth);
	if (g->thread != c->thread->id || g->archive != c->thread->archive->id)
		say(c, "header", "the file is that of thread %u of archive %u", g->thread,
		    g->archive);
	for (size_t i = 0; i < g->nevents; i++)
		check_event(c, &g->events[i]);
	for (size_t i = 0; i < g->nsequences; i++)
		check_sequence(c, g, &g->sequences[i]);
	for (size_t i = 0; i < g->nloops; i++) {
		if (g->loops[i].runs == 0)
			say(c, "R10", "loop entry %zu is never used", i);
		else if (g->loops[i].occurrences != g->loops[i].runs)
			say(c, "loops", "loop %u runs %llu times, not %llu", g->loops[i].id,
			    (unsigned long long)g->loops[i].runs,
			    (unsigned long long)g->loops[i].occurrences);
		if (g->loops[i].iterations > PALLAS_ITERATIONS_MAX)
			say(c, "R18", "loop %u has %u iterations", g->loops[i].id,
			    g->loops[i].iterations);
	}
}

/* ---- the vectors: R15 and summaries ---- */

/* A walk over a vector, with its expected summaries. */
struct tally {
	struct pallas_walk walk;
	uint64_t n, min, max, sum; /* of the present sub-array */
	uint64_t all, all_min, all_max;
	unsigned __int128 all_sum;
};

/* A sequence with an open occurrence. */
struct level {
	uint64_t first, last, block; /* ns; block: in blocks */
	bool started;
};

struct replay {
	struct check *c;
	const struct thread_grammar *g;
	struct pallas_expand events;
	struct tally *tallies; /* durations, exclusive, starts of each sequence */
	struct level *levels;  /* by depth */
	uint64_t now;
	bool any;
};

static void tally_init(struct tally *t, struct pallas_loader *loader,
		       const struct pallas_thread *thread, const struct pallas_vector *v)
{
	*t = (struct tally){.min = UINT64_MAX, .all_min = UINT64_MAX};
	pallas_walk_init(&t->walk, loader, thread, v);
}

/* Compares the next element of a vector with `want`. */
static int expect(struct replay *r, struct tally *t, const char *what, uint32_t id, uint64_t want)
{
	const struct pallas_vector *v = t->walk.vector;
	struct pallas_sub sub;
	uint64_t got;
	int err = pallas_walk_next(&t->walk, &got);

	if (err)
		return err;
	if (got != want)
		say(r->c, "R15", "%s %llu of sequence %u is %llu, not %llu", what,
		    (unsigned long long)t->all, id, (unsigned long long)got,
		    (unsigned long long)want);
	t->n++;
	t->all++;
	t->sum += got;
	t->all_sum += got;
	t->min = got < t->min ? got : t->min;
	t->max = got > t->max ? got : t->max;
	t->all_min = got < t->all_min ? got : t->all_min;
	t->all_max = got > t->all_max ? got : t->all_max;
	if (v->kind == VECTOR_TIMES)
		return 0;
	sub = pallas_vector_sub(v, t->walk.sub);
	if (t->n == sub.n) {
		if (sub.min != t->min || sub.max != t->max || sub.mean != t->sum / t->n)
			say(r->c, "summary",
			    "sub-array %llu of the %ss of sequence %u is summarized "
			    "wrongly",
			    (unsigned long long)t->walk.sub, what, id);
		t->n = t->sum = t->max = 0;
		t->min = UINT64_MAX;
	}
	if (t->all == v->n && (v->min != t->all_min || v->max != t->all_max ||
			       v->mean != (uint64_t)(t->all_sum / t->all)))
		say(r->c, "summary", "the %ss of sequence %u are summarized wrongly", what, id);
	return 0;
}

/* Ends an occurrence of a sequence: compares it, and adds it to its parent. */
static int replay_sequence(struct replay *r)
{
	const struct pallas_sequence *s = r->events.ended;
	struct level *l = &r->levels[r->events.ended_depth], *around = l - 1;
	struct tally *t = r->tallies + 3 * (s - r->g->sequences);
	uint64_t duration = l->last - l->first;
	uint64_t block = s->type == SEQUENCE_BLOCK ? duration : l->block;
	uint64_t exclusive = s->type == SEQUENCE_BLOCK ? duration - l->block : l->block;
	int err = expect(r, &t[0], "duration", s->id, duration);

	if (err)
		return err;
	if (s == &r->g->sequences[r->g->root])
		exclusive = 0;
	err = expect(r, &t[1], "exclusive duration", s->id, exclusive);
	if (err)
		return err;
	err = expect(r, &t[2], "start", s->id, l->first);
	if (err)
		return err;
	if (!around->started)
		around->first = l->first;
	around->started = true;
	around->last = l->last;
	around->block += block;
	*l = (struct level){0};
	return 0;
}

static void replay_event(struct replay *r)
{
	struct level *l = &r->levels[r->events.depth];
	uint64_t time = r->events.time;

	if (r->any && time < r->now)
		say(r->c, "R15", "an occurrence of event %u is earlier than the event before",
		    r->g->events[r->events.event].id);
	if (!r->any && time != r->g->first_time)
		say(r->c, "R15", "the first event is not at the time that the header states");
	r->any = true;
	r->now = time;
	if (!l->started)
		l->first = time;
	l->started = true;
	l->last = time;
}

static int replay(struct replay *r)
{
	int got, err;

	while ((got = pallas_expand_step(&r->events)) > 0) {
		if (got == EXPAND_EVENT) {
			replay_event(r);
			continue;
		}
		err = replay_sequence(r);
		if (err)
			return err;
	}
	return got;
}

static int check_vectors(struct check *c, struct pallas_loader *loader)
{
	const struct thread_grammar *g = &c->thread->grammar;
	struct replay r = {.c = c, .g = g};
	int err = pallas_expand_init(&r.events, loader, c->thread);

	if (err)
		return err;
	r.tallies = calloc(3 * g->nsequences + 1, sizeof(*r.tallies));
	r.levels = calloc(g->depth + 1, sizeof(*r.levels));
	if (!r.tallies || !r.levels) {
		err = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < g->nsequences; i++) {
		const struct pallas_sequence *s = &g->sequences[i];

		tally_init(&r.tallies[3 * i], loader, c->thread, &s->durations);
		tally_init(&r.tallies[3 * i + 1], loader, c->thread, &s->exclusive);
		tally_init(&r.tallies[3 * i + 2], loader, c->thread, &s->starts);
	}
	err = replay(&r);
	for (size_t i = 0; i < 3 * g->nsequences; i++)
		pallas_walk_fini(&r.tallies[i].walk);
out:
	free(r.tallies);
	free(r.levels);
	pallas_expand_fini(&r.events);
	return err;
}

static void check_files(struct check *c)
{
	static const char *const names[] = {PALLAS_EVENT_DATA, PALLAS_SEQ_DATA};
	char path[96];

	for (unsigned i = 0; i < 2; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", c->thread->path, names[i]);
		fd = input_open(c->trace->fd, path, INPUT_EVENTS_MAX, NULL);
		if (fd >= 0)
			close(fd);
		else
			say(c, "R5", "%s: %s", names[i], input_why(fd, INPUT_EVENTS_MAX));
	}
}

int pallas_check(struct pallas_trace *trace, FILE *out)
{
	struct check c = {.trace = trace, .out = out};
	struct pallas_loader *loader;
	int err;

	if (pallas_lossy(trace))
		log_warn("%s: times and durations are not checked: the compression %s loses "
			 "information",
			 trace->path, pallas_compression_names[trace->compression]);
	check_places(&c);
	err = check_unique(&c);
	if (err)
		goto out;
	for (size_t i = 0; i < trace->nthreads; i++) {
		struct pallas_thread *t = &trace->threads[i];

		c.thread = t;
		err = pallas_thread_load(trace, t);
		if (err)
			goto out;
		check_files(&c);
		check_tables(&c, &t->grammar);
		if (t->grammar.total_events && !pallas_lossy(trace)) {
			loader = pallas_loader_new(trace);
			err = loader ? check_vectors(&c, loader) : -ENOMEM;
			pallas_loader_free(loader);
		}
		pallas_thread_unload(trace, t);
		if (err)
			goto out;
	}
	if (c.violations > SHOWN_MAX)
		fprintf(out, "%d more violations are not shown\n", c.violations - SHOWN_MAX);
out:
	if (err == -ENOMEM)
		log_error("%s: out of memory (while checking), or the budget is too small",
			  trace->path);
	return err ? err : c.violations;
}
