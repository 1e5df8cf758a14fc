/* SPDX-License-Identifier: MIT */
/* Policies and priorities as values of marks: trace/catalog/priorities.h. */
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "trace/catalog/priorities.h"

#define OTHER(nice)   priority_value(SCHED_OTHER, 120 + (nice), 120 + (nice), nice)
#define RT(policy, n) priority_value(policy, 99 - (n), 99 - (n), 0)

static void expect(int64_t value, const char *text)
{
	char got[PRIORITY_TEXT];

	assert_true(priority_text(value, got));
	assert_string_equal(got, text);
}

static void names(void **state)
{
	(void)state;
	expect(OTHER(0), "SCHED_OTHER nice 0");
	expect(OTHER(-20), "SCHED_OTHER nice -20");
	expect(OTHER(19), "SCHED_OTHER nice 19");
	expect(priority_value(SCHED_BATCH, 125, 125, 5), "SCHED_BATCH nice 5");
	expect(priority_value(SCHED_IDLE, 120, 120, 0), "SCHED_IDLE");
	expect(priority_value(SCHED_IDLE, 139, 139, 19), "SCHED_IDLE");
	expect(RT(SCHED_FIFO, 1), "SCHED_FIFO 1");
	expect(RT(SCHED_FIFO, 50), "SCHED_FIFO 50");
	expect(RT(SCHED_FIFO, 99), "SCHED_FIFO 99");
	expect(RT(SCHED_RR, 7), "SCHED_RR 7");
	expect(priority_value(6, -1, -1, 0), "SCHED_DEADLINE");
	expect(priority_value(7, 115, 115, -5), "SCHED_EXT nice -5");
}

static void inherited(void **state)
{
	(void)state;
	expect(priority_value(SCHED_OTHER, 49, 120, 0), "inherited real-time 50");
	expect(priority_value(SCHED_FIFO, 9, 89, 0), "inherited real-time 90");
	expect(priority_value(SCHED_OTHER, -1, 120, 0), "inherited deadline");
	/* among threads that are not real-time the kernel keeps the weight of the nice value */
	expect(priority_value(SCHED_OTHER, 110, 130, 10), "SCHED_OTHER nice 10");
}

static void unknown(void **state)
{
	char text[PRIORITY_TEXT];

	(void)state;
	assert_int_equal(priority_value(4, 120, 120, 0), 0);
	assert_int_equal(priority_value(9, 120, 120, 0), 0);
	assert_int_equal(priority_value(SCHED_OTHER, 120, 120, 77), 0);
	assert_false(priority_text(0, text));
	assert_false(priority_text(-1, text));
	assert_false(priority_text(PRIORITY_MAX + 1, text));
	assert_false(priority_text(INT64_MAX, text));
}

/* Each value has a label of its own, which fits, and comes back. */
static void all_values(void **state)
{
	char text[PRIORITY_MAX + 1][PRIORITY_TEXT];

	(void)state;
	for (int64_t i = 1; i <= PRIORITY_MAX; i++) {
		memset(text[i], 'x', sizeof(text[i]));
		assert_true(priority_text(i, text[i]));
		assert_non_null(memchr(text[i], 0, sizeof(text[i])));
		for (int64_t k = 1; k < i; k++)
			assert_string_not_equal(text[i], text[k]);
	}
	for (int nice = -20; nice < 19; nice++)
		assert_true(OTHER(nice) > OTHER(nice + 1));
	for (int n = 1; n < 99; n++)
		assert_true(RT(SCHED_FIFO, n) < RT(SCHED_FIFO, n + 1));
}

static void order(void **state)
{
	(void)state;
	assert_true(priority_is_above(RT(SCHED_FIFO, 2), RT(SCHED_RR, 1)));
	assert_false(priority_is_above(RT(SCHED_FIFO, 2), RT(SCHED_RR, 2)));
	assert_true(priority_is_above(RT(SCHED_RR, 1), OTHER(-20)));
	assert_false(priority_is_above(OTHER(-20), OTHER(19)));
	assert_true(priority_is_above(priority_value(6, -1, -1, 0), RT(SCHED_FIFO, 99)));
	assert_true(priority_is_above(priority_value(SCHED_OTHER, 49, 120, 0), RT(SCHED_FIFO, 49)));
	assert_false(priority_is_above(OTHER(0), 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),   cmocka_unit_test(inherited),
		cmocka_unit_test(unknown), cmocka_unit_test(all_values),
		cmocka_unit_test(order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
