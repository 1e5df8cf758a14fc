/* SPDX-License-Identifier: MIT */
/* cli: command lines are read by the table of options, and mistakes are explained in one message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "trace/base/cli.h"
#include "trace/base/log.h"

enum by { BY_NAME, BY_TIME };

struct settings {
	bool json, reverse;
	uint64_t n, bytes, ns;
	const char *out;
	enum by by;
};

#define TO(member) offsetof(struct settings, member)

static bool has_json(const void *settings)
{
	return ((const struct settings *)settings)->json;
}

static const char *const keys[] = {"name", "time", NULL};

static const struct cli_option options[] = {
	{.help = "Options"},
	{"json", 'j', NULL, cli_flag, TO(json), "print JSON"},
	{"reverse", 'r', NULL, cli_flag, TO(reverse), "reverse the order", .holds = has_json,
	 .rule = "needs --json"},
	{"number", 'n', "N", cli_number, TO(n), "a number", .min = 2, .max = 9},
	{"size", 's', "SIZE", cli_size, TO(bytes), "a size", .min = 64 << 10},
	{"time", 0, "TIME", cli_time, TO(ns), "a time", .max = 2000000000},
	{"output", 'o', "DIR", cli_text, TO(out), "a directory"},
	{"by", 'b', NULL, cli_choice, TO(by), "the order", .choices = keys},
	{0},
};

static const struct cli program = {
	.name = "program", .operands = "TRACE [OTHER]", .about = "A test.", .options = options};

static char message[512];

static void hear(void *to, enum log_level level, const char *text)
{
	(void)to;
	(void)level;
	strncpy(message, text, sizeof(message) - 1);
}

#define ARGUMENTS_MAX 8

/* Reads the words of `line`, which it changes. Returns the operands, or NULL with *status. */
static char **read_line(char *line, struct settings *settings, enum status *status)
{
	static char *argv[ARGUMENTS_MAX + 1];
	int argc = 0;

	memset(settings, 0, sizeof(*settings));
	memset(argv, 0, sizeof(argv));
	message[0] = '\0';
	for (char *word = strtok(line, " "); word && argc < ARGUMENTS_MAX; word = strtok(NULL, " "))
		argv[argc++] = word;
	return cli_read(&program, argc, argv, settings, status);
}

static void values_go_where_the_table_says(void **state)
{
	char line[] = "program -j -n 5 --size=64K trace --time 1.5s";
	char more[] = "program --by=time -r -j trace";
	struct settings s;
	enum status status;
	char **operands;

	(void)state;
	operands = read_line(line, &s, &status);
	assert_non_null(operands);
	assert_true(s.json && !s.reverse);
	assert_int_equal(s.n, 5);
	assert_int_equal(s.bytes, 64 << 10);
	assert_int_equal(s.ns, 1500000000);
	assert_string_equal(operands[0], "trace");
	assert_null(operands[1]);
	operands = read_line(more, &s, &status);
	assert_non_null(operands);
	assert_true(s.json && s.reverse);
	assert_int_equal(s.by, BY_TIME);
}

static void mistakes_are_wrong_usage(void **state)
{
	static const struct {
		const char *line, *message;
	} wrong[] = {
		{"program", "TRACE is missing (see program --help)"},
		{"program a b c", "unexpected argument 'c' (see program --help)"},
		{"program --xyz a", "unrecognized option '--xyz' (see program --help)"},
		{"program -x a", "unrecognized option '-x' (see program --help)"},
		{"program a -n", "-n needs an argument (see program --help)"},
		{"program --json=1 a", "-j takes no argument (see program --help)"},
		{"program -n 1 a", "-n 1: the smallest number is 2"},
		{"program -n 10 a", "-n 10: the largest number is 9"},
		{"program -n x a", "-n x: not a whole number"},
		{"program -s 4K a", "-s 4K: the smallest size is 64K"},
		{"program --time 3s a", "--time 3s: the largest time is 2s"},
		{"program -b size a", "-b size: choose name or time"},
		{"program -r a", "-r: needs --json"},
	};
	struct settings s;
	enum status status;
	char line[64];

	(void)state;
	log_divert(hear, NULL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		strcpy(line, wrong[i].line);
		assert_null(read_line(line, &s, &status));
		assert_int_equal(status, STATUS_USAGE);
		assert_string_equal(message, wrong[i].message);
	}
	log_divert(NULL, NULL);
}

static void a_command_is_found_behind_options(void **state)
{
	static const struct cli first = {.name = "program first"},
				second = {.name = "program second"};
	static const struct cli *const commands[] = {&first, &second, NULL};
	static const struct cli_program of = {.name = "program", .about = "", .commands = commands};
	char words[][8] = {"program", "-q", "second", "trace", "third"};
	char *argv[] = {words[0], words[1], words[2], words[3], NULL};
	char *unknown[] = {words[0], words[4], NULL};
	enum status status;
	int argc = 4;

	(void)state;
	assert_int_equal(cli_command(&of, &argc, argv, &status), 1);
	assert_int_equal(argc, 3);
	assert_string_equal(argv[1], "-q");
	assert_string_equal(argv[2], "trace");
	argc = 2;
	log_divert(hear, NULL);
	assert_int_equal(cli_command(&of, &argc, unknown, &status), -1);
	log_divert(NULL, NULL);
	assert_int_equal(status, STATUS_USAGE);
	assert_string_equal(message, "unknown command 'third' (see program --help)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_go_where_the_table_says),
		cmocka_unit_test(mistakes_are_wrong_usage),
		cmocka_unit_test(a_command_is_found_behind_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
