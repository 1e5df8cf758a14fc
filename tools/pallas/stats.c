/* SPDX-License-Identifier: MIT */
/*
 * stats: prints durations, regions and repetitions from grammars and stored summaries.
 *
 * In: thread.pallas, which has a summary of each vector, and the metadata of an exported archive,
 * which has a summary of calls outside the sequences; out: tables. It opens no data file, so its
 * time depends on thread.pallas only; except for a window of time, whose calls are walked.
 *
 *   sum ± bound   the stored means are rounded down, so a sum has a bound
 *   from          stored: vectors; summary: metadata; part: some durations are unknown; window:
 *                 times of events
 * Specification: pallas.md 14.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pallas/call_lists.h"
#include "tools/pallas/calls.h"
#include "tools/pallas/pallas_command.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define NAME_BYTES 512

static void tsv_thread(const struct pallas_trace *trace, const struct pallas_thread *t)
{
	const struct thread_grammar *g = &t->grammar;
	char name[NAME_BYTES];

	for (size_t i = 0; i < g->sequence_map.n; i++) {
		uint32_t place = g->sequence_map.places[i];
		const struct pallas_sequence *s;

		if (place == PALLAS_NONE || g->sequences[place].ntokens == 0)
			continue;
		s = &g->sequences[place];
		printf("%u\t%u\tS%u\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		       "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
		       t->archive->id, t->id, s->id,
		       text_shown(pallas_sequence_name(trace, t, place, name, sizeof(name))),
		       s->type == SEQUENCE_BLOCK ? "BLOCK" : "LOOP", s->durations.n,
		       s->durations.min, s->durations.max, s->durations.mean, s->exclusive.min,
		       s->exclusive.max, s->exclusive.mean);
	}
}

static void head(const struct pallas_thread *t, const char *name)
{
	printf("\nthread %u of archive %u '%s': %" PRIu64 " events, %" PRIu64 " ns\n", t->id,
	       t->archive->id, text_shown(name), t->grammar.total_events,
	       t->grammar.sequences[t->grammar.root].durations.max);
}

/* The score of the Pallas tools, in single precision as theirs: the time beyond the fastest
 * occurrence, as a share of the time of the thread. */
static float contention(const struct pallas_sequence *s, uint64_t thread_ns)
{
	uint64_t beyond;

	if (__builtin_mul_overflow(s->durations.n, s->durations.mean - s->durations.min, &beyond) ||
	    beyond > thread_ns)
		return -1;
	return thread_ns ? (float)beyond / (float)thread_ns : 0;
}

static void show_sequences(const struct pallas_trace *trace, const struct pallas_thread *t)
{
	const struct thread_grammar *g = &t->grammar;
	char name[NAME_BYTES];

	head(t, pallas_thread_name(trace, t));
	printf("%9s %-5s %11s %13s %13s %13s %17s %9s %17s %9s %11s  %s\n", "sequence", "type",
	       "count", "min (ns)", "mean (ns)", "max (ns)", "total (ns)", "+ at most",
	       "exclusive (ns)", "+ at most", "contention", "name");
	for (size_t i = 0; i < g->sequence_map.n; i++) {
		uint32_t place = g->sequence_map.places[i];
		const struct pallas_sequence *s;
		uint64_t low, high, low_excl, high_excl;

		if (place == PALLAS_NONE || g->sequences[place].ntokens == 0)
			continue;
		s = &g->sequences[place];
		pallas_vector_total(&s->durations, &low, &high);
		pallas_vector_total(&s->exclusive, &low_excl, &high_excl);
		printf("%9u %-5s %11" PRIu64 " %13" PRIu64 " %13" PRIu64 " %13" PRIu64 " %17" PRIu64
		       " %9" PRIu64 " %17" PRIu64 " %9" PRIu64 " %11.6g  %s\n",
		       s->id, s->type == SEQUENCE_BLOCK ? "block" : "loop", s->durations.n,
		       s->durations.min, s->durations.mean, s->durations.max, low, high - low,
		       low_excl, high_excl - low_excl,
		       (double)contention(s, g->sequences[g->root].durations.max),
		       text_shown(pallas_sequence_name(trace, t, place, name, sizeof(name))));
	}
}

/* ---- regions ---- */

struct region {
	uint32_t ref;
	uint64_t entered; /* occurrences of its ENTER events */
	uint64_t calls;	  /* with known durations */
	uint64_t min, max, excl_low, excl_high;
	uint64_t each_low, each_high; /* sum of the durations of all calls */
	uint64_t low, high;	      /* without those of calls inside a call of the same region */
	enum { FROM_VECTORS, FROM_SUMMARY, FROM_WINDOW } from;
};

struct regions {
	struct region *rows;
	size_t n;
};

static struct region *region_of(const struct regions *r, uint32_t ref)
{
	struct region key = {.ref = ref};

	return r->n ? bsearch(&key, r->rows, r->n, sizeof(key), pallas_by_id) : NULL;
}

/* Adds a row with the number of ENTER events for each region. */
static int regions_collect(struct regions *r, const struct thread_grammar *g)
{
	size_t n = 0;

	r->rows = calloc(g->nevents + 1, sizeof(*r->rows));
	if (!r->rows)
		return log_no_memory("for the table of regions");
	for (size_t i = 0; i < g->nevents; i++) {
		const struct pallas_event *e = &g->events[i];

		if (e->record == PALLAS_ENTER && e->payload_size >= 4)
			r->rows[n++] = (struct region){.ref = get_u32(e->payload),
						       .entered = e->times.n,
						       .min = UINT64_MAX};
	}
	qsort(r->rows, n, sizeof(*r->rows), pallas_by_id);
	for (size_t i = 0; i < n; i++) {
		if (r->n && r->rows[r->n - 1].ref == r->rows[i].ref)
			r->rows[r->n - 1].entered += r->rows[i].entered;
		else
			r->rows[r->n++] = r->rows[i];
	}
	return 0;
}

/* The region of a block sequence that is a call: it begins with ENTER and ends with its LEAVE. */
static struct region *call_of(const struct regions *r, const struct thread_grammar *g,
			      const struct pallas_sequence *s)
{
	const struct pallas_event *first, *last;
	uint32_t a, b;

	if (s->type != SEQUENCE_BLOCK || s->ntokens < 2)
		return NULL;
	a = pallas_sequence_token(s, 0);
	b = pallas_sequence_token(s, s->ntokens - 1);
	if (token_type(a) != TOKEN_EVENT || token_type(b) != TOKEN_EVENT)
		return NULL;
	first = &g->events[token_id(a)];
	last = &g->events[token_id(b)];
	if (first->record != PALLAS_ENTER || last->record != PALLAS_LEAVE ||
	    first->payload_size < 4 || last->payload_size < 4 ||
	    get_u32(first->payload) != get_u32(last->payload))
		return NULL;
	return region_of(r, get_u32(first->payload));
}

static void region_add(struct region *row, const struct pallas_sequence *s)
{
	uint64_t low, high;

	row->calls += s->durations.n;
	row->min = s->durations.min < row->min ? s->durations.min : row->min;
	row->max = s->durations.max > row->max ? s->durations.max : row->max;
	pallas_vector_total(&s->durations, &low, &high);
	row->low = row->each_low += low;
	row->high = row->each_high += high;
	pallas_vector_total(&s->exclusive, &low, &high);
	row->excl_low += low;
	row->excl_high += high;
}

/* ---- recursion: calls inside a call of the same region count once in the total ---- */

struct recursion {
	const struct thread_grammar *g;
	uint32_t *row_of; /* of each sequence that is a call, else PALLAS_NONE */
	uint64_t *inside; /* regions of each sequence, as bits; then numbers of outer occurrences */
};

/* The sequence of a token, or PALLAS_NONE for an event; *times is how often it is repeated. */
static uint32_t sequence_of(const struct thread_grammar *g, uint32_t token, uint64_t *times)
{
	const struct pallas_loop *l;

	*times = 1;
	if (token_type(token) == TOKEN_EVENT)
		return PALLAS_NONE;
	if (token_type(token) == TOKEN_SEQUENCE)
		return token_id(token);
	l = &g->loops[token_id(token)];
	*times = l->iterations;
	return l->sequence;
}

/* Which of the rows from `base` to base + 63 have calls inside their own calls. */
static uint64_t find_recursive(struct recursion *c, size_t base)
{
	uint64_t found = 0, times;

	for (uint32_t i = 0; i < c->g->norder; i++) { /* each before its parents */
		uint32_t place = c->g->order[i], row = c->row_of[place];
		const struct pallas_sequence *s = &c->g->sequences[place];
		uint64_t bits = 0;

		for (uint64_t k = 0; k < s->ntokens; k++) {
			uint32_t id = sequence_of(c->g, pallas_sequence_token(s, k), &times);

			bits |= id == PALLAS_NONE ? 0 : c->inside[id];
		}
		if (row != PALLAS_NONE && row >= base && row - base < 64) {
			found |= bits & 1ull << (row - base);
			bits |= 1ull << (row - base);
		}
		c->inside[place] = bits;
	}
	return found;
}

static uint64_t bound(unsigned __int128 value)
{
	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* Adds the time of `outer` of the occurrences of a sequence: known if these are all of them. */
static void add_outer(struct region *row, const struct pallas_sequence *s, uint64_t outer)
{
	const struct pallas_vector *d = &s->durations;
	unsigned __int128 inner = d->n - outer, few, most;
	uint64_t low, high;

	pallas_vector_total(d, &low, &high);
	if (inner) {
		few = inner * d->max; /* what the others take at most */
		most = (unsigned __int128)outer * d->max;
		low = low > few ? low - (uint64_t)few : 0;
		if (low < (unsigned __int128)outer * d->min)
			low = bound((unsigned __int128)outer * d->min);
		few = inner * d->min;
		high = high > few ? high - (uint64_t)few : 0;
		high = high > most ? (uint64_t)most : high;
	}
	row->low = bound((unsigned __int128)row->low + low);
	row->high = bound((unsigned __int128)row->high + high);
}

/* Computes the total of a recursive region: from the root down, not into its calls. */
static void total_outer(struct recursion *c, struct region *rows, uint32_t row)
{
	uint64_t *outer = c->inside, times;

	memset(outer, 0, c->g->nsequences * sizeof(*outer));
	outer[c->g->root] = 1;
	rows[row].low = rows[row].high = 0;
	for (uint32_t i = c->g->norder; i-- > 0;) {
		uint32_t place = c->g->order[i];
		const struct pallas_sequence *s = &c->g->sequences[place];

		if (outer[place] && c->row_of[place] == row) {
			add_outer(&rows[row], s, outer[place]);
			continue;
		}
		for (uint64_t k = 0; outer[place] && k < s->ntokens; k++) {
			uint32_t id = sequence_of(c->g, pallas_sequence_token(s, k), &times);

			/* the parser has checked the range */
			if (id != PALLAS_NONE)
				outer[id] += outer[place] * times;
		}
	}
}

static int regions_recursion(struct regions *r, const struct thread_grammar *g)
{
	struct recursion c = {.g = g};
	int err = 0;

	c.row_of = malloc((g->nsequences + 1) * sizeof(*c.row_of));
	c.inside = calloc(g->nsequences + 1, sizeof(*c.inside));
	if (!c.row_of || !c.inside) {
		err = log_no_memory("for the table of regions");
		goto out;
	}
	for (size_t i = 0; i < g->nsequences; i++) {
		struct region *row = call_of(r, g, &g->sequences[i]);

		c.row_of[i] = row ? (uint32_t)(row - r->rows) : PALLAS_NONE;
	}
	for (size_t base = 0; base < r->n; base += 64) {
		uint64_t recursive = find_recursive(&c, base);

		for (uint32_t i = 0; i < 64; i++) {
			if (recursive >> i & 1)
				total_outer(&c, r->rows, (uint32_t)base + i);
		}
	}
out:
	free(c.row_of);
	free(c.inside);
	return err;
}

static int damaged(const struct pallas_trace *trace, const struct pallas_thread *t)
{
	log_error("%s/archive_%u/" PALLAS_ARCHIVE ": the summary of thread %u is damaged",
		  trace->path, t->archive->id, t->id);
	return -EBADMSG;
}

/* Reads the times without recursion: PALLAS_KEY_OUTER. Archives of older versions lack them. */
static int regions_outer(struct regions *r, const struct pallas_trace *trace,
			 const struct pallas_thread *t)
{
	const char *text;
	char key[64], *end;

	snprintf(key, sizeof(key), PALLAS_KEY_OUTER, t->id);
	text = pallas_metadata(&t->archive->part, key);
	for (; text && *text; text = end + strspn(end, "\n")) {
		struct region *row = region_of(r, (uint32_t)strtoull(text, &end, 10));
		const char *sum = end;
		uint64_t outer = strtoull(sum, &end, 10);

		if (sum == text || end == sum)
			return damaged(trace, t);
		if (row)
			row->low = row->high = outer;
	}
	return 0;
}

/* Reads the summaries of regions with calls outside the sequences: PALLAS_KEY_SUMMARY. */
static int regions_summaries(struct regions *r, const struct pallas_trace *trace,
			     const struct pallas_thread *t)
{
	enum { REGION, CALLS, INLINED, MIN, MAX, SUM, EXCL_MIN, EXCL_MAX, EXCL_SUM, COLUMNS };
	const char *text;
	bool known;
	char key[64];

	snprintf(key, sizeof(key), PALLAS_KEY_OUTER, t->id);
	known = pallas_metadata(&t->archive->part, key);
	snprintf(key, sizeof(key), PALLAS_KEY_SUMMARY, t->id);
	text = pallas_metadata(&t->archive->part, key);
	for (; text && *text; text += strspn(text, "\n")) {
		uint64_t v[COLUMNS];
		struct region *row;

		for (unsigned i = 0; i < COLUMNS; i++) {
			char *end;

			v[i] = strtoull(text, &end, 10);
			if (end == text)
				return damaged(trace, t);
			text = end;
		}
		row = region_of(r, (uint32_t)v[REGION]);
		if (!row)
			continue;
		row->calls = v[CALLS];
		row->min = v[MIN];
		row->max = v[MAX];
		row->each_low = row->each_high = v[SUM];
		row->low = known ? v[SUM] : v[MAX]; /* at least one call is in no other */
		row->high = v[SUM];
		row->excl_low = row->excl_high = v[EXCL_SUM];
		row->from = FROM_SUMMARY;
	}
	return 0;
}

/* Fills the rows from thread.pallas and the metadata. */
static int regions_fill(struct regions *r, const struct pallas_trace *trace,
			const struct pallas_thread *t)
{
	const struct thread_grammar *g = &t->grammar;
	int err = regions_collect(r, g);

	for (size_t i = 0; !err && i < g->nsequences; i++) {
		struct region *row = call_of(r, g, &g->sequences[i]);

		if (row)
			region_add(row, &g->sequences[i]);
	}
	err = err ? err : regions_recursion(r, g);
	err = err ? err : regions_summaries(r, trace, t);
	return err ? err : regions_outer(r, trace, t);
}

static int add_part(void *to, const struct call *call)
{
	struct region *row = &((struct regions *)to)->rows[call->row];
	uint64_t duration = call->end - call->begin;

	row->entered++;
	row->calls++;
	row->min = duration < row->min ? duration : row->min;
	row->max = duration > row->max ? duration : row->max;
	row->each_low = row->each_high += duration;
	if (call->outer)
		row->low = row->high += duration;
	row->excl_low = row->excl_high += duration - call->called;
	return 0;
}

/* Fills the rows with the parts of calls in the window, from the data files. */
static int regions_window(struct regions *r, struct pallas_loader *loader,
			  const struct pallas_trace *trace, const struct pallas_thread *t,
			  const struct selection *s)
{
	struct calls calls;
	int err = calls_init(&calls, s, trace, t);

	if (err)
		return err;
	r->rows = calloc(calls.nrows + 1, sizeof(*r->rows));
	if (!r->rows) {
		err = log_no_memory("for the table of regions");
		goto out;
	}
	r->n = calls.nrows;
	for (size_t i = 0; i < r->n; i++)
		r->rows[i] = (struct region){
			.ref = calls.refs[i], .min = UINT64_MAX, .from = FROM_WINDOW};
	err = calls_walk(&calls, loader, s, add_part, r);
out:
	calls_fini(&calls);
	return err;
}

/* The number of records of each kind that is neither of a region nor a text, such as MPI_SEND. */
static void show_records(const struct thread_grammar *g)
{
	uint64_t counts[PALLAS_RECORD_COUNT] = {0};

	for (size_t i = 0; i < g->nevents; i++)
		if (g->events[i].record < PALLAS_RECORD_COUNT)
			counts[g->events[i].record] += g->events[i].times.n;
	counts[PALLAS_GENERIC] = 0;
	for (uint32_t i = 0; i < PALLAS_RECORD_COUNT; i++)
		if (counts[i] && pallas_record_spec(i)->kind == PALLAS_SINGLE)
			printf("%11" PRIu64 " %s\n", counts[i], pallas_record_spec(i)->name);
}

static int show_regions(const struct pallas_trace *trace, const struct pallas_thread *t,
			struct pallas_loader *loader, const struct selection *s)
{
	struct regions r = {0};
	int err = s->window ? regions_window(&r, loader, trace, t, s) : regions_fill(&r, trace, t);

	if (err)
		goto out;
	head(t, pallas_thread_name(trace, t));
	printf("%11s %13s %13s %13s %17s %9s %17s %9s  %-22s  %s\n", "calls", "min (ns)",
	       "mean (ns)", "max (ns)", "total (ns)", "+ at most", "exclusive (ns)", "+ at most",
	       "from", "region");
	for (size_t i = 0; i < r.n; i++) {
		const struct region *row = &r.rows[i];
		const char *name = pallas_region(trace, t->archive, row->ref);
		char from[64];

		if (!row->entered || !selection_region(s, name))
			continue;
		if (row->from == FROM_WINDOW)
			snprintf(from, sizeof(from), "window");
		else if (row->from == FROM_SUMMARY)
			snprintf(from, sizeof(from), "summary");
		else if (row->calls == row->entered)
			snprintf(from, sizeof(from), "stored");
		else
			snprintf(from, sizeof(from), "part: %" PRIu64 " calls", row->calls);
		printf("%11" PRIu64 " %13" PRIu64 " %13" PRIu64 " %13" PRIu64 " %17" PRIu64
		       " %9" PRIu64 " %17" PRIu64 " %9" PRIu64 "  %-22s  %s\n",
		       row->entered, row->calls ? row->min : 0,
		       row->calls
			       ? (row->each_low + (row->each_high - row->each_low) / 2) / row->calls
			       : 0,
		       row->max, row->low, row->high - row->low, row->excl_low,
		       row->excl_high - row->excl_low, from, text_shown(name));
	}
	if (!s->window && !s->region)
		show_records(&t->grammar);
out:
	free(r.rows);
	return err;
}

/* ---- loops ---- */

/* All loops over one sequence, with any numbers of iterations. */
struct repeated {
	uint32_t sequence;
	uint64_t runs, iterations;     /* sums over all executions */
	uint32_t fewest, most, counts; /* counts: number of different numbers of iterations */
	uint32_t usual;		       /* the most frequent number of iterations */
	uint64_t usual_runs;
};

static int by_iterations(const void *a, const void *b)
{
	const struct repeated *x = a, *y = b;

	if (x->iterations != y->iterations)
		return x->iterations < y->iterations ? 1 : -1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* "work, exchange (x 4), MPI_Send": the tokens of a body by name, as far as they fit. */
static void body_text(const struct pallas_trace *trace, const struct pallas_thread *t,
		      const struct pallas_sequence *s, char *out, size_t size)
{
	const struct thread_grammar *g = &t->grammar;
	char name[NAME_BYTES];
	size_t len = 0;

	out[0] = '\0';
	for (uint64_t i = 0; i < s->ntokens && len < size; i++) {
		uint32_t token = pallas_sequence_token(s, i), place = token_id(token);
		char times[24] = "";

		if (token_type(token) == TOKEN_EVENT) {
			pallas_event_text(trace, t, place, name, sizeof(name));
		} else {
			if (token_type(token) == TOKEN_LOOP) {
				snprintf(times, sizeof(times), " x %u", g->loops[place].iterations);
				place = g->loops[place].sequence;
			}
			pallas_sequence_name(trace, t, place, name, sizeof(name));
		}
		len += (size_t)snprintf(out + len, size - len, "%s%.60s%s", i ? ", " : "", name,
					times);
	}
	if (len >= size && size > 4)
		memcpy(out + size - 4, "...", 4);
}

static int show_loops(const struct pallas_trace *trace, const struct pallas_thread *t)
{
	const struct thread_grammar *g = &t->grammar;
	struct repeated *rows = calloc(g->nsequences + 1, sizeof(*rows));
	char text[200], name[NAME_BYTES];

	if (!rows)
		return log_no_memory("while reading %s", trace->path);
	for (size_t i = 0; i < g->nsequences; i++)
		rows[i].sequence = (uint32_t)i;
	for (size_t i = 0; i < g->nloops; i++) {
		const struct pallas_loop *l = &g->loops[i];
		struct repeated *r = l->runs ? &rows[l->sequence] : NULL;

		if (!r)
			continue;
		r->fewest = !r->counts || l->iterations < r->fewest ? l->iterations : r->fewest;
		r->most = l->iterations > r->most ? l->iterations : r->most;
		r->counts++;
		r->runs += l->runs;
		r->iterations += l->runs * l->iterations; /* the parser has checked the range */
		if (l->runs > r->usual_runs) {
			r->usual_runs = l->runs;
			r->usual = l->iterations;
		}
	}
	qsort(rows, g->nsequences, sizeof(*rows), by_iterations);
	head(t, pallas_thread_name(trace, t));
	printf("%11s %12s %21s %7s %13s %13s %13s  %s\n", "executed", "iterations", "per execution",
	       "regular", "min (ns)", "mean (ns)", "max (ns)", "what repeats");
	for (size_t i = 0; i < g->nsequences && rows[i].runs; i++) {
		const struct repeated *r = &rows[i];
		const struct pallas_sequence *s = &g->sequences[r->sequence];
		char counts[64];

		if (r->fewest == r->most)
			snprintf(counts, sizeof(counts), "%u", r->fewest);
		else
			snprintf(counts, sizeof(counts), "%u (%u to %u)", r->usual, r->fewest,
				 r->most);
		pallas_sequence_name(trace, t, r->sequence, name, sizeof(name));
		if (s->type == SEQUENCE_BLOCK)
			snprintf(text, sizeof(text), "%.150s", name);
		else
			body_text(trace, t, s, text, sizeof(text));
		printf("%11" PRIu64 " %12" PRIu64 " %21s %6.1f%% %13" PRIu64 " %13" PRIu64
		       " %13" PRIu64 "  %s\n",
		       r->runs, r->iterations, counts,
		       100.0 * (double)r->usual_runs / (double)r->runs, s->durations.min,
		       s->durations.mean, s->durations.max, text_shown(text));
	}
	free(rows);
	return 0;
}

static int show_tree(const struct pallas_trace *trace, const struct pallas_thread *t)
{
	head(t, pallas_thread_name(trace, t));
	return pallas_tree(trace, t);
}

int pallas_stats(struct pallas_trace *trace, const struct pallas_options *o)
{
	bool lists = o->histogram || o->slowest, times = lists || o->selection.window;
	struct pallas_loader *loader = times ? pallas_loader_new(trace) : NULL;
	struct call_lists calls = {0};
	int err = times && !loader ? -ENOMEM : 0;

	if (!err && lists)
		err = call_lists_init(&calls, trace, loader, o);

	if (o->tsv)
		printf("#archive\tthread\tsequence\tname\ttype\tcount\tmin\tmax\tmean\texcl_min\t"
		       "excl_max\texcl_mean\n");
	for (size_t i = 0; !err && i < trace->nthreads; i++) {
		struct pallas_thread *t = &trace->threads[i];

		err = pallas_thread_take(trace, t);
		if (err < 0)
			break;
		if (err) {
			err = 0;
			continue;
		}
		if (o->tsv)
			tsv_thread(trace, t);
		else if (o->loops)
			err = show_loops(trace, t);
		else if (o->tree)
			err = show_tree(trace, t);
		else if (lists)
			err = call_lists_add(&calls, t);
		else if (o->sequences)
			show_sequences(trace, t);
		else
			err = show_regions(trace, t, loader, &o->selection);
		pallas_thread_unload(trace, t);
	}
	if (!err && lists)
		call_lists_show(&calls);
	call_lists_fini(&calls);
	pallas_loader_free(loader);
	return err;
}
