/* SPDX-License-Identifier: MIT */
/*
 * flight: a saved trace is valid and true for its window, with any discarded records, and memory
 * does not grow.
 * longer: all seeds, not a tenth, and ten times as many threads a day.
 */
#include "schedule.h"

#include <malloc.h>

#include "user/kernel/event_counts.h"
#include "user/sink/flight.h"
#include "user/kernel/bpf_load.h"
#include "user/sink/segment.h"
#include "user/kernel/rings.h"
#include "user/sink/history.h"

#define CPUS 4

/* A flight recorder without a kernel. The kit makes its records. */
struct bench {
	struct cpu_state states[CPUS];
	struct bpf_load bpf;
	uint8_t data[4096 + RING_SPILL];
	struct rings *rings;
	struct event_counts counts;
	struct topology topology;
	struct segment_plan plan;
	struct flight flight;
};

static void bench_open(struct bench *b, const char *cpus, struct flight_options options,
		       struct timeline_options timeline, uint64_t t0)
{
	const struct snapshot_tasks none = {0};
	const struct window_edge begin = {.clock = 1};

	memset(b, 0, sizeof(*b));
	kit_forget();
	b->bpf = (struct bpf_load){.cpus = b->states, .npossible = CPUS};
	b->rings = rings_new();
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(rings_add(b->rings, cpu, &b->states[cpu], b->data, 4096), 0);
	assert_int_equal(event_counts_open(&b->counts, &b->bpf, b->rings), 0);
	assert_int_equal(topology_parse(&b->topology, cpus), 0);
	b->plan = (struct segment_plan){
		.info = {.loom = "node", .mode = "full", .lost = SESSION_UNKNOWN},
		.timeline = timeline,
		.topology = &b->topology,
		.files = &kit_files,
		.fd = -1,
		.path = "test",
	};
	options.plan = &b->plan;
	options.counts = &b->counts;
	assert_int_equal(flight_init(&b->flight, &options, t0, &begin, &none), 0);
}

static void bench_close(struct bench *b)
{
	flight_fini(&b->flight);
	event_counts_free(&b->counts);
	rings_close(b->rings);
	topology_free(&b->topology);
	kit_forget();
}

/* As the drain does: out of the ring, and in. */
static void give(struct bench *b, unsigned cpu, const struct record_head *record)
{
	ring_count(b->rings->ring[cpu].taken, record);
	if (record->kind == RECORD_LOST) {
		const struct record_lost *lost = (const struct record_lost *)record;

		b->states[cpu].events[EVENT_SWITCH].full += lost->count;
		ring_count_reported(b->rings->ring[cpu].reported, lost);
	}
	assert_int_equal(flight_take(&b->flight, cpu, record), 0);
}

/* Finishes the save that has begun; the trace is then the kit's. */
static struct segment_result bench_save(struct bench *b, uint64_t *t0, uint64_t *t1,
					struct event_count *switches)
{
	struct segment *part = segment_open(&b->plan, false);
	struct segment_result result;
	struct event_counts_table table;
	struct finalizer_job closing;

	kit_forget();
	assert_non_null(part);
	assert_int_equal(flight_save(&b->flight, part, &closing), 0);
	assert_int_equal(closing.fill(closing.arg, part), 0);
	*t0 = part->t0;
	*t1 = part->t1;
	memset(switches, 0, sizeof(*switches));
	assert_int_equal(event_counts_between(&b->counts, part->from, part->to, true, &table), 0);
	for (size_t i = 0; i < table.ncpus; i++) {
		switches->written += table.cpus[i].kinds[EVENT_SWITCH].written;
		switches->aged += table.cpus[i].kinds[EVENT_SWITCH].aged;
		switches->seen += table.cpus[i].kinds[EVENT_SWITCH].seen;
		switches->full += table.cpus[i].kinds[EVENT_SWITCH].full;
	}
	free(table.cpus);
	assert_int_equal(segment_finish(part, &b->counts, &closing.tasks, &closing.end), 0);
	result = part->result;
	closing.drop(closing.arg);
	segment_close(part);
	return result;
}

static void try(const struct schedule_options *options, uint64_t seed, uint64_t ns, bool exact)
{
	struct machine *m = schedule_run(options, seed);
	struct machine_record **order = schedule_order(m);
	struct flight_options flight = {.ns = ns, .bytes = HISTORY_BYTES_MIN};
	struct timeline_options timeline = {.all_threads = seed & 1,
					    .cpu_filter = options->some_cpus};
	uint64_t m_t0 = m->t0, m_t1 = m->t1, at = 0, t0, t1, total = 0;
	struct event_count switches;
	struct kit_check check;
	struct bench b;
	size_t end = 0;
	char cpus[16];

	print_message("\r  seed %" PRIu64 " ", seed);
	snprintf(cpus, sizeof(cpus), "0-%u", options->cpus - 1);
	bench_open(&b, cpus, flight, timeline, m->t0);
	for (size_t i = 0; i < m->nbefore; i++)
		assert_int_equal(timeline_iterated(b.flight.base, &m->before[i]), 0);
	for (size_t i = 0; i < m->n; i++) {
		const struct record_head *head = &order[i]->head;

		/* the tasks after the end of a save have the threads that were woken in it */
		if (at && (end++ >= 50 || head->clock > m_t1)) {
			struct segment_result r = bench_save(&b, &t0, &t1, &switches);

			assert_int_equal(t1, at);
			assert_true(t0 >= m_t0 && t0 <= t1);
			if (t1 - m_t0 > ns) /* all that was asked for, and not much more */
				assert_true(t1 - t0 >= ns && t1 - t0 <= ns + ns / 16 + 20000);
			check = kit_check((int)options->cpus);
			assert_int_equal(check.events, r.events);
			assert_int_equal(switches.seen,
					 switches.written + switches.aged + switches.full);
			if (!options->losses)
				assert_int_equal(switches.seen, total);
			if (exact) {
				assert_int_equal(r.repairs, 0);
				m->t0 = t0;
				m->t1 = t1;
				compare_with_truth(m, seed);
				m->t0 = m_t0;
				m->t1 = m_t1;
			}
			at = end = 0;
		}
		if (head->clock > m_t1)
			break;
		if (head->clock > m_t0 + 1 && i && order[i - 1]->head.clock < head->clock &&
		    draw(m, 5) == 0) {
			assert_int_equal(flight_advance(&b.flight, head->clock), 0);
			if (!at && draw(m, 20) == 0) {
				assert_int_equal(
					flight_begin(&b.flight, head->clock - 1, "request"), 0);
				at = head->clock - 1;
				total = 0;
				for (unsigned cpu = 0; cpu < CPUS; cpu++)
					total += b.rings->ring[cpu].taken[EVENT_SWITCH];
			}
		}
		give(&b, order[i]->cpu, head);
	}
	bench_close(&b);
	free(order);
	schedule_free(m);
}

static void a_saved_trace_is_true_for_its_window(void **state)
{
	struct schedule_options o = {
		.cpus = 3, .threads = 20, .steps = 3000, .pace = 1000, .reuse = true};

	(void)state;
	for (uint64_t seed = 1; seed <= seeds(60); seed++)
		try(&o, seed, 200000, true);
	print_message("\n");
}

static void a_saved_trace_is_valid_with_any_losses(void **state)
{
	struct schedule_options o = {
		.cpus = 4, .threads = 16, .steps = 3000, .pace = 1000, SCHEDULE_TROUBLE};

	(void)state;
	for (uint64_t seed = 1; seed <= seeds(60); seed++)
		try(&o, seed, 200000, false);
	o.some_cpus = true;
	for (uint64_t seed = 1; seed <= seeds(60); seed++)
		try(&o, seed, 200000, false);
	o.pace = 0;
	for (uint64_t seed = 1; seed <= seeds(60); seed++)
		try(&o, seed, 200, false);
	print_message("\n");
}

static void clocks_near_their_end(void **state)
{
	struct schedule_options o = {.cpus = 3,
				     .threads = 20,
				     .steps = 1500,
				     .pace = 1000,
				     .start = (uint64_t)INT64_MAX - (1ull << 41)};

	(void)state;
	for (uint64_t seed = 1; seed <= seeds(30); seed++)
		try(&o, seed, 200000, true);
	print_message("\n");
}

/* Returns where the window began. */
static uint64_t save_now(struct bench *b, uint64_t t1, struct segment_result *result,
			 struct event_count *switches)
{
	uint64_t t0, end;

	assert_int_equal(flight_advance(&b->flight, t1 + 1), 0);
	assert_int_equal(flight_begin(&b->flight, t1, "request"), 0);
	*result = bench_save(b, &t0, &end, switches);
	assert_int_equal(end, t1);
	kit_check(CPUS);
	return t0;
}

static void zero_events(void **state)
{
	struct flight_options options = {.ns = 1000, .bytes = HISTORY_BYTES_MIN};
	struct segment_result result;
	struct event_count switches;
	struct bench b;

	(void)state;
	bench_open(&b, "0-3", options, (struct timeline_options){0}, 100);
	save_now(&b, 100, &result, &switches);
	assert_int_equal(result.threads, 0);
	save_now(&b, 1000000000, &result, &switches);
	assert_int_equal(result.threads, 0);
	assert_int_equal(switches.seen, 0);
	bench_close(&b);
}

/* Two threads change places; all in the same nanosecond. */
static void ten_thousand_events_in_one_nanosecond(void **state)
{
	const uint64_t clock = 1ull << 62;
	struct flight_options options = {.ns = 1000, .bytes = 4 << 20};
	struct who a = {1, 11, 11}, c = {2, 12, 12};
	struct segment_result result;
	struct event_count switches;
	struct bench b;

	(void)state;
	bench_open(&b, "0", options, (struct timeline_options){0}, clock - 10);
	for (unsigned i = 0; i < 10000; i++) {
		struct record_switch r = i % 2 ? rec_switch(clock, c, OFF_CPU_PREEMPTED, a)
					       : rec_switch(clock, a, OFF_CPU_PREEMPTED, c);

		give(&b, 0, &r.head);
	}
	save_now(&b, clock, &result, &switches);
	assert_int_equal(result.threads, 2);
	assert_int_equal(switches.written, 10000);
	assert_true(result.events > 20000);
	bench_close(&b);
}

/* All of them sleep at T0; each runs once in the window. */
static void twenty_thousand_threads(void **state)
{
	const unsigned n = 20000;
	struct flight_options options = {.ns = 1000000000, .bytes = 64 << 20};
	struct segment_result result;
	struct event_count switches;
	uint64_t clock = 1000;
	struct bench b;

	(void)state;
	bench_open(&b, "0-3", options, (struct timeline_options){0}, 100);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 1; i <= n; i++) {
			struct who who = {i, 100 + i, 7};
			struct record_switch in = rec_switch(++clock, idle, 0, who),
					     out = rec_switch(++clock, who, OFF_CPU_SLEEPING, idle);

			give(&b, i % 4, &in.head);
			give(&b, i % 4, &out.head);
		}
		clock += 2000000000; /* and the round before is forgotten */
	}
	save_now(&b, clock - 2000000000, &result, &switches);
	assert_int_equal(result.threads, n);
	assert_int_equal(switches.written, 2 * n);
	assert_int_equal(switches.aged, 4 * n);
	bench_close(&b);
}

/* A day in which a thread is born each 10 ms, or each 100 ms in the short run, and lives for 100 of
 * these steps; one save an hour. */
static void memory_is_flat_for_a_day(void **state)
{
	const uint64_t day = 86400ull * 1000000000, step = 100000000 / seeds(10);
	const uint64_t born_in_window = 60ull * 1000000000 / step;
	struct flight_options options = {
		.ns = 60ull * 1000000000, .bytes = 4 << 20, .trigger.latency_ns = 1000000000};
	struct who creator = {1, 1, 1};
	struct segment_result result;
	struct event_count switches;
	size_t after_an_hour = 0, now = 0;
	uint64_t clock = 1000, hour = day / 24, next_save = hour;
	struct bench b;

	(void)state;
	bench_open(&b, "0-3", options, (struct timeline_options){0}, 100);
	for (uint32_t id = 2; clock < day; id++, clock += step) {
		struct who born = {id, 2 + id % 4000000, 1},
			   old = {id - 100, 2 + (id - 100) % 4000000, 1};
		struct record_task birth = rec_birth(clock + 1, creator, born);
		struct record_switch in = rec_switch(clock, idle, 0, creator),
				     out = rec_switch(clock + 2, creator, OFF_CPU_SLEEPING, born),
				     slept = rec_switch(clock + 3, born, OFF_CPU_SLEEPING, idle),
				     back = rec_switch(clock + 4, idle, 0, old),
				     dead = rec_switch(clock + 5, old, OFF_CPU_DEAD, idle);

		give(&b, 0, &in.head);
		give(&b, 0, &birth.head);
		give(&b, 0, &out.head);
		give(&b, 0, &slept.head);
		if (id > 102) {
			give(&b, 0, &back.head);
			give(&b, 0, &dead.head);
		}
		assert_int_equal(flight_advance(&b.flight, clock + 6), 0);
		if (clock < next_save)
			continue;
		next_save += hour;
		save_now(&b, clock + 5, &result, &switches);
		assert_in_range(result.threads, born_in_window * 5 / 6,
				born_in_window * 7 / 6 + 100);
		kit_forget();
		now = mallinfo2().uordblks + mallinfo2().hblkhd;
		if (!after_an_hour)
			after_an_hour = now;
		/* the growth: 8 bytes for each 128 threads ever born */
		assert_true(now < after_an_hour + (1 << 20) + id / 16);
		assert_true(history_memory(b.flight.history) <= options.bytes);
	}
	print_message("  %zu bytes after an hour, %zu after a day\n", after_an_hour, now);
	bench_close(&b);
}

/* Traces of triggers never overlap; requested ones may. */
static void a_trigger_counts_once_for_kept_records(void **state)
{
	struct flight_options options = {
		.ns = 1000000, .bytes = HISTORY_BYTES_MIN, .trigger.latency_ns = 5000};
	struct who a = {1, 11, 11}, c = {2, 12, 12};
	struct event_count switches;
	struct segment_result result;
	uint64_t clock = 2000000, saved = 0, saves = 0;
	struct bench b;
	bool met;

	(void)state;
	bench_open(&b, "0", options, (struct timeline_options){0}, clock);
	for (unsigned i = 0; i < 1000; i++, clock += 10000) {
		struct record_switch r = i % 2 ? rec_switch(clock, c, OFF_CPU_SLEEPING, a)
					       : rec_switch(clock, a, OFF_CPU_SLEEPING, c);

		r.wake_clock = clock - 6000;
		give(&b, 0, &r.head);
		met = flight_triggered(&b.flight, clock);
		assert_int_equal(flight_advance(&b.flight, clock + 1), 0);
		if (!met)
			continue;
		assert_true(save_now(&b, clock, &result, &switches) >= saved);
		/* the trace says that the first one has too little before it */
		assert_int_equal(!!strstr(b.flight.text,
					  "; history of 0.000 s before it instead of 0.001 s"),
				 !saves);
		saved = clock;
		saves++;
	}
	assert_in_range(saves, 9, 11); /* of 10 ms, 1 ms each; the first at once */
	bench_close(&b);
}

/* Losses that the kernel counts now; no record reports them yet. */
static void lose(struct bench *b, unsigned cpu, uint64_t clock, uint64_t count)
{
	struct cpu_state *state = &b->states[cpu];

	if (!state->gap_count)
		state->gap_clock = clock;
	state->gap_count += count;
	state->events[EVENT_SWITCH].full += count;
}

/* The record that ends the gap. */
static void end_gap(struct bench *b, unsigned cpu, uint64_t clock)
{
	struct cpu_state *state = &b->states[cpu];
	struct record_lost r = rec_lost(clock, state->gap_clock, state->gap_count);

	state->gap_count = 0;
	ring_count_reported(b->rings->ring[cpu].reported, &r);
	assert_int_equal(flight_take(&b->flight, cpu, &r.head), 0);
}

static void a_gap_belongs_to_every_window_that_it_overlaps(void **state)
{
	struct flight_options options = {.ns = 1000, .bytes = HISTORY_BYTES_MIN};
	struct who a = {1, 11, 11};
	struct record_switch in = rec_switch(200, idle, 0, a), out = in;
	struct segment_result result;
	struct event_count switches;
	struct bench b;
	uint64_t t0, t1;

	(void)state;
	bench_open(&b, "0-3", options, (struct timeline_options){0}, 100);
	give(&b, 0, &in.head);
	lose(&b, 0, 300, 40);
	/* open in the kernel, and its start is long gone */
	save_now(&b, 4000, &result, &switches);
	assert_int_equal(result.lost, 40);
	assert_int_equal(switches.full, 40);
	assert_int_equal(switches.seen, switches.written + switches.aged + switches.full);

	/* it continues, and ends after the window: the record comes before the save */
	assert_int_equal(flight_advance(&b.flight, 5001), 0);
	lose(&b, 0, 4500, 2);
	assert_int_equal(flight_begin(&b.flight, 5000, "request"), 0);
	lose(&b, 0, 5005, 1);
	end_gap(&b, 0, 5010);
	result = bench_save(&b, &t0, &t1, &switches);
	assert_int_equal(kit_check(CPUS).lost, 42);
	assert_int_equal(result.lost, 42);

	/* it has ended in the window, as a whole; then it is over */
	save_now(&b, 5500, &result, &switches);
	assert_int_equal(result.lost, 43);
	out = rec_switch(8000, a, OFF_CPU_SLEEPING, idle);
	give(&b, 0, &out.head);
	save_now(&b, 8500, &result, &switches);
	assert_int_equal(result.lost, 0);
	assert_int_equal(switches.seen, switches.written + switches.aged + switches.full);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_saved_trace_is_true_for_its_window),
		cmocka_unit_test(a_saved_trace_is_valid_with_any_losses),
		cmocka_unit_test(clocks_near_their_end),
		cmocka_unit_test(zero_events),
		cmocka_unit_test(ten_thousand_events_in_one_nanosecond),
		cmocka_unit_test(twenty_thousand_threads),
		cmocka_unit_test(memory_is_flat_for_a_day),
		cmocka_unit_test(a_trigger_counts_once_for_kept_records),
		cmocka_unit_test(a_gap_belongs_to_every_window_that_it_overlaps),
	};
	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
