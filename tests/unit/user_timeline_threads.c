/* SPDX-License-Identifier: MIT */
/* timeline: the threads of records, the threads with a stream, the use of each CPU. */
#include "timeline_records.h"

/* ---- identity ---- */

static void a_reused_tid_continues_its_stream(void **state)
{
	const struct who again = {9, 20, 10}, elsewhere = {10, 20, 20};
	struct json *meta;

	(void)state;
	open_kit(leader);
	birth(0, 1050, leader, a);
	give(0, 1100, leader, OFF_CPU_SLEEPING, a);
	life(0, 1150, TASK_RENAMED, a.id, a, "first");
	exits(0, 1190, a, 0);
	give(0, 1200, a, OFF_CPU_DEAD, leader);
	birth(0, 1250, leader, again);
	give(0, 1300, leader, OFF_CPU_SLEEPING, again);
	life(0, 1350, TASK_RENAMED, again.id, again, "second");
	give(0, 1400, again, OFF_CPU_DEAD, elsewhere);
	close_kit(2000, 0);
	assert_stream(10, 20, "1101 OHx 0 10 0\n1200 OHe\n1301 OHx 0 10 0\n1400 OHe\n");
	assert_stream(20, 20, "1401 OHx 0 -1 0\n2000 OHe\n");
	meta = meta_of(10, 20);
	assert_int_equal(json_count(json_get(meta, "bpf.renames")), 4);
	assert_string_equal(json_string(json_get(meta, "bpf.name")), "second");
	assert_null(json_get(meta, "bpf.exit"));
	assert_string_equal(json_string(json_get(meta, "bpf.events")), "4");
	json_free(meta);
}

static void a_tid_used_again_after_a_long_time(void **state)
{
	const struct who again = {9, 20, 10};

	(void)state;
	open_kit(a);
	give(0, 1100, a, OFF_CPU_DEAD, idle);
	give(0, HOUR, idle, 0, again);
	give(0, HOUR + 100, again, OFF_CPU_DEAD, idle);
	close_kit(2 * HOUR, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHe\n3600000000001 OHx 0 -1 0\n"
		      "3600000000100 OHe\n");
}

/* CLONE_PARENT: the new process is a child of another one. */
static void the_creator_need_not_be_the_parent(void **state)
{
	struct record_task r = rec_birth(1100, a, d);

	(void)state;
	open_kit(a);
	r.parent_pid = 77;
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	give(0, 1200, a, OFF_CPU_SLEEPING, d);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHC 0 50\n1200 OHp 1 50\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(50, 50, "1201 OHx 0 20 77\n2000 OHe\n");
}

/* The tid is free before the last switch; the new thread even runs before it. */
static void a_tid_given_away_early_takes_the_stream_along(void **state)
{
	const struct who again = {9, 20, 10};

	(void)state;
	open_kit(a);
	exits(0, 1100, a, 0);
	birth(1, 1150, other, again);
	give(1, 1200, idle, 0, again);
	give(0, 1300, a, OFF_CPU_PREEMPTED, b);
	give(0, 1350, b, OFF_CPU_SLEEPING, a);
	give(0, 1400, a, OFF_CPU_DEAD, idle);
	close_kit(2000, 1);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1200 OHe\n1201 OHx 1 77 0\n2000 OHe\n");
	assert_stream(10, 30,
		      "1301 OHx 0 -1 0\n1350 OHp 1 20\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
}

static void the_one_that_enters_has_the_tid_of_the_one_that_leaves(void **state)
{
	const struct who again = {9, 20, 10};

	(void)state;
	open_kit(a);
	exits(0, 1100, a, 0);
	give(0, 1200, a, OFF_CPU_DEAD, again);
	close_kit(2000, 1);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1200 OHe\n1201 OHx 0 -1 0\n2000 OHe\n");
}

static void exec_in_a_thread_moves_it_to_the_stream_of_the_leader(void **state)
{
	const struct who a_as_leader = {2, 10, 10};
	struct record_task exec = rec_task(1400, TASK_EXECED, a.id, a_as_leader, "program");

	(void)state;
	open_kit(leader);
	give(1, 1100, idle, 0, a);
	exits(0, 1200, leader, 0);
	give(0, 1300, leader, OFF_CPU_DEAD, idle);
	exec.old_tid = 20;
	assert_int_equal(kit_give(&kit, 1, &exec), 0);
	give(1, 1500, a_as_leader, OFF_CPU_SLEEPING, idle);
	close_kit(2000, 0);
	assert_stream(10, 10,
		      "1000 OHx 0 -1 0\n1300 OHe\n1401 OHx 1 -1 0\n1500 OHp 1 0\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 20, "1101 OHx 1 -1 0\n1400 OHe\n");
}

static void exec_shows_first_at_a_switch_in(void **state)
{
	const struct who a_as_leader = {2, 10, 10};

	(void)state;
	open_kit(leader);
	give(1, 1100, idle, 0, a);
	exits(0, 1200, leader, 0);
	give(1, 1250, a, OFF_CPU_SLEEPING, idle);
	give(0, 1300, leader, OFF_CPU_DEAD, idle);
	give_woken(0, 1400, idle, 0, a_as_leader, 1350, 10);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1101 OHx 1 -1 0\n1250 OHp 1 0\n"
		      "1400 OHw 0\n1400 OAs -1\n1400 OHr\n1400 OHe\n");
	assert_stream(10, 10, "1000 OHx 0 -1 0\n1300 OHe\n1401 OHx 0 -1 0\n2000 OHe\n");
}

/* The leader's last switch comes late, and shows the tid that the other thread had. */
static void the_leader_that_was_replaced_leaves_last(void **state)
{
	const struct who a_as_leader = {2, 10, 10}, leader_as_a = {1, 20, 10};

	(void)state;
	open_kit(leader);
	give(1, 1100, idle, 0, a);
	exits(0, 1200, leader, 0);
	give(1, 1300, a_as_leader, OFF_CPU_SLEEPING, idle);
	give(0, 1400, leader_as_a, OFF_CPU_DEAD, idle);
	give(0, 1500, idle, 0, a_as_leader);
	close_kit(2000, 1);
	assert_stream(10, 20, "1101 OHx 1 -1 0\n1300 OHe\n");
	assert_stream(10, 10,
		      "1000 OHx 0 -1 0\n1300 OHe\n1301 OHx 1 -1 0\n1301 OHp 1 0\n"
		      "1501 OHw 0\n1501 OAs 0\n1501 OHr\n2000 OHe\n");
}

static void the_leader_shows_the_other_tid_first(void **state)
{
	const struct who a_as_leader = {2, 10, 10}, leader_as_a = {1, 20, 10};

	(void)state;
	open_kit(leader);
	give(1, 1100, idle, 0, a);
	exits(0, 1200, leader, 0);
	give(0, 1300, leader_as_a, OFF_CPU_DEAD, idle);
	give(1, 1400, a_as_leader, OFF_CPU_SLEEPING, idle);
	close_kit(2000, 0);
	assert_stream(10, 20, "1101 OHx 1 -1 0\n1400 OHe\n");
	assert_stream(10, 10,
		      "1000 OHx 0 -1 0\n1300 OHe\n1401 OHx 1 -1 0\n1401 OHp 1 0\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
}

static void an_id_whose_end_was_lost_is_given_out_again(void **state)
{
	const struct who reborn = {2, 60, 60};

	(void)state;
	open_kit(a);
	birth(1, 1100, d, reborn);
	give(0, 1200, b, OFF_CPU_SLEEPING, reborn);
	close_kit(2000, 3);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1000 OHe\n");
	assert_stream(60, 60, "1201 OHx 0 50 50\n2000 OHe\n");
}

/* ---- threads with a stream ---- */

static void threads_that_are_not_wanted_have_a_name_at_most(void **state)
{
	const struct who young = {0, 88, 88};
	struct json *meta;

	(void)state;
	open_with((struct timeline_options){.some_threads = true});
	iterated(other, 1, 0, 0);
	iterated((struct who){0, 99, 99}, 1, 0, 0);
	snapshot(0, T0 - 1, a);
	snapshot(1, T0, idle);
	birth(0, 1050, a, young);
	give(0, 1100, a, OFF_CPU_SLEEPING, other);
	give_woken(0, 1200, other, 0, a, 1150, 88);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1050 OHC 0 88\n1100 OHp 1 77\n1150 OHw 88\n1201 OHr\n"
		      "2000 OHe\n");
	assert_no_stream(77, 77);
	meta = meta_of(10, 20);
	assert_int_equal(json_count(json_get(meta, "bpf.names")), 2);
	assert_string_equal(json_string(json_get(meta, "bpf.names.77")), "iterated");
	assert_string_equal(json_string(json_get(meta, "bpf.names.88")), "born");
	json_free(meta);
	assert_int_equal(kit.cpus[0].ns[CPU_THREAD], 900);
	assert_int_equal(kit.cpus[0].ns[CPU_OTHER], 100);
	assert_int_equal(kit.cpus[0].ns[CPU_IDLE], 0);
}

static void a_thread_that_is_no_more_wanted_ends(void **state)
{
	struct record_task r = rec_task(1200, TASK_RENAMED, 0, a, "gone");

	(void)state;
	open_kit(a);
	give(1, 1100, idle, 0, b);
	give(1, 1150, b, OFF_CPU_SLEEPING, idle);
	r.flags = 0;
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	r = rec_task(1300, TASK_RENAMED, 0, b, "gone too");
	r.flags = 0;
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	give(0, 1400, (struct who){0, 20, 10}, OFF_CPU_SLEEPING, idle);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1200 OHe\n");
	assert_stream(10, 30,
		      "1101 OHx 1 -1 0\n1150 OHp 1 0\n"
		      "1300 OHw 0\n1300 OAs -1\n1300 OHr\n1300 OHe\n");
}

static void a_thread_that_becomes_wanted_while_it_runs_begins_there(void **state)
{
	(void)state;
	open_with((struct timeline_options){.some_threads = true});
	snapshot(0, T0 - 1, (struct who){0, 20, 10});
	snapshot(1, T0, idle);
	life(0, 1200, TASK_SEEN, 0, a, "found");
	give(0, 1300, a, OFF_CPU_SLEEPING, idle);
	life(1, 1400, TASK_RENAMED, b.id, b, "matches");
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1200 OHx 0 -1 0\n1300 OHp 1 0\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 30, "1400 OHx 1 -1 0\n2000 OHe\n");
}

static void with_a_list_of_cpus_a_thread_is_followed_while_it_is_on_them(void **state)
{
	struct record_switch back = rec_switch(1500, idle, 0, a),
			     first = rec_switch(1600, idle, 0, b);
	struct record_task away = rec_task(0, TASK_ITERATED, 0, c, "away");
	struct record_exit end = rec_exit(1700, d, 0);

	(void)state;
	open_with((struct timeline_options){.cpu_filter = true});
	iterated(b, 1, 0, 0);
	snapshot(0, T0 - 1, a);
	snapshot(1, T0, d);
	give(0, 1100, a, OFF_CPU_SLEEPING, c);
	give(0, 1200, c, OFF_CPU_PREEMPTED, idle);
	back.head.flags = first.head.flags = SWITCH_NEXT_ELSEWHERE;
	back.wake_clock = 1450;
	assert_int_equal(kit_give(&kit, 0, &back), 0);
	give(1, 1550, d, OFF_CPU_SLEEPING, idle);
	assert_int_equal(kit_give(&kit, 1, &first), 0);
	end.head.id = 0;
	assert_int_equal(kit_give(&kit, 1, &end), 0);
	timeline_stop(kit.timeline, 2000);
	away.flags |= TASK_FLAG_ELSEWHERE;
	assert_int_equal(timeline_iterated(kit.timeline, &away), 0);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 1 40\n1100 OHw 0\n1100 OAs -1\n1100 OHr\n"
		      "1100 OHe\n1501 OHx 0 -1 0\n2000 OHe\n");
	assert_stream(10, 30, "1601 OHx 1 -1 0\n2000 OHe\n");
	assert_stream(40, 40,
		      "1101 OHx 0 -1 0\n1200 OHp 6 0\n1200 OHw -1\n"
		      "1200 OAs -1\n1200 OHr\n1200 OHe\n");
	assert_stream(50, 50,
		      "1000 OHx 1 -1 0\n1550 OHp 1 0\n"
		      "1550 OHw 0\n1550 OAs -1\n1550 OHr\n1550 OHe\n");
}

static void without_switches_threads_are_on_the_virtual_cpu(void **state)
{
	(void)state;
	open_with((struct timeline_options){.no_switches = true});
	life(0, 1100, TASK_RENAMED, a.id, a, "one");
	life(0, 1200, TASK_RENAMED, b.id, b, "two");
	life(1, 1300, TASK_RENAMED, a.id, a, "three");
	exits(1, 1400, a, 0);
	close_kit(2000, 0);
	assert_stream(10, 20, "1100 OHx -1 -1 0\n1400 OHe\n");
	assert_stream(10, 30, "1200 OHx -1 -1 0\n2000 OHe\n");
}

/* ---- CPUs ---- */

/* CPU 1 is taken away while `a` runs there: its threads are moved, it falls silent, and starts
 * again with another thread. */
static void a_cpu_that_goes_away_and_comes_back(void **state)
{
	(void)state;
	kit_open(&kit, "0-1\n", (struct timeline_options){.t0 = T0});
	snapshot(0, T0 - 1, idle);
	snapshot(1, T0, a);
	give(1, 1100, a, OFF_CPU_PREEMPTED, idle);
	give(0, 1200, idle, 0, a);
	give(1, 1500, idle, 0, b);
	give(1, 1600, b, OFF_CPU_SLEEPING, idle);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 1 -1 0\n1100 OHp 6 0\n1100 OHw -1\n1201 OAs 0\n1201 OHr\n"
		      "2000 OHe\n");
	assert_int_equal(kit.counts.repairs, 0);
	assert_int_equal(kit.cpus[1].index, 1);
	assert_int_equal(kit.cpus[1].ns[CPU_THREAD], 200);
}

/* The same without a record from the CPU that goes: later records mend it. */
static void a_cpu_that_vanishes_in_silence(void **state)
{
	(void)state;
	kit_open(&kit, "0-1\n", (struct timeline_options){.t0 = T0});
	snapshot(0, T0 - 1, idle);
	snapshot(1, T0, a);
	give(0, 1200, idle, 0, a);
	give(0, 1300, a, OFF_CPU_SLEEPING, idle);
	give(1, 1500, idle, 0, b);
	close_kit(2000, 1);
	assert_stream(10, 20,
		      "1000 OHx 1 -1 0\n1198 OHp 11 -1\n1201 OHw 0\n1201 OAs 0\n1201 OHr\n"
		      "1300 OHp 1 0\n2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 30, "1501 OHx 1 -1 0\n2000 OHe\n");
}

static void a_cpu_that_appears_has_the_next_index_in_all_that_follows(void **state)
{
	struct json *meta;

	(void)state;
	kit_open(&kit, "0,4\n", (struct timeline_options){.t0 = T0});
	snapshot(0, T0 - 1, a);
	snapshot(4, T0, idle);
	give(4, 1100, idle, 0, c);
	give(4, 1200, c, OFF_CPU_DEAD, idle);
	give(2, 1300, idle, 0, b);
	close_kit(2000, 0);
	assert_stream(10, 30, "1301 OHx 2 -1 0\n2000 OHe\n");
	assert_stream(40, 40, "1101 OHx 1 -1 0\n1200 OHe\n");
	meta = meta_of(10, 20);
	assert_int_equal(json_count(json_get(meta, "ovni.loom_cpus")), 3);
	json_free(meta);
	meta = meta_of(40, 40);
	assert_int_equal(json_count(json_get(meta, "ovni.loom_cpus")), 2);
	json_free(meta);
	meta = meta_of(10, 30);
	assert_null(json_get(meta, "ovni.loom_cpus"));
	json_free(meta);
	assert_int_equal(kit.cpus[2].cpu, 2);
	assert_int_equal(kit.cpus[2].index, 2);
	assert_int_equal(kit.cpus[2].ns[CPU_UNKNOWN], 300);
	assert_int_equal(kit.cpus[2].ns[CPU_THREAD], 700);
}

static void the_time_of_each_cpu_adds_up(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, OFF_CPU_SLEEPING, other);
	give(0, 1300, other, 0, idle);
	give(0, 1600, idle, 0, a);
	give(0, 1610, b, OFF_CPU_SLEEPING, idle);
	give(1, 1700, other, 0, idle);
	close_kit(2000, 2);
	assert_int_equal(kit.cpus[0].ns[CPU_THREAD], 100 + 1);
	assert_int_equal(kit.cpus[0].ns[CPU_OTHER], 200);
	assert_int_equal(kit.cpus[0].ns[CPU_IDLE], 300 + 390);
	assert_int_equal(kit.cpus[0].ns[CPU_UNKNOWN], 9);
	assert_int_equal(kit.cpus[1].ns[CPU_UNKNOWN], 700);
	assert_int_equal(kit.cpus[1].ns[CPU_IDLE], 300);
	assert_int_equal(kit.cpus[0].records, 5);
	assert_int_equal(kit.cpus[0].repairs, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reused_tid_continues_its_stream),
		TEST(a_tid_used_again_after_a_long_time),
		TEST(the_creator_need_not_be_the_parent),
		TEST(a_tid_given_away_early_takes_the_stream_along),
		TEST(the_one_that_enters_has_the_tid_of_the_one_that_leaves),
		TEST(exec_in_a_thread_moves_it_to_the_stream_of_the_leader),
		TEST(exec_shows_first_at_a_switch_in),
		TEST(the_leader_that_was_replaced_leaves_last),
		TEST(the_leader_shows_the_other_tid_first),
		TEST(an_id_whose_end_was_lost_is_given_out_again),
		TEST(threads_that_are_not_wanted_have_a_name_at_most),
		TEST(a_thread_that_is_no_more_wanted_ends),
		TEST(a_thread_that_becomes_wanted_while_it_runs_begins_there),
		TEST(with_a_list_of_cpus_a_thread_is_followed_while_it_is_on_them),
		TEST(without_switches_threads_are_on_the_virtual_cpu),
		TEST(a_cpu_that_goes_away_and_comes_back),
		TEST(a_cpu_that_vanishes_in_silence),
		TEST(a_cpu_that_appears_has_the_next_index_in_all_that_follows),
		TEST(the_time_of_each_cpu_adds_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
