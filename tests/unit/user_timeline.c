/* SPDX-License-Identifier: MIT */
/*
 * timeline: a test for each row of the table of states and each rule of the page, as the
 * records that go in and the events that come out. Every trace passes the checker, too.
 */
#include "timeline_records.h"

/* ---- entering ---- */

static void born_in_the_window_it_begins_at_its_first_switch_in(void **state)
{
	(void)state;
	open_kit(leader);
	birth(0, 1100, leader, a);
	give_woken(1, 1200, idle, 0, a, 1101, 10);
	birth(1, 1300, a, c);
	give(0, 1400, leader, OFF_CPU_SLEEPING, c);
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

/* The snapshots are not all of one moment: switches between them and T0 show the running threads.
 * */
static void switches_before_t0_only_tell_who_runs(void **state)
{
	(void)state;
	open_with((struct timeline_options){0});
	iterated(a, 0, 0, 0);
	give(1, 800, leader, OFF_CPU_SLEEPING, a);
	snapshot(0, 900, idle);
	give(1, 910, a, OFF_CPU_PREEMPTED, b);
	snapshot(1, 950, b);
	give(0, 960, idle, 0, c);
	snapshot(0, T0, c);
	give(1, 1100, b, OFF_CPU_SLEEPING, a);
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
	give(1, 930, a, OFF_CPU_DEAD, idle);
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
	give(0, 1100, a, OFF_CPU_PREEMPTED, b);
	give(0, 1200, b, OFF_CPU_YIELDED, a);
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
	give(0, 1100, a, OFF_CPU_PREEMPTED, b);
	give(1, 1200, idle, 0, a);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 6 30\n1100 OHw -1\n"
		      "1201 OAs 1\n1201 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.migrations, 1);
}

/* The scheduler moved the thread, which waits, to the queue of the CPU at `moved`. */
static void give_move(unsigned cpu, uint64_t clock, struct who who, uint64_t moved)
{
	struct record_moved r = {.head = {.clock = clock, .kind = RECORD_MOVED, .id = who.id},
				 .moved = moved};

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

static void a_move_while_it_waits_has_its_own_clock(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, OFF_CPU_PREEMPTED, b);
	give_move(1, 1199, a, 1150);
	give(1, 1200, idle, 0, a);
	/* after a wake-up, too */
	give(1, 1300, a, OFF_CPU_SLEEPING, idle);
	give(0, 1310, b, OFF_CPU_SLEEPING, idle);
	give_move(0, 1399, a, 1370);
	give_woken(0, 1400, idle, 0, a, 1350, 30);
	/* outside of the wait: at the switch */
	give(0, 1500, a, OFF_CPU_PREEMPTED, idle);
	give_move(1, 1599, a, 1499);
	give(1, 1600, idle, 0, a);
	/* there and back is no move */
	give(1, 1700, a, OFF_CPU_PREEMPTED, idle);
	give_move(1, 1799, a, 1750);
	give(1, 1800, idle, 0, a);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OHp 6 30\n1100 OHw -1\n1150 OAs 1\n1201 OHr\n"
		      "1300 OHp 1 0\n1350 OHw 30\n1370 OAs 0\n1401 OHr\n"
		      "1500 OHp 6 0\n1500 OHw -1\n1601 OAs 1\n1601 OHr\n"
		      "1700 OHp 6 0\n1700 OHw -1\n1801 OHr\n2000 OHe\n");
	assert_int_equal(kit.counts.migrations, 3);
}

static void every_way_to_leave_has_its_number(void **state)
{
	static const unsigned whys[] = {OFF_CPU_UNKNOWN, OFF_CPU_SLEEPING, OFF_CPU_UNINTERRUPTIBLE,
					OFF_CPU_IO,	 OFF_CPU_STOPPED,  OFF_CPU_TRACED,
					OFF_CPU_PARKED,	 OFF_CPU_IDLE};

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

/* The payloads of all OHp of a stream, as "why call object" lines. */
static void assert_calls(const char *path, const char *wanted)
{
	const struct kit_stream *s = kit_find(path);
	char text[512] = "";
	size_t n = 0;

	assert_non_null(s);
	for (size_t at = 0; at < s->size;) {
		const uint8_t *ev = (const uint8_t *)s->events + at;
		size_t size = ev[0] & 15 ? (ev[0] & 15) + 1u : 0;

		if (!memcmp(ev + 1, "OHp", 3)) {
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%u", get_u16(ev + 12));
			if (size == 8 || size == 16)
				n += (size_t)snprintf(text + n, sizeof(text) - n, " %u",
						      get_u16(ev + 18));
			if (size == 16)
				n += (size_t)snprintf(text + n, sizeof(text) - n, " %llu",
						      (unsigned long long)get_u64(ev + 20));
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n",
					      size == 14 ? " lost" : "");
		}
		at += EVENT_HEADER_SIZE + size;
	}
	assert_string_equal(text, wanted);
}

/* 0 read, 35 nanosleep, 202 futex, 219 restart_syscall of x86-64. */
static void a_sleep_has_its_system_call(void **state)
{
	(void)state;
	open_kit(a);
	give_call(0, 1100, a, OFF_CPU_SLEEPING, idle, 0, 7);
	give(0, 1200, idle, 0, a);
	give_call(0, 1300, a, OFF_CPU_SLEEPING, idle, 35, 99);
	give(0, 1400, idle, 0, a);
	give_call(0, 1500, a, OFF_CPU_STOPPED, idle, 35, 99); /* a stop is in no call, */
	give(0, 1600, idle, 0, a);
	give(0, 1650, a, OFF_CPU_PREEMPTED, idle);
	give(0, 1660, idle, 0, a);
	give_call(0, 1700, a, OFF_CPU_SLEEPING, idle, 219, 99); /* and the call goes on */
	give(0, 1800, idle, 0, a);
	give_call(0, 1810, a, OFF_CPU_UNINTERRUPTIBLE, idle, CALL_NONE, 0x401000);
	give(0, 1820, idle, 0, a);
	give_call(0, 1830, a, OFF_CPU_SLEEPING, idle, CALL_32BIT | 29, 5);
	give(0, 1840, idle, 0, a);
	give_call(0, 1850, a, OFF_CPU_SLEEPING, idle, CALL_UNKNOWN, 5);
	close_kit(2000, 0);
	assert_calls("loom.node/proc.10/thread.20",
		     "1 0 7\n1 35\n4\n6\n1 35\n2 65535 4198400\n1 32797\n1\n");
}

/* The iterator has seen a and b asleep; b fell asleep again before the window. */
static void a_thread_asleep_when_the_window_opens_has_its_system_call(void **state)
{
	(void)state;
	open_with((struct timeline_options){0});
	iterated(a, 1, 0, 0);
	iterated(b, 1, 0, 0);
	timeline_sleeps_in(kit.timeline, a.id, 0, 7);
	timeline_sleeps_in(kit.timeline, b.id, 0, 7);
	timeline_sleeps_in(kit.timeline, 99, 0, 7); /* no such task */
	snapshot(0, T0 - 30, idle);
	give(0, T0 - 20, idle, 0, b);
	give_call(0, T0 - 10, b, OFF_CPU_SLEEPING, idle, 202, 64);
	give_woken(0, 1500, idle, 0, a, 1400, 77);
	give(0, 1600, a, OFF_CPU_SLEEPING, b);
	close_kit(2000, 0);
	assert_calls("loom.node/proc.10/thread.20", "0 0 7\n1\n");
	assert_calls("loom.node/proc.10/thread.30", "0 202 64\n");
}

/* The payloads of all OHw of a stream, as "waker owner" lines. */
static void assert_owners(const char *path, const char *wanted)
{
	const struct kit_stream *s = kit_find(path);
	char text[512] = "";
	size_t n = 0;

	assert_non_null(s);
	for (size_t at = 0; at < s->size;) {
		const uint8_t *ev = (const uint8_t *)s->events + at;
		size_t size = ev[0] & 15 ? (ev[0] & 15) + 1u : 0;

		at += EVENT_HEADER_SIZE + size;
		if (memcmp(ev + 1, "OHw", 3) != 0)
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%d", get_i32(ev + 12));
		if (size == 8 || size == 16)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %d", get_i32(ev + 16));
		if (size == 16)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " stack %u",
					      get_u32(ev + 20));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n",
				      size == 12 ? " lost" : "");
	}
	assert_string_equal(text, wanted);
}

static void the_end_of_a_wait_for_a_lock_has_its_owner(void **state)
{
	(void)state;
	open_kit(a);
	give_lock(0, 1100, a, OFF_CPU_SLEEPING, idle, 202, 64, 30);
	give_woken(0, 1200, idle, 0, a, 1150, 30);
	give_lock(0, 1300, a, OFF_CPU_SLEEPING, idle, 202, 64, LOCK_OWNER_NONE);
	give(0, 1400, idle, 0, a);
	give(0, 1410, a, OFF_CPU_PREEMPTED, idle);
	give(0, 1420, idle, 0, a);
	give_lock(0, 1500, a, OFF_CPU_SLEEPING, idle, 202, 64, 30);
	give(0, 1510, idle, 0, a);
	give_lock(0, 1520, a, OFF_CPU_STOPPED, idle, 202, 64, 30);
	give(0, 1530, idle, 0, a);
	give_lock(0, 1540, a, OFF_CPU_SLEEPING, idle, 219, 64,
		  30); /* has no arguments of a futex */
	give(0, 1550, idle, 0, a);
	give_lock(0, 1600, a, OFF_CPU_SLEEPING, idle, 202, 64, 40); /* it sleeps to the end */
	close_kit(2000, 0);
	assert_owners("loom.node/proc.10/thread.20", "30 30\n0 -1\n-1\n0 30\n0\n0\n0 40\n");
}

/* After a lost switch the thread may have slept on another lock. */
static void after_a_loss_there_is_no_owner(void **state)
{
	struct record_switch r = rec_switch(1300, idle, 0, a);
	struct record_lost lost = rec_lost(1250, 1200, 1);

	(void)state;
	open_kit(a);
	give_lock(0, 1100, a, OFF_CPU_SLEEPING, idle, 202, 64, 30);
	assert_int_equal(kit_give(&kit, 0, &lost), 0);
	r.head.flags = SWITCH_NEXT_LOST;
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	give_lock(0, 1400, a, OFF_CPU_SLEEPING, idle, 202, 64, 30);
	give(0, 1500, idle, 0, a);
	close_kit(2000, 0);
	assert_owners("loom.node/proc.10/thread.20", "0 lost\n0 30\n");
}

/* A stack of `who`, of the addresses `from`, `from` + 1, ... */
static void give_stack(unsigned cpu, uint64_t clock, struct who who, uint64_t from, unsigned n)
{
	struct record_stack r = {.head = {.clock = clock, .kind = RECORD_STACK, .id = who.id},
				 .tid = who.tid,
				 .nkernel = n};

	for (unsigned i = 0; i < n && i < STACK_KERNEL_MAX; i++)
		r.kernel[i] = from + i;
	if (n == STACK_KERNEL_MAX)
		r.head.flags = STACK_CUT;
	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

/* Equal stacks have one number and one line; a sleep without one, and the next sleep, have none. */
static void the_end_of_a_long_sleep_has_its_stack(void **state)
{
	(void)state;
	kit_stack_ns = 100;
	open_kit(a);
	kit_stack_ns = 0;
	give_lock(0, 1100, a, OFF_CPU_SLEEPING, idle, 202, 64, 30);
	give_stack(0, 1199, a, 0x1000, 2);
	give_woken(0, 1200, idle, 0, a, 1150, 30);
	give(0, 1300, a, OFF_CPU_SLEEPING, idle);
	give_woken(0, 1310, idle, 0, a, 1305, 30);
	give(0, 1400, a, OFF_CPU_UNINTERRUPTIBLE, idle);
	give_stack(0, 1599, a, 0x1000, 3);
	give(0, 1600, idle, 0, a);
	give(0, 1700, a, OFF_CPU_SLEEPING, b);
	give_stack(1, 1799, a, 0x1000, 2);
	give(1, 1800, idle, 0, a);
	give(1, 1810, a, OFF_CPU_SLEEPING, idle);
	give_stack(1, 1899, a, 1, 0); /* the kernel found none */
	give(1, 1900, idle, 0, a);
	give_stack(1, 1949, other, 1, 2); /* no task of ours */
	close_kit(2000, 0);
	assert_owners("loom.node/proc.10/thread.20",
		      "30 30 stack 1\n30\n0 0 stack 2\n0 0 stack 1\n0\n");
	assert_string_equal(kit_lines,
			    "ovni-bpf stacks 1\n1\t0x1000;0x1001\n2\t0x1000;0x1001;0x1002\n");
	assert_int_equal(kit.counts.stacks, 3);
}

/* The iterator after the end finds tasks asleep: since before the window, in the window, a moment
 * before its end, after it, and one whose last leave was another one. */
static void a_sleep_to_the_end_has_its_stack(void **state)
{
	const struct {
		struct who who;
		uint64_t slept;
	} found[] = {{a, 1}, {b, 1500}, {c, 1950}, {d, 2100}, {leader, 1250}, {other, 1500}};

	(void)state;
	kit_stack_ns = 100;
	open_with((struct timeline_options){0});
	kit_stack_ns = 0;
	iterated(a, 1, 0, 0);
	snapshot(0, T0 - 10, b);
	snapshot(1, T0, leader);
	give(1, 1300, leader, OFF_CPU_SLEEPING, idle);
	give(0, 1500, b, OFF_CPU_SLEEPING, c);
	give(0, 1950, c, OFF_CPU_SLEEPING, d);
	give(0, 1960, d, OFF_CPU_SLEEPING, idle);
	timeline_stop(kit.timeline, 2000);
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		struct record_stack r = {.head = {.clock = found[i].slept,
						  .kind = RECORD_STACK,
						  .id = found[i].who.id},
					 .nkernel = 1,
					 .kernel = {0x1000 + i}};

		timeline_sleeps_at(kit.timeline, &r);
	}
	close_kit(2000, 0);
	assert_owners("loom.node/proc.10/thread.30", "0 0 stack 1\n");
	assert_owners("loom.node/proc.40/thread.40", "0\n");
	assert_owners("loom.node/proc.50/thread.50", "0\n");
	assert_owners("loom.node/proc.10/thread.10", "0\n");
	assert_string_equal(kit_lines, "ovni-bpf stacks 1\n1\t0x1001\n");
}

/* The switch after the record of a stack is lost: the next sleep does not get it. */
static void a_stack_belongs_to_one_sleep(void **state)
{
	struct record_switch r = rec_switch(1300, idle, 0, a);
	struct record_lost lost = rec_lost(1250, 1200, 1);

	(void)state;
	kit_stack_ns = 100;
	open_kit(a);
	kit_stack_ns = 0;
	give(0, 1100, a, OFF_CPU_SLEEPING, idle);
	give_stack(0, 1190, a, 0x1000, STACK_KERNEL_MAX);
	assert_int_equal(kit_give(&kit, 0, &lost), 0);
	r.head.flags = SWITCH_NEXT_LOST;
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	give(0, 1400, a, OFF_CPU_SLEEPING, idle);
	give(0, 1500, idle, 0, a);
	close_kit(2000, 0);
	assert_owners("loom.node/proc.10/thread.20", "0 lost\n0\n");
	assert_non_null(strstr(kit_lines, ";0x101f;[cut]\n"));
}

static void a_call_that_goes_on_after_a_loss_has_its_own_number(void **state)
{
	struct record_switch r = rec_switch(1300, idle, 0, a);
	struct record_lost lost = rec_lost(1250, 1200, 1);

	(void)state;
	open_kit(a);
	give_call(0, 1100, a, OFF_CPU_SLEEPING, idle, 35, 99);
	assert_int_equal(kit_give(&kit, 0, &lost), 0);
	r.head.flags = SWITCH_NEXT_LOST;
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	give_call(0, 1400, a, OFF_CPU_SLEEPING, idle, 219, 99);
	close_kit(2000, 0);
	assert_calls("loom.node/proc.10/thread.20", "1 35\n1 219\n");
}

static void a_wake_up_has_its_own_clock_and_waker(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1100, a, OFF_CPU_SLEEPING, idle);
	give_woken(0, 1300, idle, 0, a, 1200, 77);
	give(0, 1400, a, OFF_CPU_IO, idle);
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
	give(0, 1100, a, OFF_CPU_SLEEPING, idle);
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
	give(0, 1100, a, OFF_CPU_SLEEPING, idle);
	give_woken(0, 1300, idle, 0, a, 1099, 77);
	give(0, 1400, a, OFF_CPU_SLEEPING, idle);
	give_woken(0, 1500, idle, 0, a, 1400, 77);
	give(0, 1600, a, OFF_CPU_SLEEPING, idle);
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
	give(0, 1100, a, OFF_CPU_PREEMPTED, b);
	give_woken(0, 1300, b, OFF_CPU_SLEEPING, a, 1200, 77);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1100 OHp 6 30\n1100 OHw -1\n1301 OHr\n2000 OHe\n");
}

static void it_exits_at_its_last_switch_and_may_sleep_before(void **state)
{
	struct json *meta;

	(void)state;
	open_kit(a);
	exits(0, 1100, a, 3 << 8);
	give(0, 1200, a, OFF_CPU_UNINTERRUPTIBLE, idle);
	give(0, 1300, idle, 0, a);
	give(0, 1400, a, OFF_CPU_DEAD, b);
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
		give(0, 1100, a, i % 2 ? OFF_CPU_SLEEPING : OFF_CPU_PREEMPTED, b);
		give(0, 1100, b, i % 3 ? OFF_CPU_SLEEPING : OFF_CPU_YIELDED, a);
	}
	give(0, 1100, a, OFF_CPU_SLEEPING, idle);
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
	give(0, 1200, a, OFF_CPU_SLEEPING, b);
	give(0, 1150, b, OFF_CPU_SLEEPING, a);
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
	give(0, 1100, a, OFF_CPU_SLEEPING, a);
	give(0, 1200, a, OFF_CPU_DEAD, a);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n2000 OHe\n");
}

/* ---- closing ---- */

static void whatever_the_state_all_are_dead_at_t1(void **state)
{
	(void)state;
	open_kit(a);
	iterated(leader, 1, 0, 0);
	give(0, 1100, a, OFF_CPU_SLEEPING, b);
	give(0, 1200, b, OFF_CPU_PREEMPTED, c);
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
	give(0, 1600, a, OFF_CPU_SLEEPING, b);
	close_kit(1500, 0);
	assert_stream(10, 20, "1501 OHx 0 -1 0\n1501 OHe\n");
	assert_no_stream(10, 30);
	assert_int_equal(kit.counts.outside, 3);
}

static void the_last_iterator_has_threads_woken_without_running(void **state)
{
	const struct who other_sleeper = {6, 60, 60};

	(void)state;
	open_with((struct timeline_options){0});
	iterated(c, 1, 0, 0);
	iterated(d, 1, 0, 0);
	snapshot(0, T0 - 1, a);
	snapshot(1, T0, idle);
	birth(0, 1050, a, leader);
	give(0, 1100, a, OFF_CPU_SLEEPING, b);
	give(0, 1200, b, OFF_CPU_SLEEPING, other_sleeper);
	give(0, 1250, other_sleeper, OFF_CPU_SLEEPING, idle);
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
	give(0, limit + 1, a, OFF_CPU_SLEEPING, b);
	give(0, limit + 5 * HOUR, b, OFF_CPU_SLEEPING, c);
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
		r = rec_switch(clock, a, OFF_CPU_SLEEPING, b);
		assert_int_equal(kit_give(&kit, 0, &r), 0);
	}
	r = rec_switch(UINT64_MAX, a, OFF_CPU_SLEEPING, b);
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
		TEST(a_move_while_it_waits_has_its_own_clock),
		TEST(every_way_to_leave_has_its_number),
		TEST(a_sleep_has_its_system_call),
		TEST(a_thread_asleep_when_the_window_opens_has_its_system_call),
		TEST(the_end_of_a_wait_for_a_lock_has_its_owner),
		TEST(after_a_loss_there_is_no_owner),
		TEST(the_end_of_a_long_sleep_has_its_stack),
		TEST(a_stack_belongs_to_one_sleep),
		TEST(a_sleep_to_the_end_has_its_stack),
		TEST(a_call_that_goes_on_after_a_loss_has_its_own_number),
		TEST(a_wake_up_has_its_own_clock_and_waker),
		TEST(without_a_wake_up_seen_it_is_at_the_switch),
		TEST(a_wake_up_older_than_the_last_switch_out_is_ignored),
		TEST(woken_while_it_waits_is_nothing),
		TEST(it_exits_at_its_last_switch_and_may_sleep_before),
		TEST(ten_thousand_switches_in_one_nanosecond),
		TEST(a_record_of_the_past_is_clamped_and_counted),
		TEST(a_switch_from_a_thread_to_itself_is_none),
		TEST(whatever_the_state_all_are_dead_at_t1),
		TEST(at_t1_or_at_the_last_clock_if_that_is_later),
		TEST(the_last_iterator_has_threads_woken_without_running),
		TEST(nothing_at_all_is_a_session_too),
		TEST(a_stream_that_begins_late_says_so_at_t0),
		TEST(a_window_ends_before_the_clock_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
