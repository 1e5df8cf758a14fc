/* SPDX-License-Identifier: MIT */
/*
 * main: Pallas archives: looks into them, and converts from and to ovni traces.
 *
 * Here are the command line and the table of commands; each command is a file
 * of tools/common/ (print.c, info.c, ...).
 */
#include <errno.h>
#include <string.h>

#include "tools/pallas/pallas_command.h"
#include "tools/lib/usage.h"
#include "trace/base/text.h"

struct command {
	const char *name;
	unsigned operands;
	int (*run)(const struct pallas_options *o);
	const char *options; /* the keys that it accepts */
};

enum {
	KEY_TSV = 0x100,
	KEY_ATTRIBUTES,
	KEY_GRAMMAR,
	KEY_DEFINITIONS,
	KEY_MASKING,
	KEY_BLOCKS,
	KEY_CALLS,
	KEY_LOOPS,
	KEY_SEQUENCES,
};

static const struct command commands[] = {
	{"print", 1, pallas_print, "TMta"},   {"info", 1, pallas_info, "Mgd"},
	{"stats", 1, pallas_stats, "MtLs"},   {"check", 1, pallas_validate, "M"},
	{"export", 2, pallas_export, "lmbc"}, {"import", 2, pallas_import, "M"},
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char doc[] =
	"Look into a Pallas archive, or convert it from and to an ovni trace.\v"
	"  print ARCHIVE     its events as text, in the order of time\n"
	"  info ARCHIVE      its configuration, processes and threads\n"
	"  stats ARCHIVE     durations of all regions, without reading the data files\n"
	"  export TRACE DIR  makes an archive of an ovni trace\n"
	"  import ARCHIVE DIR  makes an ovni trace of an archive\n"
	"  check ARCHIVE     whether it obeys the rules that other readers rely on\n"
	"\n"
	"ARCHIVE is the main file of a trace or the directory that it is in.\n"
	"\n"
	"Examples:\n"
	"  ovni-pallas print trace/main.pallas | less\n"
	"  ovni-pallas print --threads --memory 16M trace\n"
	"  ovni-pallas info --grammar trace\n"
	"  ovni-pallas export --calls ovni archive && ovni-pallas stats --loops archive\n"
	"  ovni-pallas export ovni archive && ovni-pallas check archive\n";

static const struct argp_option options[] = {
	{"threads", 'T', NULL, 0, "print: one thread after the other", 0},
	{"tsv", KEY_TSV, NULL, 0, "print, stats: tab-separated, in nanoseconds", 0},
	{"attributes", KEY_ATTRIBUTES, NULL, 0, "print: the attribute lists of the events", 0},
	{"grammar", KEY_GRAMMAR, NULL, 0, "info: events, sequences and loops of every thread", 0},
	{"definitions", KEY_DEFINITIONS, NULL, 0, "info: all names and the metadata", 0},
	{"loops", KEY_LOOPS, NULL, 0, "stats: what repeats, how often, how regularly", 0},
	{"sequences", KEY_SEQUENCES, NULL, 0, "stats: every sequence of the grammar", 0},
	{"level", 'l', "LEVEL", 0, "export: of zstd, 1 (default) to 19, or none", 0},
	{"blocks", KEY_BLOCKS, NULL, 0, "export: every call a sequence, however large that gets",
	 0},
	{"calls", KEY_CALLS, NULL, 0, "export: only what the program does, not the scheduler", 0},
	{"masking", KEY_MASKING, NULL, 0, "export: cut numbers to the bytes that they need", 0},
	{"memory", 'M', "SIZE", 0, "hold at most SIZE bytes in memory (64M)", 0},
	{0},
};

struct arguments {
	struct pallas_options o;
	const struct command *command;
	char given[32]; /* keys of the options that were given, one letter each */
	unsigned noperands;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	char letter = '\0';

	switch (key) {
	case 'T':
		a->o.threads = true;
		letter = 'T';
		break;
	case KEY_TSV:
		a->o.tsv = true;
		letter = 't';
		break;
	case KEY_ATTRIBUTES:
		a->o.attributes = true;
		letter = 'a';
		break;
	case KEY_GRAMMAR:
		a->o.grammar = true;
		letter = 'g';
		break;
	case KEY_DEFINITIONS:
		a->o.definitions = true;
		letter = 'd';
		break;
	case KEY_BLOCKS:
		a->o.blocks = true;
		letter = 'b';
		break;
	case KEY_CALLS:
		a->o.calls = true;
		letter = 'c';
		break;
	case KEY_LOOPS:
		a->o.loops = true;
		letter = 'L';
		break;
	case KEY_SEQUENCES:
		a->o.sequences = true;
		letter = 's';
		break;
	case 'l':
		a->o.level = strcmp(arg, "none") == 0
				     ? -1
				     : (int)usage_int(state, "--level", arg, 1, 19);
		letter = 'l';
		break;
	case KEY_MASKING:
		a->o.masking = true;
		letter = 'm';
		break;
	case 'M':
		a->o.memory = (size_t)usage_bytes(state, "--memory", arg);
		if (!a->o.memory)
			argp_error(state, "--memory must leave room for something");
		letter = 'M';
		break;
	case ARGP_KEY_ARG:
		if (!a->command) {
			for (size_t i = 0; i < NCOMMANDS; i++) {
				if (strcmp(arg, commands[i].name) == 0)
					a->command = &commands[i];
			}
			if (!a->command)
				argp_error(state, "there is no command '%s'", arg);
		} else if (a->noperands == 0) {
			a->o.from = arg;
			a->noperands++;
		} else if (a->noperands == 1) {
			a->o.to = arg;
			a->noperands++;
		} else {
			argp_error(state, "too many arguments");
		}
		return 0;
	case ARGP_KEY_END:
		if (!a->command) {
			argp_error(state, "a command is missing");
			return EINVAL;
		}
		if (a->noperands != a->command->operands)
			argp_error(state, "%s takes %u %s", a->command->name, a->command->operands,
				   plural(a->command->operands, "argument", "arguments"));
		for (const char *g = a->given; *g; g++) {
			if (!strchr(a->command->options, *g))
				argp_error(state, "an option does not belong to %s",
					   a->command->name);
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (strlen(a->given) + 1 < sizeof(a->given))
		a->given[strlen(a->given)] = letter;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "COMMAND ARCHIVE\nCOMMAND FROM TO", doc, NULL, NULL, NULL};
	struct arguments a = {.o = {.level = 1}};

	usage_parse(&argp, "ovni-pallas", argc, argv, &a);
	return a.command->run(&a.o);
}
