/* SPDX-License-Identifier: MIT */
/* wall_clock: clocks of times of day, and the other way round; metadata that is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/lib/wall_clock.h"

#define S	   1000000000ll
#define HOUR	   (3600 * S)
#define DAY	   (24 * HOUR)
#define COUNT(all) (sizeof(all) / sizeof((all)[0]))

static struct wall_clock taken(const char *realtime)
{
	struct wall_clock wall;
	struct json *meta;
	char text[512];

	snprintf(text, sizeof(text), "{\"bpf\": {\"session\": {\"realtime\": %s}}}", realtime);
	meta = json_parse(text, strlen(text), "test");
	assert_non_null(meta);
	wall_clock_add(&wall, meta);
	json_free(meta);
	return wall;
}

static void a_clock_has_a_time_of_day(void **state)
{
	/* 2026-11-22 02:12:05.25 UTC */
	struct wall_clock wall =
		taken("{\"begin\": {\"clock\": \"1000\", \"ns\": "
		      "\"1795313525250000000\"}, \"end\": {\"clock\": \"5000001000\", "
		      "\"ns\": \"1795313530250000000\"}, \"error_ns\": \"30\", "
		      "\"utc_offset\": 3600}");
	char text[WALL_CLOCK_TEXT];

	(void)state;
	assert_true(wall.known);
	assert_int_equal(wall.error_ns, 30);
	assert_int_equal(wall.step_ns, 0);
	wall_clock_text(&wall, 1000, text);
	assert_string_equal(text, "2026-11-22 03:12:05.250000 +0100");
	wall_clock_text(&wall, 1000 - S, text);
	assert_string_equal(text, "2026-11-22 03:12:04.250000 +0100");
	wall.utc_offset = -12600;
	wall_clock_text(&wall, 5 * S + 1000, text);
	assert_string_equal(text, "2026-11-21 22:42:10.250000 -0330");
	wall_clock_text(&wall, INT64_MIN, text); /* nonsense also has a text */
	wall_clock_text(&wall, INT64_MAX, text);
}

static const struct find_case {
	const char *what;
	int64_t begin, length; /* local time of day at the begin; of the recording */
	int64_t day_ns, want;  /* the clock since the begin */
} cases[] = {
	{"inside", 3 * HOUR, HOUR, 3 * HOUR + 5 * S, 5 * S},
	{"the begin", 3 * HOUR, HOUR, 3 * HOUR, 0},
	{"the end", 3 * HOUR, HOUR, 4 * HOUR, HOUR},
	{"a little before", 3 * HOUR, HOUR, 3 * HOUR - S, -S},
	{"a little after", 3 * HOUR, HOUR, 4 * HOUR + S, HOUR + S},
	{"across midnight, before it", 23 * HOUR, 2 * HOUR, 23 * HOUR + S, S},
	{"across midnight, at it", 23 * HOUR, 2 * HOUR, 0, HOUR},
	{"across midnight, after it", 23 * HOUR, 2 * HOUR, HOUR / 2, HOUR + HOUR / 2},
	{"it ends before midnight", 22 * HOUR, HOUR, S, 2 * HOUR + S},
	{"it begins after midnight", HOUR, HOUR, 23 * HOUR, -2 * HOUR},
	{"without an end", 3 * HOUR, 0, 4 * HOUR, HOUR},
	{"a day but 1 ns", 3 * HOUR, DAY - 1, 3 * HOUR, 0},
	{"longer than a day, but only once", 3 * HOUR, DAY + HOUR, 5 * HOUR, 2 * HOUR},
};

static void a_time_of_day_has_a_clock(void **state)
{
	const int64_t begin_clock = 777, midnight = 20000 * DAY;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct find_case *k = &cases[i];

		/* as the wall clock is in any time zone */
		for (int32_t offset = -43200; offset <= 50400; offset += 1800) {
			struct wall_clock wall = {.known = true, .utc_offset = offset};
			int64_t clock = 0;

			wall.clock = begin_clock;
			wall.ns = midnight + k->begin - offset * S;
			wall.end_clock = wall.clock + k->length;
			wall.end_ns = wall.ns + k->length;
			if (wall_clock_find(&wall, k->day_ns, &clock) ||
			    clock != begin_clock + k->want)
				fail_msg("%s: offset %d: %lld", k->what, offset,
					 (long long)(clock - begin_clock));
		}
	}
}

static void a_time_of_day_that_comes_twice_is_refused(void **state)
{
	struct wall_clock wall = {.known = true,
				  .ns = 20000 * DAY + 3 * HOUR,
				  .end_clock = DAY + HOUR,
				  .end_ns = 20001 * DAY + 4 * HOUR};
	int64_t clock;

	(void)state;
	assert_int_equal(wall_clock_find(&wall, 3 * HOUR, &clock), -ERANGE);
	assert_int_equal(wall_clock_find(&wall, 4 * HOUR, &clock), -ERANGE);
	assert_int_equal(wall_clock_find(&wall, 4 * HOUR + 1, &clock), 0);
	assert_int_equal(clock, HOUR + 1);
}

static void wrong_metadata_are_no_time_of_day(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"7",
		"{\"begin\": {\"clock\": \"1\"}}",
		"{\"begin\": {\"ns\": \"1\"}}",
		"{\"begin\": {\"clock\": \"-1\", \"ns\": \"1\"}}",
		"{\"begin\": {\"clock\": \"1\", \"ns\": \"-1\"}}",
		"{\"begin\": {\"clock\": \"9223372036854775807\", \"ns\": \"1\"}}",
		"{\"begin\": {\"clock\": \"1\", \"ns\": \"9223372036854775807\"}}",
		"{\"begin\": {\"clock\": \"x\", \"ns\": \"1\"}}",
		"{\"end\": {\"clock\": \"1\", \"ns\": \"1\"}}",
	};
	struct wall_clock wall;
	char text[WALL_CLOCK_TEXT];
	int64_t clock;

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_false(taken(wrong[i]).known);
	/* the rest is left out */
	wall = taken(
		"{\"begin\": {\"clock\": \"1152921504606846975\", \"ns\": "
		"\"4611686018427387903\"}, "
		"\"end\": {\"clock\": \"5\", \"ns\": \"7\"}, \"utc_offset\": 1e300, "
		"\"step_ns\": \"9223372036854775807\", \"error_ns\": \"-9223372036854775808\"}");
	assert_true(wall.known);
	assert_int_equal(wall.end_clock, wall.clock);
	assert_int_equal(wall.utc_offset, 0);
	assert_int_equal(wall.step_ns, 0);
	assert_int_equal(wall.error_ns, 0);
	wall_clock_text(&wall, INT64_MAX, text);
	wall_clock_text(&wall, 0, text);
	assert_int_equal(wall_clock_find(&wall, DAY - 1, &clock), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_has_a_time_of_day),
		cmocka_unit_test(a_time_of_day_has_a_clock),
		cmocka_unit_test(a_time_of_day_that_comes_twice_is_refused),
		cmocka_unit_test(wrong_metadata_are_no_time_of_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
