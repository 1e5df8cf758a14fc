/* SPDX-License-Identifier: MIT */
/* timeline: switches without a record are mended, losses are marked, failures end it. */
#include "timeline_records.h"

/* ---- repairs ---- */

static void a_missing_switch_out_is_mended(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1500, b, OFF_CPU_SLEEPING, c);
	close_kit(2000, 2);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1498 OHp 11 -1\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 30,
		      "1499 OHx 0 -1 0\n1500 OHp 1 40\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.lost, 0);
}

static void prev_should_run_on_another_cpu(void **state)
{
	(void)state;
	open_kit(a);
	give(1, 1500, a, OFF_CPU_SLEEPING, idle);
	close_kit(2000, 2);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1498 OHp 11 -1\n1499 OHw 0\n1499 OAs 1\n1499 OHr\n"
		      "1500 OHp 1 0\n2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
}

static void next_should_run_on_another_cpu(void **state)
{
	(void)state;
	open_kit(a);
	give(1, 1500, idle, 0, a);
	give(0, 1600, idle, 0, b);
	close_kit(2000, 1);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1498 OHp 11 -1\n1501 OHw 0\n1501 OAs 1\n1501 OHr\n"
		      "2000 OHe\n");
	assert_stream(10, 30, "1601 OHx 0 -1 0\n2000 OHe\n");
}

static void a_thread_that_was_believed_to_run_gives_way_to_one_without_a_stream(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1500, other, 0, b);
	give(1, 1600, other, 0, idle);
	close_kit(2000, 1);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1498 OHp 11 -1\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 30, "1501 OHx 0 -1 0\n2000 OHe\n");
}

/* t - 2 and t - 1 have passed already on that CPU and in those streams. */
static void a_repair_is_clamped(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1500, a, OFF_CPU_SLEEPING, b);
	give(0, 1501, c, OFF_CPU_SLEEPING, a);
	close_kit(2000, 2);
	assert_stream(10, 30,
		      "1501 OHx 0 -1 0\n1501 OHp 11 -1\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(40, 40,
		      "1502 OHx 0 -1 0\n1502 OHp 1 20\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1500 OHp 1 30\n1503 OHw 0\n1503 OHr\n2000 OHe\n");
}

static void a_record_made_by_a_thread_proves_that_it_runs(void **state)
{
	struct json *meta;

	(void)state;
	open_kit(a);
	life(1, 1500, TASK_RENAMED, b.id, b, "proof");
	snapshot(0, 1600, c);
	snapshot(1, 1700, idle);
	close_kit(2000, 4);
	assert_stream(10, 30,
		      "1499 OHx 1 -1 0\n1698 OHp 11 -1\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1598 OHp 11 -1\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(40, 40, "1599 OHx 0 -1 0\n2000 OHe\n");
	meta = meta_of(10, 30);
	assert_string_equal(json_string(json_get(meta, "bpf.repairs")), "2");
	json_free(meta);
}

/* ---- losses ---- */

static void a_gap_is_marked_in_the_stream_of_the_thread_that_leaves(void **state)
{
	struct json *meta;

	(void)state;
	open_kit(a);
	lost(0, 1490, 1200, 7);
	give(0, 1500, b, OFF_CPU_SLEEPING, a);
	close_kit(2000, 2);
	assert_stream(10, 30,
		      "1200 OM[ 7 92\n1499 OHx 0 -1 0\n1500 OM] 7 92\n1500 OHp 1 20\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.lost, 7);
	meta = meta_of(10, 30);
	assert_string_equal(json_string(json_get(meta, "ovni.mark.92.title")), "Events lost");
	assert_string_equal(json_string(json_get(meta, "ovni.mark.92.chan_type")), "stack");
	json_free(meta);
	meta = meta_of(10, 20);
	assert_null(json_get(meta, "ovni.mark"));
	json_free(meta);
}

static void a_gap_before_an_idle_cpu_is_marked_in_the_stream_that_enters(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, OFF_CPU_SLEEPING, idle);
	lost(0, 1490, 1300, 2);
	give_woken(0, 1500, idle, 0, a, 1200, 77);
	give(0, 1510, a, OFF_CPU_SLEEPING, idle);
	lost(0, 1590, 1520, 1);
	give_woken(0, 1600, idle, 0, a, 1550, 77);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 1 0\n1200 OHw 77\n1300 OM[ 2 92\n"
		      "1500 OM] 2 92\n1501 OHr\n1510 OHp 1 0\n1520 OM[ 1 92\n1550 OHw 77\n"
		      "1600 OM] 1 92\n1601 OHr\n2000 OHe\n");
}

static void a_gap_waits_for_a_thread_that_has_a_stream(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, OFF_CPU_SLEEPING, idle);
	lost(0, 1200, 1150, 2);
	give(0, 1210, idle, 0, other);
	lost(0, 1300, 1250, 3);
	give(0, 1310, other, 0, idle);
	give(0, 1500, idle, 0, b);
	lost(1, 1600, 1590, 4);
	close_kit(2000, 0);
	assert_stream(10, 30, "1150 OM[ 5 92\n1500 OM] 5 92\n1501 OHx 0 -1 0\n2000 OHe\n");
	assert_int_equal(kit.counts.lost, 9);
}

static void a_loss_is_counted_if_it_began_in_the_window(void **state)
{
	(void)state;
	open_with((struct timeline_options){0});
	snapshot(0, T0 - 5, a);
	lost(0, T0 - 4, T0 - 5, 100);
	snapshot(1, T0, idle);
	lost(0, 1100, 990, 3);
	give(0, 1200, a, OFF_CPU_SLEEPING, idle);
	timeline_stop(kit.timeline, 2000);
	lost(0, 2100, 1900, 4);
	lost(1, 2200, 2001, 50);
	close_kit(2000, 0);
	assert_stream(
		10, 20,
		"1000 OHx 0 -1 0\n1000 OM[ 3 92\n1200 OM] 3 92\n1200 OHp 1 0\n"
		"1900 OM[ 4 92\n2000 OM] 4 92\n2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.lost, 7);
}

static void a_gap_is_within_the_window_and_before_later_events(void **state)
{
	(void)state;
	open_kit(idle);
	lost(0, 1100, 990, 3);
	give(0, 1200, idle, 0, b);
	lost(1, 1300, 5000, 4);
	give(1, 1310, idle, 0, c);
	close_kit(2000, 0);
	assert_stream(10, 30, "1000 OM[ 3 92\n1200 OM] 3 92\n1201 OHx 0 -1 0\n2000 OHe\n");
	assert_stream(40, 40, "1310 OM[ 4 92\n1310 OM] 4 92\n1311 OHx 1 -1 0\n2000 OHe\n");
}

static void a_loss_that_no_stream_can_show_gives_all_threads_a_stream(void **state)
{
	(void)state;
	open_with((struct timeline_options){0});
	iterated(a, 1, 0, 0);
	snapshot(0, T0, idle);
	snapshot(1, T0, idle);
	lost(0, 1100, 1050, 7);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx -1 -1 0\n1000 OHp 0 -1\n1050 OM[ 7 92\n2000 OM] 7 92\n"
		      "2000 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.lost, 7);
	assert_int_equal(kit.cpus[0].ns[CPU_UNKNOWN], 950);
}

/* ---- the kernel model ---- */

static void beside_libovni_only_the_cpu_is_written(void **state)
{
	struct json *meta;

	(void)state;
	open_with((struct timeline_options){.kernel_model = true});
	iterated(c, 1, 0, 0);
	snapshot(0, T0 - 1, a);
	snapshot(1, T0, idle);
	birth(0, 1050, a, b);
	give(0, 1100, a, OFF_CPU_PREEMPTED, b);
	give_woken(1, 1200, idle, 0, a, 1150, 77);
	give(0, 1300, b, OFF_CPU_DEAD, c);
	give(1, 1400, a, OFF_CPU_SLEEPING, idle);
	timeline_stop(kit.timeline, 2000);
	iterated(a, 0, 1900, 77);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx -1 -1 0\n1050 OHC 0 30\n1100 KCO 6 30\n1201 KCI 1\n"
		      "1400 KCO 1 0\n2000 KCI -1\n2000 OHe\n");
	assert_stream(10, 30, "1101 OHx -1 20 0\n1300 OHe\n");
	assert_stream(40, 40, "1000 OHx -1 -1 0\n1000 KCO 0 -1\n1301 KCI 0\n2000 OHe\n");
	meta = meta_of(10, 20);
	assert_string_equal(json_string(json_get(meta, "ovni.require.kernel")), "1.0.0");
	json_free(meta);
}

static void next_to_libovni_repairs_and_gaps_wait_for_the_way_in(void **state)
{
	(void)state;
	open_with((struct timeline_options){.kernel_model = true});
	snapshot(0, T0 - 1, a);
	snapshot(1, T0, idle);
	give(0, 1100, a, OFF_CPU_SLEEPING, b);
	lost(0, 1200, 1150, 3);
	give(0, 1300, a, OFF_CPU_SLEEPING, idle);
	lost(0, 1400, 1350, 4);
	give(0, 1500, idle, 0, b);
	close_kit(2000, 2);
	assert_stream(10, 20,
		      "1000 OHx -1 -1 0\n1100 KCO 1 30\n1299 KCI 0\n1299 OM[ 3 92\n"
		      "1300 OM] 3 92\n1300 KCO 1 0\n2000 KCI -1\n2000 OHe\n");
	assert_stream(10, 30,
		      "1101 OHx -1 -1 0\n1298 KCO 11 -1\n1501 KCI 0\n1501 OM[ 4 92\n"
		      "1501 OM] 4 92\n2000 OHe\n");
}

/* ---- errors ---- */

static void when_the_writer_has_failed_nothing_more_is_taken(void **state)
{
	struct record_switch r;
	int err = 0;

	(void)state;
	open_kit(a);
	kit_disk.fail_at = 3;
	kit_disk.fail_with = -ENOSPC;
	for (uint64_t clock = 1100; !err && clock < 100000000; clock += 100) {
		r = rec_switch(clock, clock % 200 ? a : b, OFF_CPU_SLEEPING, clock % 200 ? b : a);
		err = kit_give(&kit, 0, &r);
		if (writer_queued(kit.writer)) /* or all might be taken before it has a CPU */
			writer_sync(kit.writer);
	}
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(kit_give(&kit, 0, &r), -ENOSPC);
	kit_close(&kit, 200000000);
	assert_int_equal(kit.err, -ENOSPC);
	assert_int_equal(kit_disk.calls, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_missing_switch_out_is_mended),
		TEST(prev_should_run_on_another_cpu),
		TEST(next_should_run_on_another_cpu),
		TEST(a_thread_that_was_believed_to_run_gives_way_to_one_without_a_stream),
		TEST(a_repair_is_clamped),
		TEST(a_record_made_by_a_thread_proves_that_it_runs),
		TEST(a_gap_is_marked_in_the_stream_of_the_thread_that_leaves),
		TEST(a_gap_before_an_idle_cpu_is_marked_in_the_stream_that_enters),
		TEST(a_gap_waits_for_a_thread_that_has_a_stream),
		TEST(a_loss_is_counted_if_it_began_in_the_window),
		TEST(a_gap_is_within_the_window_and_before_later_events),
		TEST(a_loss_that_no_stream_can_show_gives_all_threads_a_stream),
		TEST(beside_libovni_only_the_cpu_is_written),
		TEST(next_to_libovni_repairs_and_gaps_wait_for_the_way_in),
		TEST(when_the_writer_has_failed_nothing_more_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
