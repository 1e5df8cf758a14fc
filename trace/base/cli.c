/* SPDX-License-Identifier: MIT */
/* cli: see cli.h. */
#include "trace/base/cli.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/build_info.h"
#include "trace/base/log.h"
#include "trace/base/units.h"

#define ROWS_MAX    96	/* of a table, with the options of every program */
#define KEY	    256 /* of the first row in getopt_long(); below are letters */
#define COLUMNS	    79
#define HELP_COLUMN 29 /* where the text of an option begins */

enum { KEY_USAGE = KEY + ROWS_MAX };

/* Rows of every program: --help, --version. */
static const struct cli_option common[] = {
	{.name = "help", .letter = 'h', .help = "print this text"},
	{.name = "version", .letter = 'V', .help = "print the version"},
	{0},
};

static bool is_end(const struct cli_option *row)
{
	return !row->name && !row->help;
}

static bool takes_argument(const struct cli_option *row)
{
	return row->argument || row->choices;
}

/* ---- messages ---- */

/* "-d", or "--duration" for an option without a letter. */
static const char *shown_name(const struct cli_option *option, char *name, size_t size)
{
	if (option->letter)
		snprintf(name, size, "-%c", option->letter);
	else
		snprintf(name, size, "--%s", option->name);
	return name;
}

int cli_refuse(const struct cli_option *option, const char *text, const char *format, ...)
{
	char why[512], name[64];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	shown_name(option, name, sizeof(name));
	if (text)
		log_error("%s %s: %s", name, *text ? text : "''", why);
	else
		log_error("%s: %s", name, why);
	return -EINVAL;
}

/* ---- help ---- */

/* Prints words from column `at` on; further lines begin in column `indent`. Newlines in the text
 * are kept, and so are the blanks after them. */
static void print_wrapped(const char *text, int at, int indent)
{
	while (*text) {
		int blanks = (int)strspn(text, " "), word = (int)strcspn(text + blanks, " \n");

		if (at + blanks + word > COLUMNS && at > indent) {
			printf("\n%*s", indent, "");
			at = indent;
			blanks = 0;
			text += strspn(text, " ");
		}
		printf("%.*s", blanks + word, text);
		at += blanks + word;
		text += blanks + word;
		if (*text == '\n') {
			printf("\n%*s", *++text == '\n' ? 0 : indent, "");
			at = indent;
		}
	}
	putchar('\n');
}

static void print_row(const struct cli_option *row)
{
	char left[256] = "", *at = left, *end = left + sizeof(left);

	if (!row->name) {
		printf("\n%s:\n", row->help);
		return;
	}
	if (row->letter)
		at += snprintf(at, sizeof(left), "  -%c, --%s", row->letter, row->name);
	else
		at += snprintf(at, sizeof(left), "      --%s", row->name);
	if (row->argument)
		at += snprintf(at, (size_t)(end - at), "=%s", row->argument);
	for (size_t i = 0; !row->argument && row->choices && row->choices[i]; i++)
		at += snprintf(at, (size_t)(end - at), "%c%s", i ? '|' : '=', row->choices[i]);
	if (at - left > HELP_COLUMN - 2)
		printf("%s\n%*s", left, HELP_COLUMN, "");
	else
		printf("%-*s", HELP_COLUMN, left);
	print_wrapped(row->help, HELP_COLUMN, HELP_COLUMN);
}

static void print_rows(const struct cli_option *rows)
{
	for (const struct cli_option *row = rows; !is_end(row); row++)
		if (row->help)
			print_row(row);
}

static void print_synopsis(const struct cli *cli)
{
	if (cli->synopsis)
		printf("Usage: %s\n", cli->synopsis);
	else
		printf("Usage: %s [OPTION]...%s%s\n", cli->name, cli->operands ? " " : "",
		       cli->operands ? cli->operands : "");
}

static void print_help(const struct cli *cli)
{
	print_synopsis(cli);
	putchar('\n');
	print_wrapped(cli->about, 0, 0);
	if (cli->options[0].name || is_end(cli->options))
		putchar('\n');
	print_rows(cli->options);
	print_rows(common);
	if (cli->details)
		cli->details();
	if (cli->notes) {
		putchar('\n');
		print_wrapped(cli->notes, 0, 0);
	}
}

/* The status after printing on standard output. */
static enum status printed(void)
{
	return flush_stdout() ? STATUS_FAILED : STATUS_COMPLETE;
}

/* Of the program, not of its command. */
static enum status print_version(const char *name)
{
	printf("%.*s %s (%s)\n", (int)strcspn(name, " "), name, version_string, version_commit);
	return printed();
}

/* ---- reading ---- */

/* The reading of one command line. */
struct reading {
	const struct cli *cli;
	const struct cli_option *rows[ROWS_MAX]; /* without headings */
	struct option longs[ROWS_MAX + 2];
	char letters[2 * ROWS_MAX + 3];
	bool given[ROWS_MAX];
	int nrows;
};

static void add_rows(struct reading *r, const struct cli_option *rows)
{
	size_t used = strlen(r->letters);

	for (const struct cli_option *row = rows; !is_end(row) && r->nrows < ROWS_MAX; row++) {
		if (!row->name)
			continue;
		r->longs[r->nrows] = (struct option){
			.name = row->name,
			.has_arg = takes_argument(row) ? required_argument : no_argument,
			.val = KEY + r->nrows,
		};
		r->rows[r->nrows++] = row;
		if (row->letter) {
			r->letters[used++] = row->letter;
			if (takes_argument(row))
				r->letters[used++] = ':';
		}
	}
}

/* The number of the row with the key of getopt_long(); -1: none. */
static int find_row(const struct reading *r, int key)
{
	if (key >= KEY && key < KEY + r->nrows)
		return key - KEY;
	for (int i = 0; key > 0 && i < r->nrows; i++)
		if (r->rows[i]->letter == key)
			return i;
	return -1;
}

/* Explains why getopt_long() has returned ':' or '?'. `word` is the one that it has read. */
static void explain(const struct reading *r, int key, const char *word)
{
	int i = find_row(r, optopt);
	char name[64];

	if (i >= 0 && key == ':')
		log_error("%s needs an argument (see %s --help)",
			  shown_name(r->rows[i], name, sizeof(name)), r->cli->name);
	else if (i >= 0)
		log_error("%s takes no argument (see %s --help)",
			  shown_name(r->rows[i], name, sizeof(name)), r->cli->name);
	else if (optopt)
		log_error("unrecognized option '-%c' (see %s --help)", optopt, r->cli->name);
	else
		log_error("unrecognized option '%s' (see %s --help)", word, r->cli->name);
}

/* Reads the options; 0 or -errno after one message, 1 if the program must end with *status. */
static int read_options(struct reading *r, int argc, char **argv, void *settings,
			enum status *status)
{
	int key, i, err;

	optind = 0; /* the C library starts anew */
	opterr = 0;
	while ((key = getopt_long(argc, argv, r->letters, r->longs, NULL)) != -1) {
		if (key == '?' && optopt == '?') { /* -? */
			print_help(r->cli);
			*status = printed();
			return 1;
		}
		if (key == KEY_USAGE) {
			print_synopsis(r->cli);
			*status = printed();
			return 1;
		}
		i = find_row(r, key);
		if (i < 0) {
			explain(r, key, argv[optind - 1]);
			return -EINVAL;
		}
		if (r->rows[i] == &common[0]) {
			print_help(r->cli);
			*status = printed();
			return 1;
		}
		if (r->rows[i] == &common[1]) {
			if (r->cli->version)
				r->cli->version();
			*status = r->cli->version ? printed() : print_version(r->cli->name);
			return 1;
		}
		r->given[i] = true;
		err = r->rows[i]->parse(r->rows[i], optarg, (char *)settings + r->rows[i]->offset);
		if (err)
			return err;
	}
	return 0;
}

static int check_operands(const struct cli *cli, char **operands)
{
	const char *word = cli->operands ? cli->operands : "";
	size_t n = 0;

	for (; *word; word += strcspn(word, " "), word += strspn(word, " ")) {
		if (!operands[n] && *word != '[') {
			log_error("%.*s is missing (see %s --help)", (int)strcspn(word, " "), word,
				  cli->name);
			return -EINVAL;
		}
		if (operands[n])
			n++;
	}
	if (operands[n] && !cli->command) {
		log_error("unexpected argument '%s' (see %s --help)", operands[n], cli->name);
		return -EINVAL;
	}
	return 0;
}

static int check_rules(const struct reading *r, const void *settings)
{
	for (int i = 0; i < r->nrows; i++)
		if (r->given[i] && r->rows[i]->holds && !r->rows[i]->holds(settings))
			return cli_refuse(r->rows[i], NULL, "%s", r->rows[i]->rule);
	return 0;
}

char **cli_read(const struct cli *cli, int argc, char **argv, void *settings, enum status *status)
{
	struct reading r = {.cli = cli};
	int err;

	snprintf(r.letters, sizeof(r.letters), "%s:", cli->command ? "+" : "");
	add_rows(&r, cli->options);
	add_rows(&r, common);
	r.longs[r.nrows] = (struct option){.name = "usage", .val = KEY_USAGE};
	err = read_options(&r, argc, argv, settings, status);
	if (err > 0)
		return NULL;
	if (err)
		goto failed;
	err = check_operands(cli, argv + optind);
	if (err)
		goto failed;
	if (cli->finish)
		err = cli->finish(settings, argv + optind);
	if (err)
		goto failed;
	err = check_rules(&r, settings);
	if (err)
		goto failed;
	return argv + optind;
failed:
	*status = err == -ENOMEM || log_lacks_memory() ? STATUS_FAILED : STATUS_USAGE;
	return NULL;
}

char **cli_parse(const struct cli *cli, int argc, char **argv, void *settings)
{
	enum status status;
	char **operands;

	if (!strchr(cli->name, ' ')) /* a command has the name of its program in messages */
		log_setup(cli->name, LOG_INFO);
	signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of write() */
	operands = cli_read(cli, argc, argv, settings, &status);
	if (!operands)
		exit((int)status);
	return operands;
}

/* ---- commands ---- */

/* The word that the user types: "check" of "ovni-loom check". */
static const char *command_name(const struct cli *command)
{
	return strrchr(command->name, ' ') + 1;
}

static void print_commands(const struct cli_program *program)
{
	char left[128];

	printf("Usage: %s COMMAND [OPTION]... [ARGUMENT]...\n\n", program->name);
	print_wrapped(program->about, 0, 0);
	printf("\nCommands:\n");
	for (const struct cli *const *command = program->commands; *command; command++) {
		snprintf(left, sizeof(left), "  %s %s", command_name(*command),
			 (*command)->operands ? (*command)->operands : "");
		if (strlen(left) > HELP_COLUMN - 2)
			printf("%s\n%*s", left, HELP_COLUMN, "");
		else
			printf("%-*s", HELP_COLUMN, left);
		print_wrapped((*command)->about, HELP_COLUMN, HELP_COLUMN);
	}
	printf("\nOptions of a command: %s COMMAND --help\n", program->name);
	print_rows(common);
	if (program->notes) {
		putchar('\n');
		print_wrapped(program->notes, 0, 0);
	}
}

static int find_command(const struct cli_program *program, const char *word)
{
	for (int i = 0; program->commands[i]; i++)
		if (!strcmp(command_name(program->commands[i]), word))
			return i;
	return -1;
}

int cli_command(const struct cli_program *program, int *argc, char **argv, enum status *status)
{
	int at = 1, command = -1;

	*status = STATUS_USAGE;
	if (*argc < 2) {
		log_error("COMMAND is missing (see %s --help)", program->name);
		return -1;
	}
	/* Options before the command were accepted when all commands shared one table. */
	do {
		command = find_command(program, argv[at]);
	} while (command < 0 && argv[1][0] == '-' && ++at < *argc);
	if (command >= 0) {
		memmove(argv + at, argv + at + 1, (size_t)(*argc - at) * sizeof(*argv));
		--*argc;
		return command;
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") ||
	    !strcmp(argv[1], "--usage")) {
		print_commands(program);
		*status = printed();
	} else if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")) {
		*status = print_version(program->name);
	} else if (argv[1][0] == '-') {
		log_error("COMMAND is missing (see %s --help)", program->name);
	} else {
		log_error("unknown command '%s' (see %s --help)", argv[1], program->name);
	}
	return -1;
}

/* ---- parsers ---- */

int cli_flag(const struct cli_option *option, const char *text, void *to)
{
	(void)option;
	(void)text;
	*(bool *)to = true;
	return 0;
}

int cli_clear(const struct cli_option *option, const char *text, void *to)
{
	(void)option;
	(void)text;
	*(bool *)to = false;
	return 0;
}

int cli_text(const struct cli_option *option, const char *text, void *to)
{
	if (!*text)
		return cli_refuse(option, text, "the argument is empty");
	*(const char **)to = text;
	return 0;
}

/* "64K", "10ms": a number with the largest of the units that divides it. */
static const char *with_unit(uint64_t value, const char *const *names, const uint64_t *units,
			     char *text, size_t size)
{
	while (value % *units) {
		units++;
		names++;
	}
	snprintf(text, size, "%llu%s", (unsigned long long)(value / *units), *names);
	return text;
}

static int check_range(const struct cli_option *option, const char *text, uint64_t value,
		       const char *noun, const char *const *names, const uint64_t *units)
{
	char limit[32];

	if (value < option->min)
		return cli_refuse(option, text, "the smallest %s is %s", noun,
				  with_unit(option->min, names, units, limit, sizeof(limit)));
	if (option->max && value > option->max)
		return cli_refuse(option, text, "the largest %s is %s", noun,
				  with_unit(option->max, names, units, limit, sizeof(limit)));
	return 0;
}

int cli_size(const struct cli_option *option, const char *text, void *to)
{
	static const char *const names[] = {"G", "M", "K", ""};
	static const uint64_t units[] = {1 << 30, 1 << 20, 1 << 10, 1};
	const char *wrong = units_parse_size(text, to);

	if (wrong)
		return cli_refuse(option, text, "%s", wrong);
	return check_range(option, text, *(uint64_t *)to, "size", names, units);
}

int cli_time(const struct cli_option *option, const char *text, void *to)
{
	static const char *const names[] = {"s", "ms", "us", "ns"};
	static const uint64_t units[] = {1000000000, 1000000, 1000, 1};
	const char *wrong = units_parse_time(text, to);

	if (wrong)
		return cli_refuse(option, text, "%s", wrong);
	return check_range(option, text, *(uint64_t *)to, "time", names, units);
}

int cli_number(const struct cli_option *option, const char *text, void *to)
{
	static const char *const names[] = {""};
	static const uint64_t units[] = {1};
	const char *wrong = units_parse_number(text, to);

	if (wrong)
		return cli_refuse(option, text, "%s", wrong);
	return check_range(option, text, *(uint64_t *)to, "number", names, units);
}

int cli_choice(const struct cli_option *option, const char *text, void *to)
{
	char list[256] = "";
	size_t used = 0;

	for (unsigned i = 0; option->choices[i]; i++) {
		if (!strcmp(option->choices[i], text)) {
			*(unsigned *)to = i;
			return 0;
		}
	}
	for (unsigned i = 0; option->choices[i] && used < sizeof(list); i++) {
		const char *before = i ? (option->choices[i + 1] ? ", " : " or ") : "";

		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", before,
					 option->choices[i]);
	}
	return cli_refuse(option, text, "choose %s", list);
}

/* ---- lists ---- */

bool cli_next_item(const char **at, const char **item, size_t *size)
{
	if (!*at || !**at)
		return false;
	*item = *at;
	*size = strcspn(*at, ",");
	*at += *size + ((*at)[*size] == ',');
	return true;
}

bool cli_read_range(const char *item, size_t size, uint64_t *low, uint64_t *high)
{
	char text[32], *end;

	if (size >= sizeof(text) || item[0] < '0' || item[0] > '9')
		return false;
	memcpy(text, item, size);
	text[size] = '\0';
	*low = *high = strtoull(text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		*high = strtoull(end + 1, &end, 10);
	return !*end && *low <= *high && *high < INT32_MAX;
}

bool cli_list_has(const char *list, const char *name)
{
	const char *item;
	size_t size;

	while (cli_next_item(&list, &item, &size))
		if (strlen(name) == size && !memcmp(item, name, size))
			return true;
	return false;
}

bool cli_ranks_have(const char *list, int64_t rank)
{
	const char *item;
	uint64_t low, high;
	size_t size;

	while (cli_next_item(&list, &item, &size))
		if (cli_read_range(item, size, &low, &high) && rank >= (int64_t)low &&
		    rank <= (int64_t)high)
			return true;
	return false;
}

int cli_ranks(const struct cli_option *option, const char *text, void *to)
{
	const char *list = text, *item;
	uint64_t low, high;
	bool right = *text;
	size_t size;

	while (right && cli_next_item(&list, &item, &size))
		right = cli_read_range(item, size, &low, &high);
	if (!right)
		return cli_refuse(option, text, "a list of ranks is as in 0-3,7");
	*(const char **)to = text;
	return 0;
}
