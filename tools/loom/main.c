/* SPDX-License-Identifier: MIT */
/*
 * ovni-loom: checks, shows and converts the telemetry of Loom co-simulations.
 *
 * Here are the command line and the table of commands; each command is a file of this folder, or a
 * folder below it (import, export).
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/loom/run/loom_command.h"
#include "tools/loom/run/run_clock.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/units.h"

/* ---- parsers of options ---- */

/* Refuses `text` with the clause of a parser; 0 if it has returned none. */
static int refuse(const struct cli_option *option, const char *text, const char *wrong)
{
	if (!wrong)
		return 0;
	if (!strcmp(wrong, LOOM_NO_MEMORY))
		return log_no_memory("--%s", option->name);
	return cli_refuse(option, text, "%s", wrong);
}

static int parse_kinds(const struct cli_option *option, const char *text, void *to)
{
	return refuse(option, text, loom_controls_kinds(to, text));
}

static int parse_cores(const struct cli_option *option, const char *text, void *to)
{
	return refuse(option, text, loom_controls_cores(to, text));
}

static int parse_nodes(const struct cli_option *option, const char *text, void *to)
{
	return refuse(option, text, loom_controls_nodes(to, text));
}

static int parse_sample(const struct cli_option *option, const char *text, void *to)
{
	return refuse(option, text, loom_controls_sample(to, text));
}

/* "FIRST-LAST", either may be left out. */
static int parse_cycles(const struct cli_option *option, const char *text, void *to)
{
	char first[48];
	char *last;
	struct loom_options *o = to;

	snprintf(first, sizeof(first), "%s", text);
	last = strchr(first, '-');
	if (!last || strlen(text) < 2 || strlen(text) >= sizeof(first))
		return cli_refuse(option, text, "cycles are FIRST-LAST, numbers of 64 bits");
	*last++ = '\0';
	if ((*first && units_parse_number(first, &o->first_cycle)) ||
	    (*last && units_parse_number(last, &o->last_cycle)))
		return cli_refuse(option, text, "cycles are FIRST-LAST, numbers of 64 bits");
	if (o->first_cycle > o->last_cycle)
		return cli_refuse(option, text, "the first cycle is larger than the last");
	return 0;
}

static int parse_layout(const struct cli_option *option, const char *text, void *to)
{
	enum loom_form form = loom_layout_parse(text);

	if (form == LOOM_UNKNOWN)
		return cli_refuse(option, text, "choose packed38 or natural48");
	*(enum loom_form *)to = form;
	return 0;
}

/* Of a new run: with a header, too. */
static int parse_new_layout(const struct cli_option *option, const char *text, void *to)
{
	enum loom_form form = strcmp(text, "ltrc") ? loom_layout_parse(text) : LOOM_LTRC;

	if (form == LOOM_UNKNOWN)
		return cli_refuse(option, text, "choose packed38, natural48 or ltrc");
	*(enum loom_form *)to = form;
	return 0;
}

static int parse_style(const struct cli_option *option, const char *text, void *to)
{
	struct loom_options *o = to;

	o->has_style = true;
	return cli_choice(option, text, &o->style);
}

static int parse_period(const struct cli_option *option, const char *text, void *to)
{
	struct loom_options *o = to;

	o->period_ps = run_clock_period(text);
	if (!o->period_ps)
		return cli_refuse(option, text,
				  "a period is a time such as 800ps or 1.25ns, at least 1ps");
	return 0;
}

static int parse_frequency(const struct cli_option *option, const char *text, void *to)
{
	struct loom_options *o = to;
	bool exact;

	o->period_ps = run_clock_frequency(text, &exact);
	if (!o->period_ps)
		return cli_refuse(option, text,
				  "a frequency is a number of Hz, kHz, MHz or GHz, at most 1THz");
	if (!exact)
		log_warn("--clock-freq %s: the period is rounded to %llu ps", text,
			 (unsigned long long)o->period_ps);
	return 0;
}

static bool is_text(const void *settings)
{
	return !((const struct loom_options *)settings)->json;
}

/* ---- the tables, one for each command ---- */

static const char *const styles[] = {"cycle", "edge", "span", NULL};	       /* enum loom_style */
static const char *const statistics[] = {"loom-perf", "legacy", NULL};	       /* legacy: 1 */
static const char *const rows[] = {"all", "node", "core", "invocation", NULL}; /* enum loom_by */
static const char *const windows[] = {"invocation", "run", "busy", NULL}; /* enum loom_window */

#define TO(member) offsetof(struct loom_options, member)

/* clang-format off */
/* Rows that several commands share. */
#define PERF {"perf", 0, "FILE", cli_text, TO(perf), "statistics of the run (- for none)"}
#define LAYOUT \
	{"layout", 0, "packed38|natural48", parse_layout, TO(layout), "layout of records without a header"}
#define STYLE \
	{"style", 0, NULL, parse_style, 0, \
	 "time of a record: its cycle (cycle), all up to the next record (edge), its length (span)", \
	 .choices = styles}
#define KINDS {"kinds", 0, "LIST", parse_kinds, TO(chosen), "only records of these kinds"}
#define CORES {"cores", 0, "LIST", parse_cores, TO(chosen), "only records of these cores (0,2-5)"}
#define NODES \
	{"nodes", 0, "LIST", parse_nodes, TO(chosen), "only records of these nodes (NODE or CORE:NODE)"}
#define SAMPLE \
	{"sample", 0, "K/N", parse_sample, TO(chosen), "of each node and kind, only K of every N records"}
#define NAMES \
	{"names", 0, "FILE", cli_text, TO(nodes_file), "names of the nodes"}, \
	{"nodes", 0, "FILE", cli_text, TO(nodes_file), NULL}
#define FREQUENCY {"clock-freq", 0, "FREQ", parse_frequency, 0, "the same, as in 100MHz"}
#define NO_CHAIN \
	{"no-chain", 0, NULL, cli_flag, TO(no_chain), \
	 "where cycles start again, do not put them after the earlier ones"}

static const struct cli_option check_options[] = {
	{"chain", 0, NULL, cli_flag, TO(chain),
	 "where cycles start again with an epoch or invocation, continue after the earlier ones"},
	{"strict", 0, NULL, cli_flag, TO(strict), "fail for warnings, too"},
	{"all", 0, NULL, cli_flag, TO(all), "print every finding, not the first 20 of a rule"},
	{"json", 0, NULL, cli_flag, TO(json), "print JSON"},
	{"same-as", 0, "RUN", cli_text, TO(same_as), "the records must be those of another run"},
	PERF, LAYOUT, STYLE,
	{"declare-kinds", 0, "LIST", parse_kinds, TO(declared), "only these kinds were recorded"},
	{"declare-cores", 0, "LIST", parse_cores, TO(declared), "only these cores were recorded"},
	{"declare-nodes", 0, "LIST", parse_nodes, TO(declared), "only these nodes were recorded"},
	{0},
};

static const struct cli_option dump_options[] = {
	KINDS, CORES, NODES,
	{"cycles", 0, "FIRST-LAST", parse_cycles, 0, "only these cycles (either may be left out)"},
	SAMPLE,
	{"apply-ids", 0, NULL, cli_flag, TO(apply_ids), "give records of JSON the ids of the first one"},
	PERF, LAYOUT,
	{0},
};

static const struct cli_option import_options[] = {
	{"output", 'o', "DIR", cli_text, TO(output), "trace to make, or to add the run to (ovni)"},
	{"name", 0, "NAME", cli_text, TO(name), "name of the run in the trace (that of its files)"},
	NAMES,
	{"map", 0, "FILE", cli_text, TO(map_file), "places of the nodes, for the page of ovni-view"},
	{"clock-period", 0, "TIME", parse_period, 0,
	 "duration of a cycle, as in 800ps or 1.25ns (that of the statistics, else 1ns)"},
	FREQUENCY,
	{"base", 0, "TIME", moment_option, TO(base),
	 "clock of cycle 0 in ns, +TIME after the start of the trace in DIR, or its time of day"},
	STYLE,
	{"lanes", 0, NULL, cli_flag, TO(lanes), "a row for each output of a node that routes"},
	{"no-keep", 0, NULL, cli_flag, TO(no_keep), "do not copy the run into the trace"},
	NO_CHAIN, PERF, LAYOUT,
	{0},
};

static const struct cli_option export_options[] = {
	{"output", 'o', "RUN", cli_text, TO(output), "name of the run to make"},
	{"loom", 0, "NAME", cli_text, TO(loom), "loom of the trace to export"},
	{"layout", 0, "packed38|natural48|ltrc", parse_new_layout, TO(layout), "layout of the records"},
	{"statistics", 0, NULL, cli_choice, TO(legacy),
	 "loom-perf: RUN.perf.json; legacy: RUN.stat, as upstream's simulators write it",
	 .choices = statistics},
	KINDS, CORES, NODES, SAMPLE,
	{"clock-period", 0, "TIME", parse_period, 0, "duration of a cycle of a recording of threads (1us)"},
	FREQUENCY,
	{"no-keep", 0, NULL, cli_flag, TO(no_keep), "do not use the copy of the run in the trace"},
	{0},
};

static const struct cli_option record_options[] = {
	{"output", 'o', "RUN", cli_text, TO(output), "name of the run to make"},
	{0},
};

static const struct cli_option stats_options[] = {
	{"by", 0, NULL, cli_choice, TO(by),
	 "a row for each node, core or invocation, or for each node and core in each invocation (all)",
	 .choices = rows},
	{"window", 0, NULL, cli_choice, TO(window),
	 "ratios are of the cycles of the invocation, of the run, or of the busy ones",
	 .choices = windows},
	{"csv", 0, NULL, cli_flag, TO(csv), "print comma-separated values",
	 .holds = is_text, .rule = "excludes --json"},
	{"json", 0, NULL, cli_flag, TO(json), "print JSON"},
	NAMES, STYLE, NO_CHAIN, PERF, LAYOUT,
	{0},
};
/* clang-format on */

static int needs_output(void *settings, char **operands)
{
	(void)operands;
	if (((struct loom_options *)settings)->output)
		return 0;
	log_error("the name of the run to make is missing: -o RUN");
	return -EINVAL;
}

static const struct cli check = {
	.name = "ovni-loom check",
	.operands = "RUN",
	.about = "Check the rules of a run, and print a verdict.",
	.options = check_options,
};
static const struct cli dump = {
	.name = "ovni-loom dump",
	.operands = "RUN",
	.about = "Print the records as text, one per line.",
	.options = dump_options,
};
static const struct cli import = {
	.name = "ovni-loom import",
	.operands = "RUN",
	.about = "Make an ovni trace from a run.",
	.options = import_options,
};
static const struct cli export = {
	.name = "ovni-loom export",
	.operands = "TRACE",
	.about = "Make a run from an imported trace, or from a recording of threads.",
	.options = export_options,
	.finish = needs_output,
};
static const struct cli record = {
	.name = "ovni-loom record",
	.operands = "SOCKET",
	.about = "Record a run while a simulator sends it (OVNI_LOOM=channel=SOCKET).",
	.options = record_options,
	.finish = needs_output,
};
static const struct cli stats = {
	.name = "ovni-loom stats",
	.operands = "RUN",
	.about = "Print metrics of nodes, cores and invocations.",
	.options = stats_options,
};

static const struct cli *const commands[] = {&check,  &dump,  &import, &export,
					     &record, &stats, NULL};
static int (*const run[])(struct loom_options *o) = {loom_check,  loom_dump,   loom_import,
						     loom_export, loom_record, loom_stats};

static const struct cli_program program = {
	.name = "ovni-loom",
	.about = "Check, show and convert the telemetry of Loom co-simulations.",
	.commands = commands,
	.notes = "RUN is a trace or statistics file, its directory, or the common beginning of the "
		 "names of the files (RUN.trace.bin, RUN.perf.json).\n"
		 "\n"
		 "Examples:\n"
		 "  # is the run valid?\n"
		 "  ovni-loom check --chain run.trace.bin\n"
		 "\n"
		 "  # the times when node 5 of core 0 fires\n"
		 "  ovni-loom dump --kinds NODE_FIRE --nodes 0:5 run.trace.bin\n"
		 "\n"
		 "  # one of a hundred records\n"
		 "  ovni-loom dump --sample 1/100 run.trace.bin | less",
};

int main(int argc, char **argv)
{
	struct loom_options o = {.last_cycle = UINT64_MAX};
	enum status status;
	int command;

	log_setup("ovni-loom", LOG_INFO);
	unsetenv("OVNI_LOOM"); /* the settings of simulators; export writes runs, too */
	command = cli_command(&program, &argc, argv, &status);
	if (command < 0)
		return status;
	o.run = cli_parse(commands[command], argc, argv, &o)[0];
	status = (enum status)run[command](&o);
	loom_controls_free(&o.chosen);
	loom_controls_free(&o.declared);
	return status;
}
