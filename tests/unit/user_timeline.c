/* SPDX-License-Identifier: MIT */
/*
 * timeline: a test for each row of the table of states and each rule of the page, as the
 * records that go in and the events that come out. Every trace passes the checker, too.
 */
#include "timeline_kit.h"

#define T0   1000
#define HOUR (3600 * 1000000000ull)

/* Two threads of a process, its leader, two others; tids are ten times the ids. */
static const struct who leader = {1, 10, 10}, a = {2, 20, 10}, b = {3, 30, 10}, c = {4, 40, 40},
			d = {5, 50, 50}, other = {0, 77, 77};

/* ---- the records of a test ---- */

static struct kit kit;

static void open_with(struct timeline_options options)
{
	options.t0 = T0;
	kit_open(&kit, "0-1", options);
}

static void snapshot(unsigned cpu, uint64_t clock, struct who who)
{
	struct record_snapshot r =
		rec_snapshot(clock, clock <= T0 ? SNAPSHOT_START : SNAPSHOT_STOP, who);

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

/* Two CPUs; `on0` runs on the first one at T0, nobody on the other. */
static void open_kit(struct who on0)
{
	open_with((struct timeline_options){0});
	snapshot(0, T0 - 10, on0);
	snapshot(1, T0, idle);
}

static void give(unsigned cpu, uint64_t clock, struct who prev, unsigned why, struct who next)
{
	struct record_switch r = rec_switch(clock, prev, why, next);

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

/* The one that enters was woken at `wake` by the thread `waker`. */
static void give_woken(unsigned cpu, uint64_t clock, struct who prev, unsigned why, struct who next,
		       uint64_t wake, int32_t waker)
{
	struct record_switch r = rec_switch(clock, prev, why, next);

	r.wake_clock = wake;
	r.waker_tid = waker;
	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

static void birth(unsigned cpu, uint64_t clock, struct who creator, struct who child)
{
	struct record_task r = rec_birth(clock, creator, child);

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

static void life(unsigned cpu, uint64_t clock, enum task_cause cause, uint32_t context,
		 struct who who, const char *comm)
{
	struct record_task r = rec_task(clock, cause, context, who, comm);

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

static void exits(unsigned cpu, uint64_t clock, struct who who, uint32_t code)
{
	struct record_exit r = rec_exit(clock, who, code);

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

static void lost(unsigned cpu, uint64_t clock, uint64_t first, uint64_t count)
{
	struct record_lost r = rec_lost(clock, first, count);

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

static void iterated(struct who who, uint32_t state, uint64_t wake, int32_t waker)
{
	struct record_task r = rec_task(0, TASK_ITERATED, 0, who, "iterated");

	r.state = state;
	r.wake_clock = wake;
	r.waker_tid = waker;
	assert_int_equal(timeline_iterated(kit.timeline, &r), 0);
}

static void close_kit(uint64_t t1, uint64_t repairs)
{
	kit_close(&kit, t1);
	assert_int_equal(kit.err, 0);
	kit_check((int)kit.indices);
	assert_int_equal(kit.counts.repairs, repairs);
}

static void assert_no_stream(uint32_t pid, uint32_t tid)
{
	assert_null(kit_stream(pid, tid));
}

static struct json *meta_of(uint32_t pid, uint32_t tid)
{
	struct kit_stream *s = kit_stream(pid, tid);

	assert_non_null(s);
	return json_parse(s->meta, strlen(s->meta), s->path);
}

/* ---- entering ---- */

static void born_in_the_window_it_begins_at_its_first_switch_in(void **state)
{
	(void)state;
	open_kit(leader);
	birth(0, 1100, leader, a);
	give_woken(1, 1200, idle, 0, a, 1101, 10);
	birth(1, 1300, a, c);
	give(0, 1400, leader, WHY_SLEEPING, c);
	close_kit(2000, 0);
	assert_stream(10, 10,
		      "1000 OHx 0 -1 0\n1100 OHC 0 20\n1400 OHp 1 40\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 20, "1201 OHx 1 10 0\n1300 OHC 1 40\n2000 OHe\n");
	assert_stream(40, 40, "1401 OHx 0 20 10\n2000 OHe\n");
	assert_int_equal(kit.counts.events, 12);
}

static void running_when_the_window_opens_it_begins_at_t0(void **state)
{
	(void)state;
	open_kit(a);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n2000 OHe\n");
}

static void asleep_when_the_window_opens_it_is_entered_with_its_first_later_event(void **state)
{
	(void)state;
	open_with((struct timeline_options){0});
	iterated(a, 1, 0, 0);
	iterated(b, 1, 0, 0);
	snapshot(0, T0 - 1, idle);
	snapshot(1, T0, idle);
	give_woken(0, 1500, idle, 0, a, 1400, 77);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx -1 -1 0\n1000 OHp 0 -1\n1400 OHw 77\n"
		      "1501 OAs 0\n1501 OHr\n2000 OHe\n");
	assert_no_stream(10, 30);
}

static void runnable_when_the_window_opens_it_waits_from_t0(void **state)
{
	(void)state;
	open_with((struct timeline_options){0});
	iterated(a, 0, 900, 5);
	snapshot(0, T0 - 1, idle);
	snapshot(1, T0, idle);
	give_woken(0, 1500, idle, 0, a, 900, 5);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx -1 -1 0\n1000 OHp 0 -1\n1000 OHw 0\n"
		      "1501 OAs 0\n1501 OHr\n2000 OHe\n");
}

static void with_all_threads_each_one_has_a_stream(void **state)
{
	(void)state;
	open_with((struct timeline_options){.all_threads = true});
	iterated(a, 1, 0, 0);
	iterated(b, 0, 0, 0);
	iterated(other, 0, 0, 0);
	snapshot(0, T0, idle);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx -1 -1 0\n1000 OHp 0 -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 30, "1000 OHx -1 -1 0\n1000 OHp 0 -1\n1000 OHw 0\n2000 OHr\n2000 OHe\n");
	assert_no_stream(77, 77);
}

/* The snapshots are not all of one moment: switches between them and T0 tell who runs. */
static void switches_before_t0_only_tell_who_runs(void **state)
{
	(void)state;
	open_with((struct timeline_options){0});
	iterated(a, 0, 0, 0);
	give(1, 800, leader, WHY_SLEEPING, a);
	snapshot(0, 900, idle);
	give(1, 910, a, WHY_PREEMPTED, b);
	snapshot(1, 950, b);
	give(0, 960, idle, 0, c);
	snapshot(0, T0, c);
	give(1, 1100, b, WHY_SLEEPING, a);
	close_kit(2000, 0);
	assert_stream(40, 40, "1000 OHx 0 -1 0\n2000 OHe\n");
	assert_stream(10, 30,
		      "1000 OHx 1 -1 0\n1100 OHp 1 20\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 20,
		      "1000 OHx -1 -1 0\n1000 OHp 0 -1\n1000 OHw 0\n"
		      "1101 OAs 1\n1101 OHr\n2000 OHe\n");
	assert_no_stream(10, 10);
	assert_int_equal(kit.counts.outside, 6);
}

static void who_dies_or_is_born_before_t0_is_known(void **state)
{
	(void)state;
	open_with((struct timeline_options){.all_threads = true});
	snapshot(0, 900, leader);
	snapshot(1, 900, a);
	birth(0, 910, leader, b);
	exits(1, 920, a, 0);
	give(1, 930, a, WHY_DEAD, idle);
	snapshot(0, T0, leader);
	give_woken(1, 1100, idle, 0, b, 911, 10);
	close_kit(2000, 0);
	assert_no_stream(10, 20);
	assert_stream(10, 30,
		      "1000 OHx -1 10 0\n1000 OHp 0 -1\n1000 OHw 0\n"
		      "1101 OAs 1\n1101 OHr\n2000 OHe\n");
}

/* ---- switches ---- */

static void a_wait_on_the_same_cpu_ends_without_a_move(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, WHY_PREEMPTED, b);
	give(0, 1200, b, WHY_YIELDED, a);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1100 OHp 6 30\n1100 OHw -1\n1201 OHr\n2000 OHe\n");
	assert_stream(10, 30,
		      "1101 OHx 0 -1 0\n1200 OHp 7 20\n1200 OHw -1\n"
		      "2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.preemptions, 1);
}

static void a_wait_that_ends_on_another_cpu_moves_while_warming(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, WHY_PREEMPTED, b);
	give(1, 1200, idle, 0, a);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 6 30\n1100 OHw -1\n"
		      "1201 OAs 1\n1201 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.migrations, 1);
}

static void every_way_to_leave_has_its_number(void **state)
{
	static const unsigned whys[] = {WHY_UNKNOWN, WHY_SLEEPING,  WHY_UNINTERRUPTIBLE,
					WHY_IO,	     WHY_STOPPED,   WHY_TRACED,
					WHY_PARKED,  WHY_IDLE_SLEEP};

	(void)state;
	for (size_t i = 0; i < sizeof(whys) / sizeof(whys[0]); i++) {
		char want[128];

		open_kit(a);
		give(0, 1100, a, whys[i], idle);
		close_kit(2000, 0);
		snprintf(want, sizeof(want),
			 "1000 OHx 0 -1 0\n1100 OHp %u 0\n"
			 "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n",
			 whys[i]);
		assert_stream(10, 20, want);
	}
}

static void a_wake_up_has_its_own_clock_and_waker(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, WHY_SLEEPING, idle);
	give_woken(0, 1300, idle, 0, a, 1200, 77);
	give(0, 1400, a, WHY_IO, idle);
	give_woken(1, 1600, idle, 0, a, 1500, WAKER_INTERRUPT);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 1 0\n1200 OHw 77\n1301 OHr\n"
		      "1400 OHp 3 0\n1500 OHw -2\n1601 OAs 1\n1601 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.wakeups, 2);
}

static void without_a_wake_up_seen_it_is_at_the_switch(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, WHY_SLEEPING, idle);
	give(1, 1300, idle, 0, a);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 1 0\n1301 OHw 0\n1301 OAs 1\n1301 OHr\n"
		      "2000 OHe\n");
	assert_int_equal(kit.counts.wakeups, 0);
}

static void a_wake_up_older_than_the_last_switch_out_is_ignored(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, WHY_SLEEPING, idle);
	give_woken(0, 1300, idle, 0, a, 1099, 77);
	give(0, 1400, a, WHY_SLEEPING, idle);
	give_woken(0, 1500, idle, 0, a, 1400, 77);
	give(0, 1600, a, WHY_SLEEPING, idle);
	give_woken(0, 1700, idle, 0, a, 1750, 77); /* nor can it be later than the switch */
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 1 0\n1301 OHw 0\n1301 OHr\n"
		      "1400 OHp 1 0\n1400 OHw 77\n1501 OHr\n1600 OHp 1 0\n1701 OHw 77\n"
		      "1701 OHr\n2000 OHe\n");
}

static void woken_while_it_waits_is_nothing(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, WHY_PREEMPTED, b);
	give_woken(0, 1300, b, WHY_SLEEPING, a, 1200, 77);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1100 OHp 6 30\n1100 OHw -1\n1301 OHr\n2000 OHe\n");
}

static void it_exits_at_its_last_switch_and_may_sleep_before(void **state)
{
	struct json *meta;

	(void)state;
	open_kit(a);
	exits(0, 1100, a, 3 << 8);
	give(0, 1200, a, WHY_UNINTERRUPTIBLE, idle);
	give(0, 1300, idle, 0, a);
	give(0, 1400, a, WHY_DEAD, b);
	exits(0, 1500, b, 9 | 128);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1200 OHp 2 0\n1301 OHw 0\n1301 OHr\n1400 OHe\n");
	assert_stream(10, 30, "1401 OHx 0 -1 0\n2000 OHe\n");
	meta = meta_of(10, 20);
	assert_int_equal(json_int(json_get(meta, "bpf.exit.status")), 3);
	assert_null(json_get(meta, "bpf.exit.signal"));
	json_free(meta);
	meta = meta_of(10, 30);
	assert_int_equal(json_int(json_get(meta, "bpf.exit.signal")), 9);
	assert_true(json_bool(json_get(meta, "bpf.exit.core")));
	json_free(meta);
}

static void ten_thousand_switches_in_one_nanosecond(void **state)
{
	(void)state;
	open_kit(a);
	for (int i = 0; i < 5000; i++) {
		give(0, 1100, a, i % 2 ? WHY_SLEEPING : WHY_PREEMPTED, b);
		give(0, 1100, b, i % 3 ? WHY_SLEEPING : WHY_YIELDED, a);
	}
	give(0, 1100, a, WHY_SLEEPING, idle);
	give(1, 1100, idle, 0, a);
	give(0, 1101, idle, 0, b);
	close_kit(1101, 0);
	assert_int_equal(kit.counts.switches, 10003);
	assert_int_equal(kit.counts.ties, 1);
}

static void a_record_of_the_past_is_clamped_and_counted(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1200, a, WHY_SLEEPING, b);
	give(0, 1150, b, WHY_SLEEPING, a);
	close_kit(2000, 0);
	assert_int_equal(kit.counts.late, 1);
	assert_stream(10, 30,
		      "1201 OHx 0 -1 0\n1201 OHp 1 20\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1200 OHp 1 30\n1202 OHw 0\n1202 OHr\n2000 OHe\n");
}

static void a_switch_from_a_thread_to_itself_is_none(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, WHY_SLEEPING, a);
	give(0, 1200, a, WHY_DEAD, a);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n2000 OHe\n");
}

/* ---- repairs ---- */

static void a_missing_switch_out_is_mended(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1500, b, WHY_SLEEPING, c);
	close_kit(2000, 2);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1498 OHp 11 -1\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 30,
		      "1499 OHx 0 -1 0\n1500 OHp 1 40\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.lost, 0);
}

static void who_leaves_was_believed_to_run_elsewhere(void **state)
{
	(void)state;
	open_kit(a);
	give(1, 1500, a, WHY_SLEEPING, idle);
	close_kit(2000, 2);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1498 OHp 11 -1\n1499 OHw 0\n1499 OAs 1\n1499 OHr\n"
		      "1500 OHp 1 0\n2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
}

static void who_enters_was_believed_to_run_elsewhere(void **state)
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
	give(0, 1500, a, WHY_SLEEPING, b);
	give(0, 1501, c, WHY_SLEEPING, a);
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
	give(0, 1500, b, WHY_SLEEPING, a);
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
	give(0, 1100, a, WHY_SLEEPING, idle);
	lost(0, 1490, 1300, 2);
	give_woken(0, 1500, idle, 0, a, 1200, 77);
	give(0, 1510, a, WHY_SLEEPING, idle);
	lost(0, 1590, 1520, 1);
	give_woken(0, 1600, idle, 0, a, 1550, 77);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 1 0\n1200 OHw 77\n1300 OM[ 2 92\n"
		      "1500 OM] 2 92\n1501 OHr\n1510 OHp 1 0\n1520 OM[ 1 92\n1600 OM] 1 92\n"
		      "1600 OHw 77\n1601 OHr\n2000 OHe\n");
}

static void a_gap_waits_for_a_thread_that_has_a_stream(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, WHY_SLEEPING, idle);
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
	give(0, 1200, a, WHY_SLEEPING, idle);
	timeline_stop(kit.timeline, 2000);
	lost(0, 2100, 1900, 4);
	lost(1, 2200, 2001, 50);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1000 OM[ 3 92\n1200 OM] 3 92\n1200 OHp 1 0\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.lost, 7);
}

static void a_gap_is_within_the_window_and_before_what_follows_it(void **state)
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

/* ---- identity ---- */

static void a_tid_used_again_goes_on_in_its_stream(void **state)
{
	const struct who again = {9, 20, 10}, elsewhere = {10, 20, 20};
	struct json *meta;

	(void)state;
	open_kit(leader);
	birth(0, 1050, leader, a);
	give(0, 1100, leader, WHY_SLEEPING, a);
	life(0, 1150, TASK_RENAMED, a.id, a, "first");
	exits(0, 1190, a, 0);
	give(0, 1200, a, WHY_DEAD, leader);
	birth(0, 1250, leader, again);
	give(0, 1300, leader, WHY_SLEEPING, again);
	life(0, 1350, TASK_RENAMED, again.id, again, "second");
	give(0, 1400, again, WHY_DEAD, elsewhere);
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
	give(0, 1100, a, WHY_DEAD, idle);
	give(0, HOUR, idle, 0, again);
	give(0, HOUR + 100, again, WHY_DEAD, idle);
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
	give(0, 1200, a, WHY_SLEEPING, d);
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
	give(0, 1300, a, WHY_PREEMPTED, b);
	give(0, 1350, b, WHY_SLEEPING, a);
	give(0, 1400, a, WHY_DEAD, idle);
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
	give(0, 1200, a, WHY_DEAD, again);
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
	give(0, 1300, leader, WHY_DEAD, idle);
	exec.old_tid = 20;
	assert_int_equal(kit_give(&kit, 1, &exec), 0);
	give(1, 1500, a_as_leader, WHY_SLEEPING, idle);
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
	give(1, 1250, a, WHY_SLEEPING, idle);
	give(0, 1300, leader, WHY_DEAD, idle);
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
	give(1, 1300, a_as_leader, WHY_SLEEPING, idle);
	give(0, 1400, leader_as_a, WHY_DEAD, idle);
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
	give(0, 1300, leader_as_a, WHY_DEAD, idle);
	give(1, 1400, a_as_leader, WHY_SLEEPING, idle);
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
	give(0, 1200, b, WHY_SLEEPING, reborn);
	close_kit(2000, 3);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1000 OHe\n");
	assert_stream(60, 60, "1201 OHx 0 50 50\n2000 OHe\n");
}

/* ---- who has a stream ---- */

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
	give(0, 1100, a, WHY_SLEEPING, other);
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
	give(1, 1150, b, WHY_SLEEPING, idle);
	r.flags = 0;
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	r = rec_task(1300, TASK_RENAMED, 0, b, "gone too");
	r.flags = 0;
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	give(0, 1400, (struct who){0, 20, 10}, WHY_SLEEPING, idle);
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
	give(0, 1300, a, WHY_SLEEPING, idle);
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
	give(0, 1100, a, WHY_SLEEPING, c);
	give(0, 1200, c, WHY_PREEMPTED, idle);
	back.head.flags = first.head.flags = SWITCH_NEXT_ELSEWHERE;
	back.wake_clock = 1450;
	assert_int_equal(kit_give(&kit, 0, &back), 0);
	give(1, 1550, d, WHY_SLEEPING, idle);
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

/* ---- closing ---- */

static void whatever_the_state_all_are_dead_at_t1(void **state)
{
	(void)state;
	open_kit(a);
	iterated(leader, 1, 0, 0);
	give(0, 1100, a, WHY_SLEEPING, b);
	give(0, 1200, b, WHY_PREEMPTED, c);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 1 30\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 30,
		      "1101 OHx 0 -1 0\n1200 OHp 6 40\n1200 OHw -1\n"
		      "2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(40, 40, "1201 OHx 0 -1 0\n2000 OHe\n");
	assert_no_stream(10, 10);
}

static void at_t1_or_at_the_last_clock_if_that_is_later(void **state)
{
	(void)state;
	open_kit(idle);
	give(0, 1500, idle, 0, a);
	timeline_stop(kit.timeline, 1500);
	give(0, 1600, a, WHY_SLEEPING, b);
	close_kit(1500, 0);
	assert_stream(10, 20, "1501 OHx 0 -1 0\n1501 OHe\n");
	assert_no_stream(10, 30);
	assert_int_equal(kit.counts.outside, 3);
}

static void the_last_iterator_tells_who_was_woken_and_never_ran(void **state)
{
	const struct who other_sleeper = {6, 60, 60};

	(void)state;
	open_with((struct timeline_options){0});
	iterated(c, 1, 0, 0);
	iterated(d, 1, 0, 0);
	snapshot(0, T0 - 1, a);
	snapshot(1, T0, idle);
	birth(0, 1050, a, leader);
	give(0, 1100, a, WHY_SLEEPING, b);
	give(0, 1200, b, WHY_SLEEPING, other_sleeper);
	give(0, 1250, other_sleeper, WHY_SLEEPING, idle);
	timeline_stop(kit.timeline, 2000);
	iterated(a, 0, 1900, 77);
	iterated(b, 0, 2100, 77);
	iterated(c, 0, 1800, WAKER_INTERRUPT);
	iterated(d, 0, 990, 77);
	iterated(leader, 0, 1051, 20);
	iterated(other_sleeper, 0, 1150, 20);
	iterated((struct who){99, 99, 99}, 0, 1500, 20);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1050 OHC 0 10\n1100 OHp 1 30\n1900 OHw 77\n"
		      "2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(10, 30,
		      "1101 OHx 0 -1 0\n1200 OHp 1 60\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(60, 60,
		      "1201 OHx 0 -1 0\n1250 OHp 1 0\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	assert_stream(40, 40, "1000 OHx -1 -1 0\n1000 OHp 0 -1\n1800 OHw -2\n2000 OHr\n2000 OHe\n");
	assert_no_stream(50, 50);
	assert_stream(10, 10,
		      "1051 OHx -1 20 10\n1051 OHp 0 -1\n1051 OHw 20\n2000 OHr\n2000 OHe\n");
	assert_no_stream(99, 99);
}

static void nothing_at_all_is_a_session_too(void **state)
{
	(void)state;
	open_with((struct timeline_options){0});
	close_kit(2000, 0);
	assert_int_equal(kit_disk.n, 0);
	open_with((struct timeline_options){0});
	close_kit(0, 0);
	assert_int_equal(kit_disk.n, 0);
}

/* ---- clocks ---- */

static void a_stream_that_begins_late_says_so_at_t0(void **state)
{
	const uint64_t limit = T0 + HOUR / 2;

	(void)state;
	open_kit(idle);
	iterated(c, 1, 0, 0);
	birth(0, limit - 2, d, a);
	give(0, limit - 1, idle, 0, a);
	give(0, limit + 1, a, WHY_SLEEPING, b);
	give(0, limit + 5 * HOUR, b, WHY_SLEEPING, c);
	close_kit(limit + 5 * HOUR, 2);
	assert_stream(10, 20,
		      "1800000001000 OHx 0 50 0\n1800000001001 OHp 1 30\n"
		      "19800000001000 OHw 0\n19800000001000 OAs -1\n19800000001000 OHr\n"
		      "19800000001000 OHe\n");
	assert_stream(10, 30,
		      "1000 OB.\n1800000001002 OHx 0 -1 0\n19800000001000 OHp 1 40\n"
		      "19800000001000 OHw 0\n19800000001000 OAs -1\n19800000001000 OHr\n"
		      "19800000001000 OHe\n");
	assert_stream(40, 40,
		      "1000 OHx -1 -1 0\n1000 OHp 0 -1\n19800000001001 OHw 0\n"
		      "19800000001001 OAs 0\n19800000001001 OHr\n19800000001001 OHe\n");
}

static void a_window_ends_before_the_clock_does(void **state)
{
	const uint64_t end = (uint64_t)INT64_MAX - (1ull << 36);
	struct record_switch r;

	(void)state;
	kit_open(&kit, "0", (struct timeline_options){.t0 = end - 10});
	r = rec_switch(end - 5, idle, 0, a);
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	for (uint64_t clock = end; clock < end + 1000; clock += 100) {
		r = rec_switch(clock, a, WHY_SLEEPING, b);
		assert_int_equal(kit_give(&kit, 0, &r), 0);
	}
	r = rec_switch(UINT64_MAX, a, WHY_SLEEPING, b);
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	kit_close(&kit, UINT64_MAX);
	assert_int_equal(kit.err, 0);
	kit_check(1);
	assert_int_equal(kit.counts.outside, 10);
	assert_stream(10, 20,
		      "9223371968135299067 OHx 0 -1 0\n9223371968135299071 OHp 1 30\n"
		      "9223371968135299071 OHw 0\n9223371968135299071 OAs -1\n"
		      "9223371968135299071 OHr\n9223371968135299071 OHe\n");
}

/* ---- CPUs ---- */

static void a_cpu_that_appears_has_the_next_index_in_all_that_follows(void **state)
{
	struct json *meta;

	(void)state;
	kit_open(&kit, "0,4\n", (struct timeline_options){.t0 = T0});
	snapshot(0, T0 - 1, a);
	snapshot(4, T0, idle);
	give(4, 1100, idle, 0, c);
	give(4, 1200, c, WHY_DEAD, idle);
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
	give(0, 1100, a, WHY_SLEEPING, other);
	give(0, 1300, other, 0, idle);
	give(0, 1600, idle, 0, a);
	give(0, 1610, b, WHY_SLEEPING, idle);
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

/* ---- the kernel model ---- */

static void next_to_libovni_only_the_cpu_is_told(void **state)
{
	struct json *meta;

	(void)state;
	open_with((struct timeline_options){.kernel_model = true});
	iterated(c, 1, 0, 0);
	snapshot(0, T0 - 1, a);
	snapshot(1, T0, idle);
	birth(0, 1050, a, b);
	give(0, 1100, a, WHY_PREEMPTED, b);
	give_woken(1, 1200, idle, 0, a, 1150, 77);
	give(0, 1300, b, WHY_DEAD, c);
	give(1, 1400, a, WHY_SLEEPING, idle);
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
	give(0, 1100, a, WHY_SLEEPING, b);
	lost(0, 1200, 1150, 3);
	give(0, 1300, a, WHY_SLEEPING, idle);
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
		r = rec_switch(clock, clock % 200 ? a : b, WHY_SLEEPING, clock % 200 ? b : a);
		err = kit_give(&kit, 0, &r);
	}
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(kit_give(&kit, 0, &r), -ENOSPC);
	kit_close(&kit, 200000000);
	assert_int_equal(kit.err, -ENOSPC);
	assert_int_equal(kit_disk.calls, 3);
}

static int forget(void **state)
{
	(void)state;
	kit_forget();
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(born_in_the_window_it_begins_at_its_first_switch_in),
		TEST(running_when_the_window_opens_it_begins_at_t0),
		TEST(asleep_when_the_window_opens_it_is_entered_with_its_first_later_event),
		TEST(runnable_when_the_window_opens_it_waits_from_t0),
		TEST(with_all_threads_each_one_has_a_stream),
		TEST(switches_before_t0_only_tell_who_runs),
		TEST(who_dies_or_is_born_before_t0_is_known),
		TEST(a_wait_on_the_same_cpu_ends_without_a_move),
		TEST(a_wait_that_ends_on_another_cpu_moves_while_warming),
		TEST(every_way_to_leave_has_its_number),
		TEST(a_wake_up_has_its_own_clock_and_waker),
		TEST(without_a_wake_up_seen_it_is_at_the_switch),
		TEST(a_wake_up_older_than_the_last_switch_out_is_ignored),
		TEST(woken_while_it_waits_is_nothing),
		TEST(it_exits_at_its_last_switch_and_may_sleep_before),
		TEST(ten_thousand_switches_in_one_nanosecond),
		TEST(a_record_of_the_past_is_clamped_and_counted),
		TEST(a_switch_from_a_thread_to_itself_is_none),
		TEST(a_missing_switch_out_is_mended),
		TEST(who_leaves_was_believed_to_run_elsewhere),
		TEST(who_enters_was_believed_to_run_elsewhere),
		TEST(a_thread_that_was_believed_to_run_gives_way_to_one_without_a_stream),
		TEST(a_repair_is_clamped),
		TEST(a_record_made_by_a_thread_proves_that_it_runs),
		TEST(a_gap_is_marked_in_the_stream_of_the_thread_that_leaves),
		TEST(a_gap_before_an_idle_cpu_is_marked_in_the_stream_that_enters),
		TEST(a_gap_waits_for_a_thread_that_has_a_stream),
		TEST(a_loss_is_counted_if_it_began_in_the_window),
		TEST(a_gap_is_within_the_window_and_before_what_follows_it),
		TEST(a_tid_used_again_goes_on_in_its_stream),
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
		TEST(whatever_the_state_all_are_dead_at_t1),
		TEST(at_t1_or_at_the_last_clock_if_that_is_later),
		TEST(the_last_iterator_tells_who_was_woken_and_never_ran),
		TEST(nothing_at_all_is_a_session_too),
		TEST(a_stream_that_begins_late_says_so_at_t0),
		TEST(a_window_ends_before_the_clock_does),
		TEST(a_cpu_that_appears_has_the_next_index_in_all_that_follows),
		TEST(the_time_of_each_cpu_adds_up),
		TEST(next_to_libovni_only_the_cpu_is_told),
		TEST(next_to_libovni_repairs_and_gaps_wait_for_the_way_in),
		TEST(when_the_writer_has_failed_nothing_more_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
