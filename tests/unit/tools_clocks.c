/* SPDX-License-Identifier: MIT */
/* clocks: offsets from clock readings, and the table of them. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tools/sync/clock_samples.h"

static void an_exchange_bounds_the_offset(void **state)
{
	/* the other clock is 1000 ahead; whenever it is read, the bound holds */
	(void)state;
	for (int64_t read = 0; read <= 7; read++) {
		struct clock_sample s = clock_exchange(100, 100 + read + 1000, 107);

		assert_true(llabs(s.delta - -1000) <= s.bound);
		assert_int_equal(s.bound, 4);
	}
}

static void the_quicker_exchange_is_the_better(void **state)
{
	struct clock_sample slow = {5, 90}, quick = {7, 10}, first = {9, 10};

	(void)state;
	assert_int_equal(clock_better(slow, quick).delta, 7);
	assert_int_equal(clock_better(quick, slow).delta, 7);
	assert_int_equal(clock_better(first, quick).delta, 9);
}

static void the_median_is_element_n_2_of_the_sorted(void **state)
{
	struct clock_sample four[] = {{30, 1}, {10, 2}, {40, 3}, {20, 4}};
	struct clock_offset offset = clock_sum_up(four, 4);

	(void)state;
	assert_int_equal(offset.median, 30);
	assert_int_equal(offset.bound, 1);
	assert_float_equal(offset.mean, 25, 1e-9);
	assert_float_equal(offset.deviation, 12.909944487, 1e-6); /* divisor 3 */
}

static void the_quickest_quarter_has_the_smallest_bounds(void **state)
{
	struct clock_sample samples[] = {{1, 900}, {2, 800}, {3, 7},   {4, 700}, {5, 600},
					 {6, 500}, {7, 5},   {8, 400}, {9, 300}};
	struct clock_offset offset;

	(void)state;
	assert_int_equal(clock_quickest(samples, 9), 2);
	offset = clock_sum_up(samples, 2);
	assert_int_equal(offset.median, 7);
	assert_int_equal(offset.bound, 5);
	assert_int_equal(clock_quickest(samples, 3), 1);
}

static void a_slow_exchange_of_a_busy_node_does_not_count(void **state)
{
	struct clock_sample samples[12] = {{1, 21}, {2, 10}, {3, 20}};

	(void)state;
	for (int i = 3; i < 12; i++)
		samples[i].bound = 1000;
	assert_int_equal(clock_quickest(samples, 12), 3);
	samples[2].bound = 22; /* of delta 1 */
	assert_int_equal(clock_quickest(samples, 12), 2);
}

static void one_sample_has_no_deviation(void **state)
{
	struct clock_sample one[] = {{-7, 1}};
	struct clock_offset offset = clock_sum_up(one, 1);

	(void)state;
	assert_int_equal(offset.median, -7);
	assert_true(offset.mean == -7 && offset.deviation == 0);
}

static void large_offsets_keep_their_deviation(void **state)
{
	struct clock_sample three[] = {
		{INT64_C(1) << 60, 1}, {(INT64_C(1) << 60) + 2, 1}, {(INT64_C(1) << 60) + 4, 1}};
	struct clock_offset offset = clock_sum_up(three, 3);

	(void)state;
	assert_true(offset.median == (INT64_C(1) << 60) + 2);
	assert_float_equal(offset.deviation, 2, 1e-9);
}

static void rows_are_as_the_emulator_reads_them(void **state)
{
	struct clock_offset offset = {
		.median = 1165382584, .mean = 1165382582.9, .deviation = 135.286341};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	clock_print_titles(out);
	clock_print_row(out, 1, "node2.cluster.org", &offset);
	fclose(out);
	assert_string_equal(text, "rank       hostname             offset_median        "
				  "offset_mean          offset_std          \n"
				  "1          node2                1165382584           "
				  "1165382582.900000    135.286341          \n");
	free(text);
}

static void a_row_of_two_measurements_is_read_again(void **state)
{
	struct clock_offset first = {.median = -1000000,
				     .mean = -1e6,
				     .deviation = 12.5,
				     .bound = 900,
				     .clock = 1000001000000};
	struct clock_offset last = {.median = -1000123, .bound = 700, .clock = 1000601000000};
	struct clock_row row, again;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	clock_row_add(&row, true, 1, "n2.cluster.org", &first);
	assert_int_equal(row.end, row.first.clock);
	clock_row_add(&row, false, 7, "n2.cluster.org", &last);
	clock_print_long_row(out, &row);
	fclose(out);
	assert_true(clock_read_long_row(text, &again));
	assert_int_equal(again.rank, 1);
	assert_string_equal(again.host, "n2");
	assert_int_equal(again.first.median, -1000000);
	assert_int_equal(again.first.clock, 1000001000000);
	assert_int_equal(again.end, 1000601000000);
	assert_int_equal(again.offset_end, -1000123);
	assert_int_equal(again.bound, 900); /* the larger one */
	assert_false(clock_read_long_row("1 n2 -1000000 -1000000.0 12.5\n", &again));
	free(text);
}

static void many_hosts_share_a_second(void **state)
{
	const int64_t begin = 5000;
	struct clock_part part = clock_part(100, begin, 0, CLOCK_MANY, false);

	(void)state;
	assert_int_equal(part.end, begin + CLOCK_ALL_NS / CLOCK_MANY);
	assert_int_equal(part.least, INT_MAX); /* all samples */
	assert_int_equal(clock_part(100, begin, 0, 20, false).least, 80);
	part = clock_part(100, begin, 999, 1000, false);
	assert_int_equal(part.end, begin + CLOCK_ALL_NS);
	assert_int_equal(part.least, CLOCK_SAMPLES_LEAST);
	assert_int_equal(clock_part(100, begin, 1, 4, true).least, 1);
	assert_int_equal(clock_part(100, begin, 1, 4, true).end, begin + CLOCK_ALL_NS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exchange_bounds_the_offset),
		cmocka_unit_test(the_quicker_exchange_is_the_better),
		cmocka_unit_test(the_median_is_element_n_2_of_the_sorted),
		cmocka_unit_test(the_quickest_quarter_has_the_smallest_bounds),
		cmocka_unit_test(a_slow_exchange_of_a_busy_node_does_not_count),
		cmocka_unit_test(many_hosts_share_a_second),
		cmocka_unit_test(one_sample_has_no_deviation),
		cmocka_unit_test(large_offsets_keep_their_deviation),
		cmocka_unit_test(a_row_of_two_measurements_is_read_again),
		cmocka_unit_test(rows_are_as_the_emulator_reads_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
