/* SPDX-License-Identifier: MIT */
#include "tools/view/levels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/view/run_block.h"
#include "trace/base/log.h"

enum level_column {
	LEVEL_HEAD,  /* of each level: 2 * row, + 1 of a CPU; begin; ns of a piece; number of pieces
		      */
	LEVEL_COUNT, /* of each piece: the number of uses in it */
	LEVEL_WHAT,  /* of each of them: the use, or the thread of a CPU */
	LEVEL_SHARE,
	LEVEL_COLUMNS
};

int levels_init(struct levels *l, size_t nthreads)
{
	memset(l, 0, sizeof(*l));
	l->nthreads = nthreads;
	l->threads = calloc(nthreads + 1, sizeof(*l->threads));
	l->first = calloc(nthreads + 2, sizeof(*l->first));
	l->order = calloc(RUN_BLOCK, sizeof(*l->order));
	if (!l->threads || !l->first || !l->order)
		return log_no_memory("for the page");
	for (size_t i = 0; i < nthreads; i++)
		l->threads[i].end = -1;
	return 0;
}

void levels_fini(struct levels *l)
{
	free(l->threads);
	free(l->cpus);
	free(l->first);
	free(l->order);
	columns_fini(&l->columns);
	memset(l, 0, sizeof(*l));
}

/* Begins a level of at most `pieces` pieces. */
static void put_head(struct levels *l, uint64_t row, int64_t from, int64_t to, size_t pieces)
{
	if (pieces > LEVEL_PIECES)
		pieces = LEVEL_PIECES;
	l->at = from;
	l->width = (to - from + (int64_t)pieces - 1) / (int64_t)pieces;
	column_number(&l->columns, LEVEL_HEAD, row);
	column_number(&l->columns, LEVEL_HEAD, (uint64_t)from);
	column_number(&l->columns, LEVEL_HEAD, (uint64_t)l->width);
	column_number(&l->columns, LEVEL_HEAD, (uint64_t)((to - from + l->width - 1) / l->width));
	l->columns.entries++;
}

static uint8_t share_of(const struct levels *l, int64_t ns)
{
	int64_t share = ns < INT64_MAX / LEVEL_WHOLE ? ns * LEVEL_WHOLE / l->width
						     : ns / (l->width / LEVEL_WHOLE);

	return (uint8_t)(share < 1 ? 1 : share > LEVEL_WHOLE ? LEVEL_WHOLE : share);
}

/* ---- threads ---- */

static void put_piece(struct levels *l)
{
	uint8_t uses = 0;

	for (unsigned use = 0; use < TIME_USES; use++) {
		if (!l->ns[use])
			continue;
		uses++;
		column_byte(&l->columns, LEVEL_WHAT, (uint8_t)use);
		column_byte(&l->columns, LEVEL_SHARE, share_of(l, l->ns[use]));
	}
	column_byte(&l->columns, LEVEL_COUNT, uses);
	memset(l->ns, 0, sizeof(l->ns));
	l->at += l->width;
}

static void add_stay(struct levels *l, unsigned use, int64_t begin, int64_t end)
{
	if (begin == end)
		l->ns[use] += !l->ns[use]; /* a run of no time is seen, too */
	while (begin < end) {
		int64_t to = end < l->at + l->width ? end : l->at + l->width;

		l->ns[use] += to - begin;
		begin = to;
		if (to == l->at + l->width)
			put_piece(l);
	}
}

/* The runs from `order` on, in the order of their begins: none has stays of its own before it, but
 * perhaps the first one. */
static void put_thread_level(struct levels *l, const struct run *runs, const uint32_t *order,
			     size_t n, struct level_row before)
{
	const struct run *last = &runs[order[n - 1]], *one = &runs[order[0]];
	int64_t from = before.end >= 0 && !one->explicit_stays ? before.end : one->begin;

	if (n < LEVEL_LEAST || last->end <= from)
		return;
	put_head(l, 2 * (uint64_t)one->stream, from, last->end, n / LEVEL_THREADS);
	for (size_t i = 0; i < n; i++) {
		const struct run *run = &runs[order[i]];
		struct stay stays[2];
		unsigned nstays = 0;

		if (before.end >= 0 && before.left < OFF_CPU_COUNT && !run->explicit_stays &&
		    run->wake != WAKE_MOVED)
			nstays = run_stays(run, run->begin, before.left, before.end, 0, stays);
		for (unsigned k = 0; k < nstays; k++)
			add_stay(l, stays[k].use, stays[k].begin, stays[k].end);
		/* between two runs without a stay: nothing is known, and the piece has less than
		 * its time */
		while (l->at + l->width <= run->begin)
			put_piece(l);
		add_stay(l, TIME_RUNNING, run->begin, run->end);
		before = (struct level_row){run->end, run->end_kind};
	}
	if (l->at < last->end)
		put_piece(l);
	memset(l->ns, 0, sizeof(l->ns));
}

/* A level ends before a run that has stays of its own, or that overlaps the run before it, as in
 * damaged traces. */
static void put_thread(struct levels *l, const struct run *runs, const uint32_t *order, size_t n)
{
	struct level_row *row = &l->threads[runs[order[0]].stream];
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		const struct run *run = &runs[order[i]];
		int64_t end = i ? runs[order[i - 1]].end : row->end;

		if (i > from && !run->explicit_stays && run->begin >= end)
			continue;
		if (i > from)
			put_thread_level(l, runs, order + from, i - from, *row);
		if (i)
			*row = (struct level_row){end, runs[order[i - 1]].end_kind};
		if (run->begin < end)
			row->end = -1;
		from = i;
	}
	put_thread_level(l, runs, order + from, n - from, *row);
	*row = (struct level_row){runs[order[n - 1]].end, runs[order[n - 1]].end_kind};
}

static void put_threads(struct levels *l, const struct run *runs, size_t n)
{
	memset(l->first, 0, (l->nthreads + 2) * sizeof(*l->first));
	for (size_t i = 0; i < n; i++)
		l->first[runs[i].stream + 2]++;
	for (size_t i = 2; i < l->nthreads + 2; i++)
		l->first[i] += l->first[i - 1];
	for (uint32_t i = 0; i < n; i++)
		l->order[l->first[runs[i].stream + 1]++] = i;
	for (size_t i = 0; i < l->nthreads; i++)
		if (l->first[i + 1] > l->first[i])
			put_thread(l, runs, l->order + l->first[i], l->first[i + 1] - l->first[i]);
}

/* ---- CPUs ---- */

static void add_run(struct levels *l, size_t pieces, const struct run *run)
{
	int64_t begin = run->begin < l->at ? l->at : run->begin;

	do {
		size_t piece = (size_t)((begin - l->at) / l->width);
		int64_t to = l->at + (int64_t)(piece + 1) * l->width;
		int64_t ns = (run->end < to ? run->end : to) - begin;

		if (piece >= pieces)
			return;
		ns += !ns;
		l->busy[piece] += ns;
		if (ns > l->best[piece]) {
			l->best[piece] = ns;
			l->owner[piece] = run->stream;
		}
		begin = to;
	} while (begin < run->end);
}

static void put_cpu_level(struct levels *l, const struct run *runs, const uint32_t *order, size_t n)
{
	struct level_row *row = &l->cpus[runs[order[0]].cpu];
	int64_t from = row->end, to = runs[order[0]].end;
	size_t pieces;

	for (size_t i = 1; i < n; i++) /* in a damaged trace two threads run at a time */
		to = runs[order[i]].end > to ? runs[order[i]].end : to;
	if (from < 0 || from > runs[order[0]].begin)
		from = runs[order[0]].begin;
	row->end = to;
	if (n < LEVEL_LEAST || to <= from)
		return;
	put_head(l, 2 * (uint64_t)runs[order[0]].cpu + 1, from, to, n / LEVEL_CPUS);
	pieces = (size_t)((to - from + l->width - 1) / l->width);
	memset(l->busy, 0, sizeof(l->busy));
	memset(l->best, 0, sizeof(l->best));
	for (size_t i = 0; i < n; i++)
		add_run(l, pieces, &runs[order[i]]);
	for (size_t i = 0; i < pieces; i++) {
		column_byte(&l->columns, LEVEL_COUNT, l->busy[i] != 0);
		if (!l->busy[i])
			continue;
		column_number(&l->columns, LEVEL_WHAT, l->owner[i]);
		column_byte(&l->columns, LEVEL_SHARE, share_of(l, l->busy[i]));
	}
}

static int grow_cpus(struct levels *l, size_t ncpus)
{
	struct level_row *cpus = reallocarray(l->cpus, ncpus + 1, sizeof(*cpus));

	if (!cpus)
		return log_no_memory("for the page");
	l->cpus = cpus;
	for (; l->ncpus < ncpus; l->ncpus++)
		cpus[l->ncpus].end = -1;
	return 0;
}

int levels_add(struct levels *l, const struct run *runs, size_t n, const uint32_t *by_cpu,
	       const uint32_t *first, size_t ncpus, struct page_file *page)
{
	if (grow_cpus(l, ncpus))
		return -ENOMEM;
	put_threads(l, runs, n);
	for (size_t cpu = 0; cpu < ncpus; cpu++)
		if (first[cpu + 1] > first[cpu])
			put_cpu_level(l, runs, by_cpu + first[cpu], first[cpu + 1] - first[cpu]);
	return columns_flush(&l->columns, LEVEL_COLUMNS, page, "levels");
}
