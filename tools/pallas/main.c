/* SPDX-License-Identifier: MIT */
/*
 * ovni-pallas: shows Pallas archives, and converts from and to ovni traces.
 *
 * In: the command line; out: a call of a command. Each command has a file (print.c, info.c, ...),
 * but check, which is one call.
 */
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "tools/pallas/pallas_command.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/status.h"
#include "trace/base/text.h"

#define TO(member) offsetof(struct pallas_options, member)

/* Rows that several commands share. */
#define MEMORY                                                                                     \
	{                                                                                          \
		"memory", 'M', "SIZE", cli_size, TO(memory),                                       \
			"hold at most SIZE bytes in memory (64M)"                                  \
	}
#define TSV                                                                                        \
	{                                                                                          \
		"tsv", 0, NULL, cli_flag, TO(tsv), "print tab-separated values, in nanoseconds"    \
	}

#define SELECTION                                                                                  \
	{"thread",                                                                                 \
	 0,                                                                                        \
	 "THREAD",                                                                                 \
	 cli_text,                                                                                 \
	 TO(selection.thread),                                                                     \
	 "only threads with this id or name ('work*')"},                                           \
		{"region",                                                                         \
		 0,                                                                                \
		 "NAME",                                                                           \
		 cli_text,                                                                         \
		 TO(selection.region),                                                             \
		 "only calls of regions with this name ('MPI_*')"},                                \
		{"from",                                                                           \
		 0,                                                                                \
		 "TIME",                                                                           \
		 moment_option,                                                                    \
		 TO(selection.from),                                                               \
		 "only from this time on, in ns; +TIME counts from the first event and takes ns, " \
		 "us, ms, s"},                                                                     \
	{                                                                                          \
		"to", 0, "TIME", moment_option, TO(selection.to), "only up to this time, included" \
	}

static bool has_no_part(const void *settings)
{
	const struct pallas_options *o = settings;

	return !o->selection.from.given && !o->selection.to.given && !o->selection.region;
}

#define ENCODING                                                                                   \
	{"level",     'l',	 "LEVEL",                                                          \
	 parse_level, TO(level), "compression level of zstd, 1 (default) to 19, or none",          \
	 .min = 1,    .max = 19},                                                                  \
	{                                                                                          \
		"masking", 0, NULL, cli_flag, TO(masking),                                         \
			"store numbers in as few bytes as they need"                               \
	}

static int parse_level(const struct cli_option *option, const char *text, void *to)
{
	uint64_t level;
	int err;

	if (!strcmp(text, "none")) {
		*(int *)to = -1;
		return 0;
	}
	err = cli_number(option, text, &level);
	if (err)
		return err;
	*(int *)to = (int)level;
	return 0;
}

static const struct cli_option print_options[] = {
	{"threads", 'T', NULL, cli_flag, TO(threads), "one thread after the other"},
	TSV,
	{"attributes", 0, NULL, cli_flag, TO(attributes), "also print the attributes of events",
	 .holds = has_no_part, .rule = "does not take --region, --from or --to"},
	SELECTION,
	MEMORY,
	{0},
};

static const struct cli_option info_options[] = {
	{"grammar", 0, NULL, cli_flag, TO(grammar),
	 "also print events, sequences and loops of every thread"},
	{"definitions", 0, NULL, cli_flag, TO(definitions),
	 "also print all names and the metadata"},
	MEMORY,
	{0},
};

static const struct cli_option stats_options[] = {
	{"loops", 0, NULL, cli_flag, TO(loops), "loops: how often they repeat, how regularly",
	 .holds = has_no_part, .rule = "does not take --region, --from or --to"},
	{"histogram", 0, NULL, cli_flag, TO(histogram),
	 "calls of each region by duration; reads the times of calls"},
	{"sequences", 0, NULL, cli_flag, TO(sequences),
	 "every sequence of the grammar, with its contention", .holds = has_no_part,
	 .rule = "does not take --region, --from or --to"},
	{"slowest", 0, "N", cli_number, TO(slowest),
	 "the N slowest calls; reads the times of calls", .min = 1, .max = 100000},
	{"tree", 0, NULL, cli_flag, TO(tree), "the structure: blocks and loops, with durations",
	 .holds = has_no_part, .rule = "does not take --region, --from or --to"},
	{"tsv", 0, NULL, cli_flag, TO(tsv), "print tab-separated values, in nanoseconds",
	 .holds = has_no_part, .rule = "does not take --region, --from or --to"},
	SELECTION,
	MEMORY,
	{0},
};

static const struct cli_option check_options[] = {MEMORY, {0}};
static const struct cli_option import_options[] = {MEMORY, {0}};

static const struct cli_option export_options[] = {
	ENCODING,
	{"blocks", 0, NULL, cli_flag, TO(blocks),
	 "make every call a sequence, however many there are"},
	{"calls", 0, NULL, cli_flag, TO(calls), "only calls of the program, no scheduling"},
	MEMORY,
	{0},
};

static const struct cli_option recode_options[] = {ENCODING, MEMORY, {0}};

static const struct cli print = {
	.name = "ovni-pallas print",
	.operands = "ARCHIVE",
	.about = "Print the events as text, in the order of time.",
	.options = print_options,
};
static const struct cli info = {
	.name = "ovni-pallas info",
	.operands = "ARCHIVE",
	.about = "Print the configuration, the processes and the threads.",
	.options = info_options,
};
static const struct cli stats = {
	.name = "ovni-pallas stats",
	.operands = "ARCHIVE",
	.about = "Print the durations of all regions, without reading the data files.",
	.options = stats_options,
};
static const struct cli check = {
	.name = "ovni-pallas check",
	.operands = "ARCHIVE",
	.about = "Check the rules that other readers rely on.",
	.options = check_options,
};
static const struct cli export = {
	.name = "ovni-pallas export",
	.operands = "TRACE DIR",
	.about = "Make an archive from an ovni trace.",
	.options = export_options,
};
static const struct cli import = {
	.name = "ovni-pallas import",
	.operands = "ARCHIVE DIR",
	.about = "Make an ovni trace from an archive.",
	.options = import_options,
};

static const struct cli recode = {
	.name = "ovni-pallas recode",
	.operands = "ARCHIVE DIR",
	.about = "Copy an archive with another compression.",
	.options = recode_options,
};

/* The check command: prints one line per violation; status 1 if there is one. */
static int check_archive(struct pallas_trace *trace, const struct pallas_options *o)
{
	int found = pallas_check(trace, stdout);

	(void)o;
	if (found == 0)
		printf("%s: %zu archives, %zu threads: no violation found\n",
		       text_shown(trace->path), trace->narchives, trace->nthreads);
	return found;
}

static const struct cli *const commands[] = {&print,  &info,   &stats,	&check,
					     &export, &import, &recode, NULL};
/* The commands that read an archive; NULL: those that write one. */
static int (*const run[])(struct pallas_trace *trace, const struct pallas_options *o) = {
	pallas_print, pallas_info, pallas_stats, check_archive, NULL, NULL, NULL};
/* The others, by the place of their command. */
static int (*const convert[])(const struct pallas_options *o) = {
	NULL, NULL, NULL, NULL, pallas_export, pallas_import, pallas_recode};

static const struct cli_program program = {
	.name = "ovni-pallas",
	.about = "Look into a Pallas archive, or convert it from and to an ovni trace.",
	.commands = commands,
	.notes = "ARCHIVE is the main file of an archive, or its directory.\n"
		 "\n"
		 "Examples:\n"
		 "  # events as text\n"
		 "  ovni-pallas print trace/main.pallas | less\n"
		 "\n"
		 "  # two milliseconds of the threads of a pool, without reading the others\n"
		 "  ovni-pallas print --thread 'pool*' --from +1s --to +1002ms trace\n"
		 "\n"
		 "  # the events, sequences and loops of every thread\n"
		 "  ovni-pallas info --grammar trace\n"
		 "\n"
		 "  # the loops of a program\n"
		 "  ovni-pallas export --calls ovni archive\n"
		 "  ovni-pallas stats --loops archive",
};

/* True if all threads that were to be read were left out. */
static bool nothing_read(const struct pallas_trace *trace)
{
	size_t wanted = 0;

	for (size_t i = 0; i < trace->nthreads; i++)
		wanted += !trace->threads[i].excluded;
	return trace->left_out && trace->left_out == wanted;
}

int main(int argc, char **argv)
{
	struct pallas_options o = {.level = 1};
	enum status status;
	struct pallas_trace trace;
	int command, err;
	char **operands;

	log_setup("ovni-pallas", LOG_INFO);
	command = cli_command(&program, &argc, argv, &status);
	if (command < 0)
		return status;
	operands = cli_parse(commands[command], argc, argv, &o);
	o.from = operands[0];
	o.to = operands[1];
	if (!run[command])
		return convert[command](&o);
	if (pallas_open(&trace, o.from, o.memory))
		return STATUS_FAILED;
	err = selection_start(&o.selection, &trace);
	if (!err)
		err = run[command](&trace, &o);
	status = trace.left_out ? STATUS_LOST : STATUS_COMPLETE;
	if (!err && nothing_read(&trace)) {
		log_error("%s: no thread can be read", o.from);
		err = -EBADMSG;
	}
	if (!err)
		selection_report(&o.selection, &trace);
	pallas_close(&trace);
	return flush_stdout() || err ? STATUS_FAILED : status;
}
