/* SPDX-License-Identifier: MIT */
/*
 * state_times: random schedules, with and without losses, against the truth of the machine; and
 * what the reports say of the same recording.
 */
#include "schedule.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

/* The reports have their own names for the same things. */
#define thread_times reported_times
#define TIME_NONE    REPORTED_NONE
#define TIME_RUNNING REPORTED_RUNNING
#include "trace/analysis/thread_times.h"
#undef thread_times
#undef TIME_NONE
#undef TIME_RUNNING
#include "user/timeline/state_times.h"

/* OVNI_SCHEDULES multiplies how many are tried. */
static unsigned many(unsigned n)
{
	const char *times = getenv("OVNI_SCHEDULES");

	return n * (times && atoi(times) > 0 ? (unsigned)atoi(times) : 1);
}

static struct time_stats play(struct machine *m, bool no_switches)
{
	struct machine_record **order = schedule_order(m);
	struct time_stats stats, middle;
	struct state_times_options options = {.t0 = m->t0,
					      .npossible = m->options.cpus,
					      .ended_most = TIME_STATS_ENDED_MAX,
					      .cpu_list = m->options.some_cpus,
					      .some_threads = m->options.unwanted,
					      .no_switches = no_switches};
	unsigned cpus[64];
	struct state_times *times;

	for (unsigned cpu = 0; cpu < m->options.cpus; cpu++)
		if (listed(m, cpu))
			cpus[options.ncpus++] = cpu;
	options.cpus = cpus;
	times = state_times_new(&options);
	assert_non_null(times);
	for (size_t i = 0; i < m->nbefore; i++)
		assert_int_equal(state_times_task(times, &m->before[i]), 0);
	for (size_t i = 0; i < m->n; i++) {
		if (order[i]->head.clock > m->t1)
			state_times_stop(times, m->t1);
		if (no_switches && order[i]->head.kind == RECORD_SWITCH)
			continue;
		assert_int_equal(state_times_record(times, order[i]->cpu, &order[i]->head), 0);
		if (i % 400)
			continue;
		assert_int_equal(state_times_read(times, order[i]->head.clock, &middle), 0);
		time_stats_free(&middle);
	}
	state_times_stop(times, m->t1);
	for (size_t i = 0; i < m->nafter; i++)
		assert_int_equal(state_times_task(times, &m->after[i]), 0);
	assert_int_equal(state_times_close(times, false, &stats), 0);
	state_times_free(times);
	free(order);
	return stats;
}

/* Every nanosecond is counted exactly once. */
static void check_sums(const struct machine *m, const struct time_stats *stats, uint64_t seed)
{
	uint64_t active = stats->unlisted.active_ns, cpus = 0;

	for (size_t i = 0; i < stats->nthreads; i++) {
		const struct thread_stats *t = &stats->threads[i];
		uint64_t sum = t->times.active_ns + t->times.runnable_ns + t->times.unknown_ns +
			       thread_times_blocked(&t->times);

		if (sum != t->end - t->begin)
			fail_msg("seed %" PRIu64 ": thread %u lived %" PRIu64 " ns, its states "
				 "are %" PRIu64,
				 seed, t->tid, t->end - t->begin, sum);
		active += t->times.active_ns;
	}
	for (unsigned i = 0; i < stats->ncpus; i++) {
		uint64_t sum = 0;

		for (unsigned use = 0; use < CPU_USES; use++)
			sum += stats->cpus[i].ns[use];
		assert_int_equal(sum, m->t1 - m->t0);
		cpus += stats->cpus[i].ns[CPU_THREAD];
	}
	if (active != cpus)
		fail_msg("seed %" PRIu64 ": threads ran for %" PRIu64 " ns, CPUs for %" PRIu64,
			 seed, active, cpus);
}

struct sums {
	uint64_t ns[M_STATES], unknown;
};

/* The truth about a thread; pid 0: about all. */
static struct sums done(const struct machine *m, uint32_t pid, uint32_t tid)
{
	struct sums sums = {{0}, 0};

	for (size_t i = 0; i < m->nphases; i++) {
		const struct phase *p = &m->phases[i];

		/* the window begins the life of an older thread, even if it never ran */
		if (p->state == M_FREE && p->from > m->t0)
			continue;
		if (!pid || (p->pid == pid && p->tid == tid))
			sums.ns[p->state == M_FREE ? M_READY : p->state] +=
				time_within(p->from, p->to, m->t0, m->t1);
	}
	return sums;
}

static void add(struct sums *to, const struct thread_times *t)
{
	to->ns[M_RUNS] += t->active_ns;
	to->ns[M_READY] += t->runnable_ns - t->throttled_ns;
	to->ns[M_THROTTLED] += t->throttled_ns;
	to->ns[M_SLEEPS] += thread_times_blocked(t);
	to->unknown += t->unknown_ns;
}

/* The same of all lines of a thread whose tid was used again. */
static struct sums told_of(const struct time_stats *stats, uint32_t pid, uint32_t tid)
{
	struct sums sums = {{0}, 0};

	for (size_t i = 0; i < stats->nthreads; i++)
		if (!pid || (stats->threads[i].pid == pid && stats->threads[i].tid == tid))
			add(&sums, &stats->threads[i].times);
	if (!pid)
		add(&sums, &stats->unlisted);
	return sums;
}

/* `exact`: nothing is unknown. Else no state has more than the machine spent there. */
static void compare(const struct machine *m, const struct time_stats *stats, uint32_t pid,
		    uint32_t tid, bool exact, uint64_t seed)
{
	struct sums want = done(m, pid, tid), got = told_of(stats, pid, tid);

	for (int s = M_RUNS; s < M_STATES; s++)
		if (exact ? got.ns[s] != want.ns[s] : got.ns[s] > want.ns[s])
			fail_msg("seed %" PRIu64 ": thread %u of %u: %" PRIu64
				 " ns in state %d, not %" PRIu64 " (unknown: %" PRIu64 ")",
				 seed, tid, pid, got.ns[s], s, want.ns[s], got.unknown);
	if (exact)
		assert_int_equal(got.unknown, 0);
}

enum judge { SUMS, BOUNDS, EXACT };

static void try(const struct schedule_options *options, unsigned n, enum judge judge)
{
	for (uint64_t seed = 1; seed <= n; seed++) {
		struct machine *m = schedule_run(options, seed);
		struct time_stats stats = play(m, false);

		check_sums(m, &stats, seed);
		for (size_t i = 0; i < stats.nthreads && judge != SUMS; i++)
			compare(m, &stats, stats.threads[i].pid, stats.threads[i].tid,
				judge == EXACT, seed);
		if (judge == EXACT)
			compare(m, &stats, 0, 0, true, seed);
		time_stats_free(&stats);
		schedule_free(m);
	}
}

static void times_without_losses_are_exact(void **state)
{
	struct schedule_options o = {.cpus = 3, .threads = 20, .steps = 600, .pace = 1000};

	(void)state;
	try(&o, many(500), EXACT);
}

static void tids_used_again_are_added_up(void **state)
{
	struct schedule_options o = {
		.cpus = 3, .threads = 12, .steps = 600, .pace = 1000, .reuse = true};

	(void)state;
	try(&o, many(500), EXACT);
}

static void times_of_lost_switches_are_unknown(void **state)
{
	struct schedule_options o = {
		.cpus = 3, .threads = 20, .steps = 600, .pace = 1000, .losses = 20};

	(void)state;
	try(&o, many(500), BOUNDS);
}

static void times_on_other_cpus_are_unknown(void **state)
{
	struct schedule_options o = {
		.cpus = 4, .threads = 20, .steps = 600, .pace = 1000, .some_cpus = true};

	(void)state;
	try(&o, many(300), BOUNDS);
}

static void every_nanosecond_is_counted_once(void **state)
{
	struct schedule_options o = {
		.cpus = 4, .threads = 14, .steps = 800, .pace = 1000, SCHEDULE_TROUBLE};
	struct schedule_options ties = o, cpus = o;

	(void)state;
	ties.pace = 0;
	cpus.some_cpus = true;
	try(&o, many(500), SUMS);
	try(&ties, many(300), SUMS);
	try(&cpus, many(300), SUMS);
}

/* ---- the reports ---- */

static int take_event(void *arg, const struct intervals *intervals, uint32_t stream,
		      const struct event *ev)
{
	thread_times_step(arg, intervals, stream, ev);
	return 0;
}

static struct sums sums_of(const struct thread_time *t)
{
	struct sums sums = {{0}, (uint64_t)thread_time_stays(t, TIME_LOST)->ns};

	sums.ns[M_RUNS] = (uint64_t)thread_time_stays(t, REPORTED_RUNNING)->ns;
	sums.ns[M_READY] = (uint64_t)(thread_time_stays(t, TIME_WAITING + WAIT_PREEMPTED)->ns +
				      thread_time_stays(t, TIME_WAITING + WAIT_YIELDED)->ns +
				      thread_time_stays(t, TIME_WAITING + WAIT_THROTTLED)->ns +
				      thread_time_stays(t, TIME_WAITING + WAIT_WOKEN)->ns);
	for (int why = 0; why < OFF_CPU_COUNT; why++)
		if (why != OFF_CPU_LOST)
			sums.ns[M_SLEEPS] += (uint64_t)thread_time_stays(t, TIME_ASLEEP + why)->ns;
	return sums;
}

static uint64_t life_of(const struct sums *sums)
{
	return sums->ns[M_RUNS] + sums->ns[M_READY] + sums->ns[M_SLEEPS] + sums->unknown;
}

static bool near(uint64_t a, uint64_t b, uint64_t ns)
{
	return a > b ? a - b <= ns : b - a <= ns;
}

/* A thread enters a CPU 1 ns after another one has left it. The kernel model has no wake-ups.
 * Returns the unknown time. */
static uint64_t compare_reports(const struct machine *m, const struct time_stats *stats,
				const struct source *source, uint64_t seed, bool kernel_model)
{
	static const struct interval_listener listener = {.event = take_event};
	struct intervals intervals;
	struct reported_times times;
	uint64_t unknown = 0;

	assert_int_equal(thread_times_init(&times, source, INT64_MIN, INT64_MAX), 0);
	assert_int_equal(intervals_walk(&intervals, source, &listener, &times), 0);
	thread_times_finish(&times, &intervals);
	for (size_t i = 0; i < source->trace.nstreams; i++) {
		const struct owner *owner = &source->owners[i];
		uint32_t pid = (uint32_t)owner->pid, tid = (uint32_t)owner->tid;
		struct sums got = sums_of(&times.threads[i]), want = told_of(stats, pid, tid);
		struct sums truth = done(m, pid, tid);
		uint64_t switches = 1;
		bool longer;

		/* of a wait that began before the window, the stream does not say which it is */
		want.ns[M_READY] += want.ns[M_THROTTLED];
		truth.ns[M_READY] += truth.ns[M_THROTTLED];

		for (int use = 0; use < TIME_USES; use++)
			switches += thread_time_stays(&times.threads[i], use)->count;
		unknown += got.unknown;
		if (!life_of(&want)) /* asleep all the time: unlisted */
			continue;
		/* one that was seen first in the middle of a run lives from there on in the
		 * reports, in the statistics from its next switch on */
		longer = life_of(&got) > life_of(&want) + switches;
		for (int s = M_RUNS; s <= (kernel_model ? M_RUNS : M_SLEEPS); s++)
			if (got.ns[s] > truth.ns[s] + switches ||
			    (!near(got.ns[s], want.ns[s], switches) &&
			     (s != M_RUNS || got.ns[s] < want.ns[s] || !longer)))
				fail_msg("seed %" PRIu64
					 ": thread %u of %u: state %d: reports %" PRIu64
					 ", statistics %" PRIu64 ", truth %" PRIu64
					 "; unknown %" PRIu64 ", statistics %" PRIu64,
					 seed, tid, pid, s, got.ns[s], want.ns[s], truth.ns[s],
					 got.unknown, want.unknown);
	}
	intervals_fini(&intervals);
	thread_times_fini(&times);
	return unknown;
}

static int remove_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static uint64_t report(struct machine *m, uint64_t seed, bool kernel_model)
{
	struct timeline_options options = {.t0 = m->t0,
					   .kernel_model = kernel_model,
					   .cpu_filter = m->options.some_cpus,
					   .some_threads = m->options.unwanted};
	struct time_stats stats = play(m, false);
	char folder[] = "reports.XXXXXX";
	struct source source;
	uint64_t unknown;
	struct kit kit;
	int fd;

	kit_open(&kit, "0-3", options);
	schedule_play(m, &kit);
	assert_non_null(mkdtemp(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	kit_save(fd);
	assert_int_equal(source_open(&source, folder), 0);
	unknown = compare_reports(m, &stats, &source, seed, kernel_model);
	source_close(&source);
	assert_int_equal(nftw(folder, remove_file, 16, FTW_DEPTH | FTW_PHYS), 0);
	close(fd);
	kit_forget();
	time_stats_free(&stats);
	return unknown;
}

/* The reports read from the streams what the statistics have from the records. */
static void reports_and_statistics_are_the_same(void **state)
{
	struct schedule_options o = {
		.cpus = 4, .threads = 16, .steps = 500, .pace = 1000, .losses = 20};
	uint64_t unknown = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= many(60); seed++) {
		struct machine *m = schedule_run(&o, seed);

		unknown += report(m, seed, seed % 4 == 0);
		schedule_free(m);
	}
	assert_true(unknown > 0);
}

static void without_switches_all_is_unknown(void **state)
{
	struct schedule_options o = {.cpus = 3, .threads = 20, .steps = 600, .pace = 1000};

	(void)state;
	for (uint64_t seed = 1; seed <= many(50); seed++) {
		struct machine *m = schedule_run(&o, seed);
		struct time_stats stats = play(m, true);
		struct sums sums = told_of(&stats, 0, 0);

		check_sums(m, &stats, seed);
		assert_int_equal(sums.ns[M_RUNS] + sums.ns[M_READY] + sums.ns[M_SLEEPS], 0);
		assert_true(sums.unknown > 0);
		time_stats_free(&stats);
		schedule_free(m);
	}
}

static int longest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void those_that_ran_longest_are_listed(void **state)
{
	enum { ENDED = 10000, MOST = 300 };
	static uint64_t ran[ENDED], listed[MOST];
	struct time_stats stats = {0};
	uint64_t random = 1, sum = 0;

	(void)state;
	for (unsigned i = 0; i < ENDED; i++) {
		struct thread_stats thread = {.tid = i + 1};

		random = random * 6364136223846793005 + 1442695040888963407;
		thread.times.active_ns = ran[i] = random >> 40;
		sum += ran[i];
		time_stats_add_ended(&stats, &thread, MOST);
	}
	assert_int_equal(stats.nthreads, MOST);
	assert_int_equal(stats.unlisted.threads, ENDED - MOST);
	for (unsigned i = 0; i < MOST; i++) {
		listed[i] = stats.threads[i].times.active_ns;
		assert_int_equal(listed[i], ran[stats.threads[i].tid - 1]);
		sum -= listed[i];
	}
	assert_int_equal(stats.unlisted.active_ns, sum);
	qsort(ran, ENDED, sizeof(*ran), longest_first);
	qsort(listed, MOST, sizeof(*listed), longest_first);
	assert_memory_equal(ran, listed, sizeof(listed));
	time_stats_free(&stats);
}

/* Threads that end, and whose last switch is not seen: none of them lives on. */
static void the_last_switch_is_not_seen(void **state)
{
	enum { THREADS = 1000 };
	const unsigned cpu = 0;
	const struct state_times_options options = {
		.npossible = 1, .cpus = &cpu, .ncpus = 1, .ended_most = 10};
	struct state_times *times = state_times_new(&options);
	struct time_stats stats;
	uint64_t clock = 1000;

	(void)state;
	assert_non_null(times);
	for (uint32_t id = 1; id <= THREADS; id++) {
		struct record_switch enters = {.head = {.clock = clock, .kind = RECORD_SWITCH},
					       .next_id = id,
					       .next_tid = id,
					       .next_pid = 1};
		struct record_switch leaves = {.head = {.clock = clock + 50,
							.kind = RECORD_SWITCH,
							.why = OFF_CPU_SLEEPING,
							.id = id},
					       .prev_tid = id,
					       .prev_pid = 1};
		struct record_exit exits = {
			.head = {.clock = clock + 70, .kind = RECORD_EXIT, .id = id},
			.id = id,
			.tid = id,
			.pid = 1};

		assert_int_equal(state_times_record(times, 0, &enters.head), 0);
		assert_int_equal(state_times_record(times, 0, &leaves.head), 0);
		enters.head.clock = clock + 60;
		assert_int_equal(state_times_record(times, 0, &enters.head), 0);
		assert_int_equal(state_times_record(times, 0, &exits.head), 0);
		clock += 100;
	}
	assert_int_equal(state_times_read(times, clock, &stats), 0);
	assert_int_equal(stats.nthreads + stats.unlisted.threads, THREADS);
	assert_true(stats.nthreads <= 11);
	for (size_t i = 0; i < stats.nthreads; i++)
		assert_int_equal(stats.threads[i].alive, stats.threads[i].tid == THREADS);
	time_stats_free(&stats);
	state_times_free(times);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_without_losses_are_exact),
		cmocka_unit_test(tids_used_again_are_added_up),
		cmocka_unit_test(times_of_lost_switches_are_unknown),
		cmocka_unit_test(times_on_other_cpus_are_unknown),
		cmocka_unit_test(every_nanosecond_is_counted_once),
		cmocka_unit_test(reports_and_statistics_are_the_same),
		cmocka_unit_test(without_switches_all_is_unknown),
		cmocka_unit_test(those_that_ran_longest_are_listed),
		cmocka_unit_test(the_last_switch_is_not_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
