/* SPDX-License-Identifier: MIT */
/*
 * report cpu: use of the time of each CPU; the parts add up to 100 %.
 *
 *   loom    cpu  who                  time   percent   pieces
 *   node1     0  worker (1204)     7.120 s     71.20     5310
 *   node1     0  idle              2.880 s     28.80        -
 *   of these times, the hypervisor took 90.000 ms from CPU 0
 *   of these times, interrupts took 61.200 ms from CPU 0: local timer 40.100 ms, softirq RCU 21.100
 * ms
 *
 * The rows of one CPU add up to the window of the recording, or to the part of it from --from to
 * --to (cpu_time.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/text.h"
#include "trace/states/cpu_time.h"
#include "tools/report/reports.h"

static const struct table_column columns[] = {
	{"loom", "loom", CELL_TEXT, 8},
	{"cpu", "cpu", CELL_COUNT, 4},
	{"who", "who", CELL_TEXT, 16},
	{"time", "time", CELL_DURATION, 10},
	{"percent", "percent", CELL_PERCENT, 7},
	{"pieces", "pieces", CELL_COUNT, 6},
	/* of the CPU, in each of its rows; left out where no CPU has it */
	{"steal", "steal", CELL_DURATION, 10, SHOW_DATA},
	{"interrupts", "interrupts", CELL_DURATION, 10, SHOW_DATA},
};

static int init(struct report *report)
{
	struct cpu_times *times = report->more;

	cpu_times_begin(times, report->filter->first, report->filter->last);
	return 0;
}

static int span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		int64_t from, int64_t to)
{
	struct report *report = arg;

	return cpu_times_add(report->more, intervals, stream, cpu, from, to);
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;

	return cpu_times_step(report->more, intervals, stream, ev);
}

/* The time of a CPU that the hypervisor stole in the whole window, if the kernel knows it. */
static int64_t steal_of(const struct report *report, const struct cpu_time *cpu)
{
	bool part = report->filter->from.given || report->filter->to.given;

	return part || cpu->steal < 0 ? CELL_UNKNOWN : cpu->steal;
}

/* The time of a CPU that interrupts took in the whole window, if it was recorded. */
static int64_t irqs_of(const struct report *report, const struct cpu_time *cpu)
{
	bool part = report->filter->from.given || report->filter->to.given;

	return part || cpu->irq < 0 ? CELL_UNKNOWN : cpu->irq;
}

static int add(struct report *report, const struct cpu_time *cpu, char *name, int64_t ns,
	       int64_t pieces)
{
	union cell row[] = {
		{.text = NULL},
		{.number = cpu->cpu},
		{.text = NULL},
		{.number = ns},
		{.number = cpu->window ? (int64_t)((double)ns * 100000 / (double)cpu->window) : 0},
		{.number = pieces},
		{.number = steal_of(report, cpu)},
		{.number = irqs_of(report, cpu)},
	};

	/* outside of the initializer, where the analyzer misses that the table owns them */
	row[0].text = strdup(cpu->loom);
	row[2].text = name;
	return table_add(&report->table, row);
}

static int order_cpus(const struct report *report, const struct cpu_span *span, const char *loom,
		      int32_t cpu)
{
	int order = strcmp(report->source->owners[span->stream].loom, loom);

	return order ? order : (span->cpu > cpu) - (span->cpu < cpu);
}

/* By loom and CPU; of a CPU the longest time first. */
static int by_cpu(const void *pa, const void *pb, void *arg)
{
	const struct cpu_span *a = pa, *b = pb;
	const struct report *report = arg;
	int order = order_cpus(report, a, report->source->owners[b->stream].loom, b->cpu);

	if (order)
		return order;
	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

/* The first of the sorted spans that is not before those of the CPU. */
static size_t spans_of(const struct report *report, const struct cpu_time *cpu,
		       const struct cpu_span *spans, size_t n)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (order_cpus(report, &spans[middle], cpu->loom, cpu->cpu) < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Time of a CPU without a thread of the trace; optional rows need a time. */
static int add_rest(struct report *report, const struct cpu_time *cpu)
{
	const struct {
		const char *name;
		int64_t ns;
		bool optional;
	} rest[] = {
		{"idle", cpu->idle, !cpu->idle_known},
		{cpu->idle_known ? "other threads" : CPU_TIME_OTHER_OR_IDLE, cpu->other,
		 cpu->idle_known},
		{"unknown (lost)", cpu->unknown, true},
	};

	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		int err;

		if (rest[i].optional && !rest[i].ns)
			continue;
		err = add(report, cpu, strdup(rest[i].name), rest[i].ns, CELL_UNKNOWN);
		if (err)
			return err;
	}
	return 0;
}

static int add_cpu(struct report *report, const struct cpu_time *cpu, const struct cpu_span *spans,
		   size_t n)
{
	for (size_t i = spans_of(report, cpu, spans, n);
	     i < n && !order_cpus(report, &spans[i], cpu->loom, cpu->cpu); i++) {
		int err;

		if (!report->filter->streams[spans[i].stream])
			continue;
		err = add(report, cpu, tid_names_of_stream(&report->names, spans[i].stream),
			  spans[i].ns, (int64_t)spans[i].count);
		if (err)
			return err;
	}
	return add_rest(report, cpu);
}

static int rows(struct report *report)
{
	struct cpu_times *times = report->more;
	struct cpu_span *spans;
	bool steal = false, irqs = false;
	size_t n = 0;
	int err = cpu_times_finish(times, report->intervals);

	if (err)
		return err;
	for (size_t i = 0; i < times->ncpus; i++)
		steal |= steal_of(report, &times->cpus[i]) != CELL_UNKNOWN;
	for (size_t i = 0; i < times->ncpus; i++)
		irqs |= irqs_of(report, &times->cpus[i]) != CELL_UNKNOWN;
	report->table.ncolumns -= irqs ? 0 : 1 + !steal;
	spans = calloc(times->nspans + 1, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	for (; n < times->nspans; n++)
		spans[n] = times->spans[n];
	qsort_r(spans, n, sizeof(*spans), by_cpu, report);
	for (size_t i = 0; i < times->ncpus; i++) {
		err = add_cpu(report, &times->cpus[i], spans, n);
		if (err)
			break;
	}
	free(spans);
	return err;
}

static void print_loom(const struct report *report, const struct cpu_time *cpu)
{
	const struct cpu_times *times = report->more;

	if (!strcmp(cpu->loom, times->cpus[0].loom) &&
	    !strcmp(cpu->loom, times->cpus[times->ncpus - 1].loom))
		return;
	printer_text(report->table.out, " of ");
	printer_escaped(report->table.out, cpu->loom, strlen(cpu->loom));
}

static void print_irqs(const struct report *report, const struct cpu_time *cpu)
{
	struct printer *out = report->table.out;
	char amount[DURATION_TEXT];

	if (irqs_of(report, cpu) <= 0)
		return;
	printer_format(out, "of these times, interrupts took %s from CPU %d",
		       duration_words(amount, cpu->irq), cpu->cpu);
	print_loom(report, cpu);
	for (size_t i = 0; i < cpu->nirqs; i++) {
		printer_text(out, i ? ", " : ": ");
		printer_escaped(out, cpu->irqs[i].kind, strlen(cpu->irqs[i].kind));
		printer_format(out, " %s (%" PRIu64 " %s)", duration_words(amount, cpu->irqs[i].ns),
			       cpu->irqs[i].times, plural(cpu->irqs[i].times, "time", "times"));
	}
	printer_text(out, "\n");
}

/* Stolen time and interrupts are within the rows of their CPU: they have no row. */
static void print_foot(const struct report *report)
{
	const struct cpu_times *times = report->more;
	char amount[DURATION_TEXT];

	for (size_t i = 0; i < times->ncpus; i++) {
		int64_t steal = steal_of(report, &times->cpus[i]);

		if (steal <= 0)
			continue;
		printer_format(report->table.out,
			       "of these times, the hypervisor took %s from CPU %d",
			       duration_words(amount, steal), times->cpus[i].cpu);
		print_loom(report, &times->cpus[i]);
		printer_text(report->table.out, "\n");
	}
	for (size_t i = 0; i < times->ncpus; i++)
		print_irqs(report, &times->cpus[i]);
}

static void release(struct report *report)
{
	cpu_times_fini(report->more);
}

const struct report_kind report_cpu = {
	.name = "cpu",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.names = true,
	.all_looms = true,
	.more = sizeof(struct cpu_times),
	.init = init,
	.listener = {.span = span, .event = event},
	.rows = rows,
	.foot = print_foot,
	.free = release,
};
