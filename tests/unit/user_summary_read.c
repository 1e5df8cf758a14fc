/* SPDX-License-Identifier: MIT */
/* summary_read: the open interval of a thread, its life, and which threads a sample keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/sample.h"
#include "user/stats/summary_read.h"
#include "user/config/config.h"

#define T0 1000u
#define T1 2000u

static const struct settle_case {
	const char *what;
	uint32_t use, wanted;
	uint64_t begin, since, clock, wake;
	uint64_t life, active, runnable, blocked, unknown, wakeups;
} cases[] = {
	{"it runs", TIME_RUNNING, 1, 1100, 1200, 1500, 0, 400, 300, 0, 0, 0, 0},
	{"it runs since before the window", TIME_RUNNING, 1, 0, 10, 1500, 0, 500, 500, 0, 0, 0, 0},
	{"it runs beyond its end", TIME_RUNNING, 1, 0, 1200, 9999, 0, 1000, 800, 0, 0, 0, 0},
	{"it sleeps", TIME_BLOCKED, 1, 0, 1200, 1500, 0, 500, 0, 0, 300, 0, 0},
	{"it was woken", TIME_BLOCKED, 1, 0, 1200, 1500, 1450, 500, 0, 50, 250, 0, 1},
	{"it was woken after the end", TIME_BLOCKED, 1, 0, 1200, 2100, 2050, 1000, 0, 0, 800, 0, 0},
	{"woken before the window", TIME_BLOCKED, 1, 0, 100, 1500, 900, 500, 0, 500, 0, 0, 0},
	{"a wake-up older than its sleep", TIME_BLOCKED, 1, 0, 1200, 1500, 1100, 500, 0, 0, 300, 0,
	 0},
	{"it waits", TIME_RUNNABLE, 1, 0, 1200, 1500, 0, 500, 0, 300, 0, 0, 0},
	{"it is not known", TIME_UNKNOWN, 1, 0, 1200, 1500, 0, 500, 0, 0, 0, 300, 0},
	{"no longer wanted: it has ended", TIME_UNKNOWN, 0, 0, 1200, 1500, 0, 200, 0, 0, 0, 0, 0},
	{"never run", TIME_NONE, 1, 0, 0, 1500, 0, 0, 0, 0, 0, 0, 0},
	{"dead", TIME_DEAD, 1, 1100, 1300, 1300, 0, 200, 0, 0, 0, 0, 0},
};

static struct thread_times settled(struct task_summary state, uint64_t clock)
{
	const struct summary_thread thread = {.clock = clock, .state = state};

	return summary_settle(&thread, T0, T1).times;
}

/* The wait of a thread that a CPU quota stopped is waiting for a CPU, too. */
static void time_throttled_is_part_of_the_waiting(void **state)
{
	struct task_summary s = {
		.use = TIME_RUNNABLE, .traced = 1, .reason = OFF_CPU_THROTTLED, .since = 1200};
	struct thread_times t;

	(void)state;
	t = settled(s, 1500); /* it still waits */
	assert_int_equal(t.runnable_ns, 300);
	assert_int_equal(t.throttled_ns, 300);
	s.entered = 1350; /* it runs again */
	t = settled(s, 1500);
	assert_int_equal(t.runnable_ns, 150);
	assert_int_equal(t.throttled_ns, 150);
	assert_int_equal(t.active_ns, 150);
	s.reason = OFF_CPU_PREEMPTED;
	t = settled(s, 1500);
	assert_int_equal(t.runnable_ns, 150);
	assert_int_equal(t.throttled_ns, 0);
}

static void the_open_interval_goes_where_the_thread_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct settle_case *k = &cases[i];
		const struct summary_thread thread = {.clock = k->clock,
						      .state = {.use = k->use,
								.traced = k->wanted,
								.woken = k->wake,
								.reason = OFF_CPU_IO,
								.begin = k->begin,
								.since = k->since}};
		const struct thread_stats line = summary_settle(&thread, T0, T1);
		const struct thread_times *c = &line.times;

		print_message("  %s\n", k->what);
		assert_int_equal(c->active_ns, k->active);
		assert_int_equal(c->runnable_ns, k->runnable);
		assert_int_equal(thread_times_blocked(c), k->blocked);
		assert_int_equal(c->blocked_ns[OFF_CPU_IO], k->blocked);
		assert_int_equal(c->unknown_ns, k->unknown);
		assert_int_equal(c->wakeups, k->wakeups);
		if (k->use != TIME_NONE)
			assert_int_equal(line.end - line.begin, k->life);
	}
}

/* On a CPU: the time before it entered it comes first. */
static const struct arrival_case {
	const char *what;
	uint32_t use;
	uint64_t since, wake, entered;
	int32_t from, on;
	uint64_t active, runnable, blocked, unknown, wakeups, migrations, begin;
} arrivals[] = {
	{"woken", TIME_BLOCKED, 1200, 1300, 1350, 0, 0, 150, 50, 100, 0, 1, 0, 0},
	{"woken, on another CPU", TIME_BLOCKED, 1200, 1300, 1350, 0, 1, 150, 50, 100, 0, 1, 1, 0},
	{"woken unseen", TIME_BLOCKED, 1200, 0, 1350, 0, 0, 150, 0, 150, 0, 0, 0, 0},
	{"woken before the window", TIME_BLOCKED, 100, 900, 1350, 0, 0, 150, 350, 0, 0, 0, 0, 0},
	{"it waited", TIME_RUNNABLE, 1200, 0, 1350, 0, 0, 150, 150, 0, 0, 0, 0, 0},
	{"it was not known", TIME_UNKNOWN, 1200, 0, 1350, -1, 0, 150, 0, 0, 150, 0, 0, 0},
	{"born", TIME_NONE, 0, 0, 1350, -1, 0, 150, 0, 0, 0, 0, 0, 1350},
	{"it was known", TIME_RUNNING, 1350, 0, 1350, 0, 0, 150, 0, 0, 0, 0, 0, 0},
	{"after the window", TIME_BLOCKED, 1200, 2100, 2200, 0, 1, 0, 0, 800, 0, 0, 0, 0},
};

static void running_threads_have_earlier_events(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(arrivals) / sizeof(arrivals[0]); i++) {
		const struct arrival_case *k = &arrivals[i];
		bool after = k->entered > T1;
		const struct summary_thread thread = {.clock = after ? T1 : 1500,
						      .state = {.use = k->use,
								.traced = 1,
								.wake = k->wake,
								.reason = OFF_CPU_SLEEPING,
								.since = k->since,
								.cpu = k->from,
								.on = k->on,
								.entered = k->entered}};
		const struct thread_stats line = summary_settle(&thread, T0, T1);
		const struct thread_times *c = &line.times;

		print_message("  %s\n", k->what);
		assert_int_equal(c->active_ns, k->active);
		assert_int_equal(c->runnable_ns, k->runnable);
		assert_int_equal(c->blocked_ns[OFF_CPU_SLEEPING], k->blocked);
		assert_int_equal(c->unknown_ns, k->unknown);
		assert_int_equal(c->wakeups, k->wakeups);
		assert_int_equal(c->migrations, k->migrations);
		assert_int_equal(line.begin, k->begin > T0 ? k->begin : T0);
	}
}

static void the_snapshots_of_cpus_show_the_running_threads(void **state)
{
	struct summary_cpu cpus[] = {{.cpu = 4, .sums = {.task = 0xa, .entered = 1700}},
				     {.cpu = 6, .sums = {.task = 0xb, .entered = 1200}}};
	struct summary_thread threads[] = {
		{.task = 0xa, .clock = 1900, .state = {.since = 1500}}, /* on the first CPU */
		{.task = 0xb, .clock = 1900, .state = {.since = 1850}}, /* has left it since */
		{.task = 0xc, .clock = 1900, .state = {.since = 1100}}, /* sleeps */
	};
	struct summary summary = {.cpus = cpus, .ncpus = 2, .alive = threads, .nalive = 3};

	(void)state;
	summary_find_running(&summary, 1800);
	assert_int_equal(threads[0].state.entered, 1700);
	assert_int_equal(threads[0].state.on, 4);
	assert_int_equal(threads[0].clock, 1900);
	assert_int_equal(threads[1].state.entered, 0);
	assert_int_equal(threads[1].clock, 1850);
	assert_int_equal(threads[2].state.entered, 0);
	assert_int_equal(threads[2].clock, 1800);
}

static void the_scheduler_has_the_clocks_of_wake_ups(void **state)
{
	/* Its clock is 100 ns ahead of ours. */
	struct summary_thread threads[] = {
		/* sleeps; waits; waits, on its second CPU; runs; has waited longer than it slept */
		{.run_delay = 70, .state = {.since = 1000, .delay = 70}},
		{.run_delay = 70, .last_queued = 1500, .state = {.since = 1000, .delay = 70}},
		{.run_delay = 90, .last_queued = 1500, .state = {.since = 1000, .delay = 70}},
		{.run_delay = 90,
		 .last_arrival = 1500,
		 .state = {.since = 1000, .delay = 70, .entered = 1450}},
		{.run_delay = 990, .last_queued = 1500, .state = {.since = 1000, .delay = 70}},
	};
	static const uint64_t woken[] = {0, 1400, 1380, 1380, 1000};
	struct summary summary = {.sched_offset = -100, .alive = threads, .nalive = 5};

	(void)state;
	summary_find_woken(&summary); /* the offset is not known yet */
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(threads[i].state.wake, 0);
	summary.sched_known = true;
	summary_find_woken(&summary);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(threads[i].state.wake, woken[i]);
}

static void sums_count_threads_and_sums_of_threads(void **state)
{
	struct thread_times all = {0}, many = {.threads = 7, .active_ns = 5},
			    one = {.active_ns = 3};

	(void)state;
	thread_times_add(&all, &one);
	thread_times_add(&all, &many);
	assert_int_equal(all.threads, 8);
	assert_int_equal(all.active_ns, 8);
}

static void a_sample_keeps_its_share_and_always_the_same(void **state)
{
	unsigned kept = 0, differ = 0;

	(void)state;
	for (uint32_t tid = 1; tid <= 100000; tid++) {
		bool keeps = sample_keeps(tid, 42, 3, 8);

		assert_int_equal(keeps, sample_keeps(tid, 42, 3, 8));
		kept += keeps;
		differ += keeps != sample_keeps(tid, 43, 3, 8);
	}
	assert_in_range(kept, 36500, 38500);   /* 37500 */
	assert_in_range(differ, 44000, 50000); /* another seed, other threads: 46875 */
	assert_true(sample_keeps(5, 0, 8, 8));
}

static void kinds_are_read_by_their_names(void **state)
{
	uint32_t kinds;

	(void)state;
	assert_null(event_kinds_parse("switch,wake,probe", &kinds));
	assert_int_equal(kinds, 1u << EVENT_SWITCH | 1u << EVENT_WAKE | 1u << EVENT_PROBE |
					1u << EVENT_OTHER);
	assert_non_null(event_kinds_parse("wake", &kinds)); /* it travels with a switch */
	assert_non_null(event_kinds_parse("other", &kinds));
	assert_non_null(event_kinds_parse("", &kinds));
	assert_non_null(event_kinds_parse("switch,", &kinds));
	assert_non_null(event_kinds_parse("switches", &kinds));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_open_interval_goes_where_the_thread_is),
		cmocka_unit_test(time_throttled_is_part_of_the_waiting),
		cmocka_unit_test(running_threads_have_earlier_events),
		cmocka_unit_test(the_snapshots_of_cpus_show_the_running_threads),
		cmocka_unit_test(the_scheduler_has_the_clocks_of_wake_ups),
		cmocka_unit_test(sums_count_threads_and_sums_of_threads),
		cmocka_unit_test(a_sample_keeps_its_share_and_always_the_same),
		cmocka_unit_test(kinds_are_read_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
