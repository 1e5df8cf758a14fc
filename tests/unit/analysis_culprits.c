/* SPDX-License-Identifier: MIT */
/*
 * culprits: on random schedules, each ns of each wait is charged to the thread that a model, which
 * keeps the occupant of each CPU and the queue of each thread for every ns, names; the charges add
 * up to the wait, with losses and with threads that are not in the trace, too. The uses of the time
 * of a thread (thread_times) add up to its life, and those that are waits to its waits.
 */
#include "trace_kit.h"

#include "trace/analysis/culprits.h"
#include "trace/analysis/thread_times.h"

#define CPUS	 3
#define THREADS	 7
#define TIME	 24000 /* ns, at most */
#define OUTSIDE	 99    /* tid of a thread without a stream */
#define NOBODY	 (-1)
#define SOMEBODY (-2) /* a thread without a stream, or not known */

/* ---- the machine, ns by ns ---- */

enum state { ASLEEP, RUNS, WAITS, UNBORN };

struct cell { /* the occupant of a CPU in one ns; `other`: of the ns of a switch, the leaving one */
	int8_t who, other;
	bool gap;
};

struct thread {
	enum state state;
	int cpu, queue; /* of the trace, and on which it waits */
	bool woken;	/* waits after a wake-up */
	bool moved;	/* during this wait */
	bool lost;	/* a switch of it was not recorded since it left a CPU */
	int entered;	/* clock */
	struct kit_bytes events;
	int8_t waits_on[TIME];
	int wait[TIME]; /* number of the wait */
	bool on[TIME], lives[TIME];
	int waits;
	int taker[TIME]; /* tid, of each wait; -1: the thread had no CPU to lose */
};

static struct thread threads[THREADS];
static struct cell cells[CPUS][TIME];
static int runs[CPUS]; /* thread, NOBODY or SOMEBODY */
static int left_at[CPUS], left_by[CPUS];
static bool outsiders[CPUS], lossy[CPUS], idle_known[CPUS];
static bool
	charged[CPUS]; /* a part of the present run is charged already: it cannot become unknown */
static bool gap_open;
static bool holes; /* some waits turn out to be unknown */
static int now, filled;

static void put(int t, const char *mcv, int clock, const void *payload, size_t size)
{
	kit_event(&threads[t].events, mcv, clock, payload, size);
}

/* Fills the cells up to `now`. */
static void fill(void)
{
	for (; filled < now; filled++) {
		for (int c = 0; c < CPUS; c++) {
			struct cell *cell = &cells[c][filled];

			cell->who = (int8_t)runs[c];
			if (runs[c] == NOBODY && (outsiders[c] || (lossy[c] && !idle_known[c])))
				cell->who = SOMEBODY;
			cell->gap = gap_open && lossy[c];
		}
		for (int t = 0; t < THREADS; t++) {
			threads[t].waits_on[filled] = threads[t].state == WAITS && !threads[t].lost
							      ? (int8_t)threads[t].queue
							      : NOBODY;
			threads[t].wait[filled] = threads[t].waits;
			threads[t].on[filled] = threads[t].state == RUNS;
			threads[t].lives[filled] = threads[t].state != UNBORN;
		}
	}
}

static void begin_wait(int t, int queue, bool woken)
{
	threads[t].state = WAITS;
	threads[t].queue = queue;
	threads[t].woken = woken;
	threads[t].moved = false;
	threads[t].taker[++threads[t].waits] = -1;
}

static void leave(int c, int next_tid)
{
	int t = runs[c];
	struct {
		uint16_t why;
		int32_t next;
		uint64_t unknown;
	} __attribute__((packed)) payload = {(uint16_t)(1 + kit_random(3)), next_tid, 0};
	const int32_t stays = -1;
	size_t size = sizeof(payload) - sizeof(payload.unknown);
	int known = now;

	fill();
	left_by[c] = NOBODY;
	idle_known[c] = next_tid == 0;
	runs[c] = NOBODY;
	if (t < 0)
		return;
	if (kit_random(2))
		payload.why = kit_random(3) ? OFF_CPU_PREEMPTED : OFF_CPU_YIELDED;
	else if (lossy[c] && !charged[c] && kit_random(3) == 0)
		payload.why = OFF_CPU_LOST;
	if (payload.why == OFF_CPU_LOST)
		known = threads[t].entered;
	if (lossy[c] && !charged[c] && kit_random(5) == 0) {
		known = threads[t].entered + (int)kit_random((uint64_t)(now - threads[t].entered));
		payload.unknown = (uint64_t)(now - known);
		size = sizeof(payload);
	}
	for (int i = known; i < now; i++) {
		cells[c][i].who = SOMEBODY;
		threads[t].on[i] = false;
	}
	threads[t].lost = payload.why == OFF_CPU_LOST;
	put(t, "OHp", now, &payload, size);
	left_by[c] = next_tid ? t : NOBODY;
	left_at[c] = now;
	threads[t].state = ASLEEP;
	if (!off_cpu_runnable(payload.why))
		return;
	put(t, "OHw", now, &stays, sizeof(stays));
	begin_wait(t, c, false);
	threads[t].taker[threads[t].waits] = next_tid;
}

static void wake(int t)
{
	const int32_t waker = -2;
	int queue = kit_random(2) ? threads[t].cpu : (int)kit_random(CPUS);

	put(t, "OHw", now, &waker, sizeof(waker));
	if (!threads[t].lost) {
		begin_wait(t, queue, true);
		return;
	}
	threads[t].state = WAITS;
	threads[t].queue = queue;
	threads[t].woken = true;
}

/* The wait that ends now is unknown after all. */
static void forget(int t)
{
	for (int i = 0; i < now; i++)
		if (threads[t].wait[i] == threads[t].waits)
			threads[t].waits_on[i] = NOBODY;
}

static void enter(int c, int t)
{
	const int32_t cpu = c;
	const uint64_t unknown = 1;
	const struct {
		int32_t cpu, creator;
		uint64_t tag;
	} begin = {c, -1, 0};

	fill();
	if (left_by[c] >= 0 && left_at[c] == now - 1) {
		cells[c][now - 1].who = (int8_t)t;
		cells[c][now - 1].other = (int8_t)left_by[c];
	}
	if (threads[t].cpu == NOBODY) {
		put(t, "OHx", now, &begin, sizeof(begin));
	} else {
		if (threads[t].cpu != c)
			put(t, "OAs", now, &cpu, sizeof(cpu));
		if (holes && threads[t].state == WAITS && kit_random(6) == 0) {
			put(t, "OHr", now, &unknown, sizeof(unknown));
			if (!threads[t].lost)
				forget(t);
		} else {
			put(t, "OHr", now, NULL, 0);
		}
	}
	threads[t].lost = false;
	if (threads[t].state == WAITS)
		charged[threads[t].queue] = true;
	charged[c] = false;
	threads[t].cpu = c;
	threads[t].state = RUNS;
	threads[t].entered = now;
	runs[c] = t;
	left_by[c] = NOBODY;
}

/* A waiting thread may run on the CPU: a woken one only where it waits, since the trace
 * takes the CPU of the switch-in as the CPU of the wake-up. */
static int candidate(int c)
{
	for (int i = 0, t = (int)kit_random(THREADS); i < THREADS; i++, t = (t + 1) % THREADS)
		if (threads[t].state == WAITS &&
		    (threads[t].queue == c || (!threads[t].woken && threads[t].cpu >= 0)))
			return t;
	return -1;
}

static void move(int t)
{
	const int32_t cpu = (int32_t)kit_random(CPUS);

	/* one that waits where its last run was not: the trace has its queue only at the end */
	if (cpu == threads[t].cpu || threads[t].cpu < 0 || threads[t].queue != threads[t].cpu)
		return;
	fill();
	put(t, "OAs", now, &cpu, sizeof(cpu));
	charged[threads[t].queue] = true;
	threads[t].cpu = threads[t].queue = cpu;
	threads[t].moved = true;
}

static void bear(int creator, int t)
{
	uint8_t payload[12] = {0};
	int64_t tid = t + 1;

	memcpy(payload + 4, &tid, sizeof(tid));
	put(creator, "OHC", now, payload, sizeof(payload));
	begin_wait(t, (int)kit_random(CPUS), true);
}

static void step(void)
{
	const struct {
		int64_t count;
		int32_t type;
	} __attribute__((packed)) mark = {1, 92};
	int c = (int)kit_random(CPUS), t = (int)kit_random(THREADS), next;

	now += 2 + (int)kit_random(9);
	fill();
	switch (kit_random(8)) {
	case 0:
		if (threads[t].state == ASLEEP)
			wake(t);
		break;
	case 1:
		if (threads[t].state == WAITS)
			move(t);
		break;
	case 2:
		if (threads[t].state == UNBORN && runs[c] >= 0)
			bear(runs[c], t);
		break;
	case 3:
		if (kit_random(8) == 0 && threads[0].state == RUNS) {
			put(0, gap_open ? "OM]" : "OM[", now, &mark, sizeof(mark));
			gap_open = !gap_open;
			memset(charged, true, sizeof(charged));
		}
		break;
	default:
		next = candidate(c);
		if (next < 0 && runs[c] < 0)
			break;
		if (next < 0 ||
		    (runs[c] >= 0 && kit_random(6) == 0)) { /* to idle, or to a thread outside */
			leave(c, outsiders[c] && kit_random(2) ? OUTSIDE : 0);
			break;
		}
		if (lossy[c] && runs[c] >= 0 &&
		    kit_random(10) == 0) { /* the record of the next one is lost */
			leave(c, next + 1);
			now++;
			break;
		}
		if (runs[c] >= 0)
			leave(c, next + 1);
		now++;
		enter(c, next);
	}
}

/* For a wait that is still open at the end, the trace lacks the switch-in, and so the CPU. */
static void forget_queues(void)
{
	for (int t = 0; t < THREADS; t++)
		for (int ns = now - 1;
		     ns >= 0 && threads[t].state == WAITS &&
		     threads[t].wait[ns] == threads[t].waits && threads[t].waits_on[ns] != NOBODY &&
		     (threads[t].cpu == NOBODY || threads[t].queue != threads[t].cpu);
		     ns--)
			threads[t].waits_on[ns] = (int8_t)threads[t].cpu;
	for (int t = 0; t < THREADS; t++)
		if (threads[t].cpu == NOBODY)
			memset(threads[t].lives, 0, sizeof(threads[t].lives));
}

static void run(unsigned steps)
{
	holes = kit_random(2);
	for (int c = 0; c < CPUS; c++) {
		runs[c] = left_by[c] = NOBODY;
		outsiders[c] = kit_random(4) == 0;
		lossy[c] = kit_random(3) == 0;
		idle_known[c] = false;
	}
	memset(cells, 0, sizeof(cells));
	for (int t = 0; t < THREADS; t++) {
		free(threads[t].events.data);
		memset(&threads[t], 0, sizeof(threads[t]));
		kit_header(&threads[t].events);
		threads[t].cpu = NOBODY;
		threads[t].state = UNBORN;
	}
	gap_open = false;
	filled = now = 0;
	for (int c = 0; c < CPUS; c++) { /* the first threads are there from the start */
		threads[c].state = WAITS;
		threads[c].waits = 0;
		now = 1;
		threads[c].queue = c;
		enter(c, c);
	}
	memset(threads[0].waits_on, NOBODY, 1);
	for (int t = 0; t < THREADS; t++) {
		threads[t].waits_on[0] = NOBODY;
		threads[t].lives[0] = false;
	}
	for (unsigned i = 0; i < steps && now < TIME - 100; i++)
		step();
	fill();
	forget_queues();
}

/* ---- the trace ---- */

static void text_file(const char *name, const char *text)
{
	kit_file(name, text, strlen(text));
}

static void write_trace(void)
{
	char name[64], json[1024];

	for (int t = 0; t < THREADS; t++) {
		size_t n = (size_t)snprintf(json, sizeof(json),
					    "{\"version\": 3, \"ovni\": {\"part\": \"thread\", "
					    "\"tid\": %d, \"pid\": 1, "
					    "\"loom\": \"n\", \"app_id\": 1",
					    t + 1);

		if (t == 0) {
			n += (size_t)snprintf(
				json + n, sizeof(json) - n,
				", \"loom_cpus\": [{\"index\": 0, \"phyid\": 0}, "
				"{\"index\": 1, \"phyid\": 1}, {\"index\": 2, "
				"\"phyid\": 2}]}, \"bpf\": {\"session\": {\"cpus\": [");
			for (int c = 0; c < CPUS; c++)
				n += (size_t)snprintf(
					json + n, sizeof(json) - n,
					"%s{\"index\": %d, \"lost\": \"%d\", \"ns\": {\"idle\": "
					"\"1\", \"other\": \"%d\", \"unknown\": \"0\"}}",
					c ? ", " : "", c, lossy[c], outsiders[c]);
			n += (size_t)snprintf(json + n, sizeof(json) - n, "]}");
		}
		snprintf(json + n, sizeof(json) - n, "}}");
		snprintf(name, sizeof(name), "thread.%d", t + 1);
		mkdirat(kit_dir, name, 0755);
		snprintf(name, sizeof(name), "thread.%d/stream.json", t + 1);
		text_file(name, json);
		snprintf(name, sizeof(name), "thread.%d/stream.obs", t + 1);
		kit_file(name, threads[t].events.data, threads[t].events.size);
	}
}

static bool summed_up; /* of some victim */

struct answers {
	struct culprits culprits, few;
	struct thread_times times;
};

static int take(void *arg, const struct intervals *intervals, uint32_t stream,
		const struct event *ev)
{
	struct answers *answers = arg;
	int err = culprits_step(&answers->few, intervals, stream, ev);

	thread_times_step(&answers->times, intervals, stream, ev);
	return err ? err : culprits_step(&answers->culprits, intervals, stream, ev);
}

/* ---- the comparison ---- */

#define CHARGED (THREADS + 2) /* threads, idle, unknown */

static int charged_to(int victim, int ns)
{
	const struct cell *cell = &cells[threads[victim].waits_on[ns]][ns];
	int who = cell->who == victim ? cell->other : cell->who;

	if (cell->gap || who == SOMEBODY)
		return THREADS + 1;
	return who == NOBODY ? THREADS : who;
}

/* The pair, or NULL if `culprit` never ran while `victim` waited. */
static const struct culprit_pair *find_pair(const struct culprits *c, int victim, int64_t culprit)
{
	for (size_t i = 0; i < c->npairs; i++)
		if (c->pairs[i].victim == (uint32_t)victim && c->pairs[i].culprit == culprit)
			return &c->pairs[i];
	return NULL;
}

static void compare(int victim, const struct culprits *culprits, int first, int last)
{
	int64_t want[CHARGED] = {0}, most[CHARGED] = {0}, one[CHARGED] = {0}, sum = 0, told = 0;
	uint64_t count[CHARGED] = {0}, taken[OUTSIDE + 1] = {0};
	int wait = 0;

	for (int ns = first; ns <= last; ns++) {
		bool waits = ns < last && threads[victim].waits_on[ns] != NOBODY;

		if (!waits || threads[victim].wait[ns] != wait) {
			for (int i = 0; i < CHARGED; i++) {
				count[i] += one[i] > 0;
				most[i] = one[i] > most[i] ? one[i] : most[i];
				one[i] = 0;
			}
		}
		if (!waits)
			continue;
		if (threads[victim].wait[ns] != wait &&
		    threads[victim].taker[threads[victim].wait[ns]] >= 0)
			taken[threads[victim].taker[threads[victim].wait[ns]]]++;
		wait = threads[victim].wait[ns];
		want[charged_to(victim, ns)]++;
		one[charged_to(victim, ns)]++;
		sum++;
	}
	for (int i = 0; i < CHARGED; i++) {
		int64_t culprit = i < THREADS ? i : i == THREADS ? CULPRIT_IDLE : CULPRIT_UNKNOWN;
		const struct culprit_pair *pair = find_pair(culprits, victim, culprit);

		if ((pair ? pair->ns : 0) != want[i] || (pair ? pair->waits : 0) != count[i] ||
		    (pair ? pair->max : 0) != most[i])
			fail_msg("victim %d, culprit %d: %lld ns in %llu waits, most %lld; model: "
				 "%lld in %llu, most %lld",
				 victim, i, (long long)(pair ? pair->ns : 0),
				 (unsigned long long)(pair ? pair->waits : 0),
				 (long long)(pair ? pair->max : 0), (long long)want[i],
				 (unsigned long long)count[i], (long long)most[i]);
		told += pair ? pair->ns : 0;
	}
	for (int tid = 0; tid <= OUTSIDE; tid++) {
		int64_t culprit = tid == 0	   ? CULPRIT_IDLE
				  : tid <= THREADS ? tid - 1
						   : CULPRIT_TID(tid);
		const struct culprit_pair *pair = find_pair(culprits, victim, culprit);

		assert_int_equal(pair ? pair->first : 0, taken[tid]);
	}
	assert_int_equal(told, sum);
	assert_int_equal(culprits_waited(culprits, (uint32_t)victim), sum);
}

/* The trace has the life of a thread from its first moment in the model to the end. */
static void compare_times(int thread, const struct answers *answers, int first, int last)
{
	const struct thread_time *t = &answers->times.threads[thread];
	int64_t waits = 0, all = 0, classes = 0, life = 0, want = 0;
	int64_t ran = 0;

	for (int use = 0; use < TIME_USES; use++) {
		if (use >= TIME_WAITING && use < TIME_ASLEEP)
			waits += thread_time_stays(t, use)->ns;
		all += thread_time_stays(t, use)->ns;
		assert_true(thread_time_stays(t, use)->max <= thread_time_stays(t, use)->ns);
	}
	for (int i = 0; i < TIME_CLASSES; i++)
		classes += t->classes[i];
	for (int ns = first; ns < last; ns++) {
		bool on = threads[thread].on[ns];

		ran += on;
		want += threads[thread].waits_on[ns] != NOBODY;
		life += threads[thread].lives[ns];
	}
	assert_int_equal(waits, want);
	assert_int_equal(thread_time_stays(t, TIME_RUNNING)->ns, ran);
	assert_int_equal(all, life);
	assert_int_equal(classes, all);
}

#define FEW 6 /* pairs of a victim before they are summed up */

static unsigned parity(const void *arg, uint32_t victim, int64_t culprit)
{
	(void)arg;
	(void)victim;
	return culprit & 1;
}

/* With few pairs, the smallest are summed up: all sums stay, and each pair lacks no more than
 * culprits_missing(). Returns whether some were. */
static bool compare_few(int victim, const struct culprits *all, const struct culprits *few)
{
	int64_t sums[2] = {0}, want[2] = {0}, first = 0, wanted = 0, sum = 0;
	int64_t missing = culprits_missing(few, (uint32_t)victim);
	size_t n = 0;

	assert_int_equal(culprits_missing(all, (uint32_t)victim), 0);
	for (size_t i = 0; i < all->npairs; i++) {
		const struct culprit_pair *pair = &all->pairs[i], *kept;

		if (pair->victim != (uint32_t)victim)
			continue;
		wanted += pair->first;
		kept = find_pair(few, victim, pair->culprit);
		if (kept) {
			assert_in_range(pair->ns, kept->ns, kept->ns + missing);
			assert_true(kept->max <= pair->max && kept->first <= pair->first);
		} else {
			assert_true(pair->ns <= missing);
		}
		if (pair->culprit >= 0)
			want[pair->culprit & 1] += pair->ns;
	}
	for (size_t i = 0; i < few->npairs; i++) {
		const struct culprit_pair *pair = &few->pairs[i];

		if (pair->victim != (uint32_t)victim)
			continue;
		n++;
		first += pair->first;
		sum += pair->ns;
		if (pair->culprit >= 0)
			sums[pair->culprit & 1] += pair->ns;
		if (pair->culprit == CULPRIT_OTHERS || pair->culprit == CULPRIT_OTHERS - 1)
			sums[CULPRIT_OTHERS - pair->culprit] += pair->ns;
	}
	assert_true(n <= FEW + 2);
	assert_memory_equal(sums, want, sizeof(sums));
	assert_int_equal(first, wanted);
	assert_int_equal(sum, culprits_waited(all, (uint32_t)victim));
	return missing > 0;
}

static void judge(int first, int last, int64_t from, int64_t to)
{
	struct source source;
	struct intervals intervals;
	struct answers answers;
	const struct interval_listener listener = {.event = take};

	assert_int_equal(source_open(&source, kit_folder), 0);
	assert_int_equal(culprits_init(&answers.culprits, &source, from, to), 0);
	assert_int_equal(culprits_init(&answers.few, &source, from, to), 0);
	answers.culprits.detailed = answers.few.detailed = true;
	answers.few.most = FEW;
	answers.few.class_of = parity;
	assert_int_equal(thread_times_init(&answers.times, &source, from, to), 0);
	assert_int_equal(intervals_walk(&intervals, &source, &listener, &answers), 0);
	assert_int_equal(culprits_finish(&answers.culprits, &intervals), 0);
	assert_int_equal(culprits_finish(&answers.few, &intervals), 0);
	thread_times_finish(&answers.times, &intervals);
	/* the trace ends with its last event */
	last = last < intervals.last ? last : (int)intervals.last;
	for (int t = 0; t < THREADS; t++) {
		compare(t, &answers.culprits, first, last);
		compare_times(t, &answers, first, last);
		summed_up |= compare_few(t, &answers.culprits, &answers.few);
	}
	culprits_fini(&answers.culprits);
	culprits_fini(&answers.few);
	thread_times_fini(&answers.times);
	intervals_fini(&intervals);
	source_close(&source);
}

static void charges_are_those_of_the_model(void **state)
{
	(void)state;
	for (int i = 0; i < 150; i++) {
		run(20 + (unsigned)kit_random(400));
		write_trace();
		judge(0, now, INT64_MIN, INT64_MAX);
	}
	assert_true(summed_up);
}

/* More switches during one wait than the log of a CPU has entries. */
static void long_waits_are_charged_in_parts(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		run(TIME);
		write_trace();
		judge(0, now, INT64_MIN, INT64_MAX);
	}
}

static void only_the_part_in_the_window_is_charged(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		int first, last;

		run(300);
		write_trace();
		first = (int)kit_random((uint64_t)now);
		last = first + (int)kit_random((uint64_t)(now - first));
		judge(first, last, first, last);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(charges_are_those_of_the_model, kit_open,
						kit_close),
		cmocka_unit_test_setup_teardown(long_waits_are_charged_in_parts, kit_open,
						kit_close),
		cmocka_unit_test_setup_teardown(only_the_part_in_the_window_is_charged, kit_open,
						kit_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
