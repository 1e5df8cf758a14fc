/* SPDX-License-Identifier: MIT */
/*
 * ovni-report: tables about a trace, for a terminal or a program.
 *
 *   thread           pid  runs  run time   waits  avg wait   p50 wait   p99 wait   max wait ...
 *   worker (1204)   1200  5310   1.904 s    5309  12.40 us   8.063 us   91.10 us   1.204 ms ...
 *
 * In: a trace; out: the table of one report (the other files here). This file chooses the
 * report, walks the trace for it, and sorts and prints its table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/report/reports.h"
#include "tools/lib/usage.h"
#include "trace/base/log.h"

static const struct report_kind *const kinds[] = {
	&report_latency, &report_preempt, &report_wake,	    &report_timehist,
	&report_cpu,	 &report_func,	  &report_counters,
};
#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

struct options {
	const struct report_kind *kind;
	const char *path, *order;
	enum table_format format;
	bool reverse;
	size_t most;
	struct filter filter;
};

enum { KEY_CSV = 0x200, KEY_SORT };

static const struct argp_option argp_options[] = {
	{"sort", KEY_SORT, "COLUMN", 0, "Sort by this column, by its name in CSV", 0},
	{"reverse", 'r', NULL, 0, "Reverse the order", 0},
	{"top", 'n', "N", 0, "Only the first N rows", 0},
	{"json", 'j', NULL, 0, "A JSON array; times in ns", 0},
	{"csv", KEY_CSV, NULL, 0, "Comma separated values; times in ns", 0},
	{"tid", 0x101, "TID", 0, "Only threads with this id", 1},
	{"pid", 0x102, "PID", 0, "Only processes with this id", 1},
	{"loom", 0x103, "LOOM", 0, "Only this loom", 1},
	{"from", 0x104, "TIME", 0,
	 "Only from this clock on, in ns; +TIME counts from the first "
	 "event and takes ns, us, ms, s",
	 1},
	{"to", 0x105, "TIME", 0, "Only up to this clock", 1},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_SORT:
		options->order = arg;
		return 0;
	case 'r':
		options->reverse = true;
		return 0;
	case 'n':
		options->most = (size_t)usage_int(state, "--top", arg, 1, INT32_MAX);
		return 0;
	case 'j':
		options->format = TABLE_JSON;
		return 0;
	case KEY_CSV:
		options->format = TABLE_CSV;
		return 0;
	case ARGP_KEY_ARG:
		if (!options->kind) {
			for (size_t i = 0; i < NKINDS; i++)
				if (!strcmp(kinds[i]->name, arg))
					options->kind = kinds[i];
			if (!options->kind)
				argp_error(state,
					   "no report '%s': latency, preempt, wake, timehist, "
					   "cpu, func or counters",
					   arg);
			return 0;
		}
		if (options->path)
			argp_error(state, "one trace at a time: '%s' is too much", arg);
		options->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!options->kind || !options->path) {
			argp_error(state, "which report, of which trace?");
			return EINVAL;
		}
		if (options->kind->stream && (options->order || options->most || options->reverse))
			argp_error(state,
				   "%s prints its lines as they come: it cannot be sorted or cut",
				   options->kind->name);
		if (options->kind->read && (options->filter.nlooms || options->filter.from.given ||
					    options->filter.to.given))
			argp_error(state,
				   "%s are of the whole recording: only --tid and --pid choose",
				   options->kind->name);
		return 0;
	default:
		return filter_option(&options->filter, key, arg, state);
	}
}

/* Sorts the rows and prints the table. */
static int finish(struct report *report, const struct options *options)
{
	const char *order = options->order ? options->order : report->kind->order;
	int column = order ? table_find(&report->table, order) : -1;
	int err = column >= 0 ? table_sort(&report->table, column, options->reverse) : 0;

	if (err)
		return err;
	table_print(&report->table, options->most);
	return 0;
}

/* A report that reads a file of its own. */
static int run_file(struct report *report, const struct options *options)
{
	int err = report->kind->read(report, options->path);

	if (err)
		return err;
	return finish(report, options);
}

static int run_walk(struct report *report, const struct options *options)
{
	const struct report_kind *kind = report->kind;
	struct state_walk names = {0};
	struct intervals intervals = {0};
	int err, walked;

	report->intervals = &intervals; /* cppcheck-suppress autoVariables ; used only below */
	report->data = calloc(report->source->trace.nstreams + 1, kind->size ? kind->size : 1);
	report->more = calloc(1, kind->more ? kind->more : 1);
	if (!report->data || !report->more)
		return -ENOMEM;
	err = state_walk_init(&names, report->source);
	if (err)
		goto out;
	if (kind->names) {
		err = tid_names_init(&report->names, &names);
		if (err)
			goto out;
	}
	if (kind->stream)
		table_begin(&report->table);
	walked = intervals_walk(&intervals, report->source, &kind->listener, report);
	/* of a damaged trace, the part before the damage */
	if (intervals.threads && kind->rows) {
		err = kind->rows(report);
		if (!err)
			err = finish(report, options);
	}
	if (kind->stream)
		table_end(&report->table);
	if (walked)
		err = walked;
out:
	if (kind->free)
		kind->free(report);
	tid_names_fini(&report->names);
	state_walk_fini(&names);
	intervals_fini(&intervals);
	return err;
}

static int run(struct report *report, const struct options *options, struct source *source)
{
	bool active;
	int err;

	if (report->kind->read)
		return run_file(report, options);
	err = source_open(source, options->path);
	if (err)
		return err;
	err = filter_start(report->filter, source, &active);
	if (err)
		return err;
	return run_walk(report, options);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options,
		parse,
		"REPORT TRACE",
		"Print a report of an ovni trace.\n\n"
		"  latency   per thread: runs, run time, and how long it waited for a CPU\n"
		"  preempt   threads that lost their CPU, to which thread, for how long\n"
		"  wake      wakers and woken threads, and how long the woken ones wait\n"
		"  timehist  one line per run: end, CPU, thread, times, reason, next thread\n"
		"  cpu       use of the time of each CPU; the parts add up to 100 %\n"
		"  func      calls of functions: how often, wall time, on and off the CPU\n"
		"  counters  use of the time of each thread, from perf.json; also of a\n"
		"            summary (NAME.perf.json)\v"
		"  ovni-report latency trace                   # the longest waits first\n"
		"  ovni-report preempt --top 10 trace          # threads that take the CPU away\n"
		"  ovni-report timehist --tid 1204 trace       # one thread, run by run\n"
		"  ovni-report cpu --csv trace > cpu.csv       # for a spreadsheet",
		NULL,
		NULL,
		NULL};
	struct options options = {0};
	struct report report = {0};
	struct printer out;
	struct source source = {0};
	int err;

	usage_parse(&argp, "ovni-report", argc, argv, &options);
	table_init(&report.table, options.kind->columns, options.kind->ncolumns, options.format,
		   &out);
	if (options.order && table_find(&report.table, options.order) < 0) {
		log_error("%s has no column '%s'; --csv shows the names", options.kind->name,
			  options.order);
		return STATUS_USAGE;
	}
	if (printer_open(&out, STDOUT_FILENO) < 0) {
		log_no_memory("while printing the report");
		return STATUS_FAILED;
	}
	report.kind = options.kind;
	report.source = &source;
	report.filter = &options.filter;
	err = run(&report, &options, &source);
	if (err == -ENOMEM)
		log_no_memory("while reading %s", options.path);
	table_fini(&report.table);
	if (printer_close(&out) < 0)
		err = -EIO;
	free(report.data);
	free(report.more);
	filter_free(&options.filter);
	source_close(&source);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
