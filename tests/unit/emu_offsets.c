/* SPDX-License-Identifier: MIT */
/* offsets: tables of clock offsets, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emu/system/system.h"

#define HEAD "rank hostname offset_median offset_mean offset_std\n"

static const struct sample {
	const char *name, *text;
	int want;	    /* 0 or -1 */
	int64_t offsets[4]; /* of a.0 a.1 b.x c */
} samples[] = {
	{"one_row_for_all_looms_of_a_host", HEAD "0 a 5 0 0\n", 0, {5, 5, 0, 0}},
	{"rows_in_any_order",
	 HEAD "1 c -7 0 0\n0 b 1165382584 1.5 2e3\n",
	 0,
	 {0, 0, 1165382584, -7}},
	{"the_median_is_truncated", HEAD "0 a -5.9 0 0\n1 b 5.9 0 0\n", 0, {-5, -5, 5, 0}},
	{"blanks_of_all_kinds_and_extra_fields",
	 HEAD " 0\ta  3 \t0 0 more 1 2\r\n",
	 0,
	 {3, 3, 0, 0}},
	{"no_newline_at_the_end", HEAD "0 a 3 0 0", 0, {3, 3, 0, 0}},
	{"an_empty_line_is_skipped", HEAD "\n0 a 3 0 0\n\n1 b 4 0 0\n", 0, {3, 3, 4, 0}},
	{"a_line_of_blanks_ends_the_table", HEAD "0 a 3 0 0\n  \n1 zzz 4 0 0\n", 0, {3, 3, 0, 0}},
	{"the_first_line_is_not_read", "0 zzz 3 0 0\n0 a 3 0 0\n", 0, {3, 3, 0, 0}},
	{"empty", "", -1, {0}},
	{"no_rows", HEAD, -1, {0}},
	{"too_few_fields", HEAD "0 a 3 0\n", -1, {0}},
	{"not_a_number", HEAD "0 a x 0 0\n", -1, {0}},
	{"no_rank", HEAD "a 3 0 0 0\n", -1, {0}},
	{"infinite", HEAD "0 a inf 0 0\n", -1, {0}},
	{"out_of_range", HEAD "0 a 1e30 0 0\n", -1, {0}},
	{"a_host_twice", HEAD "0 a 1 0 0\n1 a 1 0 0\n", -1, {0}},
	{"a_host_without_looms", HEAD "0 a 1 0 0\n1 d 1 0 0\n", -1, {0}},
	{"a_host_by_half_of_its_name", HEAD "0 a.0 1 0 0\n", -1, {0}},
};

static void tables_are_read_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		struct loom looms[4] = {
			{.name = (char *)(uintptr_t) "a.0"},
			{.name = (char *)(uintptr_t) "a.1"},
			{.name = (char *)(uintptr_t) "b.x"},
			{.name = (char *)(uintptr_t) "c"},
		};
		struct system sys = {.looms = looms, .nlooms = 4};
		FILE *file = fmemopen((char *)(uintptr_t)s->text, strlen(s->text), "r");

		print_message("  %s\n", s->name);
		assert_non_null(file);
		assert_int_equal(offsets_parse(&sys, file, s->name) < 0 ? -1 : 0, s->want);
		for (int l = 0; s->want == 0 && l < 4; l++)
			assert_int_equal(looms[l].offset, s->offsets[l]);
		fclose(file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_read_or_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
