/* SPDX-License-Identifier: MIT */
/* clock_fix: tables of clock offsets, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace/ovni/clock_fix.h"

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
	{"a_drift_of_1000_ppm", HEAD "0 a 5 0 0 0 1000 6 9\n", 0, {5, 5, 0, 0}},
	{"a_drift_of_more", HEAD "0 a 5 0 0 0 999 6 9\n", -1, {0}},
	{"a_drift_out_of_range", HEAD "0 a 5 0 0 0 99999999999999999999 6 9\n", 0, {5, 5, 0, 0}},
	{"ten_columns_are_five", HEAD "0 a 5 0 0 0 999 6 9 0\n", 0, {5, 5, 0, 0}},
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
		const char *const looms[4] = {"a.0", "a.1", "b.x", "c"};
		struct clock_table table = {0};
		int64_t offsets[4] = {0};
		int err;
		FILE *file = fmemopen((char *)(uintptr_t)s->text, strlen(s->text), "r");

		print_message("  %s\n", s->name);
		assert_non_null(file);
		err = clock_table_parse(&table, file, s->name, true);
		for (int l = 0; l < 4; l++) {
			const struct clock_row *row = clock_table_find(&table, looms[l]);

			offsets[l] = row ? row->fix.offset : 0;
		}
		if (!err)
			err = clock_table_check(&table, s->name);
		assert_int_equal(err < 0 ? -1 : 0, s->want);
		for (int l = 0; s->want == 0 && l < 4; l++)
			assert_int_equal(offsets[l], s->offsets[l]);
		clock_table_fini(&table);
		fclose(file);
	}
}

/* A clock that runs 50 ppm too fast for 10 minutes, measured at both ends. */
static void a_drift_is_corrected_linearly(void **state)
{
	char text[] = HEAD "1 b 1000000 0 0 5000000 600005000000 -29000000 900\n"
			   "2 c 7 0 0 5 5 9 900\n";
	struct clock_table table = {0};
	FILE *file = fmemopen(text, strlen(text), "r");
	const struct clock_fix *fix;
	int64_t fixed, last = INT64_MIN;

	(void)state;
	assert_non_null(file);
	assert_int_equal(clock_table_parse(&table, file, "drift", true), 0);
	assert_int_equal(clock_table_bound(&table), 1800);
	fix = &clock_table_find(&table, "b.x")->fix;
	for (int64_t clock = -1000000000; clock < INT64_C(700000000000); clock += 999983) {
		/* true: +1 ms at 5 ms, and 50 ns less in each ms */
		double truth = (double)clock + 1e6 - 50e-6 * (double)(clock - 5000000);

		assert_true(clock_fix(fix, clock, &fixed));
		assert_true((double)fixed <= truth + 0.01 && (double)fixed > truth - 1.01);
		assert_true(fixed >= last);
		last = fixed;
	}
	for (int64_t clock = 600004999000; clock < INT64_C(600005001000); clock++) {
		assert_true(clock_fix(fix, clock, &fixed));
		assert_true(fixed >= last || clock == 600004999000);
		last = fixed;
	}
	assert_true(clock_fix(fix, INT64_MAX / 2, &fixed));
	assert_false(clock_fix(&(struct clock_fix){.offset = 1}, INT64_MAX, &fixed));
	assert_false(clock_fix(&(struct clock_fix){.drift = 1, .length = 1000}, INT64_MAX, &fixed));
	assert_int_equal(clock_table_find(&table, "c")->fix.length, 0); /* measured once */
	clock_table_fini(&table);
	/* the reference uses five columns */
	rewind(file);
	assert_int_equal(clock_table_parse(&table, file, "drift", false), 0);
	assert_int_equal(clock_table_bound(&table), CLOCK_BOUND_UNKNOWN);
	fix = &clock_table_find(&table, "b.x")->fix;
	assert_int_equal(fix->length, 0);
	assert_int_equal(fix->offset, 1000000);
	clock_table_fini(&table);
	fclose(file);
}

/* The warnings of a table of three hosts, in `out`. */
static void warnings_of(const char *rows, bool drift, char *out, size_t size)
{
	char text[400];
	struct clock_table table = {0};
	int kept = dup(STDERR_FILENO), pipes[2];
	FILE *file;
	ssize_t n;

	snprintf(text, sizeof(text), HEAD "%s", rows);
	file = fmemopen(text, strlen(text), "r");
	assert_non_null(file);
	assert_int_equal(pipe(pipes), 0);
	fflush(stderr);
	dup2(pipes[1], STDERR_FILENO);
	close(pipes[1]);
	assert_int_equal(clock_table_parse(&table, file, "table", drift), 0);
	clock_table_fini(&table);
	fflush(stderr);
	dup2(kept, STDERR_FILENO); /* the last end of the pipe for writing */
	close(kept);
	n = read(pipes[0], out, size - 1);
	assert_true(n >= 0);
	out[n] = '\0';
	close(pipes[0]);
	fclose(file);
}

static void a_clock_that_was_measured_once_is_named(void **state)
{
	const char *one = "0 a 0 0 0 5 5 0 0\n1 b 7 0 0 5 5 7 9\n2 c 7 0 0 5 9000 7 9\n";
	char said[512];

	(void)state;
	warnings_of(one, true, said, sizeof(said));
	assert_non_null(strstr(said, "drift not corrected: b, whose clock was measured once"));
	warnings_of("0 a 0 0 0 5 5 0 0\n1 b 7 0 0 5 5 7 9\n2 c 0 0 0 9 5 7 9\n", true, said,
		    sizeof(said));
	assert_non_null(strstr(said, "drift not corrected: b and 1 more, whose clocks were"));
	/* five columns are those of the reference, which has no drift */
	warnings_of("0 a 0 0 0\n1 b 7 0 0\n", true, said, sizeof(said));
	assert_string_equal(said, "");
	warnings_of("0 a 0 0 0 5 900 0 0\n1 b 7 0 0 5 900 7 9\n", true, said, sizeof(said));
	assert_string_equal(said, "");
	warnings_of(one, false, said, sizeof(said));
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_was_measured_once_is_named),
		cmocka_unit_test(a_drift_is_corrected_linearly),
		cmocka_unit_test(tables_are_read_or_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
