/* SPDX-License-Identifier: MIT */
/*
 * pallas: Pallas archives: looks into them, and converts from and to ovni traces.
 *
 * Here are the command line and the table of commands; each command is a file
 * of tools/common/ (pallas_print.c, pallas_info.c, ...).
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/pallas_tool.h"
#include "trace/log.h"
#include "trace/pallas/archive.h"
#include "trace/version.h"

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
};

static const struct command commands[] = {
	{"print", 1, pallas_print, "TMta"},
	{"info", 1, pallas_info, "Mgd"},
	{"stats", 1, pallas_stats, "Mt"},
	{"check", 1, pallas_validate, "M"},
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char doc[] =
	"Look into a Pallas archive, or convert it from and to an ovni trace.\v"
	"  print ARCHIVE     its events as text, in the order of time\n"
	"  info ARCHIVE      its configuration, processes and threads\n"
	"  stats ARCHIVE     durations of all sequences, without reading the data files\n"
	"  check ARCHIVE     whether it obeys the rules that other readers rely on\n"
	"\n"
	"ARCHIVE is the main file of a trace or the directory that it is in.\n"
	"\n"
	"Examples:\n"
	"  ovni-pallas print trace/main.pallas | less\n"
	"  ovni-pallas print --threads --memory 16M trace\n"
	"  ovni-pallas info --grammar trace\n"
	"  ovni-pallas stats --tsv trace >stats.tsv\n";

static const struct argp_option options[] = {
	{"threads", 'T', NULL, 0, "print: one thread after the other", 0},
	{"tsv", KEY_TSV, NULL, 0, "print, stats: tab-separated, in nanoseconds", 0},
	{"attributes", KEY_ATTRIBUTES, NULL, 0, "print: the attribute lists of the events", 0},
	{"grammar", KEY_GRAMMAR, NULL, 0, "info: events, sequences and loops of every thread", 0},
	{"definitions", KEY_DEFINITIONS, NULL, 0, "info: all names and the metadata", 0},
	{"memory", 'M', "SIZE", 0, "hold at most SIZE bytes in memory (64M)", 0},
	{0},
};

struct arguments {
	struct pallas_options o;
	const struct command *command;
	char given[32]; /* keys of the options that were given, one letter each */
	unsigned noperands;
};

/* "64M" -> bytes; 0 if it is no size. */
static size_t parse_size(const char *text)
{
	static const char units[] = "KMGT";
	char *end;
	unsigned long long n;
	const char *unit;
	unsigned shift = 0;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *text == '-')
		return 0;
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (*end || n > SIZE_MAX >> shift)
		return 0;
	return (size_t)n << shift;
}

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
	case 'M':
		a->o.memory = parse_size(arg);
		if (!a->o.memory)
			argp_error(state, "'%s' is not a size such as 64M", arg);
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
		if (!a->command)
			argp_error(state, "a command is missing");
		if (a->noperands != a->command->operands)
			argp_error(state, "%s takes %u argument%s", a->command->name,
				   a->command->operands, a->command->operands == 1 ? "" : "s");
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

static void show_version(FILE *out, struct argp_state *state)
{
	(void)state;
	fprintf(out, "ovni-pallas %s (%s), Pallas ABI version %d\n", version_string, version_commit,
		PALLAS_ABI);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "COMMAND ARCHIVE\nCOMMAND FROM TO", doc, NULL, NULL, NULL};
	struct arguments a = {0};

	argp_program_version_hook = show_version;
	argp_err_exit_status = 2;
	log_setup("ovni-pallas", LOG_INFO);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	return a.command->run(&a.o);
}
