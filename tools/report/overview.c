/* SPDX-License-Identifier: MIT */
/*
 * report without a name: the overview, one screen about a trace.
 *
 *   ovni-bpf -a -d 5s  on node1: 2 CPUs, Linux 6.18.5 x86_64
 *   5.002 s, 9120 events of 14 threads in 6 processes; nothing lost
 *
 *   CPU     busy     idle  unknown  most of it
 *     1  99.31 %   0.69 %   0.00 %  noisy (1205) 61.20 %, latcrit (1204) 37.05 %
 *
 *   process, thread         run          waited           asleep    runs
 *   latcrit (1204)   1.853 s  37.0 %   2.250 s  45.0 %   0.899 s     480
 *
 *   Findings
 *   1. latcrit (1204) waited 45.0 % of 5.002 s for a CPU: 2.250 s; noisy (1205) ran on CPU 1 for
 *      2.240 s
 *        ovni-report preempt --tid 1204 ovni
 *
 * In: a trace, in one pass (findings.h, culprits.h, cpu_time.h); out: the screen, or one JSON
 * object with the same numbers. Names from the trace are escaped where they are printed.
 */
#include "tools/report/overview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace/base/log.h"
#include "trace/base/text.h"

#define THREADS_SHOWN  10
#define CPUS_SHOWN     8 /* more are summed up */
#define FINDINGS_SHOWN 6
#define MOST_SHOWN     3  /* threads in the line of a CPU */
#define CPU_FIGURES    48 /* columns of that line before them */

/* ---- text ---- */

static void put_escaped(struct printer *out, const char *text)
{
	printer_escaped(out, text, strlen(text));
}

/* Prints words; lines after the first one begin in column `indent`. */
static void put_wrapped(struct printer *out, const char *text, int at, int indent, int columns)
{
	while (*text) {
		size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " ");
		int width = (int)(blanks + text_escape(NULL, 0, text + blanks, word));

		if (at + width > columns && at > indent) {
			printer_format(out, "\n%*s", indent, "");
			at = indent;
			width -= (int)blanks;
			text += blanks;
			blanks = 0;
		}
		printer_escaped(out, text, blanks + word);
		at += width;
		text += blanks + word;
	}
	printer_text(out, "\n");
}

/* "2026-11-22 03:12:05 +0100", when the window began where it was recorded, or its part; "" if the
 * trace does not say. */
static void start_text(const struct overview *o, char *text, size_t size)
{
	const struct json *session = json_get(o->session, "bpf.session");
	const struct json *realtime = json_key(session, "realtime");
	int64_t ns, clock, offset = json_int(json_key(realtime, "utc_offset"));
	int64_t minutes = (offset < 0 ? -offset : offset) / 60;
	struct tm tm;
	time_t local;

	*text = '\0';
	if (!json_i64(json_get(realtime, "begin.ns"), &ns) || minutes >= 24 * 60)
		return;
	if (o->findings.part && !json_i64(json_get(realtime, "begin.clock"), &clock))
		return;
	if (o->findings.part) {
		clock = trace_clock(&o->source->trace, o->session_stream, clock);
		ns = clock_sum(ns, clock_distance(clock, o->findings.cpus.t0));
	}
	if (ns < 0)
		return;
	local = (time_t)(ns / 1000000000 + offset);
	if (gmtime_r(&local, &tm) && strftime(text, size, ", from %Y-%m-%d %H:%M:%S", &tm))
		snprintf(text + strlen(text), size - strlen(text), " %c%02d%02d",
			 offset < 0 ? '-' : '+', (int)(minutes / 60), (int)(minutes % 60));
}

static int print_head(const struct overview *o, struct printer *out, int columns)
{
	const struct json *session = json_get(o->session, "bpf.session");
	const char *kernel = json_string(json_key(session, "kernel"));
	const char *machine = json_string(json_key(session, "machine"));
	size_t nstreams = o->source->trace.nstreams;
	const char *loom = nstreams ? overview_owner(o, 0)->loom : "";
	char *command = overview_command(o), *host = NULL, *amount = NULL;
	char length[DURATION_TEXT], start[64];
	int err = -ENOMEM;

	start_text(o, start, sizeof(start));
	if (!command)
		goto out;
	host = xasprintf("%s: %s%s%zu %s%s%s%s%s", o->path, loom, *loom ? ", " : "",
			 o->findings.cpus.ncpus, plural(o->findings.cpus.ncpus, "CPU", "CPUs"),
			 kernel ? ", Linux " : "", kernel ? kernel : "", machine ? " " : "",
			 machine ? machine : "");
	amount = xasprintf("%s%s%s, %" PRIu64 " %s of %zu %s in %zu %s",
			   duration_words(length, o->duration),
			   o->findings.part ? " of the recording" : "", start, o->findings.events,
			   plural(o->findings.events, "event", "events"), nstreams,
			   plural(nstreams, "thread", "threads"), o->findings.nprocesses,
			   plural(o->findings.nprocesses, "process", "processes"));
	if (!host || !amount)
		goto out;
	put_wrapped(out, host, 0, 2, columns);
	if (*command) {
		printer_text(out, "  ");
		put_wrapped(out, command, 2, 4, columns);
	}
	printer_text(out, "  ");
	put_wrapped(out, amount, 2, 4, columns);
	err = 0;
out:
	free(command);
	free(host);
	free(amount);
	return err;
}

static void print_losses(const struct overview *o, struct printer *out, int columns)
{
	const struct whole *w = &o->source->whole;
	char reasons[WHOLE_TEXT];

	if (w->lost)
		printer_format(out, "  LOST: %" PRIu64 " %s; the times around them are unknown\n",
			       w->lost, plural(w->lost, "event", "events"));
	if (w->unfinished)
		printer_format(out, "  UNFINISHED: %" PRIu64 " %s (see ovni-check --repair)\n",
			       w->unfinished, plural(w->unfinished, "stream", "streams"));
	if (*whole_text(w, reasons)) {
		printer_text(out, "  INCOMPLETE: ");
		put_wrapped(out, reasons, 14, 4, columns);
	}
	if (o->damaged) {
		printer_text(out, "  INCOMPLETE: a file of the trace is damaged, see the error\n");
	} else if (!*reasons) {
		printer_text(out, whole_is_verified(w) ? "  nothing lost\n"
						       : "  losses: the trace does not say\n");
	}
	if (o->repairs)
		printer_format(out, "  %s: times there are uncertain\n",
			       whole_repairs(o->repairs, w->lost, reasons));
}

/* ---- text: CPUs ---- */

#define CPU_COLUMNS(used, busy, rest, free)                                                        \
	{"cpu", "CPU", CELL_TEXT, 4}, {used, busy, CELL_PERCENT, 7},                               \
		{rest, free, CELL_PERCENT, 7}, {"unknown", "unknown %", CELL_PERCENT, 7},          \
		{"steal", "steal %", CELL_PERCENT, 7}, {"most", "most of it", CELL_TEXT, 10},

static const struct table_column cpu_columns[] = {CPU_COLUMNS("busy", "busy %", "idle", "idle %")};
/* Where idle time is not known, the recorded threads alone are shown as using the CPU. */
static const struct table_column recorded_columns[] = {
	CPU_COLUMNS("recorded", "recorded %", "other_or_idle", "other or idle %")};

static int64_t thousandths(int64_t part, int64_t whole)
{
	return (int64_t)(1000 * percent(part, whole));
}

static int by_time(const void *pa, const void *pb)
{
	const struct cpu_span *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

/* The threads with the most time on a CPU; for free(). NULL without memory. */
static char *most_of_cpu(const struct overview *o, const struct cpu_time *cpu)
{
	struct cpu_span top[MOST_SHOWN] = {{0}};
	char *text = strdup("");
	size_t n = 0;

	for (size_t i = 0; i < o->findings.cpus.nspans; i++) {
		const struct cpu_span *p = &o->findings.cpus.spans[i];
		const char *loom = overview_owner(o, p->stream)->loom;

		if (p->cpu != cpu->cpu || strcmp(loom, cpu->loom) != 0)
			continue;
		if (n < MOST_SHOWN)
			top[n++] = *p;
		else if (p->ns > top[MOST_SHOWN - 1].ns)
			top[MOST_SHOWN - 1] = *p;
		else
			continue;
		qsort(top, n, sizeof(*top), by_time);
	}
	for (size_t i = 0; i < n && text && percent(top[i].ns, cpu->window) >= 1; i++) {
		char *name = tid_names_of_stream(o->names, top[i].stream);
		char *more = name ? xasprintf("%s%s%s %.1f %%", text, *text ? ", " : "", name,
					      percent(top[i].ns, cpu->window))
				  : NULL;
		bool fits = !more || CPU_FIGURES + (int)strlen(more) <= o->columns;

		free(name);
		if (!fits && *text) {
			free(more);
			break;
		}
		free(text);
		text = more;
	}
	return text;
}

/* Takes the ownership of the texts. */
static int add_cpu(const struct overview *o, struct table *table, char *label,
		   const struct cpu_time *cpu, int64_t steal, char *most)
{
	int64_t used = overview_used(o, cpu);
	int64_t rest = clock_sum(cpu->idle, o->idle_unknown ? cpu->other : 0);
	union cell row[] = {
		{.text = NULL},
		{.number = thousandths(used, cpu->window)},
		{.number = thousandths(rest, cpu->window)},
		{.number = thousandths(cpu->unknown, cpu->window)},
		{.number = steal == CELL_UNKNOWN ? steal : thousandths(steal, cpu->window)},
		{.text = NULL},
	};

	row[0].text = label;
	row[5].text = most;
	return table_add(table, row);
}

/* One row for all CPUs of a loom, with their busiest one. */
static int add_cpu_sum(const struct overview *o, struct table *table, size_t from, size_t to)
{
	const struct cpu_time *cpus = o->findings.cpus.cpus;
	struct cpu_time sum = {0};
	size_t busiest = from, least = from;
	int64_t steal = CELL_UNKNOWN;

	for (size_t i = from; i < to; i++) {
		sum.threads = clock_sum(sum.threads, cpus[i].threads);
		sum.other = clock_sum(sum.other, cpus[i].other);
		sum.idle = clock_sum(sum.idle, cpus[i].idle);
		sum.unknown = clock_sum(sum.unknown, cpus[i].unknown);
		sum.window = clock_sum(sum.window, cpus[i].window);
		if (overview_steal(o, &cpus[i]) != CELL_UNKNOWN)
			steal = clock_sum(steal == CELL_UNKNOWN ? 0 : steal,
					  overview_steal(o, &cpus[i]));
		if (overview_used(o, &cpus[i]) > overview_used(o, &cpus[busiest]))
			busiest = i;
		if (overview_used(o, &cpus[i]) < overview_used(o, &cpus[least]))
			least = i;
	}
	if (add_cpu(o, table, xasprintf("all %zu", to - from), &sum, steal,
		    xasprintf("of %s", cpus[from].loom)) ||
	    add_cpu(o, table, xasprintf("most: %d", cpus[busiest].cpu), &cpus[busiest],
		    overview_steal(o, &cpus[busiest]), most_of_cpu(o, &cpus[busiest])))
		return -ENOMEM;
	return add_cpu(o, table, xasprintf("least: %d", cpus[least].cpu), &cpus[least],
		       overview_steal(o, &cpus[least]), most_of_cpu(o, &cpus[least]));
}

static int print_cpus(const struct overview *o, struct printer *out)
{
	const struct cpu_time *cpus = o->findings.cpus.cpus;
	struct table table;
	int err = 0;

	table_init(&table, o->idle_unknown ? recorded_columns : cpu_columns,
		   sizeof(cpu_columns) / sizeof(cpu_columns[0]), TABLE_TEXT, out);
	for (size_t i = 0, next; i < o->findings.cpus.ncpus; i = next) {
		for (next = i + 1; next < o->findings.cpus.ncpus; next++)
			if (strcmp(cpus[i].loom, cpus[next].loom) != 0)
				break;
		if (o->findings.cpus.ncpus > CPUS_SHOWN) {
			err = add_cpu_sum(o, &table, i, next);
			if (err)
				goto out;
			continue;
		}
		for (size_t cpu = i; cpu < next; cpu++) {
			err = add_cpu(o, &table, xasprintf("%d", cpus[cpu].cpu), &cpus[cpu],
				      overview_steal(o, &cpus[cpu]), most_of_cpu(o, &cpus[cpu]));
			if (err)
				goto out;
		}
	}
	table_print(&table, 0);
out:
	table_fini(&table);
	return err;
}

/* ---- text: threads ---- */

static const struct table_column thread_columns[] = {
	{"thread", "process, thread", CELL_TEXT, 24},
	{"run", "run", CELL_DURATION, 9},
	{"run_percent", "%", CELL_PERCENT, 6},
	{"wait", "waited", CELL_DURATION, 9},
	{"wait_percent", "%", CELL_PERCENT, 6},
	{"runs", "runs", CELL_COUNT, 5},
	{"unknown", "unknown", CELL_DURATION, 9, SHOW_IF_ANY},
	{"asleep", "asleep", CELL_DURATION, 9}, /* not on a narrow terminal */
};
#define THREAD_COLUMNS (sizeof(thread_columns) / sizeof(thread_columns[0]))
#define WIDE	       88 /* and UNKNOWN_WIDTH more with the column */
#define UNKNOWN_WIDTH  12

/* Takes the ownership of the label. `life` is what the percentages are of. */
static int add_use(struct table *table, char *label, const struct thread_use *use, int64_t life,
		   int64_t asleep)
{
	int64_t waited = clock_sum(use->waited, use->throttled);
	union cell row[] = {
		{.text = NULL},
		{.number = use->run},
		{.number = thousandths(use->run, life)},
		{.number = waited},
		{.number = thousandths(waited, life)},
		{.number = (int64_t)use->runs},
		{.number = use->unknown},
		{.number = asleep},
	};

	row[0].text = label;
	return table_add(table, row);
}

static int add_process(const struct overview *o, struct table *table, uint32_t process)
{
	const struct process_use *p = &o->findings.processes[process];
	const struct owner *owner = overview_owner(o, p->stream);
	struct thread_use sum = {.run = p->run,
				 .waited = p->waited,
				 .throttled = p->throttled,
				 .unknown = p->unknown};
	const char *name = owner->name ? owner->name : "process";
	char rank[40] = "";

	if (p->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %" PRId64 ", ", p->rank);
	for (size_t i = 0; i < o->source->trace.nstreams; i++)
		if (o->findings.threads[i].process == process)
			sum.runs += o->findings.threads[i].runs;
	return add_use(table,
		       xasprintf("%s (%" PRId64 "), %s%" PRIu32 " threads", name, owner->pid, rank,
				 p->nthreads),
		       &sum, p->life, p->sleep);
}

/* A thread of a process with several is below its process. */
static int add_thread(const struct overview *o, struct table *table, uint32_t stream)
{
	const struct thread_use *use = &o->findings.threads[stream];
	const struct process_use *p = &o->findings.processes[use->process];
	char *name = tid_names_of_stream(o->names, stream), *label = NULL;

	if (name && p->nthreads > 1)
		label = xasprintf("  %s", name);
	else if (name && p->rank >= 0)
		label = xasprintf("%s, rank %" PRId64, name, p->rank);
	else if (name)
		label = strdup(name);
	free(name);
	return add_use(table, label, use, use->life, thread_use_sleep(use));
}

static int print_threads(const struct overview *o, struct printer *out)
{
	const struct thread_use *threads = o->findings.threads;
	size_t n = o->source->trace.nstreams, shown = 0;
	uint32_t *order = overview_order(o);
	struct table table;
	int err = 0, wide = WIDE;

	if (!order)
		return -ENOMEM;
	for (; shown < n && shown < THREADS_SHOWN; shown++) {
		if (!thread_use_wanted(&threads[order[shown]]))
			break;
		if (o->findings.processes[threads[order[shown]].process].unknown)
			wide = WIDE + UNKNOWN_WIDTH;
	}
	table_init(&table, thread_columns, o->columns < wide ? THREAD_COLUMNS - 1 : THREAD_COLUMNS,
		   TABLE_TEXT, out);
	/* a process is where its first thread is */
	for (size_t i = 0; i < shown; i++) {
		uint32_t process = threads[order[i]].process;
		bool done = false;

		for (size_t before = 0; before < i && !done; before++)
			done = threads[order[before]].process == process;
		if (done)
			continue;
		if (o->findings.processes[process].nthreads > 1)
			err = add_process(o, &table, process);
		if (err)
			goto out;
		for (size_t j = i; j < shown; j++) {
			if (threads[order[j]].process == process)
				err = add_thread(o, &table, order[j]);
			if (err)
				goto out;
		}
	}
	table_print(&table, 0);
	if (n > shown)
		printer_format(out, "  and %zu %s with less (ovni-report latency)\n", n - shown,
			       plural(n - shown, "thread", "threads"));
out:
	table_fini(&table);
	free(order);
	return err;
}

/* ---- text: findings ---- */

/* Why the command ended no sooner. */
static int print_path(const struct overview *o, struct printer *out, int columns)
{
	char *text = path_text(o), *command = path_command(o);
	int err = text && command ? 0 : -ENOMEM;

	if (!err) {
		put_wrapped(out, text, 0, 2, columns);
		printer_text(out, "     ");
		put_escaped(out, command);
		printer_text(out, "\n");
	}
	free(text);
	free(command);
	return err;
}

static int print_findings(const struct overview *o, struct printer *out, int columns)
{
	const struct findings *f = &o->findings;
	char least[DURATION_TEXT], *notes = overview_notes(o);
	int64_t threshold = o->duration / 1000 * FINDING_PERMILLE;

	if (!notes)
		return -ENOMEM;
	duration_words(least, threshold > FINDING_LEAST ? threshold : FINDING_LEAST);
	if (f->n && f->targets)
		printer_format(out,
			       "Findings about the command first, then about other processes\n");
	else if (f->n)
		printer_format(out, "Findings, the most expensive first\n");
	else
		printer_format(out,
			       "No finding: no wait, lock, imbalance or delay cost %s or more\n"
			       "(thresholds: ovni-report(1))\n",
			       least);
	for (size_t i = 0; i < f->n && i < FINDINGS_SHOWN; i++) {
		char *text = finding_text(o, &f->list[i]);
		char *command = finding_command(o, &f->list[i]);

		if (text && command) {
			printer_format(out, "%zu. ", i + 1);
			put_wrapped(out, text, 3, 3, columns);
			printer_text(out, "     ");
			put_escaped(out, command);
			printer_text(out, "\n");
		}
		free(text);
		free(command);
		if (!text || !command) {
			free(notes);
			return -ENOMEM;
		}
	}
	if (f->n > FINDINGS_SHOWN)
		printer_format(out, "and %zu more, of less cost (--json has all)\n",
			       f->n - FINDINGS_SHOWN);
	if (f->path.known && print_path(o, out, columns)) {
		free(notes);
		return -ENOMEM;
	}
	put_wrapped(out, notes, 0, 2, columns);
	free(notes);
	return 0;
}

static int print_efficiency(const struct overview *o, struct printer *out, int columns)
{
	char *path = shell_word(o->path);

	if (!path)
		return -ENOMEM;
	put_wrapped(out, o->efficiency, 0, 2, columns);
	printer_text(out, "     ovni-report efficiency ");
	put_escaped(out, path);
	printer_text(out, "\n\n");
	free(path);
	return 0;
}

static int print_text(const struct overview *o, struct printer *out, int columns)
{
	int err = print_head(o, out, columns);

	if (err)
		return err;
	print_losses(o, out, columns);
	printer_text(out, "\n");
	if (o->findings.cpus.ncpus) {
		err = print_cpus(o, out);
		if (err)
			return err;
		printer_text(out, "\n");
	}
	err = print_threads(o, out);
	if (err)
		return err;
	printer_text(out, "\n");
	err = o->efficiency ? print_efficiency(o, out, columns) : 0;
	return err ? err : print_findings(o, out, columns);
}

/* ---- JSON ---- */

static int print(struct report *report, const char *path)
{
	struct overview o = {.source = report->source,
			     .names = &report->names,
			     .filter = report->filter,
			     .path = path,
			     .columns = report->terminal.columns};
	int err, printed;

	err = findings_read(&o.findings, report->source,
			    report->filter->from.given ? report->filter->first : INT64_MIN,
			    report->filter->to.given ? report->filter->last : INT64_MAX);
	if (!o.findings.complete)
		goto out;
	report_output(report);
	o.damaged = err != 0;
	printed = overview_facts(&o);
	if (!printed && report->table.format == TABLE_JSON)
		printed = overview_print_json(&o, report->table.out);
	else if (!printed)
		printed = print_text(&o, report->table.out, o.columns);
	err = printed ? printed : err;
out:
	overview_fini(&o);
	return err;
}

const struct report_kind report_overview = {
	.name = "overview",
	.names = true,
	.print = print,
};
