/* SPDX-License-Identifier: MIT */
/* units, comm_glob: texts of users and their values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/config/config.h"
#include "trace/base/units.h"

static const struct {
	const char *text;
	uint64_t value; /* 0: refused */
} sizes[] = {
	{"1", 1},	 {"4096", 4096},  {"64k", 65536},    {"64K", 65536},	 {"64KiB", 65536},
	{"64KB", 65536}, {"4M", 4 << 20}, {"1.5M", 3 << 19}, {"2G", 2ull << 30}, {"1T", 1ull << 40},
	{"512B", 512},	 {"0", 0},	  {"", 0},	     {"K", 0},		 {"-1", 0},
	{"+1", 0},	 {" 1", 0},	  {"1 M", 0},	     {"1e6", 0},	 {"0x10", 0},
	{"1.2.3M", 0},	 {"1Mx", 0},	  {"99999999T", 0},  {".5M", 0},	 {"1iB", 0},
	{"nan", 0},	 {"inf", 0},	  {"0.1", 0},
};

static const struct {
	const char *text;
	uint64_t ns; /* 0: refused */
} durations[] = {
	{"10s", 10000000000},
	{"10", 10000000000},
	{"250ms", 250000000},
	{"0.25", 250000000},
	{"100us", 100000},
	{"7ns", 7},
	{"2m", 120000000000},
	{"2min", 120000000000},
	{"1h", 3600000000000},
	{"1d", 86400000000000},
	{"0", 0},
	{"0s", 0},
	{"0.1ns", 0},
	{"-1s", 0},
	{"s", 0},
	{"", 0},
	{"10x", 0},
	{"1h30m", 0},
	{"1 s", 0},
	{"1000000d", 0},
};

static void sizes_have_units(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t value = 0;
		const char *wrong = units_parse_size(sizes[i].text, &value);

		if (!wrong != (sizes[i].value != 0) || value != sizes[i].value)
			fail_msg("'%s' gives %llu (%s)", sizes[i].text, (unsigned long long)value,
				 wrong ? wrong : "fine");
	}
}

static void durations_have_units(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		uint64_t value = 0;
		const char *wrong = units_parse_time(durations[i].text, &value);

		if (!wrong != (durations[i].ns != 0) || value != durations[i].ns)
			fail_msg("'%s' gives %llu (%s)", durations[i].text,
				 (unsigned long long)value, wrong ? wrong : "fine");
	}
}

/* The kernel side's machine agrees with the C library's matching. */
static void globs_match_as_those_of_shells(void **state)
{
	static const char *const patterns[] = {
		"rank*",  "*",	    "*a",     "a*b*c",	"?",	     "a?c",  "[abc]x",
		"[a-c]*", "[!a]*",  "[^ab]c", "a\\*b",	"[]a]x",     "a**b", "*[0-9]",
		"x",	  "*ab*ab", "\\?",    "a[b-]c", "kworker/*", "[[]a",
	};
	static const char *const names[] = {
		"",	 "a",	   "b",	  "rank",    "rank12",	    "arank",  "abc",
		"aXbYc", "aXbYcZ", "axc", "bx",	     "cx",	    "dx",     "a*b",
		"aXb",	 "]x",	   "ab",  "aab",     "abab",	    "ababab", "x",
		"xx",	 "?",	   "a-c", "thread7", "kworker/0:1", "[a",     "abcab",
	};
	struct comm_glob glob;

	(void)state;
	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
		assert_null(comm_glob_compile(&glob, patterns[p]));
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			bool want = fnmatch(patterns[p], names[n], 0) == 0;

			if (comm_glob_matches(&glob, names[n]) != want)
				fail_msg("'%s' and '%s': %d expected", patterns[p], names[n], want);
		}
	}
}

/* Random patterns and names of a small alphabet, beyond the table. */
static void globs_match_as_those_of_shells_at_random(void **state)
{
	static const char signs[] = "ab*?ab*";
	uint32_t seed = 7;

	(void)state;
	for (int turn = 0; turn < 20000; turn++) {
		char pattern[16], name[16];
		struct comm_glob glob;
		unsigned length;

		length = 1 + ((seed = seed * 1103515245 + 12345) >> 16) % 8;
		for (unsigned i = 0; i < length; i++)
			pattern[i] = signs[((seed = seed * 1103515245 + 12345) >> 16) % 7];
		pattern[length] = '\0';
		length = ((seed = seed * 1103515245 + 12345) >> 16) % 10;
		for (unsigned i = 0; i < length; i++)
			name[i] = "ab"[((seed = seed * 1103515245 + 12345) >> 16) % 2];
		name[length] = '\0';
		assert_null(comm_glob_compile(&glob, pattern));
		if (comm_glob_matches(&glob, name) != (fnmatch(pattern, name, 0) == 0))
			fail_msg("'%s' and '%s'", pattern, name);
	}
}

static void globs_that_can_match_nothing_are_refused(void **state)
{
	static const char *const bad[] = {
		"", "[a", "[", "[]", "a[!]b", "0123456789abcdef", "????????????????"};
	struct comm_glob glob;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!comm_glob_compile(&glob, bad[i]))
			fail_msg("'%s' was accepted", bad[i]);
	assert_null(comm_glob_compile(&glob, "012345678901234*"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_units),
		cmocka_unit_test(durations_have_units),
		cmocka_unit_test(globs_match_as_those_of_shells),
		cmocka_unit_test(globs_match_as_those_of_shells_at_random),
		cmocka_unit_test(globs_that_can_match_nothing_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
