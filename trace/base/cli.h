/* SPDX-License-Identifier: MIT */
/*
 * cli: the command line of a program, or of one of its commands, as a table of options.
 *
 * A row holds everything about an option: names, argument, parser, where the value goes, help, and
 * the rule that must hold when it is given. The table is read for parsing and for --help; manual
 * pages are compared with --help by tests, and shell completion is made from it
 * (tools/completion.sh). Every program takes -h (--help) and -V (--version) as well.
 *
 *   static const struct cli_option options[] = {
 *	{"by", 'b', NULL, cli_choice, offsetof(struct options, by), "count by", .choices = names},
 *	{"json", 'j', NULL, cli_flag, offsetof(struct options, json), "print JSON"},
 *	{0}};
 */
#ifndef TRACE_BASE_CLI_H
#define TRACE_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/status.h"

struct cli_option;

/* Reads `text` (NULL for an option without argument) into the value at `to`. Returns 0, or -errno
 * after one message: see cli_refuse(). */
typedef int (*cli_parse_fn)(const struct cli_option *option, const char *text, void *to);

struct cli_option {
	const char *name;     /* "duration"; NULL: a heading, whose text is `help` */
	char letter;	      /* 'd'; 0: none */
	const char *argument; /* "TIME"; NULL: none, or one of `choices` */
	cli_parse_fn parse;
	size_t offset;			     /* of the value in the settings */
	const char *help;		     /* NULL: not shown (an old name of an option) */
	uint64_t min, max;		     /* of numbers, sizes and times; max 0: no limit */
	const char *const *choices;	     /* ended by NULL; the value is the index, an enum */
	bool (*holds)(const void *settings); /* must be true if the option is given; NULL: always */
	const char *rule;		     /* message if it is not, as in "needs --last" */
};

struct cli {
	const char *name;     /* as the user calls it: "ovni-loom check" */
	const char *operands; /* a word for each, "[TRACE]" may be left out; NULL: none */
	const char *synopsis; /* shown by --help instead of name and operands; or NULL */
	const char *about;
	const struct cli_option *options; /* ended by an empty row */
	void (*details)(void);		  /* prints more text after the options; NULL: none */
	const char *notes;		  /* at the end: explanations, examples; NULL: none */
	bool command; /* the first operand ends the options, and more operands may follow */
	/* Completes the settings, before the rules are checked. 0, or -errno after one message. */
	int (*finish)(void *settings, char **operands);
	void (*version)(void); /* prints the version; NULL: name, version and commit */
};

/* Programs with commands, as `ovni-loom check`. */
struct cli_program {
	const char *name, *about;
	/* Ended by NULL. The name of a command is "ovni-loom check": users type its last word. */
	const struct cli *const *commands;
	const char *notes;
};

/*
 * Reads a command line into `settings` and returns the operands, ended by NULL (they are in argv,
 * which is reordered). Returns NULL, and the exit status in *status, when the program must end:
 * after --help or --version, or after one message.
 */
char **cli_read(const struct cli *cli, int argc, char **argv, void *settings, enum status *status);

/* The same for a program that ends then: sets the name in messages, and exits. */
char **cli_parse(const struct cli *cli, int argc, char **argv, void *settings);

/*
 * Finds the command of a program: the first argument, or, after options, the first one that has
 * the name of a command. Takes it out of argv. Returns its index in the table; or -1, with the exit
 * status in *status, when the program must end.
 */
int cli_command(const struct cli_program *program, int *argc, char **argv, enum status *status);

/* Says why an argument is refused: "-b 4K: the smallest buffer is 64K". Returns -EINVAL. */
int cli_refuse(const struct cli_option *option, const char *text, const char *format, ...)
	__attribute__((format(printf, 3, 4), cold));

/* ---- parsers of rows, by the type of the value ---- */

int cli_flag(const struct cli_option *option, const char *text, void *to);   /* bool: true */
int cli_clear(const struct cli_option *option, const char *text, void *to);  /* bool: false */
int cli_text(const struct cli_option *option, const char *text, void *to);   /* const char * */
int cli_size(const struct cli_option *option, const char *text, void *to);   /* uint64_t: bytes */
int cli_time(const struct cli_option *option, const char *text, void *to);   /* uint64_t: ns */
int cli_number(const struct cli_option *option, const char *text, void *to); /* uint64_t */
int cli_choice(const struct cli_option *option, const char *text, void *to); /* enum: index */
int cli_ranks(const struct cli_option *option, const char *text, void *to);  /* const char * */

/* ---- lists: of names "n1,n2", of ranks "0-3,7" (cli_ranks()) ---- */

/* Takes an item of a list, of `*size` bytes, and moves *at behind it. False at the end. */
bool cli_next_item(const char **at, const char **item, size_t *size);
/* The lowest and the highest rank of an item "7" or "0-3"; false: it is neither. */
bool cli_read_range(const char *item, size_t size, uint64_t *low, uint64_t *high);
bool cli_list_has(const char *list, const char *name);
bool cli_ranks_have(const char *list, int64_t rank);

#endif
