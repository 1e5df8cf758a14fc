/* SPDX-License-Identifier: MIT */
/* digits and lines: the text of integers, times and rows, compared with printf(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "emu/paraver/prv.h"

static void check_integer(int64_t value)
{
	char want[32], got[32];

	snprintf(want, sizeof(want), "%lld", (long long)value);
	*digits_put(got, value) = '\0';
	assert_string_equal(got, want);
	snprintf(want, sizeof(want), "%llu", (unsigned long long)value);
	*digits_put_u64(got, (uint64_t)value) = '\0';
	assert_string_equal(got, want);
}

static void integers_are_those_of_printf(void **state)
{
	uint64_t step = 1;

	(void)state;
	for (int64_t i = -1100; i < 120000; i++)
		check_integer(i);
	for (int bits = 0; bits < 64; bits++, step *= 2)
		for (int64_t near = -3; near <= 3; near++) {
			check_integer((int64_t)(step + (uint64_t)near));
			check_integer((int64_t) - (step + (uint64_t)near));
		}
	for (int64_t power = 1; power < INT64_MAX / 10; power *= 10)
		for (int64_t near = -3; near <= 3; near++)
			check_integer(power + near);
	check_integer(INT64_MIN);
	check_integer(INT64_MAX);
}

static void check_line(struct prv *prv, struct prv_time *time, int64_t now)
{
	struct prv_row row;
	struct prv_type type;
	char want[128];

	prv_row_init(&row, UINT32_MAX);
	prv_type_init(&type, 4000000000u);
	time->now = now;
	prv->at = prv->begin;
	prv_line(prv, &row, time, &type, -5);
	*prv->at = '\0';
	snprintf(want, sizeof(want), "2:0:1:1:4294967295:%lld:4000000000:-5\n", (long long)now);
	assert_string_equal(prv->begin, want);
	assert_true(prv->at + 8 - prv->begin <= PRV_LINE_MAX);
}

static void times_of_lines_are_right_across_every_carry(void **state)
{
	static const int64_t starts[] = {0,	      99999990,		999999990,
					 12399999990, 9999999999999990, INT64_MAX - 30};
	char buffer[256];
	struct prv prv = {.begin = buffer};

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct prv_time time;

		prv_time_init(&time);
		for (int64_t t = 0; t < 30; t++)
			check_line(&prv, &time, starts[i] + t);
	}
	/* one clock for a whole trace, whose steps are of any size */
	struct prv_time time;

	prv_time_init(&time);
	for (int64_t t = 0, step = 1; t < INT64_MAX / 2; t += step, step += step / 3 + 1)
		check_line(&prv, &time, t);
}

static void arrows_name_both_rows_and_times(void **state)
{
	char buffer[512];
	struct prv prv = {.at = buffer};
	struct prv_row from, to;

	(void)state;
	prv_row_init(&from, 7);
	prv_row_init(&to, 12);
	prv_arrow(&prv, &from, 100, &to, 350, 250, 2);
	*prv.at = '\0';
	assert_string_equal(buffer, "3:0:1:1:7:100:100:0:1:1:12:350:350:250:2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_those_of_printf),
		cmocka_unit_test(times_of_lines_are_right_across_every_carry),
		cmocka_unit_test(arrows_name_both_rows_and_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
