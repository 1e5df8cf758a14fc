/* SPDX-License-Identifier: MIT */
/*
 * user_window_edge: the time of day and the stolen time at the ends of a window.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/config/window_edge.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define NONE	    STEAL_UNKNOWN
#define NCPUS	    3

static const struct steal_case {
	const char *what, *text;
	uint64_t hz, want[NCPUS];
} cases[] = {
	{"as the kernel writes it",
	 "cpu  9 9 9 9 9 9 9 30 9 9\n"
	 "cpu0 1 2 3 4 5 6 7 10 0 0\n"
	 "cpu2 1 2 3 4 5 6 7 20 0 0\n"
	 "intr 123 4 5\n",
	 100,
	 {100000000, NONE, 200000000}},
	{"the last field", "cpu1 1 2 3 4 5 6 7 8\n", 1000, {NONE, 8000000, NONE}},
	{"an old kernel without steal", "cpu0 1 2 3 4 5 6 7\n", 100, {NONE, NONE, NONE}},
	{"nothing", "", 100, {NONE, NONE, NONE}},
	{"another file", "intr 1 2 3\ncpu0 1 2 3 4 5 6 7 8\n", 100, {NONE, NONE, NONE}},
	{"a line that was cut",
	 "cpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 8",
	 100,
	 {80000000, NONE, NONE}},
	{"a CPU that is not there",
	 "cpu3 1 2 3 4 5 6 7 8\ncpu4294967296 1 2 3 4 5 6 7 8\n"
	 "cpu99999999999999999999 1 2 3 4 5 6 7 8\n",
	 100,
	 {NONE, NONE, NONE}},
	{"no number",
	 "cpux 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 x\ncpu1 1 2 3 4 5 6 7 -8\n"
	 "cpu2 1 2 3 4 5 6 7 8x\n",
	 100,
	 {NONE, NONE, NONE}},
	{"fields of the next line are not its own",
	 "cpu0 1 2 3\ncpu1 4 5 6 7 8\n",
	 100,
	 {NONE, NONE, NONE}},
	{"more than fits",
	 "cpu0 1 2 3 4 5 6 7 18446744073709551616\n"
	 "cpu1 1 2 3 4 5 6 7 18446744073709551615\n"
	 "cpu2 1 2 3 4 5 6 7 1844674407370\n",
	 100,
	 {NONE, NONE, 18446744073700000000ull}},
	{"no unit", "cpu0 1 2 3 4 5 6 7 8\n", 0, {NONE, NONE, NONE}},
	{"a unit below 1 ns", "cpu0 1 2 3 4 5 6 7 8\n", UINT64_MAX, {NONE, NONE, NONE}},
};

static void the_text_of_the_kernel_may_be_anything(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text = strdup(cases[i].text); /* exactly as long as it is */
		uint64_t steal_ns[NCPUS] = {1, 1, 1};

		print_message("  %s\n", cases[i].what);
		assert_non_null(text);
		steal_parse(text, cases[i].hz, steal_ns, NCPUS);
		for (unsigned cpu = 0; cpu < NCPUS; cpu++)
			assert_int_equal(steal_ns[cpu], cases[i].want[cpu]);
		free(text);
	}
}

static void write_stat(const char *proc, const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/stat", proc);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void the_stolen_time_is_that_between_the_edges(void **state)
{
	char proc[] = "/tmp/window_edge.XXXXXX", path[64];
	struct window_edge begin, end, copy;

	(void)state;
	assert_int_equal(sysconf(_SC_CLK_TCK), 100);
	assert_non_null(mkdtemp(proc));
	window_edge_read(&begin, proc, 2); /* it has no stat */
	assert_null(begin.steal_ns);
	assert_int_equal(window_edge_stolen(&begin, &begin, 0), STEAL_UNKNOWN);

	write_stat(proc, "cpu0 0 0 0 0 0 0 0 5 0 0\ncpu1 0 0 0 0 0 0 0 9 0 0\n");
	window_edge_read(&begin, proc, 2);
	write_stat(proc, "cpu0 0 0 0 0 0 0 0 17 0 0\ncpu1 0 0 0 0 0 0 0 8 0 0\n");
	window_edge_read(&end, proc, 2);
	assert_int_equal(window_edge_stolen(&begin, &end, 0), 120000000);
	assert_int_equal(window_edge_stolen(&begin, &end, 1), STEAL_UNKNOWN); /* it fell */
	assert_int_equal(window_edge_stolen(&begin, &end, 2), STEAL_UNKNOWN);
	copy = window_edge_copy(&end);
	window_edge_free(&end);
	assert_int_equal(window_edge_stolen(&begin, &copy, 0), 120000000);
	assert_int_equal(window_edge_stolen(&begin, &end, 0), STEAL_UNKNOWN);
	window_edge_free(&copy);
	window_edge_free(&begin);
	snprintf(path, sizeof(path), "%s/stat", proc);
	unlink(path);
	rmdir(proc);
}

static void the_time_of_day_is_that_of_the_clock(void **state)
{
	struct timespec monotonic, realtime;
	struct window_edge edge;
	int64_t want, got;

	(void)state;
	setenv("TZ", "XYZ-5:30", 1);
	tzset();
	window_edge_read(&edge, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_REALTIME, &realtime);
	want = realtime.tv_sec * 1000000000 + realtime.tv_nsec;
	got = window_edge_realtime(&edge, (uint64_t)monotonic.tv_sec * 1000000000 +
						  (uint64_t)monotonic.tv_nsec);
	assert_true(got - want < 1000000000 && want - got < 1000000000);
	assert_true(edge.error_ns < 1000000000);
	assert_int_equal(edge.utc_offset, 19800);
	assert_null(edge.steal_ns);
}

static void a_step_of_the_clock_is_noticed(void **state)
{
	const int64_t hour = 3600000000000;
	struct window_edge begin = {.clock = 1000, .realtime = 5 * hour, .error_ns = 100};
	struct window_edge end = {.clock = 1000 + 7, .realtime = 5 * hour + 7, .error_ns = 200};
	struct window_edge none = {0};

	(void)state;
	assert_int_equal(window_edge_step(&begin, &end), 0);
	end.realtime += 1300; /* less than the error of the pairs */
	assert_int_equal(window_edge_step(&begin, &end), 0);
	end.realtime += 1;
	assert_int_equal(window_edge_step(&begin, &end), 1301);
	end.realtime += hour;
	assert_int_equal(window_edge_step(&begin, &end), hour + 1301);
	end.realtime -= 3 * hour;
	assert_int_equal(window_edge_step(&begin, &end), 1301 - 2 * hour);
	assert_int_equal(window_edge_step(&begin, &none), 0);
	assert_int_equal(window_edge_step(&none, &end), 0);
	/* a clock before the edge */
	assert_int_equal(window_edge_realtime(&begin, 400), 5 * hour - 600);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_of_the_kernel_may_be_anything),
		cmocka_unit_test(the_stolen_time_is_that_between_the_edges),
		cmocka_unit_test(the_time_of_day_is_that_of_the_clock),
		cmocka_unit_test(a_step_of_the_clock_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
