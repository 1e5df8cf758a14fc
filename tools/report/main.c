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
#include <sys/stat.h>
#include <unistd.h>

#include "tools/report/reports.h"
#include "trace/base/cli.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/base/units.h"

static const struct report_kind *const kinds[] = {
	&report_latency, &report_preempt,  &report_wake,     &report_timehist, &report_cpu,
	&report_func,	 &report_counters, &report_overview, &report_timeline, &report_why,
	&report_blocked, &report_flame,	   &report_critical, &report_locks,    &report_efficiency,
	&report_stacks,	 &report_messages, &report_perf,     &report_io,
};
#define ROWS_KEPT     3 /* of a terminal: head, rows left out, prompt */
#define MOST_DEFAULT  UINT64_MAX
#define DEFAULT_TRACE "ovni" /* of ovni-bpf without -o */
#define NKINDS	      (sizeof(kinds) / sizeof(kinds[0]))

struct options {
	const struct report_kind *kind;
	const char *path, *order;
	enum table_format format;
	bool reverse, no_pager;
	enum terminal_colour colour;
	uint64_t most;
	enum group_by by;
	bool histogram, period, sum, owners, stacks, functions;
	enum flame_form flame_form;
	enum flame_time flame_time;
	struct efficiency_settings efficiency;
	struct filter filter;
};

#define TO(member) offsetof(struct options, member)

static int set_json(const struct cli_option *option, const char *text, void *to)
{
	(void)option;
	(void)text;
	*(enum table_format *)to = TABLE_JSON;
	return 0;
}

static int set_csv(const struct cli_option *option, const char *text, void *to)
{
	(void)option;
	(void)text;
	*(enum table_format *)to = TABLE_CSV;
	return 0;
}

static bool has_table(const void *settings)
{
	const struct report_kind *kind = ((const struct options *)settings)->kind;

	return !kind->stream && !kind->print;
}

static bool selects_time(const void *settings)
{
	const struct report_kind *kind = ((const struct options *)settings)->kind;

	return !kind->read;
}

static bool selects_threads(const void *settings)
{
	const struct report_kind *kind = ((const struct options *)settings)->kind;

	return kind != &report_overview && kind != &report_efficiency;
}

static bool selects_loom(const void *settings)
{
	return selects_time(settings) && selects_threads(settings);
}

static bool has_json(const void *settings)
{
	const struct report_kind *kind = ((const struct options *)settings)->kind;

	return kind != &report_timeline && kind != &report_flame && kind != &report_stacks;
}

static bool has_csv(const void *settings)
{
	const struct report_kind *kind = ((const struct options *)settings)->kind;

	return !kind->print || kind == &report_efficiency;
}

static bool has_rows(const void *settings)
{
	const struct report_kind *kind = ((const struct options *)settings)->kind;

	return kind == &report_timeline || kind == &report_efficiency || has_table(settings);
}

static bool has_groups(const void *settings)
{
	const struct report_kind *kind = ((const struct options *)settings)->kind;

	if (((const struct options *)settings)->by == BY_PRIORITY && kind != &report_latency &&
	    kind != &report_latency_histogram)
		return false;
	return kind->by != BY_REPORT && !kind->only_threads;
}

/* The names of enum group_by from 1 on. */
static const char *const by_names[] = {"thread", "process", "comm",	"cgroup",
				       "rank",	 "all",	    "priority", NULL};

static const char *const time_names[] = {"wall", "cpu", "runnable", "throttled", "asleep", NULL};

static bool is_flame(const void *settings)
{
	return ((const struct options *)settings)->kind == &report_flame;
}

static bool is_flame_or_stacks(const void *settings)
{
	return is_flame(settings) || ((const struct options *)settings)->kind == &report_stacks;
}

/* The default is the first of the names, of stacks asleep. */
static bool time_fits(const void *settings)
{
	const struct options *o = settings;

	return is_flame(o) || (o->kind == &report_stacks &&
			       (o->flame_time == FLAME_RUNNABLE || o->flame_time == FLAME_ASLEEP));
}

static int choose_flame_form(const struct cli_option *option, const char *text, void *to)
{
	enum flame_form form = strcmp(option->name, "svg") == 0 ? FLAME_SVG : FLAME_HTML;
	enum flame_form *chosen = to;

	if (*chosen && *chosen != form)
		return cli_refuse(option, text, "--svg and --html exclude each other");
	*chosen = form;
	return 0;
}

static bool is_latency(const void *settings)
{
	return ((const struct options *)settings)->kind == &report_latency_histogram;
}

static bool is_wake(const void *settings)
{
	return ((const struct options *)settings)->kind == &report_wake_period;
}

static bool is_perf(const void *settings)
{
	return ((const struct options *)settings)->kind == &report_perf_functions;
}

static bool is_critical(const void *settings)
{
	return ((const struct options *)settings)->kind == &report_critical_sum;
}

static bool is_path(const void *settings)
{
	return is_critical(settings) ||
	       ((const struct options *)settings)->kind == &report_critical;
}

static bool is_efficiency(const void *settings)
{
	return ((const struct options *)settings)->kind == &report_efficiency;
}

static int take_phases(const struct cli_option *option, const char *text, void *to,
		       enum phase_kind phases)
{
	struct efficiency_settings *settings = to;

	if (settings->phases)
		return cli_refuse(option, text, "only one of --phase and --every, once");
	settings->phases = phases;
	return 0;
}

static int set_phase(const struct cli_option *option, const char *text, void *to)
{
	static const char mark[] = "mark:";
	struct efficiency_settings *settings = to;
	uint64_t type;

	if (!strcmp(text, "collectives"))
		return take_phases(option, text, to, PHASES_COLLECTIVES);
	if (strncmp(text, mark, strlen(mark)) != 0 ||
	    units_parse_number(text + strlen(mark), &type) || type > INT32_MAX)
		return cli_refuse(option, text,
				  "not mark:TYPE with the number of a type of marks, nor "
				  "collectives");
	settings->mark = (int32_t)type;
	return take_phases(option, text, to, PHASES_MARK);
}

static int set_every(const struct cli_option *option, const char *text, void *to)
{
	struct efficiency_settings *settings = to;
	uint64_t ns = 0;
	int err = cli_time(option, text, &ns);

	if (err)
		return err;
	settings->every = (int64_t)ns;
	return take_phases(option, text, to, PHASES_SLICES);
}

static int set_window(const struct cli_option *option, const char *text, void *to)
{
	if (strcmp(text, "recording") != 0)
		return cli_refuse(option, text, "not recording");
	((struct efficiency_settings *)to)->recording = true;
	return 0;
}

static int set_model(const struct cli_option *option, const char *text, void *to)
{
	if (strcmp(text, "talp") != 0)
		return cli_refuse(option, text, "not talp");
	((struct efficiency_settings *)to)->talp = true;
	return 0;
}

static int set_partial(const struct cli_option *option, const char *text, void *to)
{
	(void)option;
	(void)text;
	((struct efficiency_settings *)to)->partial = true;
	return 0;
}

static int set_by(const struct cli_option *option, const char *text, void *to)
{
	unsigned index = 0;
	int err = cli_choice(option, text, &index);

	*(enum group_by *)to = (enum group_by)(BY_THREAD + index);
	return err;
}

#define NEEDS_TABLE	 .holds = has_table, .rule = "the report has no rows to choose from"
#define NEEDS_TIME	 .holds = selects_time, .rule = "the report is of the whole recording"
#define NEEDS_THREADS	 .holds = selects_threads, .rule = "the report is of all threads"
#define NEEDS_EFFICIENCY .holds = is_efficiency, .rule = "only efficiency has it"
#define NEEDS_FLAME	 .holds = is_flame, .rule = "only flame has it"
#define NEEDS_FRAMES	 .holds = is_flame_or_stacks, .rule = "only flame and stacks have it"

static const struct cli_option cli_options[] = {
	{.help = "Options"},
	{"sort", 0, "COLUMN", cli_text, TO(order), "sort by this column, by its name in CSV",
	 NEEDS_TABLE},
	{"reverse", 'r', NULL, cli_flag, TO(reverse), "reverse the order", NEEDS_TABLE},
	{"top", 'n', "N", cli_number, TO(most),
	 "print only the first N rows; 0: all. Otherwise, all that fit on a terminal",
	 .max = INT32_MAX, .holds = has_rows, .rule = "the report has no rows to choose from"},
	{"json", 'j', NULL, set_json, TO(format), "print JSON; times in ns", .holds = has_json,
	 .rule = "only tables are printed so"},
	{"csv", 0, NULL, set_csv, TO(format), "print comma-separated values; times in ns",
	 .holds = has_csv, .rule = "only tables are printed so"},
	{"tid", 0, "TID", filter_add_tid, TO(filter), "only threads with this id", NEEDS_THREADS},
	{"pid", 0, "PID", filter_add_pid, TO(filter), "only processes with this id", NEEDS_THREADS},
	{"histogram", 0, NULL, cli_flag, TO(histogram), "latency: the waits by their length",
	 .holds = is_latency, .rule = "only latency has a histogram"},
	{"period", 0, NULL, cli_flag, TO(period), "wake: the times between wake-ups of a thread",
	 .holds = is_wake, .rule = "only wake has periods"},
	{"sum", 0, NULL, cli_flag, TO(sum), "critical: its time by thread and state",
	 .holds = is_critical, .rule = "only critical has sums"},
	{"owners", 0, NULL, cli_flag, TO(owners),
	 "critical: replace sleeps on locks with the paths of the owners", .holds = is_path,
	 .rule = "only critical follows owners"},
	{"functions", 0, NULL, cli_flag, TO(functions), "perf: the values by function",
	 .holds = is_perf, .rule = "only perf has values by function"},
	{"time", 0, NULL, cli_choice, TO(flame_time),
	 "flame: the time to add up [wall]; stacks: runnable [asleep]", .choices = time_names,
	 .holds = time_fits, .rule = "only flame has it, and of stacks --time runnable and asleep"},
	{"svg", 0, NULL, choose_flame_form, TO(flame_form), "flame, stacks: print a picture",
	 NEEDS_FRAMES},
	{"html", 0, NULL, choose_flame_form, TO(flame_form),
	 "flame, stacks: print a page to enlarge frames and search in", NEEDS_FRAMES},
	{"stacks", 0, NULL, cli_flag, TO(stacks),
	 "flame: the sleeps by their stacks, as stacks has them", NEEDS_FRAMES},
	{"phase", 0, "PHASE", set_phase, TO(efficiency),
	 "efficiency: also by phase: mark:TYPE, or collectives", NEEDS_EFFICIENCY},
	{"every", 0, "TIME", set_every, TO(efficiency), "efficiency: also by parts of this length",
	 .min = 1000, .max = INT64_MAX, NEEDS_EFFICIENCY},
	{"window", 0, "WINDOW", set_window, TO(efficiency),
	 "efficiency: 'recording' is from the begin or to the end of the recording where it lacks "
	 "MPI_Init or MPI_Finalize",
	 NEEDS_EFFICIENCY},
	{"partial", 0, NULL, set_partial, TO(efficiency),
	 "efficiency: though ranks of the job are missing", NEEDS_EFFICIENCY},
	{"model", 0, "MODEL", set_model, TO(efficiency),
	 "efficiency: 'talp' has the formulas of TALP", NEEDS_EFFICIENCY},
	{"comm", 0, "GLOB", filter_add_comm, TO(filter),
	 "only threads with such a name, as 'worker*'", NEEDS_THREADS},
	{"by", 0, NULL, set_by, TO(by), "one row or table for each of these", .choices = by_names,
	 .holds = has_groups,
	 .rule = "only latency, preempt, why, blocked, io, func, flame, stacks and perf (without "
		 "--functions) take threads together, and only latency those of a priority"},
	{"loom", 0, "LOOM", filter_add_loom, TO(filter), "only this loom", .holds = selects_loom,
	 .rule = "the report is of all looms"},
	{"ranks", 0, "LIST", cli_ranks, TO(filter.ranks), "only these ranks of MPI, as in 0-3,7",
	 .holds = selects_loom, .rule = "the report is of all ranks"},
	{"from", 0, "TIME", moment_option, TO(filter.from),
	 "only from this clock on, in ns; "
	 "+TIME counts from the first event and takes ns, us, ms, s; "
	 "03:12:05 is a time of day, in the local time of the recording",
	 NEEDS_TIME},
	{"to", 0, "TIME", moment_option, TO(filter.to), "only up to this clock", NEEDS_TIME},
	{.help = "Terminal"},
	{"color", 0, NULL, cli_choice, TO(colour),
	 "colours: on a terminal (unless NO_COLOR is set), always or never",
	 .choices = terminal_colours},
	{"no-pager", 0, NULL, cli_flag, TO(no_pager),
	 "do not start a pager ($OVNI_PAGER, $PAGER, less)"},
	{0},
};

/* Some options make another table of a report. */
static void choose_variant(struct options *options)
{
	if (options->by && options->kind == &report_func)
		options->kind = &report_func_by;
	if (options->histogram && options->kind == &report_latency)
		options->kind = &report_latency_histogram;
	if (options->period && options->kind == &report_wake)
		options->kind = &report_wake_period;
	if (options->stacks && options->kind == &report_flame)
		options->kind = &report_stacks;
	if (options->functions && options->kind == &report_perf)
		options->kind = &report_perf_functions;
	if (options->sum && options->kind == &report_critical)
		options->kind = &report_critical_sum;
}

static int choose(void *settings, char **operands)
{
	struct options *options = settings;

	options->path = DEFAULT_TRACE;
	options->kind = &report_overview;
	if (!operands[0])
		return 0;
	for (size_t i = 0; i < NKINDS; i++) {
		if (strcmp(kinds[i]->name, operands[0]) != 0)
			continue;
		options->kind = kinds[i];
		if (operands[1])
			options->path = operands[1];
		choose_variant(options);
		return 0;
	}
	options->path = operands[0];
	if (!operands[1])
		return 0;
	log_error("unknown report '%s' (see ovni-report --help)", operands[0]);
	return -EINVAL;
}

/* Sorts the rows and prints the table. */
static void finish(struct report *report, const struct options *options)
{
	const char *order = options->order ? options->order : report->kind->order;
	int column = order ? table_find(&report->table, order) : -1;
	size_t more = 0;

	if (column >= 0)
		table_sort(&report->table, (size_t)column, options->reverse);
	if (options->most == MOST_DEFAULT && report->terminal.rows > ROWS_KEPT &&
	    options->format == TABLE_TEXT)
		report->most = (size_t)(report->terminal.rows - ROWS_KEPT);
	if (report->most && report->table.nrows > report->most)
		more = report->table.nrows - report->most;
	report_output(report);
	table_print(&report->table, report->most);
	if (more && options->most == MOST_DEFAULT)
		printer_format(report->table.out, "and %zu more %s (-n 0 prints all)\n", more,
			       plural(more, "row", "rows"));
	if (report->kind->foot && options->format == TABLE_TEXT)
		report->kind->foot(report);
}

/* A report that prints everything itself. */
static int run_print(struct report *report, const struct options *options)
{
	struct state_walk names = {0};
	int err = state_walk_init(&names, report->source);

	if (err)
		goto out;
	err = tid_names_init(&report->names, &names);
	if (err)
		goto out;
	err = report->kind->print(report, options->path);
out:
	tid_names_fini(&report->names);
	state_walk_fini(&names);
	return err;
}

static int run_walk(struct report *report, const struct options *options)
{
	const struct report_kind *kind = report->kind;
	struct state_walk names = {0};
	struct intervals intervals = {0};
	int err, walked;

	report->intervals = &intervals; /* cppcheck-suppress autoVariables ; used only below */
	report->data = kind->size ? calloc(report->source->trace.nstreams + 1, kind->size) : NULL;
	report->more = calloc(1, kind->more ? kind->more : 1);
	if ((kind->size && !report->data) || !report->more)
		return -ENOMEM;
	err = state_walk_init(&names, report->source);
	if (err)
		goto out;
	err = kind->names ? tid_names_init(&report->names, &names) : 0;
	if (err)
		goto out;
	if (kind->by != BY_REPORT) {
		err = groups_init(&report->groups, report->source,
				  report->by ? report->by : kind->by);
		if (err)
			goto out;
	}
	err = kind->init ? kind->init(report) : 0;
	if (err)
		goto out;
	if (kind->stream) {
		report_output(report);
		table_begin(&report->table);
	}
	walked = intervals_walk(&intervals, report->source, &kind->listener, report);
	/* of a damaged trace, the part before the damage */
	report->damaged = walked;
	if (intervals.threads && !report->source->is_loom)
		filter_check_part(report->filter, report->source, intervals.first, intervals.last);
	if (intervals.threads && kind->rows) {
		err = kind->rows(report);
		if (!err && !report->source->is_loom)
			finish(report, options);
	}
	if (kind->stream)
		table_end(&report->table);
	if (walked)
		err = walked;
out:
	if (kind->free)
		kind->free(report);
	groups_free(&report->groups);
	tid_names_fini(&report->names);
	state_walk_fini(&names);
	intervals_fini(&intervals);
	return err;
}

/* The rows of one loom after the other: only its events are in memory. Of a damaged loom, the part
 * before the damage. */
static int run_looms(struct report *report, const struct options *options, struct source *source)
{
	struct filter filter = *report->filter, *whole = report->filter;
	int64_t first = INT64_MAX, last = INT64_MIN;
	struct source loom;
	int err = 0;
	bool open = true;

	source_extend(source, &first, &last);
	source->first = first;
	source->last = last;
	report->filter = &filter;
	report->source = &loom;
	for (size_t from = 0; from < source->trace.nstreams && open; from += loom.trace.nstreams) {
		ssize_t n = source_open_loom(&loom, source, from);
		int failed = n < 0 ? (int)n : 0;

		open = n > 0;
		filter.streams = whole->streams + from;
		if (open)
			failed = run_walk(report, options);
		source_close_loom(&loom);
		free(report->data);
		free(report->more);
		report->data = report->more = NULL;
		err = err ? err : failed;
	}
	report->filter = whole;
	report->source = source;
	if (!open)
		return err;
	filter_check_part(whole, source, first, last);
	finish(report, options);
	return err;
}

/* Are the rows those of single looms? */
static bool is_by_loom(const struct report *report)
{
	return report->kind->by_loom && !filter_has_threads(report->filter) &&
	       (report->by == BY_REPORT || report->by == BY_THREAD);
}

/* A summary has no events. */
static int refuse_statistics(const struct report_kind *kind, const char *path)
{
	const char *end = strrchr(path, '.');
	struct stat st;

	if (!end || strcmp(end, ".json") || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	log_error("%s has statistics, and %s needs the events of a trace: only ovni-report "
		  "counters reads statistics",
		  path, kind->name);
	return -EINVAL;
}

/* The streams of looms of which the filter selects a thread: looms share no thread and no CPU. */
static int choose_looms(void *arg, const struct source *source, bool *wanted)
{
	struct report *report = arg;
	const struct owner *owners = source->owners;
	size_t n = source->trace.nstreams;
	bool all = report->kind->all_looms;
	struct hash looms = {0};
	int err = filter_choose(report->filter, source);

	for (size_t i = 0; i < n && !err; i++) {
		uint32_t *at = hash_at(&looms, hash_key_of(owners[i].loom, strlen(owners[i].loom)));

		if (!at)
			err = log_no_memory("for the looms of %s", source->trace.path);
		else if (*at == HASH_NONE)
			*at = report->filter->streams[i];
		else
			*at |= report->filter->streams[i];
		all |= owners[i].accelerator; /* its runs have the clocks of calls of the host */
	}
	for (size_t i = 0; i < n && !err; i++)
		wanted[i] = all ||
			    hash_get(&looms, hash_key_of(owners[i].loom, strlen(owners[i].loom)));
	hash_free(&looms);
	return err;
}

static int run(struct report *report, const struct options *options, struct source *source)
{
	bool active;
	int err;

	if (report->kind->read) { /* reads its own file */
		err = report->kind->read(report, options->path);
		if (!err)
			finish(report, options);
		return err;
	}
	err = refuse_statistics(report->kind, options->path);
	if (err)
		return err;
	if (is_by_loom(report))
		err = source_open_looms(source, options->path);
	else
		err = source_open_part(source, options->path,
				       filter_has_threads(report->filter) ? choose_looms : NULL,
				       report);
	if (!err)
		err = source_correct_clocks(source);
	if (err)
		return err;
	err = filter_start(report->filter, source, &active);
	if (err)
		return err;
	if (source->by_loom)
		return run_looms(report, options, source);
	return report->kind->print ? run_print(report, options) : run_walk(report, options);
}

static const struct cli cli = {
	.name = "ovni-report",
	.operands = "[REPORT] [TRACE]",
	.about = "Print a report of an ovni trace, " DEFAULT_TRACE " if none is given. Without the "
		 "name of a report: the overview, one screen with what cost time.\n\n"
		 "Reports:\n"
		 "  latency     per thread: runs, run time, and how long it waited for a CPU\n"
		 "  preempt     threads that ran while others waited for a CPU, for how long\n"
		 "  wake        wakers and woken threads, and how long the woken ones wait\n"
		 "  why         time of each thread: running, waiting for a CPU, asleep; why\n"
		 "  blocked     sleeps by system call, file and waker\n"
		 "  critical    why a thread ended no sooner: the chain of wakers, back in time\n"
		 "  locks       waits on futexes, by object, and the owners of locks\n"
		 "  io          sleeps for I/O by device, with their requests (ovni-bpf --why=io)\n"
		 "  stacks      sleeps by their stacks, one line each, for flame graphs\n"
		 "  efficiency  factors of an MPI or OpenMP program: balance, communication,\n"
		 "              runtime, operating system\n"
		 "  messages    messages of MPI by sender and receiver, late senders\n"
		 "  timehist    one line per run: end, CPU, thread, times, reason, next thread\n"
		 "  timeline    CPUs and threads as text: when each ran, waited and slept\n"
		 "  cpu         use of the time of each CPU; the parts add up to 100 %\n"
		 "  func        calls of functions: how often, running, runnable, asleep\n"
		 "  flame       stacks of functions with their own times, for flame graphs\n"
		 "  perf        perf events that each thread counted while it ran\n"
		 "              (ovni-bpf --counters), or that each function counted\n"
		 "  counters    use of the time of each thread, from stats.json; also of a\n"
		 "              summary (NAME.stats.json)",
	.options = cli_options,
	.finish = choose,
	.notes = "Examples:\n"
		 "  # was it the program, its runtime, or the operating system?\n"
		 "  ovni-report trace\n\n"
		 "  # the longest waits first\n"
		 "  ovni-report latency trace\n\n"
		 "  # threads that ran while others waited for the CPU\n"
		 "  ovni-report preempt --top 10 trace\n\n"
		 "  # where the time of the workers went\n"
		 "  ovni-report why --by process --comm 'worker*' trace\n\n"
		 "  # why the program ended no sooner\n"
		 "  ovni-report critical --pid 1200 trace\n\n"
		 "  # the lock that threads wait for most, and its owners\n"
		 "  ovni-report locks --top 1 trace\n\n"
		 "  # is the program balanced, and how much did the operating system take?\n"
		 "  ovni-report efficiency trace\n\n"
		 "  # which rank waits for whose messages (ovni-bpf --api mpi-messages)\n"
		 "  ovni-report messages --top 10 trace\n\n"
		 "  # instructions and cache misses of each function (ovni-bpf --counters)\n"
		 "  ovni-report perf --functions trace\n\n"
		 "  # one thread, run by run\n"
		 "  ovni-report timehist --tid 1204 trace\n\n"
		 "  # a tenth of a second as text\n"
		 "  ovni-report timeline --from +1s --to +1.1s trace\n\n"
		 "  # a flame graph of the time that threads wait for a CPU, for a browser\n"
		 "  ovni-report flame --time runnable --html trace > flame.html\n\n"
		 "  # for a spreadsheet\n"
		 "  ovni-report cpu --csv trace > cpu.csv",
};

int main(int argc, char **argv)
{
	struct options options = {.most = MOST_DEFAULT};
	struct report report = {0};
	struct printer out;
	struct source source = {0};
	enum status status;
	int err;

	cli_parse(&cli, argc, argv, &options);
	table_init(&report.table, options.kind->columns, options.kind->ncolumns, options.format,
		   &out);
	if (options.order && table_find(&report.table, options.order) < 0) {
		log_error("%s has no column '%s'; --csv shows the names", options.kind->name,
			  options.order);
		return STATUS_USAGE;
	}
	printer_open(&out, STDOUT_FILENO);
	report.kind = options.kind;
	terminal_init(&report.terminal, options.colour);
	report.pager = !options.no_pager && options.format == TABLE_TEXT;
	report.table.bold = report.terminal.colour && options.format == TABLE_TEXT;
	report.most = options.most == MOST_DEFAULT ? 0 : options.most;
	report.source = &source;
	report.filter = &options.filter;
	report.by = options.by;
	report.flame_form = options.flame_form;
	report.flame_time = options.flame_time;
	report.efficiency = options.efficiency;
	report.every_rank = options.most == 0;
	report.owners = options.owners;
	err = run(&report, &options, &source);
	if (err == -ENOMEM)
		log_no_memory("while reading %s", options.path);
	table_fini(&report.table);
	if (printer_close(&out) < 0)
		err = -EIO;
	terminal_close(&report.terminal);
	free(report.data);
	free(report.more);
	filter_free(&options.filter);
	status = err ? STATUS_FAILED : STATUS_COMPLETE;
	if (!err && source.trace.nstreams) /* not of statistics alone */
		status = whole_report(&source.whole, options.path);
	source_close(&source);
	return status;
}
