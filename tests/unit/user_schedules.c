/* SPDX-License-Identifier: MIT */
/*
 * timeline: random schedules, with and without losses, against the checker and the truth.
 * longer: all seeds, not a tenth.
 */
#include "schedule.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where every window ends, of itself. */
#define CLOCK_END ((uint64_t)INT64_MAX - (1ull << 36))

static uint64_t at_most(uint64_t clock, uint64_t limit)
{
	return clock < limit ? clock : limit;
}

/* With OVNI_KEEP=DIR, the traces of the first seeds are kept there for the emulator. */
static void keep(uint64_t seed)
{
	static unsigned n;
	const char *keep = getenv("OVNI_KEEP");
	char path[512];
	int fd;

	if (!keep || seed > 10 || !kit_disk.n)
		return;
	snprintf(path, sizeof(path), "%s/%03u", keep, n++);
	assert_int_equal(mkdir(path, 0755), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	kit_save(fd);
	close(fd);
}

static void try(const struct schedule_options *options, uint64_t seed, bool kernel_model,
		bool exact)
{
	struct timeline_options timeline = {.kernel_model = kernel_model,
					    .all_threads = seed & 1,
					    .cpu_filter = options->some_cpus};
	struct machine *m = schedule_run(options, seed);
	char cpus[16];
	struct kit kit;
	struct kit_check check;

	print_message("\r  seed %" PRIu64 " ", seed);
	timeline.t0 = m->t0;
	snprintf(cpus, sizeof(cpus), "0-%u", options->cpus - 1);
	kit_open(&kit, options->cpus > 1 ? cpus : "0", timeline);
	schedule_play(m, &kit);
	check = kit_check((int)options->cpus);
	assert_int_equal(check.events, kit.counts.events);
	/* A task that lost its stream to another one shows nothing any more. */
	if (options->early || options->execs || options->joins)
		assert_true((uint64_t)check.lost <= kit.counts.lost);
	else /* a gap that lasts to the end is shown if there is a thread that can */
		assert_in_range(kit.counts.lost, (uint64_t)check.lost,
				(uint64_t)check.lost + m->unshown);
	if (!options->losses)
		assert_int_equal(kit.counts.lost, 0);
	assert_true(kit.counts.lost <= m->dropped);
	for (size_t i = 0; i < kit.ncpus; i++) {
		uint64_t sum = 0;

		for (int use = 0; use < CPU_USES; use++)
			sum += kit.cpus[i].ns[use];
		assert_int_equal(sum, at_most(m->t1, CLOCK_END) - at_most(m->t0, CLOCK_END));
	}
	if (exact) {
		assert_int_equal(kit.counts.repairs, 0);
		assert_int_equal(kit.counts.late, 0);
		compare_with_truth(m, seed);
	}
	keep(seed);
	kit_forget();
	schedule_free(m);
}

static void try_many(const struct schedule_options *options, unsigned n, bool kernel_model,
		     bool exact)
{
	for (uint64_t seed = 1; seed <= n; seed++)
		try(options, seed, kernel_model, exact);
	print_message("\n");
}

static void schedules_without_losses_are_exact(void **state)
{
	struct schedule_options o = {.cpus = 3, .threads = 20, .steps = 600, .pace = 1000};

	(void)state;
	try_many(&o, seeds(500), false, true);
}

static void reused_tids_continue_their_streams(void **state)
{
	struct schedule_options o = {
		.cpus = 3, .threads = 12, .steps = 600, .pace = 1000, .reuse = true};

	(void)state;
	try_many(&o, seeds(500), false, true);
}

static void tids_given_away_before_the_last_switch_are_mended(void **state)
{
	struct schedule_options o = {
		.cpus = 4, .threads = 12, .steps = 600, .pace = 1000, .reuse = true, .early = true};

	(void)state;
	try_many(&o, seeds(500), false, false);
}

static void threads_that_take_the_place_of_their_leader(void **state)
{
	struct schedule_options o = {.cpus = 4,
				     .threads = 12,
				     .steps = 600,
				     .pace = 1000,
				     .execs = true,
				     .reuse = true,
				     .early = true};

	(void)state;
	try_many(&o, seeds(500), false, false);
}

static void some_processes_are_not_wanted(void **state)
{
	struct schedule_options o = {
		.cpus = 3, .threads = 20, .steps = 600, .pace = 1000, .unwanted = true};

	(void)state;
	try_many(&o, seeds(500), false, true);
}

static void threads_join_and_leave(void **state)
{
	struct schedule_options o = {.cpus = 3,
				     .threads = 20,
				     .steps = 600,
				     .pace = 1000,
				     .unwanted = true,
				     .joins = true,
				     .reuse = true};

	(void)state;
	try_many(&o, seeds(500), false, false);
}

static void only_some_cpus_are_recorded(void **state)
{
	struct schedule_options o = {.cpus = 4,
				     .threads = 20,
				     .steps = 600,
				     .pace = 1000,
				     .some_cpus = true,
				     .reuse = true};

	(void)state;
	try_many(&o, seeds(500), false, true);
}

static void one_process_is_never_seen_to_leave(void **state)
{
	struct schedule_options o = {
		.cpus = 2, .threads = 12, .steps = 600, .pace = 1000, .blind = true};

	(void)state;
	try_many(&o, seeds(500), false, false);
}

static void records_are_lost_everywhere(void **state)
{
	struct schedule_options o = {.cpus = 4,
				     .threads = 16,
				     .steps = 800,
				     .pace = 1000,
				     .losses = 20,
				     .reuse = true,
				     .early = true,
				     .execs = true,
				     .blind = true};

	(void)state;
	try_many(&o, seeds(1000), false, false);
	o.early = o.execs = false;
	try_many(&o, seeds(1000), false, false);
	o.unwanted = true;
	try_many(&o, seeds(1000), false, false);
	o.joins = o.early = o.execs = true;
	try_many(&o, seeds(1000), false, false);
	o.some_cpus = true;
	try_many(&o, seeds(1000), false, false);
}

static void everything_happens_in_the_same_nanoseconds(void **state)
{
	struct schedule_options o = {.cpus = 4,
				     .threads = 16,
				     .steps = 800,
				     .pace = 0,
				     .losses = 0,
				     .reuse = true,
				     .early = true,
				     .execs = true};

	(void)state;
	try_many(&o, seeds(500), false, false);
	o.losses = 20;
	try_many(&o, seeds(500), false, false);
}

static void the_kernel_model_is_balanced(void **state)
{
	struct schedule_options o = {
		.cpus = 3, .threads = 20, .steps = 600, .pace = 1000, .reuse = true};

	(void)state;
	try_many(&o, seeds(300), true, false);
	o.losses = 20;
	o.early = o.execs = o.blind = o.unwanted = o.joins = true;
	try_many(&o, seeds(1000), true, false);
}

static void clocks_near_their_end_do_not_overflow(void **state)
{
	struct schedule_options o = {.cpus = 3,
				     .threads = 20,
				     .steps = 600,
				     .pace = 1000,
				     .start = (uint64_t)INT64_MAX - (1ull << 41)};

	(void)state;
	try_many(&o, seeds(100), false, true);
	o.start = (uint64_t)INT64_MAX - (1ull << 36) - 300000;
	try_many(&o, seeds(100), false, false);
	o.start = UINT64_MAX - (1ull << 40);
	try_many(&o, seeds(100), false, false);
}

/* Records that no machine would make: any id with any tid, clocks that go anywhere. */
static struct machine_record nonsense(struct machine *m)
{
	struct who x = {draw(m, 12), draw(m, 9), 1 + draw(m, 3)},
		   y = {draw(m, 12), draw(m, 9), 1 + draw(m, 3)};
	struct machine_record r;

	memset(&r, 0, sizeof(r));
	m->clock += draw(m, 20) ? draw(m, 10) : 0;
	r.cpu = draw(m, 4);
	switch (draw(m, 8)) {
	case 0:
		r.task =
			rec_task(m->clock, 1 + draw(m, 5), draw(m, 2) ? x.id : y.id, x, "nonsense");
		r.task.creator_tid = (int32_t)draw(m, 9) - 1;
		r.task.parent_pid = draw(m, 4);
		r.task.flags = draw(m, 4);
		break;
	case 1:
		r.exit = rec_exit(m->clock, x, draw(m, 70000));
		r.exit.head.id = draw(m, 3) ? x.id : draw(m, 2) * y.id;
		break;
	case 2:
		r.snapshot = rec_snapshot(m->clock, 1 + draw(m, 2), x);
		break;
	case 3:
		r.lost = rec_lost(m->clock, m->clock + draw(m, 40) - 20, draw(m, 5));
		break;
	default:
		r.sw = rec_switch(m->clock, x, draw(m, 14), y);
		r.sw.wake_clock = draw(m, 2) ? m->clock + draw(m, 40) - 20 : 0;
		r.sw.waker_tid = (int32_t)draw(m, 12) - 3;
		r.head.flags = draw(m, 8) == 0;
	}
	if (draw(m, 10) == 0)
		r.head.clock += draw(m, 200) - 100; /* of the past or the future */
	if (draw(m, 500) == 0)
		r.head.kind = (__u8)draw(m, 256);
	return r;
}

static void nonsense_still_makes_a_valid_trace(void **state)
{
	struct machine m = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= seeds(2000); seed++) {
		struct timeline_options options = {
			.t0 = 1000,
			.kernel_model = seed % 7 == 0,
			.all_threads = seed % 2,
			.cpu_filter = seed % 3 == 0,
			.no_switches = seed % 11 == 0,
			.some_threads = seed % 5 == 0,
		};
		struct kit kit;

		print_message("\r  seed %" PRIu64 " ", seed);
		m.seed = seed * 0x9e3779b97f4a7c15ull;
		m.clock = 900;
		kit_open(&kit, "0-2", options);
		for (unsigned i = draw(&m, 1000); i; i--) {
			struct machine_record r = nonsense(&m);

			if (draw(&m, 50) == 0) {
				r.task = rec_task(0, TASK_ITERATED, 0,
						  (struct who){1 + draw(&m, 11), draw(&m, 9),
							       1 + draw(&m, 3)},
						  "x");
				assert_int_equal(timeline_iterated(kit.timeline, &r.task), 0);
			} else {
				assert_int_equal(kit_give(&kit, r.cpu, &r.head), 0);
			}
		}
		timeline_stop(kit.timeline, m.clock);
		for (unsigned i = draw(&m, 10); i; i--) {
			struct record_task r = rec_task(
				0, TASK_ITERATED, 0,
				(struct who){1 + draw(&m, 11), draw(&m, 9), 1 + draw(&m, 3)}, "x");

			r.wake_clock = m.clock - draw(&m, 500);
			r.flags |= draw(&m, 2) ? TASK_FLAG_ELSEWHERE : 0;
			assert_int_equal(timeline_iterated(kit.timeline, &r), 0);
		}
		kit_close(&kit, m.clock);
		assert_int_equal(kit.err, 0);
		kit_check((int)kit.indices);
		keep(seed);
		kit_forget();
	}
	print_message("\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedules_without_losses_are_exact),
		cmocka_unit_test(reused_tids_continue_their_streams),
		cmocka_unit_test(tids_given_away_before_the_last_switch_are_mended),
		cmocka_unit_test(threads_that_take_the_place_of_their_leader),
		cmocka_unit_test(some_processes_are_not_wanted),
		cmocka_unit_test(threads_join_and_leave),
		cmocka_unit_test(only_some_cpus_are_recorded),
		cmocka_unit_test(one_process_is_never_seen_to_leave),
		cmocka_unit_test(records_are_lost_everywhere),
		cmocka_unit_test(everything_happens_in_the_same_nanoseconds),
		cmocka_unit_test(the_kernel_model_is_balanced),
		cmocka_unit_test(clocks_near_their_end_do_not_overflow),
		cmocka_unit_test(nonsense_still_makes_a_valid_trace),
	};
	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
