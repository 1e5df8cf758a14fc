/* SPDX-License-Identifier: MIT */
/*
 * timeline_records: the threads and records that the tests of the timeline are written with.
 */
#ifndef TESTS_UNIT_TIMELINE_RECORDS_H
#define TESTS_UNIT_TIMELINE_RECORDS_H

#include "timeline_kit.h"

#pragma GCC diagnostic ignored "-Wunused-const-variable"
#pragma GCC diagnostic ignored "-Wunused-variable"

#define T0   1000
#define HOUR (3600 * 1000000000ull)

/* Two threads of a process, its leader, two others; tids are ten times the ids. */
static const struct who leader = {1, 10, 10}, a = {2, 20, 10}, b = {3, 30, 10}, c = {4, 40, 40},
			d = {5, 50, 50}, other = {0, 77, 77};

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

/* The one that leaves falls asleep in the system call, on a lock of the thread `owner`. */
static inline void give_lock(unsigned cpu, uint64_t clock, struct who prev, unsigned why,
			     struct who next, uint16_t call, uint64_t object, int32_t owner)
{
	struct record_switch_call r = {.sw = rec_switch(clock, prev, why, next),
				       .call = call,
				       .object = object,
				       .owner = owner};

	r.sw.head.kind = RECORD_SWITCH_CALL;
	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

/* The same, on no lock. */
static inline void give_call(unsigned cpu, uint64_t clock, struct who prev, unsigned why,
			     struct who next, uint16_t call, uint64_t object)
{
	give_lock(cpu, clock, prev, why, next, call, object, LOCK_OWNER_UNKNOWN);
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

static int forget(void **state)
{
	(void)state;
	kit_forget();
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

#endif
