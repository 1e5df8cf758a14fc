/* SPDX-License-Identifier: MIT */
/* history: keeps the newest records, without a hole, in bounded memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/probes/site.h"
#include "user/sink/history.h"
#include "user/sink/trigger.h"

struct watcher {
	uint64_t discarded, played; /* records, which are numbered in `id` from 1 */
	uint64_t notes, dropped;
	unsigned cpu;
	struct history *history;
};

static int discarded(void *arg, unsigned cpu, const struct record_head *record)
{
	struct watcher *w = arg;

	assert_int_equal(record->id, ++w->discarded);
	assert_int_equal(cpu, record->id % 7);
	return 0;
}

static int played(void *arg, unsigned cpu, const struct record_head *record)
{
	struct watcher *w = arg;

	assert_int_equal(record->id, ++w->played);
	assert_int_equal(cpu, record->id % 7);
	return 0;
}

static struct watcher *noted;

static void *note(void *arg)
{
	struct watcher *w = arg;
	uint64_t *at = malloc(sizeof(*at));

	noted = w;
	w->notes++;
	*at = w->history ? w->discarded + history_records(w->history) : 0;
	return at;
}

static void drop_note(void *at)
{
	noted->dropped++;
	free(at);
}

static struct history *make(struct watcher *w, uint64_t bytes, uint64_t ns, uint64_t start)
{
	const struct history_options options = {.bytes = bytes,
						.ns = ns,
						.discarded = discarded,
						.note = note,
						.drop_note = drop_note,
						.note_bytes = sizeof(uint64_t),
						.arg = w};

	memset(w, 0, sizeof(*w));
	w->history = history_new(&options, start);
	assert_non_null(w->history);
	return w->history;
}

static void put(struct history *history, uint32_t number, uint64_t clock)
{
	struct record_switch r = {.head = {.clock = clock, .kind = RECORD_SWITCH, .id = number}};
	struct record_task t = {.head = {.clock = clock, .kind = RECORD_TASK, .id = number}};

	assert_int_equal(history_put(history, number % 7, number % 5 ? &r.head : &t.head), 0);
}

/* All that was put and not discarded comes out, in order; the note is of where it begins. */
static void check_held(struct watcher *w, uint32_t last)
{
	struct history_hold_set held = {0};

	assert_int_equal(history_hold(w->history, &held), 0);
	w->played = w->discarded;
	assert_int_equal(*(const uint64_t *)held.note, w->discarded);
	assert_int_equal(held.start, history_start(w->history));
	assert_int_equal(history_play(&held, played, w), 0);
	assert_int_equal(w->played, last);
	history_release(&held);
}

static void finish(struct watcher *w)
{
	history_free(w->history);
	assert_int_equal(w->notes, w->dropped);
}

static void the_oldest_makes_room_for_the_newest(void **state)
{
	struct watcher w;
	struct history *history = make(&w, HISTORY_BYTES_MIN, 0, 10);

	(void)state;
	for (uint32_t i = 1; i <= 200000; i++) {
		put(history, i, 10 + i);
		assert_true(history_memory(history) <= HISTORY_BYTES_MIN);
		if (i % 50000 == 0)
			check_held(&w, i);
	}
	assert_false(history_short(history)); /* nobody has asked for a time */
	/* records of some 64 bytes: the kept ones fill most of the memory, and no more */
	assert_true(history_records(history) > HISTORY_BYTES_MIN / 64 * 3 / 4);
	assert_int_equal(w.discarded + history_records(history), 200000);
	finish(&w);
}

static void old_records_are_discarded_and_no_others(void **state)
{
	const uint64_t ns = 3200000;
	struct watcher w;
	struct history *history = make(&w, 64 << 20, ns, 1000);
	uint64_t clock = 1000;

	(void)state;
	for (uint32_t i = 1; i <= 100000; i++) {
		put(history, i, clock += 1000);
		if (i % 20)
			continue;
		assert_int_equal(history_advance(history, clock + 1), 0);
		assert_true(clock < ns || history_start(history) <= clock + 1 - ns);
		/* at most two slices more than asked for: the one begun, the one partly of use */
		assert_true(clock < 2 * ns ||
			    history_start(history) >= clock - ns - 2 * ns / HISTORY_SLICES - 1000);
	}
	check_held(&w, 100000);
	assert_false(history_short(history));
	finish(&w);
}

static void too_little_room_is_known(void **state)
{
	struct watcher w;
	struct history *history = make(&w, HISTORY_BYTES_MIN, 10000, 0);

	(void)state;
	for (uint32_t i = 1; i <= 5000; i++)
		put(history, i, i);
	assert_false(history_short(history));
	for (uint32_t i = 5001; i <= 100000; i++)
		put(history, i, 5000 + i / 100);
	assert_true(history_short(history));
	finish(&w);
}

/* An idle machine: the window moves on without a record. */
static void time_passes_without_records(void **state)
{
	const uint64_t ns = 1000000, second = 1000000000;
	struct watcher w;
	struct history *history = make(&w, HISTORY_BYTES_MIN, ns, 5);

	(void)state;
	put(history, 1, 6);
	for (uint64_t clock = 10; clock < 100 * second; clock += second / 10)
		assert_int_equal(history_advance(history, clock), 0);
	assert_int_equal(w.discarded, 1);
	assert_int_equal(history_start(history), 6);
	assert_int_equal(history_records(history), 0);
	check_held(&w, 1);
	put(history, 2, 101 * second);
	check_held(&w, 2);
	finish(&w);
}

static void nothing_at_all_can_be_held(void **state)
{
	struct watcher w;
	struct history *history = make(&w, HISTORY_BYTES_MIN, 1000000, 5);

	(void)state;
	check_held(&w, 0);
	assert_int_equal(history_advance(history, 0), 0);
	assert_int_equal(history_advance(history, UINT64_MAX), 0);
	check_held(&w, 0);
	finish(&w);
}

static void many_records_in_one_nanosecond(void **state)
{
	struct watcher w;
	struct history *history = make(&w, 4 << 20, 1000000, (1ull << 63) - 50);

	(void)state;
	for (uint32_t i = 1; i <= 10000; i++)
		put(history, i, (1ull << 63) - 10);
	assert_int_equal(history_advance(history, (1ull << 63) - 9), 0);
	assert_int_equal(w.discarded, 0);
	check_held(&w, 10000);
	finish(&w);
}

/* A save runs in another thread while more is recorded and its records are discarded. */
static void held_records_stay(void **state)
{
	struct history_hold_set held = {0};
	struct watcher w;
	struct history *history = make(&w, HISTORY_BYTES_MIN, 0, 0);

	(void)state;
	for (uint32_t i = 1; i <= 5000; i++)
		put(history, i, i);
	assert_int_equal(history_hold(history, &held), 0);
	for (uint32_t i = 5001; i <= 100000; i++)
		put(history, i, i);
	assert_true(w.discarded > 5000);
	w.played = 0;
	assert_int_equal(history_play(&held, played, &w), 0);
	assert_int_equal(w.played, 5000);
	assert_int_equal(held.start, 0);
	assert_int_equal(held.first, 1);
	history_free(history);
	assert_true(w.notes > w.dropped);
	history_release(&held);
	assert_int_equal(w.notes, w.dropped);
}

static int refuses(void *arg, unsigned cpu, const struct record_head *record)
{
	(void)cpu;
	return record->id == 100 ? *(int *)arg : 0;
}

static void errors_of_the_callback_are_returned(void **state)
{
	int err = -5, got = 0;
	const struct history_options options = {
		.bytes = HISTORY_BYTES_MIN, .discarded = refuses, .arg = &err};
	struct history *history = history_new(&options, 0);
	struct record_switch r = {.head = {.kind = RECORD_SWITCH}};

	(void)state;
	for (r.head.id = 1; r.head.id < 100000 && !got; r.head.id++)
		got = history_put(history, 0, &r.head);
	assert_int_equal(got, -5);
	history_free(history);
}

/* ---- triggers ---- */

static void give(struct trigger *t, uint64_t clock, uint32_t prev, unsigned why, uint32_t next,
		 uint64_t wake)
{
	struct record_switch r = {
		.head = {.clock = clock, .kind = RECORD_SWITCH, .why = (__u16)why, .id = prev},
		.next_id = next,
		.next_tid = next + 1000,
		.next_pid = 7,
		.wake_clock = wake};

	assert_int_equal(trigger_record(t, &r.head), 0);
}

static void a_long_wait_is_met_from_the_wake_up_or_the_preemption(void **state)
{
	struct trigger t = {0};

	(void)state;
	assert_null(trigger_parse(&t.plan, "latency>5ms"));
	assert_int_equal(t.plan.latency_ns, 5000000);
	give(&t, 10000000, 1, OFF_CPU_SLEEPING, 2, 5000000); /* exactly 5 ms: not longer */
	assert_false(t.met);
	give(&t, 20000000, 2, OFF_CPU_SLEEPING, 3, 14999999);
	assert_true(t.met);
	assert_string_equal(t.text,
			    "thread 1003 of process 7 waited 5.000 ms for a CPU, until 20000000");
	t.met = false;
	give(&t, 30000000, 3, OFF_CPU_PREEMPTED, 4, 0);
	give(&t, 33000000, 4, OFF_CPU_YIELDED, 3, 0); /* 3 ms */
	assert_false(t.met);
	give(&t, 40000000, 3, OFF_CPU_SLEEPING, 4, 0); /* 7 ms */
	assert_true(t.met);
	t.met = false;
	give(&t, 50000000, 4, OFF_CPU_SLEEPING, 3, 0); /* slept, nobody saw the wake-up */
	assert_false(t.met);
	give(&t, 60000000, 3, OFF_CPU_PREEMPTED, 0, 0);
	give(&t, 70000000, 0, 0, 3, 69000000);
	assert_false(t.met);
	trigger_fini(&t);
}

/* A wait allocates nothing, but the first one of a thread. After its exit a thread may wait once more
 * before its last switch. */
static void memory_of_waits_follows_threads(void **state)
{
	struct record_exit dead = {.head.kind = RECORD_EXIT};
	struct trigger t = {.plan.latency_ns = 1000};
	const void *page;

	(void)state;
	for (uint32_t id = 1; id < 1000000; id++) {
		give(&t, id * 10ull, id, OFF_CPU_PREEMPTED, 0, 0);
		page = t.pages[id / 256];
		assert_non_null(page);
		give(&t, id * 10ull + 5, 0, 0, id, 0);
		assert_ptr_equal(t.pages[id / 256], page);
		dead.id = id;
		assert_int_equal(trigger_record(&t, &dead.head), 0);
		give(&t, id * 10ull + 6, id, OFF_CPU_PREEMPTED, 0, 0);
		give(&t, id * 10ull + 8, 0, 0, id, 0);
		give(&t, id * 10ull + 9, id, OFF_CPU_DEAD, 0, 0);
	}
	assert_false(t.met);
	for (size_t i = 0; i < t.npages; i++)
		assert_null(((void **)t.pages)[i]);
	trigger_fini(&t);
}

static void invalid_triggers_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",	     "latency",	  "latency>",	 "latency>x",
		"latency>0", "latency<5", "latency=5ms", "latency > 5ms"};
	struct trigger_plan plan;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		plan = (struct trigger_plan){0};
		assert_non_null(trigger_parse(&plan, wrong[i]));
	}
	plan = (struct trigger_plan){0};
	assert_null(trigger_parse(&plan, "latency>1ms"));
	assert_null(trigger_parse(&plan, "fail"));
	assert_non_null(trigger_parse(&plan, "latency>2ms"));
	assert_non_null(trigger_parse(&plan, "other"));
	trigger_plan_free(&plan);
}

static void name(struct trigger *t, enum task_cause cause, uint32_t id, const char *comm)
{
	struct record_task r = {.head = {.clock = 1, .kind = RECORD_TASK, .flags = (__u8)cause},
				.id = id,
				.tid = id + 1000,
				.pid = 7};

	memcpy(r.comm, comm, strnlen(comm, sizeof(r.comm)));
	assert_int_equal(trigger_record(t, &r.head), 0);
}

static bool waits_long(struct trigger *t, uint32_t id)
{
	static uint64_t clock = 1000000;
	bool met;

	clock += 10000000;
	give(t, clock, 9, OFF_CPU_SLEEPING, id, clock - 6000000);
	met = t->met;
	t->met = false;
	return met;
}

/* Only the threads that the user means meet it. */
static void a_limit_names_a_process_a_thread_or_a_name(void **state)
{
	struct record_exit dead = {.head.kind = RECORD_EXIT, .id = 3};
	struct trigger t = {0};

	(void)state;
	assert_null(trigger_parse(&t.plan, "latency>5ms,tid=1003"));
	assert_true(waits_long(&t, 3));
	assert_false(waits_long(&t, 4));
	t.plan = (struct trigger_plan){0};
	assert_null(trigger_parse(&t.plan, "latency>5ms,pid=7"));
	assert_true(waits_long(&t, 4));
	t.plan = (struct trigger_plan){0};
	assert_null(trigger_parse(&t.plan, "latency>5ms,pid=8"));
	assert_false(waits_long(&t, 4));

	t.plan = (struct trigger_plan){0};
	assert_null(trigger_parse(&t.plan, "latency>5ms,comm=rank*"));
	name(&t, TASK_ITERATED, 3, "rank0");
	name(&t, TASK_BORN, 4, "mpirun");
	assert_true(waits_long(&t, 3));
	assert_false(waits_long(&t, 4));
	assert_false(waits_long(&t, 5)); /* of unknown name */
	name(&t, TASK_RENAMED, 4, "rank1-abcdefghij");
	name(&t, TASK_EXECED, 3, "sh");
	assert_true(waits_long(&t, 4));
	assert_false(waits_long(&t, 3));
	/* a wait that began under another name */
	give(&t, 500000000, 3, OFF_CPU_PREEMPTED, 0, 0);
	name(&t, TASK_RENAMED, 3, "rank2");
	give(&t, 600000000, 0, 0, 3, 0);
	assert_true(t.met);
	t.met = false;
	/* of the dead neither the name nor memory is left */
	assert_int_equal(trigger_record(&t, &dead.head), 0);
	dead.id = 4;
	assert_int_equal(trigger_record(&t, &dead.head), 0);
	assert_false(waits_long(&t, 4));
	for (size_t i = 0; i < t.npages; i++)
		assert_null(((void **)t.pages)[i]);
	trigger_fini(&t);
}

static void a_trigger_fires_when_a_thread_enters_its_site(void **state)
{
	static const struct site sites[70] = {
		[3] = {.symbol = "fail", .label = "fail [libone]"},
		[65] = {.symbol = "_Z4failv", .label = "fail()"},
		[66] = {.symbol = "fail", .label = "fail [libtwo]"},
		[67] = {.label = "0x1000"},
	};
	struct trigger_plan plan = {.place = (char *)"fail"};
	struct record_probe r = {.head = {.clock = 77, .kind = RECORD_PROBE, .flags = PROBE_ENTRY},
				 .tid = 11,
				 .pid = 10};
	uint64_t *bits = NULL;
	struct trigger t = {0};

	(void)state;
	assert_int_equal(trigger_find(&plan, sites, 70, &bits), 0);
	t.plan = plan;
	for (r.site = 0; r.site < 200; r.site++) {
		t.met = false;
		assert_int_equal(trigger_record(&t, &r.head), 0);
		assert_int_equal(t.met, r.site == 3 || r.site == 66);
	}
	assert_string_equal(t.text, "thread 11 of process 10 reached fail at 77");
	t.met = false;
	r.site = 3;
	r.head.flags = PROBE_RETURN;
	assert_int_equal(trigger_record(&t, &r.head), 0);
	assert_false(t.met);
	r.head.flags = PROBE_ENTRY;
	t.plan.place_limit.tid = 12;
	assert_int_equal(trigger_record(&t, &r.head), 0);
	assert_false(t.met);
	t.plan.place_limit = (struct trigger_limit){.tid = 11, .pid = 10};
	assert_int_equal(trigger_record(&t, &r.head), 0);
	assert_true(t.met);
	free(bits);
	plan.place = (char *)"fail()";
	assert_int_equal(trigger_find(&plan, sites, 70, &bits), 0);
	assert_int_equal(bits[1], 2);
	free(bits);
	plan.place = (char *)"missing";
	assert_int_equal(trigger_find(&plan, sites, 70, &bits), -ENOENT);
	free(bits);
	trigger_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_makes_room_for_the_newest),
		cmocka_unit_test(old_records_are_discarded_and_no_others),
		cmocka_unit_test(too_little_room_is_known),
		cmocka_unit_test(time_passes_without_records),
		cmocka_unit_test(nothing_at_all_can_be_held),
		cmocka_unit_test(many_records_in_one_nanosecond),
		cmocka_unit_test(held_records_stay),
		cmocka_unit_test(errors_of_the_callback_are_returned),
		cmocka_unit_test(a_long_wait_is_met_from_the_wake_up_or_the_preemption),
		cmocka_unit_test(memory_of_waits_follows_threads),
		cmocka_unit_test(invalid_triggers_are_refused),
		cmocka_unit_test(a_trigger_fires_when_a_thread_enters_its_site),
		cmocka_unit_test(a_limit_names_a_process_a_thread_or_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
