/* SPDX-License-Identifier: MIT */
/*
 * calls: records of probes among those of the scheduler, and their events in streams. The checker
 * of timeline_kit.h checks every stream.
 */
#include "timeline_kit.h"

#include "user/timeline/probe_events.h"

#define T0    1000
#define STACK 7

static const struct who a = {1, 11, 10}, b = {2, 12, 10};
static struct kit kit;
static struct actions actions;
static struct calls_plan plan = {.actions = &actions};

/* Sites, by index. */
enum { F, G, SEND, VALUE, POINT, NSITES };
static const struct site sites[NSITES] = {
	[F] = {.kind = SITE_FUNCTION, .label = "f"}, /* mark 1 */
	[G] = {.kind = SITE_FUNCTION, .label = "g"}, /* mark 2 */
	[SEND] = {.kind = SITE_FUNCTION, .label = "MPI_Send"},
	[VALUE] = {.kind = SITE_FUNCTION,
		   .label = "v", /* mark 3 */
		   .value = {.source = SITE_ARGUMENT, .number = 1, .bytes = 4, .is_signed = true}},
	[POINT] = {.kind = SITE_POINT, .label = "p"},
};

static int setup(void **state)
{
	struct action *send = NULL;

	(void)state;
	assert_int_equal(actions_new(&actions, NSITES), 0);
	send = &actions.list[SEND];
	for (size_t i = 0; i < NSITES; i++)
		if (i != SEND)
			assert_int_equal(actions_of_site(&actions, i, &sites[i]), 0);
	send->has_during = true;
	send->during = (struct effect){.enter = MCV('M', 'S', '['), .leave = MCV('M', 'S', ']')};
	assert_int_equal(actions_finish(&actions), 0);
	plan.sites = sites;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	actions_free(&actions);
	return 0;
}

static void give(unsigned cpu, const void *record)
{
	assert_int_equal(kit_give(&kit, cpu, record), 0);
}

static void snapshot(unsigned cpu, uint64_t clock, struct who who)
{
	struct record_snapshot r = rec_snapshot(clock, SNAPSHOT_START, who);

	give(cpu, &r);
}

/* Two CPUs; `on0` runs on the first one at T0, nobody on the other. */
static void open_kit(struct who on0, struct timeline_options options)
{
	options.t0 = T0;
	options.calls = &plan;
	kit_open(&kit, "0-1", options);
	if (options.no_switches)
		return;
	snapshot(0, T0 - 10, on0);
	snapshot(1, T0, idle);
}

static const struct timeline_options ordinary;

static void close_kit(uint64_t t1)
{
	kit_close(&kit, t1);
	assert_int_equal(kit.err, 0);
	kit_check((int)kit.indices);
}

static void switches(unsigned cpu, uint64_t clock, struct who prev, unsigned why, struct who next)
{
	struct record_switch r = rec_switch(clock, prev, why, next);

	give(cpu, &r);
}

static void probe(unsigned cpu, uint64_t clock, struct who who, unsigned flags, uint32_t site,
		  uint64_t call, uint64_t sp, int64_t value)
{
	struct record_probe r = {
		.head = {.clock = clock, .kind = RECORD_PROBE, .flags = (__u8)flags, .id = who.id},
		.site = site,
		.stack = STACK,
		.sp = sp,
		.call = call,
		.value = value,
		.tid = who.tid,
		.pid = who.pid,
	};

	give(cpu, &r);
}

static void enter(uint64_t clock, struct who who, uint32_t site, uint64_t call)
{
	probe(0, clock, who, PROBE_ENTRY, site, call, 9000 - 10 * call, 0);
}

static void leave(uint64_t clock, struct who who, uint32_t site, uint64_t call)
{
	probe(0, clock, who, PROBE_RETURN, site, call, 9000 - 10 * call, 0);
}

static struct call_figures figures(unsigned site)
{
	return timeline_calls(kit.timeline)->figures[site];
}

static void calls_are_states_of_the_thread(void **state)
{
	(void)state;
	open_kit(a, ordinary);
	enter(1100, a, F, 1);
	enter(1200, a, G, 2);
	leave(1300, a, G, 2);
	leave(1400, a, F, 1);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1200 OM[ 2 0\n"
		      "1300 OM] 2 0\n"
		      "1400 OM] 1 0\n"
		      "2000 OHe\n");
}

static void a_call_lasts_while_its_thread_sleeps(void **state)
{
	struct call_figures f;

	(void)state;
	open_kit(a, ordinary);
	enter(1100, a, F, 1);
	switches(0, 1200, a, OFF_CPU_SLEEPING, idle);
	switches(0, 1500, idle, 0, a);
	leave(1600, a, F, 1);
	f = figures(F);
	assert_int_equal(f.calls, 1);
	assert_int_equal(f.wall_ns, 500);
	assert_int_equal(f.on_cpu_ns, 100 + 99); /* it enters a nanosecond after the other left */
	assert_int_equal(f.left, 0);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1200 OHp 1 0\n"
		      "1501 OHw 0\n"
		      "1501 OHr\n"
		      "1600 OM] 1 0\n"
		      "2000 OHe\n");
}

static void open_regions_are_closed_at_the_end(void **state)
{
	const char *meta;

	(void)state;
	open_kit(a, ordinary);
	enter(1100, a, F, 1);
	enter(1200, a, SEND, 2);
	switches(0, 1300, a, OFF_CPU_SLEEPING, idle);
	close_kit(2000);
	meta = kit_stream(10, 11)->meta; /* it describes the session */
	assert_non_null(strstr(meta, "\"wall_ns\": \"900\""));
	assert_non_null(strstr(meta, "\"on_cpu_ns\": \"200\""));
	assert_non_null(strstr(meta, "\"left\": \"1\""));
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1200 MS[\n"
		      "1300 OHp 1 0\n"
		      "2000 OHw 0\n"
		      "2000 OAs -1\n"
		      "2000 OHr\n"
		      "2000 MS]\n"
		      "2000 OM] 1 0\n"
		      "2000 OHe\n");
}

static void the_end_of_a_thread_leaves_its_functions(void **state)
{
	struct record_exit r = rec_exit(1200, a, 7 << 8);

	(void)state;
	open_kit(a, ordinary);
	enter(1100, a, F, 1);
	give(0, &r);
	switches(0, 1300, a, OFF_CPU_DEAD, idle);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1300 OM] 1 0\n"
		      "1300 OHe\n");
}

static void functions_entered_before_the_window_are_open_in_it(void **state)
{
	(void)state;
	open_kit(idle, ordinary);
	probe(0, 900, a, PROBE_ENTRY, F, 1, 100, 0);
	probe(0, 910, a, PROBE_ENTRY, G, 2, 90, 0);
	probe(0, 920, a, PROBE_RETURN, G, 2, 90, 0);
	snapshot(0, T0, a);
	leave(1100, a, F, 1);
	assert_int_equal(figures(F).calls, 0);
	assert_int_equal(figures(F).wall_ns, 100);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1000 OM[ 1 0\n"
		      "1100 OM] 1 0\n"
		      "2000 OHe\n");
}

static void who_sleeps_at_t0_is_in_its_function(void **state)
{
	(void)state;
	open_kit(idle, ordinary);
	probe(0, 900, a, PROBE_ENTRY, F, 1, 100, 0);
	switches(0, 950, a, OFF_CPU_SLEEPING, idle);
	snapshot(0, T0, idle);
	switches(0, 1200, idle, 0, a);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx -1 -1 0\n"
		      "1000 OM[ 1 0\n"
		      "1000 OHp 0 -1\n"
		      "1201 OHw 0\n"
		      "1201 OAs 0\n"
		      "1201 OHr\n"
		      "2000 OM] 1 0\n"
		      "2000 OHe\n");
}

static void exec_leaves_all_functions(void **state)
{
	struct record_task r = rec_task(1200, TASK_EXECED, a.id, a, "other");

	(void)state;
	open_kit(a, ordinary);
	enter(1100, a, F, 1);
	give(0, &r);
	enter(1300, a, G, 2);
	leave(1400, a, G, 2);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1200 OM] 1 0\n"
		      "1300 OM[ 2 0\n"
		      "1400 OM] 2 0\n"
		      "2000 OHe\n");
}

static void an_exec_leaves_all_functions(void **state)
{
	static const struct who leader = {1, 10, 10};
	struct record_task r = rec_task(1200, TASK_EXECED, a.id, leader, "other");

	(void)state;
	r.old_tid = a.tid;
	open_kit(a, ordinary);
	enter(1100, a, F, 1);
	give(0, &r);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1200 OM] 1 0\n"
		      "1200 OHe\n");
	assert_stream(10, 10,
		      "1201 OHx 0 -1 0\n"
		      "2000 OHe\n");
}

static void a_thread_on_other_cpus_takes_its_calls_along(void **state)
{
	struct record_switch back = rec_switch(1500, idle, 0, a);

	(void)state;
	open_kit(a, (struct timeline_options){.cpu_filter = true});
	enter(1100, a, F, 1);
	enter(1150, a, G, 2);
	switches(0, 1200, a, OFF_CPU_PREEMPTED, idle);
	probe(1, 1300, a, PROBE_RETURN | PROBE_ELSEWHERE, G, 2, 8980, 0);
	back.head.flags = SWITCH_NEXT_ELSEWHERE;
	give(0, &back);
	leave(1600, a, F, 1);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1150 OM[ 2 0\n"
		      "1200 OHp 6 0\n"
		      "1200 OHw -1\n"
		      "1200 OAs -1\n"
		      "1200 OHr\n"
		      "1200 OM] 2 0\n"
		      "1200 OM] 1 0\n"
		      "1200 OHe\n"
		      "1501 OHx 0 -1 0\n"
		      "1501 OM[ 1 0\n"
		      "1600 OM] 1 0\n"
		      "2000 OHe\n");
}

static void marks_stand_where_the_kernel_model_lets_them(void **state)
{
	(void)state;
	open_kit(a, (struct timeline_options){.kernel_model = true});
	enter(1100, a, F, 1);
	switches(0, 1200, a, OFF_CPU_SLEEPING, idle);
	probe(1, 1300, a, PROBE_ENTRY, G, 2, 100, 0); /* its switch-in has been lost */
	switches(1, 1400, a, OFF_CPU_SLEEPING, idle);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx -1 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1200 KCO 1 0\n"
		      "1299 KCI 1\n"
		      "1300 OM[ 2 0\n"
		      "1400 KCO 1 0\n"
		      "2000 KCI -1\n"
		      "2000 OM] 2 0\n"
		      "2000 OM] 1 0\n"
		      "2000 OHe\n");
}

static void probes_alone_are_on_the_virtual_cpu(void **state)
{
	struct record_exit r = rec_exit(1500, b, 0);

	(void)state;
	open_kit(idle, (struct timeline_options){.no_switches = true});
	enter(1100, a, F, 1);
	enter(1150, b, G, 2);
	probe(1, 1200, a, PROBE_RETURN, F, 1, 8990, 0);
	give(0, &r);
	close_kit(2000);
	assert_stream(10, 11,
		      "1100 OHx -1 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1200 OM] 1 0\n"
		      "2000 OHe\n");
	assert_stream(10, 12,
		      "1150 OHx -1 -1 0\n"
		      "1150 OM[ 2 0\n"
		      "1500 OM] 2 0\n"
		      "1500 OHe\n");
}

static void lost_returns_are_made_up_for(void **state)
{
	struct record_lost r = rec_lost(1300, 1250, 2);

	(void)state;
	open_kit(a, ordinary);
	enter(1100, a, F, 1);
	enter(1200, a, G, 2);
	give(0, &r); /* both returns */
	enter(1300, a, F, 3);
	probe(0, 1400, a, PROBE_RETURN, G, 99, 500, 0); /* and an entry */
	assert_int_equal(timeline_calls(kit.timeline)->counts.unmatched, 1);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM[ 1 0\n"
		      "1200 OM[ 2 0\n"
		      "1250 OM[ 2 92\n"
		      "1300 OM] 2 92\n"
		      "1300 OM[ 1 0\n"
		      "2000 OM] 1 0\n"
		      "2000 OM] 2 0\n"
		      "2000 OM] 1 0\n"
		      "2000 OHe\n");
}

static void values_are_as_wide_as_they_are_and_never_0(void **state)
{
	(void)state;
	open_kit(a, ordinary);
	probe(0, 1100, a, PROBE_ENTRY | PROBE_VALUE, VALUE, 1, 900, 0xffffffff);
	probe(0, 1200, a, PROBE_RETURN, VALUE, 1, 900, 0);
	probe(0, 1300, a, PROBE_ENTRY | PROBE_VALUE, VALUE, 2, 900, 0x100000000);
	probe(0, 1400, a, PROBE_RETURN, VALUE, 2, 900, 0);
	probe(0, 1500, a, PROBE_ENTRY, VALUE, 3, 900, 0); /* could not be read */
	probe(0, 1600, a, PROBE_RETURN, VALUE, 3, 900, 0);
	probe(0, 1700, a, PROBE_POINT, POINT, 0, 800, 0);
	assert_int_equal(timeline_calls(kit.timeline)->counts.valueless, 1);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM= -1 1\n"
		      "1100 OM[ 3 0\n"
		      "1200 OM] 3 0\n"
		      "1300 OM= -2147483648 1\n"
		      "1300 OM[ 3 0\n"
		      "1400 OM] 3 0\n"
		      "1500 OM[ 3 0\n"
		      "1600 OM] 3 0\n"
		      "1700 OM= 1 2\n"
		      "2000 OHe\n");
	assert_non_null(strstr(kit_stream(10, 11)->meta, "\"-2147483648\": \"0\""));
}

static void of_calls_in_each_other_the_outermost_is_timed(void **state)
{
	(void)state;
	open_kit(a, ordinary);
	for (unsigned i = 1; i <= 3; i++)
		enter(1000 + 100 * i, a, F, i);
	for (unsigned i = 3; i >= 1; i--)
		leave(1000 + 100 * (7 - i), a, F, i);
	assert_int_equal(figures(F).calls, 3);
	assert_int_equal(figures(F).wall_ns, 500);
	close_kit(2000);
}

static void a_stream_declares_only_what_it_uses(void **state)
{
	(void)state;
	open_kit(a, ordinary);
	enter(1100, a, F, 1);
	leave(1200, a, F, 1);
	switches(0, 1300, a, OFF_CPU_SLEEPING, b);
	enter(1400, b, SEND, 2);
	leave(1500, b, SEND, 2);
	close_kit(2000);
	assert_non_null(strstr(kit_stream(10, 11)->meta, "\"1\": \"f\""));
	assert_null(strstr(kit_stream(10, 11)->meta, "\"g\""));
	assert_null(strstr(kit_stream(10, 11)->meta, "\"mpi\""));
	assert_null(strstr(kit_stream(10, 12)->meta, "\"mark\""));
	assert_non_null(strstr(kit_stream(10, 12)->meta, "\"mpi\": \"1.0.0\""));
}

static uint64_t random_state = 88172645463325252ull;

static uint32_t any(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20) % below;
}

/* Records that contradict each other: streams are still valid. */
static void nonsense(struct timeline_options options)
{
	static const struct who who[] = {{0, 0, 0}, {1, 11, 10}, {2, 12, 10}, {3, 20, 20}};
	uint64_t clock = T0 + 1;

	open_kit(who[any(4)], options);
	for (unsigned i = 0; i < 3000; i++) {
		struct who x = who[1 + any(3)], y = who[any(4)];
		unsigned cpu = any(2);
		struct record_task r;

		clock += any(3);
		switch (any(20)) {
		case 0: {
			struct record_exit e = rec_exit(clock, x, 0);

			give(cpu, &e);
			break;
		}
		case 1:
			r = rec_task(clock, TASK_EXECED, x.id, x, "other");
			give(cpu, &r);
			break;
		case 2:
			switches(cpu, clock, x, any(40) ? any(10) : OFF_CPU_DEAD, y);
			break;
		case 3: {
			struct record_lost l = rec_lost(clock, clock - any(5), 1 + any(3));

			give(cpu, &l);
			break;
		}
		case 4:
		case 5:
		case 6:
			switches(cpu, clock, x, any(10), y);
			break;
		default:
			probe(cpu, clock, x,
			      1 + any(3) + (any(2) ? PROBE_VALUE : 0) + (any(8) ? 0 : PROBE_TAIL) +
				      (any(20) || !options.cpu_filter ? 0 : PROBE_ELSEWHERE),
			      any(NSITES), any(2) ? i - any(20) : 0, 1 + any(500), any(3) - 1);
		}
	}
	close_kit(clock + 10);
}

static void nonsense_makes_valid_streams(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 40; i++)
		nonsense((struct timeline_options){.kernel_model = i % 4 == 1,
						   .cpu_filter = i % 4 == 2,
						   .no_switches = i % 4 == 3});
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(calls_are_states_of_the_thread),
		T(a_call_lasts_while_its_thread_sleeps),
		T(open_regions_are_closed_at_the_end),
		T(the_end_of_a_thread_leaves_its_functions),
		T(functions_entered_before_the_window_are_open_in_it),
		T(who_sleeps_at_t0_is_in_its_function),
		T(exec_leaves_all_functions),
		T(an_exec_leaves_all_functions),
		T(a_thread_on_other_cpus_takes_its_calls_along),
		T(marks_stand_where_the_kernel_model_lets_them),
		T(probes_alone_are_on_the_virtual_cpu),
		T(lost_returns_are_made_up_for),
		T(values_are_as_wide_as_they_are_and_never_0),
		T(of_calls_in_each_other_the_outermost_is_timed),
		T(a_stream_declares_only_what_it_uses),
		T(nonsense_makes_valid_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
