/* SPDX-License-Identifier: MIT */
/* event_counts: counters of CPUs and rings, and whether they add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/kernel/event_counts.h"
#include "user/kernel/bpf_load.h"
#include "user/kernel/rings.h"

#define CPUS 4

struct bench {
	struct cpu_state cpus[CPUS];
	struct bpf_load bpf;
	uint8_t data[4096 + RING_SPILL];
	struct rings *rings;
	struct event_counts counts;
};

/* CPUs 0 and 2 have rings; 1 and 3 do not. */
static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->bpf = (struct bpf_load){.cpus = b->cpus, .npossible = CPUS};
	b->rings = rings_new();
	assert_int_equal(rings_add(b->rings, 0, &b->cpus[0], b->data, 4096), 0);
	assert_int_equal(rings_add(b->rings, 2, &b->cpus[2], b->data, 4096), 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	event_counts_free(&b->counts);
	rings_close(b->rings);
	free(b);
	return 0;
}

static void written_and_lost_events_are_counted_by_cpu_and_kind(void **state)
{
	struct bench *b = *state;

	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	b->cpus[0].events[EVENT_SWITCH].seen = 100;
	b->cpus[0].events[EVENT_SWITCH].full = 30;
	b->rings->ring[0].taken[EVENT_SWITCH] = 70;
	b->cpus[2].events[EVENT_FORK].seen = 5;
	b->rings->ring[1].taken[EVENT_FORK] = 5;
	assert_int_equal(event_counts_lost(&b->counts), 30);
	assert_int_equal(event_counts_close(&b->counts, false), 0);
	assert_int_equal(b->counts.ncpus, 2);
	assert_int_equal(b->counts.cpus[0].cpu, 0);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].seen, 100);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].written, 70);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].full, 30);
	assert_int_equal(b->counts.cpus[1].cpu, 2);
	assert_int_equal(b->counts.cpus[1].kinds[EVENT_FORK].written, 5);
	assert_int_equal(b->counts.lost, 30);
}

static void a_cpu_without_a_ring_loses_all_it_sees(void **state)
{
	struct bench *b = *state;

	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	b->cpus[3].events[EVENT_SWITCH].seen = b->cpus[3].events[EVENT_SWITCH].full = 7;
	assert_int_equal(event_counts_close(&b->counts, false), 0);
	assert_int_equal(b->counts.ncpus, 3);
	assert_int_equal(b->counts.cpus[2].cpu, 3);
	assert_int_equal(b->counts.cpus[2].kinds[EVENT_SWITCH].full, 7);
	assert_int_equal(b->counts.lost, 7);
}

static void losses_before_the_window_do_not_count(void **state)
{
	struct bench *b = *state;

	b->cpus[0].events[EVENT_SWITCH].seen = 50;
	b->cpus[0].events[EVENT_SWITCH].full = 20;
	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	b->cpus[0].events[EVENT_SWITCH].seen = 60;
	b->cpus[0].events[EVENT_SWITCH].full = 21;
	b->rings->ring[0].taken[EVENT_SWITCH] = 39;
	assert_int_equal(event_counts_lost(&b->counts), 1);
	assert_int_equal(event_counts_close(&b->counts, false), 0);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].seen, 40);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].full, 1);
	assert_int_equal(b->counts.lost, 1);
}

static void a_cut_drain_loses_the_rest_of_the_rings(void **state)
{
	struct bench *b = *state;

	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	b->cpus[0].events[EVENT_SWITCH].seen = 100;
	b->cpus[0].events[EVENT_SWITCH].full = 10;
	b->rings->ring[0].taken[EVENT_SWITCH] = 50;
	assert_int_equal(event_counts_close(&b->counts, true), 0);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].written, 50);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].full, 10);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].user, 40);
	assert_int_equal(b->counts.full, 10);
	assert_int_equal(b->counts.user, 40);
	assert_int_equal(b->counts.lost, 50);
}

/* Mode summary: the calls of the programs are not counted twice. */
static void without_rings_the_runs_count_switches(void **state)
{
	struct bench *b = *state;
	unsigned nrings = b->rings->nrings;

	b->rings->nrings = 0;
	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	b->cpus[1].runs[PROGRAMS_SWITCH] = 70;
	b->cpus[1].events[EVENT_FORK].seen = 3;
	assert_int_equal(event_counts_close(&b->counts, false), 0);
	b->rings->nrings = nrings;
	assert_int_equal(b->counts.ncpus, 1);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].seen, 70);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].filtered, 70);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_FORK].seen, 3);
	assert_int_equal(b->counts.lost, 0);
}

static void records_of_gaps_are_no_events(void **state)
{
	struct bench *b = *state;
	struct record_lost *record = (struct record_lost *)b->data;

	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	record->head.kind = RECORD_LOST;
	b->cpus[0].reserved = b->cpus[0].committed = sizeof(*record);
	rings_refresh(b->rings);
	rings_discard(b->rings);
	assert_int_equal(event_counts_close(&b->counts, false), 0);
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
		assert_int_equal(b->counts.cpus[0].kinds[kind].written, 0);
	assert_int_equal(b->counts.lost, 0);
}

static void a_switch_to_a_woken_thread_is_two_events(void **state)
{
	struct bench *b = *state;
	struct record_switch *record = (struct record_switch *)b->data;

	record[0] = (struct record_switch){.head.kind = RECORD_SWITCH, .wake_clock = 5};
	record[1] = (struct record_switch){.head.kind = RECORD_SWITCH};
	b->cpus[0].reserved = b->cpus[0].committed = 2 * sizeof(*record);
	b->cpus[0].events[EVENT_SWITCH].seen = 2;
	b->cpus[0].events[EVENT_WAKE].seen = 1;
	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	rings_refresh(b->rings);
	rings_discard(b->rings);
	assert_int_equal(event_counts_close(&b->counts, true), 0);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_SWITCH].written, 2);
	assert_int_equal(b->counts.cpus[0].kinds[EVENT_WAKE].written, 1);
	assert_int_equal(b->counts.lost, 0);
}

static void filtered_events_are_no_losses(void **state)
{
	struct bench *b = *state;

	b->cpus[2].events[EVENT_SWITCH] =
		(struct kind_counts){.seen = 100, .filtered = 60, .sampled = 30};
	b->rings->ring[1].taken[EVENT_SWITCH] = 10;
	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	assert_int_equal(event_counts_close(&b->counts, true), 0);
	assert_int_equal(b->counts.cpus[1].kinds[EVENT_SWITCH].filtered, 60);
	assert_int_equal(b->counts.cpus[1].kinds[EVENT_SWITCH].sampled, 30);
	assert_int_equal(b->counts.cpus[1].kinds[EVENT_SWITCH].user, 0);
	assert_int_equal(b->counts.lost, 0);
}

/* The first record of a CPU reports a gap that began before the window; so may the second. */
static void records_have_no_losses_from_before_the_window(void **state)
{
	struct bench *b = *state;
	struct record_lost lost = {.first_clock = 5, .count = 8, .kinds[EVENT_SWITCH] = 8}, in;

	b->cpus[0].events[EVENT_SWITCH].full = 10; /* 8 reported by a record in the ring, 2 not */
	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	b->cpus[0].events[EVENT_SWITCH].full = 13;
	b->cpus[0].events[EVENT_WAKE].full = 4;
	event_counts_take_lost(&b->counts, 0, &lost, &in);
	assert_int_equal(in.count, 0);
	lost = (struct record_lost){.count = 9, .kinds[EVENT_SWITCH] = 5, .kinds[EVENT_WAKE] = 4};
	event_counts_take_lost(&b->counts, 0, &lost, &in);
	assert_int_equal(in.count, 7);
	assert_int_equal(in.kinds[EVENT_SWITCH], 3);
	assert_int_equal(in.kinds[EVENT_WAKE], 4);
	assert_int_equal(event_counts_lost(&b->counts), 7);
	event_counts_take_lost(&b->counts, 0, &lost, &in);
	assert_int_equal(in.count, 9);
}

static void a_gap_is_open_until_its_record_is_taken(void **state)
{
	struct bench *b = *state;
	struct record_lost *record = (struct record_lost *)b->data;
	struct event_counts_mark *mark;

	b->cpus[0].events[EVENT_SWITCH].full = 10; /* before the window: never open */
	b->cpus[0].gap_count = 10;
	b->cpus[0].gap_clock = 50;
	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	mark = event_counts_mark(&b->counts, COUNTS_NOW);
	assert_int_equal(event_counts_mark_unreported(mark, 0), 0);
	free(mark);

	b->cpus[0].events[EVENT_SWITCH].full = 13;
	b->cpus[0].gap_count = 13;
	mark = event_counts_mark(&b->counts, COUNTS_NOW);
	assert_int_equal(event_counts_mark_unreported(mark, 0), 3);
	assert_int_equal(mark->cpus[0].gap_clock, 50);
	free(mark);

	/* in its record, which is still in the ring: only there is its begin */
	*record = (struct record_lost){.head.kind = RECORD_LOST,
				       .first_clock = 50,
				       .count = 13,
				       .kinds[EVENT_SWITCH] = 13};
	b->cpus[0].reserved = b->cpus[0].committed = sizeof(*record);
	b->cpus[0].gap_count = 0;
	mark = event_counts_mark(&b->counts, COUNTS_NOW);
	assert_int_equal(event_counts_mark_unreported(mark, 0), 3);
	assert_true(mark->cpus[0].gap_clock == UINT64_MAX);
	event_counts_mark_gap(mark, 0, 50);
	event_counts_mark_gap(mark, 0, 70);
	assert_int_equal(mark->cpus[0].gap_clock, 50);
	assert_int_equal(mark->cpus[0].kinds[EVENT_SWITCH].full, 3);
	event_counts_mark_before_gaps(&b->counts, mark);
	assert_int_equal(mark->cpus[0].kinds[EVENT_SWITCH].full, 0);
	assert_int_equal(mark->cpus[0].kinds[EVENT_SWITCH].seen, 0);
	free(mark);

	rings_refresh(b->rings);
	rings_discard(b->rings);
	mark = event_counts_mark(&b->counts, COUNTS_NOW);
	assert_int_equal(event_counts_mark_unreported(mark, 0), 0);
	event_counts_mark_untake(mark, 0, &record->head);
	assert_int_equal(event_counts_mark_unreported(mark, 0), 13);
	free(mark);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(written_and_lost_events_are_counted_by_cpu_and_kind),
		TEST(a_cpu_without_a_ring_loses_all_it_sees),
		TEST(losses_before_the_window_do_not_count),
		TEST(a_cut_drain_loses_the_rest_of_the_rings),
		TEST(without_rings_the_runs_count_switches),
		TEST(records_of_gaps_are_no_events),
		TEST(a_switch_to_a_woken_thread_is_two_events),
		TEST(filtered_events_are_no_losses),
		TEST(records_have_no_losses_from_before_the_window),
		TEST(a_gap_is_open_until_its_record_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
