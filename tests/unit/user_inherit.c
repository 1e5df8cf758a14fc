/* SPDX-License-Identifier: MIT */
/*
 * inherit: a schedule in several parts: each is a valid trace, and together they are true.
 *
 * A part inherits from a shadow of the one before: a recorder that was given the same
 * records and keeps no events, with its window open (rotation) or never opened (what a flight
 * recorder has forgotten).
 * longer: all seeds, not a tenth.
 */
#include "schedule.h"

#define PARTS 4

static int ignore_create(int fd, const char *path, const struct json *meta)
{
	(void)fd;
	(void)path;
	(void)meta;
	return 0;
}

static int ignore_append(int fd, const char *path, const void *events, size_t size)
{
	(void)fd;
	(void)path;
	(void)events;
	(void)size;
	return 0;
}

static int ignore_store(int fd, const char *path, const struct json *meta, const void *events,
			size_t size)
{
	(void)events;
	(void)size;
	return ignore_create(fd, path, meta);
}

static const struct writer_files nowhere = {ignore_create, ignore_append, ignore_create,
					    ignore_store};

/* A kit whose events go nowhere; it does not touch the streams of other kits. */
static void shadow_open(struct kit *kit, const char *cpus, struct timeline_options options)
{
	struct writer_options writer_options = {.trace_fd = -1, .files = &nowhere};

	memset(kit, 0, sizeof(*kit));
	kit->info = (struct session_info){.loom = "node", .mode = "full", .lost = SESSION_UNKNOWN};
	assert_int_equal(topology_parse(&kit->topology, cpus), 0);
	kit->writer = writer_start(&writer_options);
	kit->threads = threads_new(kit->writer, &kit->info, &kit->topology);
	kit->timeline = timeline_new(&options, kit->threads, &kit->topology);
	assert_non_null(kit->timeline);
}

static void shadow_close(struct kit *kit)
{
	if (!kit->timeline)
		return;
	timeline_free(kit->timeline);
	writer_finish(kit->writer);
	threads_free(kit->threads);
	topology_free(&kit->topology);
	kit->timeline = NULL;
}

/* The beginning of a part: the tasks of the iterator, or all that the shadow knows. */
static void begin(struct kit *kit, const struct machine *m, const struct kit *from)
{
	if (from) {
		assert_int_equal(timeline_carry_over(kit->timeline, from->timeline), 0);
		return;
	}
	for (size_t i = 0; i < m->nbefore; i++)
		assert_int_equal(timeline_iterated(kit->timeline, &m->before[i]), 0);
}

struct cutting {
	bool forgotten; /* the shadow never opens its window */
	bool exact;
	bool kernel_model;
};

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void try(const struct schedule_options *options, uint64_t seed, struct cutting cutting)
{
	struct machine *m = schedule_run(options, seed);
	struct machine_record **order = schedule_order(m);
	uint64_t t0 = m->t0, t1 = m->t1, cuts[PARTS + 1], switches = 0, wanted = 0, lost = 0;
	struct kit kit, shadow = {0}, next;
	char cpus[16];

	print_message("\r  seed %" PRIu64 " ", seed);
	snprintf(cpus, sizeof(cpus), "0-%u", options->cpus - 1);
	cuts[0] = t0;
	cuts[PARTS] = t1;
	for (unsigned i = 1; i < PARTS; i++)
		cuts[i] = t0 + draw(m, (uint32_t)(t1 - t0 + 1));
	qsort(cuts, PARTS + 1, sizeof(*cuts), by_value);
	for (size_t i = 0; i < m->n; i++)
		wanted += order[i]->head.kind == RECORD_SWITCH && order[i]->head.clock > t0 &&
			  order[i]->head.clock <= t1;
	for (unsigned part = 0; part < PARTS; part++) {
		struct timeline_options timeline = {.t0 = cuts[part],
						    .kernel_model = cutting.kernel_model,
						    .all_threads = seed & 1,
						    .cpu_filter = options->some_cpus};
		const struct kit *from = part ? &shadow : NULL;
		struct kit_check check;

		kit_open(&kit, cpus, timeline);
		begin(&kit, m, from);
		if (cutting.forgotten)
			timeline.t0 = UINT64_MAX;
		shadow_open(&next, cpus, timeline);
		begin(&next, m, from);
		for (size_t i = 0; i < m->n; i++) {
			const struct record_head *head = &order[i]->head;

			if (part && head->clock <= cuts[part])
				continue;
			if (head->clock > cuts[part + 1])
				timeline_stop(kit.timeline, cuts[part + 1]);
			else
				assert_int_equal(kit_give(&next, order[i]->cpu, head), 0);
			assert_int_equal(kit_give(&kit, order[i]->cpu, head), 0);
		}
		timeline_stop(kit.timeline, cuts[part + 1]);
		for (size_t i = 0; part == PARTS - 1 && i < m->nafter; i++)
			assert_int_equal(timeline_iterated(kit.timeline, &m->after[i]), 0);
		kit_close(&kit, cuts[part + 1]);
		assert_int_equal(kit.err, 0);
		check = kit_check((int)options->cpus);
		assert_int_equal(check.events, kit.counts.events);
		switches += kit.counts.switches;
		lost += kit.counts.lost;
		if (cutting.exact) {
			assert_int_equal(kit.counts.repairs, 0);
			m->t0 = cuts[part];
			m->t1 = cuts[part + 1];
			compare_with_truth(m, seed);
			m->t0 = t0;
			m->t1 = t1;
		}
		for (size_t i = 0; i < kit.ncpus; i++) {
			uint64_t sum = 0;

			for (int use = 0; use < CPU_USES; use++)
				sum += kit.cpus[i].ns[use];
			assert_int_equal(sum, cuts[part + 1] - cuts[part]);
		}
		kit_forget();
		shadow_close(&shadow);
		shadow = next;
	}
	shadow_close(&shadow);
	assert_int_equal(switches, wanted);
	if (!options->losses)
		assert_int_equal(lost, 0);
	free(order);
	schedule_free(m);
}

static void try_many(const struct schedule_options *options, unsigned n, struct cutting cutting)
{
	for (uint64_t seed = 1; seed <= n; seed++)
		try(options, seed, cutting);
	print_message("\n");
}

static void parts_have_all_stays_exactly(void **state)
{
	struct schedule_options o = {
		.cpus = 3, .threads = 20, .steps = 400, .pace = 1000, .reuse = true};
	struct cutting c = {.exact = true};

	(void)state;
	try_many(&o, seeds(150), c);
	c.forgotten = true;
	try_many(&o, seeds(150), c);
	o.unwanted = true;
	try_many(&o, seeds(150), c);
	c.forgotten = false;
	try_many(&o, seeds(150), c);
}

static void cuts_may_fall_into_a_nanosecond_full_of_switches(void **state)
{
	struct schedule_options o = {
		.cpus = 4, .threads = 16, .steps = 600, .pace = 0, .reuse = true};
	struct cutting c = {0};

	(void)state;
	try_many(&o, seeds(150), c);
	c.forgotten = true;
	try_many(&o, seeds(150), c);
}

static void parts_are_valid_with_any_losses(void **state)
{
	struct schedule_options o = {
		.cpus = 4, .threads = 16, .steps = 600, .pace = 1000, SCHEDULE_TROUBLE};
	struct cutting c = {0};

	(void)state;
	try_many(&o, seeds(150), c);
	c.forgotten = true;
	try_many(&o, seeds(150), c);
	o.some_cpus = true;
	try_many(&o, seeds(150), c);
	c.forgotten = false;
	try_many(&o, seeds(150), c);
	c.kernel_model = true;
	try_many(&o, seeds(100), c);
	c.forgotten = true;
	try_many(&o, seeds(100), c);
}

static void clocks_near_their_end_can_be_cut(void **state)
{
	struct schedule_options o = {.cpus = 3,
				     .threads = 20,
				     .steps = 400,
				     .pace = 1000,
				     .start = (uint64_t)INT64_MAX - (1ull << 41)};
	struct cutting c = {.exact = true};

	(void)state;
	try_many(&o, seeds(50), c);
	c.forgotten = true;
	try_many(&o, seeds(50), c);
}

/* ---- by hand ---- */

static const struct who one = {1, 11, 10}, two = {2, 12, 10}, three = {3, 13, 10};

static void give_switch(struct kit *kit, uint64_t clock, struct who prev, unsigned why,
			struct who next, uint64_t wake, int32_t waker)
{
	struct record_switch r = rec_switch(clock, prev, why, next);

	r.wake_clock = wake;
	r.waker_tid = waker;
	assert_int_equal(kit_give(kit, 0, &r), 0);
}

static void iterated(struct kit *kit, struct who who)
{
	struct record_task r = rec_task(0, TASK_ITERATED, 0, who, "x");

	r.state = 1;
	assert_int_equal(timeline_iterated(kit->timeline, &r), 0);
}

/* One runs at the cut, two waits for the CPU since it was preempted, three since it was woken. */
static void a_thread_that_waits_at_a_cut_waits_on_both_sides(void **state)
{
	struct kit kit, shadow;

	(void)state;
	for (unsigned side = 0; side < 2; side++) {
		kit_open(&kit, "0", (struct timeline_options){.t0 = side ? 2000 : 1000});
		shadow_open(&shadow, "0", (struct timeline_options){.t0 = 1000});
		for (unsigned i = 0; i < 2; i++) {
			struct kit *k = i ? &shadow : &kit;

			if (side && !i)
				continue;
			iterated(k, one);
			iterated(k, two);
			iterated(k, three);
			give_switch(k, 1100, idle, 0, three, 0, 0);
			give_switch(k, 1200, three, OFF_CPU_SLEEPING, two, 0, 0);
			give_switch(k, 1300, two, OFF_CPU_PREEMPTED, one, 0, 0);
		}
		if (side)
			assert_int_equal(timeline_carry_over(kit.timeline, shadow.timeline), 0);
		else
			timeline_stop(kit.timeline, 2000);
		/* three was woken at 1500 by one: this is reported after the cut */
		give_switch(&kit, 2100, one, OFF_CPU_SLEEPING, three, 1500, 11);
		give_switch(&kit, 2200, three, OFF_CPU_SLEEPING, two, 0, 0);
		shadow_close(&shadow);
		kit_close(&kit, side ? 3000 : 2000);
		assert_int_equal(kit.err, 0);
		kit_check(1);
		if (side) {
			assert_stream(10, 11,
				      "2000 OHx 0 -1 0\n2100 OHp 1 13\n3000 OHw 0\n"
				      "3000 OAs -1\n3000 OHr\n3000 OHe\n");
			assert_stream(10, 12,
				      "2000 OHx -1 -1 0\n2000 OHp 0 -1\n2000 OHw 0\n"
				      "2201 OAs 0\n2201 OHr\n3000 OHe\n");
			assert_stream(10, 13,
				      "2000 OHx -1 -1 0\n2000 OHp 0 -1\n2000 OHw 11\n"
				      "2101 OAs 0\n2101 OHr\n2200 OHp 1 12\n3000 OHw 0\n"
				      "3000 OAs -1\n3000 OHr\n3000 OHe\n");
		} else {
			assert_stream(10, 13,
				      "1000 OHx -1 -1 0\n1000 OHp 0 -1\n1101 OHw 0\n"
				      "1101 OAs 0\n1101 OHr\n1200 OHp 1 12\n1500 OHw 11\n"
				      "2000 OAs -1\n2000 OHr\n2000 OHe\n");
		}
		kit_forget();
	}
}

/* Without switches: names of threads are still known, and ended threads are forgotten. */
static void lives_are_followed_without_switches(void **state)
{
	struct timeline_options options = {.t0 = UINT64_MAX, .no_switches = true};
	struct record_task named = rec_task(1100, TASK_RENAMED, one.id, one, "early"),
			   born = rec_birth(2100, one, two);
	struct record_exit end = rec_exit(1200, three, 0);
	struct kit kit, base;

	(void)state;
	shadow_open(&base, "0", options);
	iterated(&base, one);
	iterated(&base, three);
	assert_int_equal(kit_give(&base, 0, &named), 0);
	assert_int_equal(base.threads->known, 2);
	assert_int_equal(kit_give(&base, 0, &end), 0);
	assert_int_equal(base.threads->known, 1);
	options.t0 = 2000;
	kit_open(&kit, "0", options);
	assert_int_equal(timeline_carry_over(kit.timeline, base.timeline), 0);
	shadow_close(&base);
	assert_int_equal(kit_give(&kit, 0, &born), 0);
	kit_close(&kit, 3000);
	assert_int_equal(kit.err, 0);
	kit_check(1);
	assert_non_null(kit_stream(10, 11));
	assert_non_null(strstr(kit_stream(10, 11)->meta, "early"));
	kit_forget();
}

/* It has ended, but for a switch that no record shows: it is in no later part. */
static void a_last_switch_that_was_not_seen(void **state)
{
	const struct record_switch enters = {.head = {.clock = 1100, .kind = RECORD_SWITCH},
					     .next_id = 1,
					     .next_tid = 10,
					     .next_pid = 10};
	const struct record_exit exits = {.head = {.clock = 1200, .kind = RECORD_EXIT, .id = 1},
					  .id = 1,
					  .tid = 10,
					  .pid = 10};
	const struct record_switch other = {
		.head = {.clock = 1300, .kind = RECORD_SWITCH, .why = OFF_CPU_SLEEPING, .id = 2},
		.prev_tid = 20,
		.prev_pid = 20};
	const struct task *task;
	struct kit kit, next;
	uint32_t id = 0;

	(void)state;
	kit_open(&kit, "0", (struct timeline_options){.t0 = 1000});
	assert_int_equal(kit_give(&kit, 0, &enters.head), 0);
	assert_int_equal(kit_give(&kit, 0, &exits.head), 0);
	assert_int_equal(kit_give(&kit, 0, &other.head), 0);
	shadow_open(&next, "0", (struct timeline_options){.t0 = 2000});
	assert_int_equal(timeline_carry_over(next.timeline, kit.timeline), 0);
	task = threads_next(next.threads, &id);
	assert_non_null(task);
	assert_int_equal(task->tid, 20);
	assert_null(threads_next(next.threads, &id));
	kit_close(&kit, 2000);
	shadow_close(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_last_switch_that_was_not_seen),
		cmocka_unit_test(parts_have_all_stays_exactly),
		cmocka_unit_test(cuts_may_fall_into_a_nanosecond_full_of_switches),
		cmocka_unit_test(parts_are_valid_with_any_losses),
		cmocka_unit_test(clocks_near_their_end_can_be_cut),
		cmocka_unit_test(a_thread_that_waits_at_a_cut_waits_on_both_sides),
		cmocka_unit_test(lives_are_followed_without_switches),
	};
	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
