/* SPDX-License-Identifier: MIT */
/*
 * main: telemetry of Loom co-simulations: checks it, shows it, converts it.
 *
 * Here are the command line and the table of commands; each command is a file of
 * tools/common/ (main.c, main.c, ...).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/loom/run/run_clock.h"
#include "tools/loom/run/loom_command.h"
#include "tools/lib/usage.h"
#include "trace/base/log.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct command {
	const char *name;
	int (*run)(struct loom_options *o);
};

static const struct command commands[] = {
	{"check", loom_check},	 {"dump", loom_dump},	{"import", loom_import},
	{"export", loom_export}, {"stats", loom_stats},
};

static const char doc[] = "Check, show and convert the telemetry of Loom co-simulations.\v"
			  "  check RUN   which rules it breaks, and a verdict\n"
			  "  dump RUN    its records as text, one a line\n"
			  "  import RUN  makes an ovni trace of it\n"
			  "  export TRACE  makes a run of an imported one, or of a recording of "
			  "threads\n"
			  "  stats RUN   metrics of nodes, cores and invocations\n"
			  "\n"
			  "RUN is a trace or statistics file, the directory that they are in, or "
			  "the name that they begin "
			  "with (RUN.trace.bin, RUN.perf.json).\n"
			  "\n"
			  "Examples:\n"
			  "  ovni-loom check --chain run.trace.bin\n"
			  "  ovni-loom dump --kinds NODE_FIRE --nodes 0:5 run.trace.bin\n"
			  "  ovni-loom dump --sample 1/100 run.trace.bin | less\n";

enum {
	KEY_LAYOUT = 0x100,
	KEY_KINDS,
	KEY_CORES,
	KEY_NODES,
	KEY_SAMPLE,
	KEY_CYCLES,
	KEY_APPLY,
	KEY_PERF,
	KEY_PERIOD,
	KEY_FREQUENCY,
	KEY_BASE,
	KEY_STYLE,
	KEY_NO_KEEP,
	KEY_NO_CHAIN,
	KEY_NAMES,
	KEY_NAME,
	KEY_JSON,
	KEY_CSV,
	KEY_STRICT,
	KEY_CHAIN,
	KEY_ALL,
	KEY_DECLARE_KINDS,
	KEY_DECLARE_CORES,
	KEY_DECLARE_NODES,
	KEY_SAME_AS,
	KEY_LOOM,
	KEY_STATISTICS,
	KEY_LANES,
	KEY_BY,
	KEY_WINDOW,
};

/* Which commands accept an option. */
static const struct {
	int key;
	const char *commands;
} accepted[] = {
	{KEY_PERF, "check dump import stats"},
	{KEY_LAYOUT, "check dump import stats export"},
	{KEY_STYLE, "check import stats"},
	{KEY_JSON, "check stats"},
	{KEY_CSV, "stats"},
	{KEY_CHAIN, "check"},
	{KEY_ALL, "check"},
	{KEY_STRICT, "check"},
	{KEY_SAME_AS, "check"},
	{KEY_DECLARE_KINDS, "check"},
	{KEY_DECLARE_CORES, "check"},
	{KEY_DECLARE_NODES, "check"},
	{KEY_BY, "stats"},
	{KEY_WINDOW, "stats"},
	{KEY_KINDS, "dump export"},
	{KEY_CORES, "dump export"},
	{KEY_NODES, "dump export import stats"},
	{KEY_SAMPLE, "dump export"},
	{KEY_CYCLES, "dump"},
	{KEY_APPLY, "dump"},
	{'o', "import export"},
	{KEY_LOOM, "export"},
	{KEY_STATISTICS, "export"},
	{KEY_LANES, "import"},
	{KEY_NAME, "import"},
	{KEY_NAMES, "import stats"},
	{KEY_PERIOD, "import export"},
	{KEY_FREQUENCY, "import export"},
	{KEY_BASE, "import"},
	{KEY_NO_KEEP, "import export"},
	{KEY_NO_CHAIN, "import stats"},
};

static const struct argp_option options[] = {
	{"perf", KEY_PERF, "FILE", 0, "the statistics of the run (- for none)", 1},
	{"layout", KEY_LAYOUT, "LAYOUT", 0,
	 "records without a header are packed38 or natural48; export: what is made, ltrc too", 1},
	{"csv", KEY_CSV, NULL, 0, "stats: comma-separated values", 1},
	{"json", KEY_JSON, NULL, 0, "check, stats: JSON instead of text", 1},
	{"chain", KEY_CHAIN, NULL, 0,
	 "check: where the cycle starts anew with an epoch or invocation, go on behind what was "
	 "before",
	 1},
	{"style", KEY_STYLE, "STYLE", 0,
	 "what a record covers: its cycle (cycle), all up to the next one (edge), as long as it "
	 "says (span)",
	 1},
	{"all", KEY_ALL, NULL, 0, "check: every finding, not the first 20 of a rule", 1},
	{"strict", KEY_STRICT, NULL, 0, "check: fail for warnings too", 1},
	{"same-as", KEY_SAME_AS, "RUN", 0, "check: the records must be those of another run", 1},
	{"declare-kinds", KEY_DECLARE_KINDS, "LIST", 0, "check: only these kinds were recorded", 1},
	{"declare-cores", KEY_DECLARE_CORES, "LIST", 0, "check: only these cores were recorded", 1},
	{"declare-nodes", KEY_DECLARE_NODES, "LIST", 0, "check: only these nodes were recorded", 1},
	{"by", KEY_BY, "WHAT", 0,
	 "stats: a row for each node, core or invocation, or for all (each node and core in each "
	 "invocation)",
	 1},
	{"window", KEY_WINDOW, "WINDOW", 0,
	 "stats: ratios are of the cycles of the invocation, the run, or the busy ones", 1},
	{"kinds", KEY_KINDS, "LIST", 0, "dump, export: records of these kinds", 2},
	{"cores", KEY_CORES, "LIST", 0, "dump, export: of these cores (0,2-5)", 2},
	{"nodes", KEY_NODES, "LIST|FILE", 0,
	 "dump, export: of these nodes (NODE or CORE:NODE); import, stats: the same as --names", 2},
	{"cycles", KEY_CYCLES, "FIRST-LAST", 0, "dump: of these cycles (either may be left out)",
	 2},
	{"sample", KEY_SAMPLE, "K/N", 0,
	 "dump, export: of each node and kind, K of every N records", 2},
	{"apply-ids", KEY_APPLY, NULL, 0, "dump: JSON traces with the ids of their first record",
	 2},
	{"output", 'o', "DIR|RUN", 0,
	 "import: the trace that is made, or added to (ovni); export: the run that is made", 3},
	{"loom", KEY_LOOM, "NAME", 0, "export: which loom of the trace", 3},
	{"statistics", KEY_STATISTICS, "FORM", 0,
	 "export: loom-perf (RUN.perf.json), or as upstream's simulators, legacy (RUN.stat)", 3},
	{"lanes", KEY_LANES, NULL, 0, "import: a row for each output of a node that routes", 3},
	{"name", KEY_NAME, "NAME", 0, "import: of the run in the trace (that of its files)", 3},
	{"clock-period", KEY_PERIOD, "TIME", 0,
	 "import: of a cycle, as 800ps or 1.25ns (as the statistics say, else 1ns); export: of a "
	 "recording of threads (1us)",
	 3},
	{"clock-freq", KEY_FREQUENCY, "FREQ", 0, "import: the same as 100MHz", 3},
	{"base", KEY_BASE, "TIME", 0,
	 "import: clock of cycle 0 in ns, or +TIME after the start of the trace in DIR", 3},
	{"names", KEY_NAMES, "FILE", 0, "import, stats: what the nodes are called", 3},
	{"no-keep", KEY_NO_KEEP, NULL, 0,
	 "import: do not copy the run into the trace; export: do not use that copy", 3},
	{"no-chain", KEY_NO_CHAIN, NULL, 0,
	 "import, stats: do not put cycles that start anew behind the others", 3},
	{0},
};

struct arguments {
	struct loom_options o;
	const struct command *command;
	char *nodes;		    /* what is meant depends on the command */
	int given[COUNT(accepted)]; /* keys of options */
	size_t ngiven;
};

/* A number of 64 bits that ends at `end`; false if it is none. */
static bool number(const char *text, const char *end, uint64_t *out)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &stop, 10);
	return errno == 0 && stop == end;
}

/* "FIRST-LAST", either may be left out. */
static const char *cycles(struct loom_options *o, const char *text)
{
	const char *dash = strchr(text, '-'), *end = text + strlen(text);

	if (!dash || end - text < 2 || (dash > text && !number(text, dash, &o->first_cycle)) ||
	    (dash + 1 < end && !number(dash + 1, end, &o->last_cycle)))
		return "cycles are FIRST-LAST, numbers of 64 bits";
	return o->first_cycle > o->last_cycle ? "the first cycle is larger than the last" : NULL;
}

/* The index of `text` in the list, or -1. */
static int one_of(const char *text, const char *const *list, int n)
{
	for (int i = 0; i < n; i++) {
		if (!strcmp(text, list[i]))
			return i;
	}
	return -1;
}

/* Ends the program with what is wrong with an argument, if anything is. */
static void refuse(struct argp_state *state, const char *arg, const char *wrong)
{
	if (wrong && !strcmp(wrong, "no memory"))
		argp_failure(state, STATUS_FAILED, 0, "no memory for '%s'", arg);
	if (wrong)
		argp_error(state, "'%s': %s", arg, wrong);
}

static const char *style(struct loom_options *o, const char *text)
{
	int which = one_of(text, loom_style_names, LOOM_STYLES);

	if (which < 0)
		return "a style is cycle, edge or span";
	o->style = (enum loom_style)which;
	o->has_style = true;
	return NULL;
}

static void operand(struct arguments *a, struct argp_state *state, char *arg)
{
	if (!a->command) {
		for (size_t i = 0; i < COUNT(commands); i++) {
			if (!strcmp(arg, commands[i].name))
				a->command = &commands[i];
		}
		if (!a->command)
			argp_error(state, "there is no command '%s'", arg);
	} else if (!a->o.run) {
		a->o.run = arg;
	} else {
		argp_error(state, "too many arguments");
	}
}

static const char *name_of(int key)
{
	for (const struct argp_option *o = options; o->name; o++) {
		if (o->key == key)
			return o->name;
	}
	return "";
}

static void check_accepted(const struct command *command, struct argp_state *state, int key)
{
	size_t len = strlen(command->name);
	const char *list = "";

	for (size_t i = 0; i < COUNT(accepted); i++) {
		if (accepted[i].key == key)
			list = accepted[i].commands;
	}
	for (; *list; list += strcspn(list, " "), list += strspn(list, " ")) {
		if (!strncmp(list, command->name, len) && (list[len] == ' ' || !list[len]))
			return;
	}
	argp_error(state, "--%s does not belong to %s", name_of(key), command->name);
}

/* The nodes that are chosen, or the file that names them. */
static void take_nodes(struct arguments *a, struct argp_state *state)
{
	const char *wrong = NULL;

	if (!a->nodes)
		return;
	if (a->command->run == loom_import || a->command->run == loom_stats)
		a->o.nodes_file = a->nodes;
	else
		wrong = loom_controls_nodes(&a->o.chosen, a->nodes);
	refuse(state, a->nodes, wrong);
}

static void complete(struct arguments *a, struct argp_state *state)
{
	if (!a->command) {
		argp_error(state, "a command is missing");
		return;
	}
	if (!a->o.run)
		argp_error(state, "%s needs a run", a->command->name);
	if (a->o.layout == LOOM_LTRC && a->command->run != loom_export)
		argp_error(state, "--layout ltrc: a file with a header shows that by itself");
	if (a->command->run == loom_export && !a->o.output)
		argp_error(state, "export needs the name of the run that is made: -o RUN");
	if (a->o.csv && a->o.json)
		argp_error(state, "--csv and --json exclude each other");
	for (size_t i = 0; i < a->ngiven; i++)
		check_accepted(a->command, state, a->given[i]);
	take_nodes(a, state);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	const char *wrong = NULL;
	int which;

	switch (key) {
	case KEY_PERF:
		a->o.perf = arg;
		break;
	case KEY_LAYOUT:
		a->o.layout = strcmp(arg, "ltrc") ? loom_layout_parse(arg) : LOOM_LTRC;
		if (a->o.layout == LOOM_UNKNOWN)
			wrong = "a layout is packed38 or natural48, or for export ltrc";
		break;
	case KEY_KINDS:
		wrong = loom_controls_kinds(&a->o.chosen, arg);
		break;
	case KEY_CORES:
		wrong = loom_controls_cores(&a->o.chosen, arg);
		break;
	case KEY_NODES:
		wrong = a->nodes ? "--nodes was given before: one list can name all of them" : NULL;
		a->nodes = arg;
		break;
	case KEY_SAMPLE:
		wrong = loom_controls_sample(&a->o.chosen, arg);
		break;
	case KEY_CYCLES:
		wrong = cycles(&a->o, arg);
		break;
	case KEY_APPLY:
		a->o.apply_ids = true;
		break;
	case 'o':
		a->o.output = arg;
		break;
	case KEY_LOOM:
		a->o.loom = arg;
		break;
	case KEY_STATISTICS:
		which = one_of(arg, (const char *const[]){"loom-perf", "legacy"}, 2);
		if (which < 0)
			wrong = "statistics are loom-perf or legacy";
		a->o.legacy = which == 1;
		break;
	case KEY_LANES:
		a->o.lanes = true;
		break;
	case KEY_NAME:
		a->o.name = arg;
		break;
	case KEY_NAMES:
		a->o.nodes_file = arg;
		break;
	case KEY_PERIOD:
		a->o.period_ps = run_clock_period(arg);
		if (!a->o.period_ps)
			wrong = "a period is a time like 800ps or 1.25ns, at least 1ps";
		break;
	case KEY_FREQUENCY:
		a->o.period_ps = run_clock_frequency(arg, &a->o.exact_period);
		if (!a->o.period_ps)
			wrong = "a frequency is a number of Hz, kHz, MHz or GHz, at most 1THz";
		else if (!a->o.exact_period)
			log_warn("--clock-freq %s: the period is rounded to %llu ps", arg,
				 (unsigned long long)a->o.period_ps);
		break;
	case KEY_BASE:
		a->o.base = usage_moment(state, "--base", arg);
		break;
	case KEY_STYLE:
		wrong = style(&a->o, arg);
		break;
	case KEY_NO_KEEP:
		a->o.no_keep = true;
		break;
	case KEY_NO_CHAIN:
		a->o.no_chain = true;
		break;
	case KEY_CSV:
		a->o.csv = true;
		break;
	case KEY_JSON:
		a->o.json = true;
		break;
	case KEY_BY:
		which = one_of(arg, (const char *const[]){"all", "node", "core", "invocation"}, 4);
		if (which < 0)
			wrong = "stats are by all, node, core or invocation";
		else
			a->o.by = (enum loom_by)which;
		break;
	case KEY_WINDOW:
		which = one_of(arg, (const char *const[]){"invocation", "run", "busy"}, 3);
		if (which < 0)
			wrong = "a window is invocation, run or busy";
		else
			a->o.window = (enum loom_window)which;
		break;
	case KEY_STRICT:
		a->o.strict = true;
		break;
	case KEY_CHAIN:
		a->o.chain = true;
		break;
	case KEY_ALL:
		a->o.all = true;
		break;
	case KEY_DECLARE_KINDS:
		wrong = loom_controls_kinds(&a->o.declared, arg);
		break;
	case KEY_DECLARE_CORES:
		wrong = loom_controls_cores(&a->o.declared, arg);
		break;
	case KEY_DECLARE_NODES:
		wrong = loom_controls_nodes(&a->o.declared, arg);
		break;
	case KEY_SAME_AS:
		a->o.same_as = arg;
		break;
	case ARGP_KEY_ARG:
		operand(a, state, arg);
		return 0;
	case ARGP_KEY_END:
		complete(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	refuse(state, arg, wrong);
	for (size_t i = 0; i < a->ngiven; i++) {
		if (a->given[i] == key)
			return 0;
	}
	a->given[a->ngiven++] = key; /* there are not more than accepted ones */
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "COMMAND RUN", doc, NULL, NULL, NULL};
	struct arguments a = {.o = {.last_cycle = UINT64_MAX}};
	int status;

	usage_parse(&argp, "ovni-loom", argc, argv, &a);
	status = a.command->run(&a.o);
	loom_controls_free(&a.o.chosen);
	loom_controls_free(&a.o.declared);
	return status;
}
