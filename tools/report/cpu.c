/* SPDX-License-Identifier: MIT */
/*
 * report cpu: where 100 % of the time of each CPU went.
 *
 *   loom    cpu  who                  time   percent   pieces
 *   node1     0  worker (1204)     7.120 s     71.20     5310
 *   node1     0  idle              2.880 s     28.80        -
 *
 * The rows of one CPU add up to the window of the recording (cpu_time.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/states/cpu_time.h"
#include "tools/report/reports.h"

static const struct table_column columns[] = {
	{"loom", "loom", CELL_TEXT, 8},		 {"cpu", "cpu", CELL_COUNT, 4},
	{"who", "who", CELL_TEXT, 16},		 {"time", "time", CELL_DURATION, 10},
	{"percent", "percent", CELL_PERCENT, 7}, {"pieces", "pieces", CELL_COUNT, 6},
};

static int span(void *arg, const struct runs *runs, uint32_t who, int32_t cpu, int64_t from,
		int64_t to)
{
	struct report *report = arg;

	(void)runs;
	return account_span(report->more, who, cpu, from, to);
}

static int add(struct report *report, const struct account_cpu *cpu, char *who, int64_t ns,
	       int64_t pieces)
{
	union cell row[] = {
		{.text = NULL},
		{.number = cpu->cpu},
		{.text = NULL},
		{.number = ns},
		{.number = cpu->window ? (int64_t)((double)ns * 100000 / (double)cpu->window) : 0},
		{.number = pieces},
	};

	/* Not above: there the analyzer does not see that the table takes them over. */
	row[0].text = strdup(cpu->loom);
	row[2].text = who;
	return table_add(&report->table, row);
}

static int by_time(const void *pa, const void *pb)
{
	const struct pair *a = pa, *b = pb;

	if (a->sum != b->sum)
		return a->sum < b->sum ? 1 : -1;
	return a->a < b->a ? -1 : a->a > b->a;
}

static int add_cpu(struct report *report, const struct account_cpu *cpu, const struct pair *spans,
		   size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const char *loom = report->source->owners[spans[i].a].loom;

		if (spans[i].b != cpu->cpu || strcmp(loom ? loom : "", cpu->loom) ||
		    !report->filter->streams[spans[i].a])
			continue;
		err = add(report, cpu, called_stream(&report->called, (uint32_t)spans[i].a),
			  spans[i].sum, (int64_t)spans[i].count);
	}
	if (!err)
		err = add(report, cpu, strdup(cpu->told ? "idle" : "idle or not recorded"),
			  cpu->idle, CELL_UNKNOWN);
	if (!err && cpu->other)
		err = add(report, cpu, strdup("other threads"), cpu->other, CELL_UNKNOWN);
	if (!err && cpu->unknown)
		err = add(report, cpu, strdup("unknown (lost)"), cpu->unknown, CELL_UNKNOWN);
	return err;
}

static int rows(struct report *report)
{
	struct account *account = report->more;
	int err = account_finish(account, report->runs);
	struct pair *spans = calloc(account->spans.n + 1, sizeof(*spans));
	size_t n = 0;

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < account->spans.room; i++)
		if (account->spans.places[i].count)
			spans[n++] = account->spans.places[i];
	qsort(spans, n, sizeof(*spans), by_time);
	for (size_t i = 0; i < account->ncpus && !err; i++)
		err = add_cpu(report, &account->cpus[i], spans, n);
	free(spans);
	return err;
}

static void release(struct report *report)
{
	account_free(report->more);
}

const struct report_kind report_cpu = {
	.name = "cpu",
	.help = "where 100 % of the time of each CPU went",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.whose = true,
	.more = sizeof(struct account),
	.listener = {.span = span},
	.rows = rows,
	.free = release,
};
