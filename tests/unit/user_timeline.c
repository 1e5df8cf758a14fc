/* SPDX-License-Identifier: MIT */
/* timeline: one test for each row and rule of the state machine, from synthetic records. */
#include "timeline_kit.h"

static const struct who a = {1, 11, 10}, b = {2, 12, 10}, c = {3, 13, 13};

#define T0 1000

/* A session on two CPUs where `a` runs on CPU 0 at T0 and CPU 1 idles. */
static void open_a(struct kit *kit)
{
	struct record_snapshot s0 = rec_snapshot(T0 - 1, SNAPSHOT_START, a),
			       s1 = rec_snapshot(T0, SNAPSHOT_START, idle);

	kit_open(kit, "0-1", (struct timeline_options){.t0 = T0});
	assert_int_equal(kit_give(kit, 0, &s0), 0);
	assert_int_equal(kit_give(kit, 1, &s1), 0);
}

static void give_switch(struct kit *kit, unsigned cpu, uint64_t clock, struct who prev,
			unsigned why, struct who next)
{
	struct record_switch r = rec_switch(clock, prev, why, next);

	assert_int_equal(kit_give(kit, cpu, &r), 0);
}

static void done(struct kit *kit, uint64_t t1)
{
	kit_close(kit, t1);
	assert_int_equal(kit->err, 0);
	kit_check(2);
}

static void who_runs_when_the_window_opens_enters_at_t0(void **state)
{
	struct kit kit;

	(void)state;
	open_a(&kit);
	done(&kit, 2000);
	assert_stream(10, 11, "1000 OHx 0 -1 0\n2000 OHe\n");
	kit_forget();
}

static void ping_pong(void **state)
{
	struct kit kit;

	(void)state;
	open_a(&kit);
	give_switch(&kit, 0, 1100, a, WHY_SLEEPING, b);
	give_switch(&kit, 0, 1200, b, WHY_PREEMPTED, a);
	give_switch(&kit, 0, 1300, a, WHY_DEAD, b);
	give_switch(&kit, 0, 1400, b, WHY_IO, idle);
	give_switch(&kit, 1, 1500, idle, 0, b);
	give_switch(&kit, 1, 1600, b, WHY_SLEEPING, idle);
	done(&kit, 2000);
	assert_stream(10, 11, "1000 OHx 0 -1 0\n1100 OHp 1 12\n1201 OHw 0\n1201 OHr\n1300 OHe\n");
	assert_stream(10, 12,
		      "1101 OHx 0 -1 0\n1200 OHp 6 11\n1200 OHw -1\n1301 OHr\n1400 OHp 3 0\n"
		      "1501 OHw 0\n1501 OAs 1\n1501 OHr\n1600 OHp 1 0\n"
		      "2000 OHw 0\n2000 OAs -1\n2000 OHr\n2000 OHe\n");
	kit_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_runs_when_the_window_opens_enters_at_t0),
		cmocka_unit_test(ping_pong),
	};
	(void)c;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
