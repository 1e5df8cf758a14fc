/* SPDX-License-Identifier: MIT */
/*
 * report timeline: a trace as text: the CPUs and the busiest threads, a column for each piece of
 * time.
 *
 *                   |0 ns              10.000 ms|   one column is 500.000 us
 *          CPU 0    |AAAAAAAABBBBBBBB           |  80.0 % recorded
 *
 *   A busy (7)      |████████▒▒▒▒██████         |  80.0 % running
 *   B idle (8)      |········████████····       |  40.0 % running
 *                   █ running   ▒ waits for a CPU   · asleep   ? unknown
 *
 * In: a trace, in two walks: the first one chooses the threads, the second one adds up the states
 * in each column; out: the text. A column shows the state that had most of it, or the thread that
 * had most of it on the CPU, if that is a fifth or more. Memory: the columns of the shown rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/states/pairs.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/states/cpu_time.h"

#define THREADS_SHOWN 12 /* without -n */
#define WIDTH_LEAST   20
#define LABEL_MOST    28 /* columns of a name */
#define NO_ROW	      UINT32_MAX
#define LETTERS	      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define SHARE_LEAST   5 /* a thread is shown on a CPU if it had a fifth of the column */

enum shown { SHOWN_RUN, SHOWN_WAIT, SHOWN_SLEEP, SHOWN_LOST, SHOWN };

struct row { /* of a thread */
	uint32_t stream;
	int64_t *columns; /* ns, SHOWN for each column */
};

struct cpu_row {
	const char *loom;
	int32_t cpu;
	char *letters;	   /* one for each column; ' ': nobody had enough */
	uint32_t *streams; /* of each letter, NO_ROW: none */
	int64_t busy;	   /* ns */
	size_t column;	   /* present one */
	struct pair *here; /* threads in the present column: a stream, sum ns */
	size_t nhere;
	uint32_t room;
};

struct moment_of {
	int shown; /* -1: none */
	int64_t since;
};

struct timeline {
	struct report *report;
	int64_t from, to;	      /* clocks */
	int64_t span;		      /* ns between them */
	int64_t limit_from, limit_to; /* of the user */
	size_t width;
	struct moment_of *threads; /* of each stream */
	int64_t *busy;		   /* ns on a CPU within the part, of each stream */
	uint32_t *order;	   /* streams, the busiest first; those without time are left out */
	size_t norder;
	uint32_t *row_of;  /* of each stream */
	uint32_t *rank_of; /* place in `order` of each stream */
	struct row *rows;
	size_t nrows;
	struct cpu_row *cpus;
	size_t ncpus;
	bool second; /* walk */
	bool lost;   /* a time of a shown thread is unknown */
};

static int64_t within(const struct timeline *t, int64_t clock, bool second)
{
	int64_t from = second ? t->from : t->limit_from, to = second ? t->to : t->limit_to;

	return clock < from ? from : clock > to ? to : clock;
}

/* Calls `add` for each column of [from, to). */
static int each_column(const struct timeline *t, int64_t from, int64_t to,
		       int (*add)(void *arg, size_t column, int64_t ns), void *arg)
{
	double step = (double)t->span / (double)t->width;
	size_t column;

	from = within(t, from, true);
	to = within(t, to, true);
	column = (size_t)((double)(from - t->from) / step);
	for (; from < to && column < t->width; column++) {
		int64_t edge = column + 1 == t->width
				       ? t->to
				       : t->from + (int64_t)((double)(column + 1) * step);
		int err;

		if (edge > to)
			edge = to;
		if (edge <= from)
			continue;
		err = add(arg, column, edge - from);
		if (err)
			return err;
		from = edge;
	}
	return 0;
}

/* ---- threads ---- */

struct cell_of {
	struct row *row;
	int shown;
};

static int add_cell(void *arg, size_t column, int64_t ns)
{
	struct cell_of *cell = arg;
	int64_t *sum = &cell->row->columns[column * SHOWN + (size_t)cell->shown];

	*sum = clock_sum(*sum, ns);
	return 0;
}

static int shown_of(const struct intervals *intervals, uint32_t stream)
{
	const struct sched_state *state = &intervals->walk.threads[stream];

	if (intervals->threads[stream].lost)
		return SHOWN_LOST;
	if (state->out)
		return SHOWN_SLEEP;
	switch (state->state) {
	case THREAD_STATE_RUNNING:
	case THREAD_STATE_COOLING:
		return SHOWN_RUN;
	case THREAD_STATE_WARMING:
		return SHOWN_WAIT;
	case THREAD_STATE_PAUSED:
		return SHOWN_SLEEP;
	default:
		return -1;
	}
}

static int end_shown(struct timeline *t, uint32_t stream, int64_t clock)
{
	struct moment_of *m = &t->threads[stream];
	struct cell_of cell;
	int64_t ns;

	if (m->shown < 0)
		return 0;
	ns = clock_distance(within(t, m->since, t->second), within(t, clock, t->second));
	if (!t->second) {
		if (m->shown == SHOWN_RUN && ns > 0)
			t->busy[stream] = clock_sum(t->busy[stream], ns);
		return 0;
	}
	if (t->row_of[stream] == NO_ROW)
		return 0;
	t->lost |= m->shown == SHOWN_LOST && ns > 0;
	cell = (struct cell_of){&t->rows[t->row_of[stream]], m->shown};
	return each_column(t, m->since, clock, add_cell, &cell);
}

static int handle_event(void *arg, const struct intervals *intervals, uint32_t stream,
			const struct event *ev)
{
	struct timeline *t = arg;
	int64_t known;
	int shown, err;

	if (!(ev->model == 'O' && ev->category == 'H') &&
	    !(ev->model == 'K' && ev->category == 'C'))
		return 0;
	shown = shown_of(intervals, stream);
	known = intervals->threads[stream].known;
	if (t->threads[stream].shown >= 0 && known < ev->clock) {
		if (known < t->threads[stream].since)
			known = t->threads[stream].since;
		err = end_shown(t, stream, known);
		if (err)
			return err;
		t->threads[stream] = (struct moment_of){SHOWN_LOST, known};
	}
	if (shown == t->threads[stream].shown)
		return 0;
	err = end_shown(t, stream, ev->clock);
	t->threads[stream] = (struct moment_of){shown, ev->clock};
	return err;
}

/* ---- CPUs ---- */

/* Chooses the letter of the present column. */
static void end_column(const struct timeline *t, struct cpu_row *cpu)
{
	const struct pair *top = NULL;

	for (size_t i = 0; i < cpu->nhere; i++)
		if (!top || cpu->here[i].sum > top->sum)
			top = &cpu->here[i];
	if (top && top->sum >= t->span / (int64_t)t->width / SHARE_LEAST) {
		uint32_t rank = t->rank_of[top->a];

		cpu->letters[cpu->column] = rank < strlen(LETTERS) ? LETTERS[rank] : '+';
		cpu->streams[cpu->column] = (uint32_t)top->a;
	}
	cpu->nhere = 0;
}

struct piece {
	const struct timeline *t;
	struct cpu_row *cpu;
	uint32_t stream;
};

static int add_piece(void *arg, size_t column, int64_t ns)
{
	struct piece *piece = arg;
	struct cpu_row *cpu = piece->cpu;
	struct pair *list;

	if (column < cpu->column)
		return 0; /* two threads at a time, in a damaged trace */
	if (column != cpu->column)
		end_column(piece->t, cpu);
	cpu->column = column;
	cpu->busy = clock_sum(cpu->busy, ns);
	for (size_t i = 0; i < cpu->nhere; i++) {
		if (cpu->here[i].a != piece->stream)
			continue;
		cpu->here[i].sum += ns;
		return 0;
	}
	list = stack_more(cpu->here, cpu->nhere, &cpu->room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	cpu->here = list;
	list[cpu->nhere++] = (struct pair){.a = piece->stream, .sum = ns};
	return 0;
}

static struct cpu_row *cpu_of(struct timeline *t, uint32_t stream, int32_t index)
{
	const char *loom = t->report->source->owners[stream].loom;
	struct cpu_row *cpu;

	for (size_t i = 0; i < t->ncpus; i++)
		if (t->cpus[i].cpu == index && !strcmp(t->cpus[i].loom, loom))
			return &t->cpus[i];
	cpu = ARRAY_ADD(t->cpus, t->ncpus);
	if (!cpu)
		return NULL;
	*cpu = (struct cpu_row){.loom = loom, .cpu = index};
	cpu->letters = malloc(t->width + 1);
	cpu->streams = calloc(t->width, sizeof(*cpu->streams));
	if (!cpu->letters || !cpu->streams)
		return NULL;
	memset(cpu->letters, ' ', t->width);
	cpu->letters[t->width] = '\0';
	return cpu;
}

static int handle_span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t index,
		       int64_t from, int64_t to)
{
	struct timeline *t = arg;
	struct piece piece = {t, NULL, stream};

	(void)intervals;
	if (!t->second || index < 0 || to <= t->from || from >= t->to ||
	    t->report->source->owners[stream].accelerator)
		return 0;
	piece.cpu = cpu_of(t, stream, index);
	return piece.cpu ? each_column(t, from, to, add_piece, &piece) : -ENOMEM;
}

/* ---- the walks ---- */

static int walk(struct timeline *t)
{
	static const struct interval_listener listener = {.event = handle_event,
							  .span = handle_span};
	const struct source *source = t->report->source;
	struct intervals intervals = {0};
	int err;

	for (size_t i = 0; i < source->trace.nstreams; i++) {
		stream_rewind(&source->streams[i]);
		t->threads[i].shown = -1;
	}
	err = intervals_walk(&intervals, source, &listener, t);
	for (uint32_t i = 0; intervals.threads && i < source->trace.nstreams && err != -ENOMEM; i++)
		if (end_shown(t, i, intervals.last))
			err = -ENOMEM;
	if (!t->second) {
		t->from = intervals.first > t->limit_from ? intervals.first : t->limit_from;
		t->to = intervals.last < t->limit_to ? intervals.last : t->limit_to;
		t->span = clock_distance(t->from, t->to);
		t->to = clock_sum(t->from, t->span);
	}
	intervals_fini(&intervals);
	return err;
}

static int by_busy(const void *pa, const void *pb, void *arg)
{
	const int64_t *busy = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (busy[a] != busy[b])
		return busy[a] < busy[b] ? 1 : -1;
	return a < b ? -1 : a > b;
}

static int choose_rows(struct timeline *t)
{
	const struct filter *filter = t->report->filter;
	size_t n = t->report->source->trace.nstreams, most = t->report->most;

	for (uint32_t i = 0; i < n; i++) {
		t->row_of[i] = NO_ROW;
		if (t->busy[i] && filter->streams[i])
			t->order[t->norder++] = i;
	}
	if (t->norder)
		qsort_r(t->order, t->norder, sizeof(*t->order), by_busy, t->busy);
	for (uint32_t i = 0; i < n; i++)
		t->rank_of[i] = NO_ROW;
	for (uint32_t i = 0; i < t->norder; i++)
		t->rank_of[t->order[i]] = i;
	t->nrows = t->norder < most ? t->norder : most;
	t->rows = calloc(t->nrows + 1, sizeof(*t->rows));
	if (!t->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nrows; i++) {
		t->rows[i].stream = t->order[i];
		t->rows[i].columns = calloc(t->width * SHOWN, sizeof(int64_t));
		if (!t->rows[i].columns)
			return -ENOMEM;
		t->row_of[t->order[i]] = i;
	}
	return 0;
}

/* ---- text ---- */

static void colour_of(const struct timeline *t, uint32_t stream, bool begin)
{
	static const char *const colours[] = {"32", "36", "33", "35", "34", "31",
					      "92", "96", "93", "95", "94", "91"};
	struct printer *out = t->report->table.out;

	if (!t->report->terminal.colour || stream == NO_ROW || t->rank_of[stream] == NO_ROW)
		return;
	if (begin)
		printer_format(out, "\033[%sm",
			       colours[t->rank_of[stream] % (sizeof(colours) / sizeof(*colours))]);
	else
		printer_text(out, "\033[0m");
}

/* A label that ends in column `width`; a long one loses its end. */
static void put_label(struct printer *out, const char *label, size_t width)
{
	char text[4 * LABEL_MOST + 1];
	size_t length = 0, shown = 0;

	text_escape(text, sizeof(text), label, strlen(label));
	while (text[length] && shown < width) {
		size_t n = text_char(text + length, text + strlen(text));

		length += n ? n : 1;
		shown++;
	}
	printer_format(out, "%*s", (int)(width - shown), "");
	printer_bytes(out, text, length);
}

static double share(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void put_duration(char *text, int64_t ns)
{
	size_t n;

	table_duration(text, ns);
	for (n = strlen(text); n && text[n - 1] == ' '; n--)
		text[n - 1] = '\0';
}

static void print_scale(const struct timeline *t, int64_t first)
{
	struct printer *out = t->report->table.out;
	char from[32], to[32], step[32];

	put_duration(from, clock_distance(first, t->from));
	put_duration(to, clock_distance(first, t->to));
	put_duration(step, t->span / (int64_t)t->width);
	printer_format(out, "%*s |%-*s%*s|  one column is %s\n", LABEL_MOST, "",
		       (int)(t->width / 2), from, (int)(t->width - t->width / 2), to, step);
}

static void print_cpu(const struct timeline *t, const struct cpu_row *cpu, bool looms)
{
	struct printer *out = t->report->table.out;
	char label[96];

	if (looms)
		snprintf(label, sizeof(label), "CPU %d of %.64s", cpu->cpu, cpu->loom);
	else
		snprintf(label, sizeof(label), "CPU %d", cpu->cpu);
	put_label(out, label, LABEL_MOST);
	printer_text(out, " |");
	for (size_t i = 0, next; i < t->width; i = next) {
		uint32_t stream = cpu->letters[i] == ' ' ? NO_ROW : cpu->streams[i];

		for (next = i + 1; next < t->width && cpu->letters[next] == cpu->letters[i] &&
				   cpu->streams[next] == cpu->streams[i];
		     next++)
			;
		colour_of(t, stream, true);
		printer_bytes(out, cpu->letters + i, next - i);
		colour_of(t, stream, false);
	}
	printer_format(out, "| %5.1f %% recorded\n", share(cpu->busy, t->span));
}

static int compare_cpus(const void *pa, const void *pb)
{
	const struct cpu_row *a = pa, *b = pb;
	int order = strcmp(a->loom, b->loom);

	if (order)
		return order;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static void print_cpus(struct timeline *t)
{
	bool looms = false;

	for (size_t i = 0; i < t->ncpus; i++) {
		end_column(t, &t->cpus[i]);
		looms |= strcmp(t->cpus[i].loom, t->cpus[0].loom) != 0;
	}
	if (t->ncpus)
		qsort(t->cpus, t->ncpus, sizeof(*t->cpus), compare_cpus);
	for (size_t i = 0; i < t->ncpus; i++)
		print_cpu(t, &t->cpus[i], looms);
}

struct signs {
	const char *of[SHOWN];
};

static int print_thread(const struct timeline *t, uint32_t place, const struct signs *signs)
{
	struct printer *out = t->report->table.out;
	const struct row *row = &t->rows[place];
	char *name = tid_names_of_stream(&t->report->names, row->stream);
	char *label =
		name ? xasprintf("%c %s", place < strlen(LETTERS) ? LETTERS[place] : '+', name)
		     : NULL;

	free(name);
	if (!label)
		return -ENOMEM;
	colour_of(t, row->stream, true);
	put_label(out, label, LABEL_MOST);
	printer_text(out, " |");
	for (size_t i = 0; i < t->width; i++) {
		const int64_t *ns = row->columns + i * SHOWN;
		int most = SHOWN_RUN;

		for (int shown = SHOWN_WAIT; shown < SHOWN; shown++)
			most = ns[shown] > ns[most] ? shown : most;
		printer_text(out, ns[most] ? signs->of[most] : " ");
	}
	printer_format(out, "| %5.1f %% running", share(t->busy[row->stream], t->span));
	colour_of(t, row->stream, false);
	printer_text(out, "\n");
	free(label);
	return 0;
}

/* Whether the locale of the environment is in UTF-8. setlocale() would answer no, in silence,
 * without memory. */
static bool is_utf8(void)
{
	static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *locale = getenv(variables[i]);

		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
	}
	return false;
}

static int print_threads(const struct timeline *t)
{
	static const struct signs blocks = {{"█", "▒", "·", "?"}}, ascii = {{"#", "-", ".", "?"}};
	const struct signs *signs = &ascii;
	struct printer *out = t->report->table.out;

	if (is_utf8())
		signs = &blocks;
	for (uint32_t i = 0; i < t->nrows; i++)
		if (print_thread(t, i, signs))
			return -ENOMEM;
	printer_format(out, "%*s  %s running   %s waits for a CPU   %s asleep", LABEL_MOST, "",
		       signs->of[SHOWN_RUN], signs->of[SHOWN_WAIT], signs->of[SHOWN_SLEEP]);
	if (t->lost)
		printer_format(out, "   %s unknown (lost)", signs->of[SHOWN_LOST]);
	if (t->norder > t->nrows)
		printer_format(out, "   and %zu more %s (-n)", t->norder - t->nrows,
			       plural(t->norder - t->nrows, "thread", "threads"));
	printer_text(out, "\n");
	return 0;
}

static int print_all(struct timeline *t, int64_t first)
{
	report_output(t->report);
	print_scale(t, first);
	print_cpus(t);
	printer_text(t->report->table.out, "\n");
	return print_threads(t);
}

/* ---- the report ---- */

static void drop_message(void *to, enum log_level level, const char *text)
{
	(void)to;
	(void)level;
	(void)text;
}

static int print(struct report *report, const char *path)
{
	size_t n = report->source->trace.nstreams;
	int margin = LABEL_MOST + 20;
	struct timeline t = {
		.report = report,
		.limit_from = report->filter->first,
		.limit_to = report->filter->last,
		.width = (size_t)(report->terminal.columns < margin + WIDTH_LEAST
					  ? WIDTH_LEAST
					  : report->terminal.columns - margin),
	};
	int64_t first;
	int err = -ENOMEM, damaged;

	if (!report->most)
		report->most = THREADS_SHOWN;
	t.threads = calloc(n + 1, sizeof(*t.threads));
	t.busy = calloc(n + 1, sizeof(*t.busy));
	t.order = calloc(n + 1, sizeof(*t.order));
	t.row_of = calloc(n + 1, sizeof(*t.row_of));
	t.rank_of = calloc(n + 1, sizeof(*t.rank_of));
	if (!t.threads || !t.busy || !t.order || !t.row_of || !t.rank_of)
		goto out;
	damaged = walk(&t);
	err = damaged == -ENOMEM ? damaged : choose_rows(&t);
	if (err)
		goto out;
	if (t.span <= 0 || !source_start(report->source, &first)) {
		err = damaged ? damaged : -EINVAL;
		if (!damaged)
			log_error("%s: no time to show between --from and --to", path);
		goto out;
	}
	/* a column of 1 ns or more */
	if ((uint64_t)t.span < t.width)
		t.width = (size_t)t.span;
	t.second = true;
	if (damaged) /* the first walk has reported it */
		log_divert(drop_message, NULL);
	err = walk(&t);
	log_divert(NULL, NULL);
	if (err == -ENOMEM) {
		log_no_memory("while reading %s", path);
		goto out;
	}
	err = print_all(&t, first);
	if (!err)
		err = damaged;
out:
	for (size_t i = 0; t.rows && i < t.nrows; i++)
		free(t.rows[i].columns);
	for (size_t i = 0; i < t.ncpus; i++) {
		free(t.cpus[i].letters);
		free(t.cpus[i].streams);
		free(t.cpus[i].here);
	}
	free(t.cpus);
	free(t.rows);
	free(t.threads);
	free(t.busy);
	free(t.order);
	free(t.row_of);
	free(t.rank_of);
	return err;
}

const struct report_kind report_timeline = {
	.name = "timeline",
	.all_looms = true,
	.print = print,
};
