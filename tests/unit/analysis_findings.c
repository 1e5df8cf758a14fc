/* SPDX-License-Identifier: MIT */
/*
 * findings: each rule, on a small trace made for it, reports the numbers that the trace was made
 * with; the same trace just below the threshold is no finding.
 */
#include "trace_kit.h"

#include "trace/analysis/findings.h"

#define MS   1000000ll
#define MOST 8 /* threads of a trace */

/* ---- traces: clocks in ms, threads by their index ---- */

static struct thread {
	int pid, tid;
	char *meta;
	struct kit_bytes events;
} threads[MOST];
static int nthreads, ntraces;

/* All CPUs are recorded: the rest of the time is idle. */
#define SESSION SESSION_OF("")
#define SESSION_OF(more)                                                                           \
	"\"session\":{" more "\"t0\":\"0\",\"t1\":\"1000000000\",\"cpus\":["                       \
	"{\"index\":0,\"ns\":{\"idle\":\"1\",\"other\":\"0\",\"unknown\":\"0\"}},"                 \
	"{\"index\":1,\"ns\":{\"idle\":\"1\",\"other\":\"0\",\"unknown\":\"0\"}}]},"

/* `more` are members of "bpf", each ended by a comma; `ovni` of "ovni", each begun by one. */
static int thread(int pid, int tid, const char *name, const char *more, const char *ovni)
{
	struct thread *t = &threads[nthreads];

	*t = (struct thread){.pid = pid, .tid = tid};
	assert_true(
		asprintf(&t->meta,
			 "{\"version\":3,\"ovni\":{\"lib\":{\"version\":\"0\",\"commit\":\"0\"},"
			 "\"part\":\"thread\",\"tid\":%d,\"pid\":%d,\"loom\":\"n\",\"app_id\":1,"
			 "\"require\":{\"ovni\":\"1.1.0\"},\"loom_cpus\":[{\"index\":0,"
			 "\"phyid\":0},{\"index\":1,\"phyid\":1}],\"finished\":1%s},"
			 "\"bpf\":{%s%s\"name\":\"%s\"}}",
			 tid, pid, ovni, nthreads || strstr(more, "session") ? "" : SESSION, more,
			 name) > 0);
	return nthreads++;
}

static void put(int t, const char *mcv, double ms, const void *payload, size_t size)
{
	kit_event(&threads[t].events, mcv, (int64_t)(ms * MS), payload, size);
}

static void begin(int t, double ms, int cpu)
{
	const struct {
		int32_t cpu, creator;
		uint64_t tag;
	} payload = {cpu, -1, 0};

	put(t, "OHx", ms, &payload, sizeof(payload));
}

static void leave(int t, double ms, int why, int next)
{
	const struct {
		uint16_t why;
		int32_t next;
	} __attribute__((packed)) payload = {(uint16_t)why, next};
	const int32_t stays = -1;

	put(t, "OHp", ms, &payload, sizeof(payload));
	if (off_cpu_runnable((unsigned)why))
		put(t, "OHw", ms, &stays, sizeof(stays));
}

static void wake(int t, double ms, int waker)
{
	const int32_t payload = waker;

	put(t, "OHw", ms, &payload, sizeof(payload));
}

static void run(int t, double ms)
{
	put(t, "OHr", ms, NULL, 0);
}

static void end(int t, double ms)
{
	put(t, "OHe", ms, NULL, 0);
}

static void event(int t, const char *mcv, double ms)
{
	put(t, mcv, ms, NULL, 0);
}

#define PTHREAD                                                                                    \
	",\"mark\":{\"80\":{\"title\":\"Pthread\",\"chan_type\":\"stack\",\"labels\":{"            \
	"\"1\":\"mutex lock\",\"2\":\"mutex unlock\",\"3\":\"barrier wait\"}},"                    \
	"\"81\":{\"title\":\"Pthread mutexes held\",\"chan_type\":\"stack\",\"labels\":{"          \
	"\"4\":\"mutex held\"}}}"
enum { LOCK = 1, UNLOCK = 2, HELD = 4 };

static void mark(int t, double ms, char what, int value)
{
	const struct {
		int64_t value;
		int32_t type;
	} __attribute__((packed)) payload = {value, value == HELD ? 81 : 80};

	put(t, what == '[' ? "OM[" : "OM]", ms, &payload, sizeof(payload));
}

/* ---- the answer ---- */

static struct source source;
static struct findings findings;

static void analyse(void)
{
	char path[128], name[64];

	snprintf(name, sizeof(name), "t%d", ntraces++);
	kit_mkdir(name);
	snprintf(path, sizeof(path), "%s/%s", kit_folder, name);
	for (int i = 0; i < nthreads; i++) {
		struct json *meta = json_parse(threads[i].meta, strlen(threads[i].meta), "made");

		assert_non_null(meta);
		snprintf(name, sizeof(name), "t%d/loom.n/proc.%d/thread.%d", ntraces - 1,
			 threads[i].pid, threads[i].tid);
		assert_int_equal(stream_store(kit_dir, name, meta, threads[i].events.data,
					      threads[i].events.size),
				 0);
		json_free(meta);
		free(threads[i].meta);
		free(threads[i].events.data);
	}
	memset(threads, 0, sizeof(threads));
	nthreads = 0;
	assert_int_equal(source_open(&source, path), 0);
	assert_int_equal(findings_read(&findings, &source, INT64_MIN, INT64_MAX), 0);
	assert_true(findings.complete);
}

static void done(void)
{
	findings_fini(&findings);
	source_close(&source);
}

static const struct finding *find(enum finding_kind kind)
{
	for (size_t i = 0; i < findings.n; i++)
		if (findings.list[i].kind == kind)
			return &findings.list[i];
	return NULL;
}

static int tid_of(const struct finding_party *party)
{
	return (int)source.owners[party->stream].tid;
}

/* Compares a number of a finding, given in ms. */
static void same(const struct finding *finding, enum finding_number number, double ms)
{
	assert_true(finding->has >> number & 1);
	if ((int64_t)(ms * MS) != finding->numbers[number])
		fail_msg("%s of %s is %lld, not %lld", finding_number_names[number],
			 finding_names[finding->kind], (long long)finding->numbers[number],
			 (long long)(ms * MS));
}

static void only(enum finding_kind kind)
{
	for (size_t i = 0; i < findings.n; i++)
		if (findings.list[i].kind != kind)
			fail_msg("finding %s of %lld ns", finding_names[findings.list[i].kind],
				 (long long)findings.list[i].cost);
}

/* ---- waits ---- */

/* Thread 11 is preempted at 100 ms for `wait` ms by thread 21 of another process. */
static void make_wait(double wait, int pid, const char *more)
{
	int victim = thread(10, 11, "victim", more, ""), other = thread(pid, 21, "other", more, "");

	begin(victim, 0, 0);
	leave(victim, 100, OFF_CPU_PREEMPTED, 21);
	begin(other, 100, 0);
	leave(other, 100 + wait, OFF_CPU_SLEEPING, 11);
	run(victim, 100 + wait);
	wake(other, 1000, -2);
	end(victim, 1000);
	end(other, 1000);
}

static void waits_are_charged_to_the_neighbour(void **state)
{
	const struct finding *finding;

	(void)state;
	make_wait(60, 20, "");
	analyse();
	finding = find(FINDING_NEIGHBOUR);
	assert_non_null(finding);
	assert_int_equal(finding->who.kind, PARTY_THREAD);
	assert_int_equal(tid_of(&finding->who), 11);
	assert_int_equal(tid_of(&finding->by), 21);
	same(finding, NUMBER_TIME, 60);
	same(finding, NUMBER_BY, 60);
	same(finding, NUMBER_RUN, 60);
	same(finding, NUMBER_OF, 1000);
	assert_int_equal(finding->numbers[NUMBER_CPU], 0);
	only(FINDING_NEIGHBOUR);
	done();
}

static void a_wait_below_five_percent_is_no_finding(void **state)
{
	(void)state;
	make_wait(49, 20, "");
	analyse();
	assert_int_equal(findings.n, 0);
	assert_int_equal(findings.threads[0].waited, 49 * MS);
	done();
}

static void waits_for_a_thread_of_the_own_process(void **state)
{
	const struct finding *finding;

	(void)state;
	make_wait(60, 10, "");
	analyse();
	finding = find(FINDING_SHARED);
	assert_non_null(finding);
	same(finding, NUMBER_BY, 60);
	assert_null(find(FINDING_NEIGHBOUR));
	done();
}

static void waits_for_another_rank(void **state)
{
	const struct finding *finding;

	(void)state;
	make_wait(60, 20, "\"rank\":1,\"nranks\":2,");
	analyse();
	finding = find(FINDING_RANKS_SHARE);
	assert_non_null(finding);
	same(finding, NUMBER_BY, 60);
	assert_int_equal(finding->by.rank, 1);
	done();
}

/* For a thread with nearly all waits, the culprit's time is the time that this thread waited for
 * it. */
static void the_culprit_of_one_thread(void **state)
{
	const struct finding *finding;
	int victim = thread(10, 10, "victim", "", ""), sister = thread(10, 11, "sister", "", ""),
	    noisy = thread(20, 20, "noisy", "", "");

	(void)state;
	begin(victim, 0, 0);
	leave(victim, 100, OFF_CPU_PREEMPTED, 20);
	begin(noisy, 100, 0);
	leave(noisy, 400, OFF_CPU_SLEEPING, 10);
	run(victim, 400);
	leave(victim, 500, OFF_CPU_SLEEPING, 11);
	begin(sister, 500, 0);
	leave(sister, 600, OFF_CPU_PREEMPTED, 20);
	wake(noisy, 600, -2);
	run(noisy, 600);
	leave(noisy, 620, OFF_CPU_SLEEPING, 11);
	run(sister, 620);
	end(sister, 1000);
	wake(noisy, 1000, -2);
	end(noisy, 1000);
	wake(victim, 1000, -2);
	end(victim, 1000);
	analyse();
	finding = find(FINDING_NEIGHBOUR);
	assert_non_null(finding);
	assert_int_equal(tid_of(&finding->who), 10);
	assert_int_equal(tid_of(&finding->by), 20);
	same(finding, NUMBER_BY, 300);
	same(finding, NUMBER_RUN, 300);
	done();
}

static void waits_for_a_kernel_thread(void **state)
{
	(void)state;
	make_wait(60, 20, "\"kernel_thread\":true,");
	analyse();
	assert_non_null(find(FINDING_KERNEL));
	assert_null(find(FINDING_NEIGHBOUR));
	done();
}

static void the_recorder_itself_has_no_findings(void **state)
{
	int recorder = thread(10, 10, "ovni-bpf", "", ""), other = thread(20, 20, "other", "", "");

	(void)state;
	begin(recorder, 0, 0);
	leave(recorder, 100, OFF_CPU_PREEMPTED, 20);
	begin(other, 100, 0);
	end(other, 500);
	run(recorder, 500);
	end(recorder, 1000);
	analyse();
	assert_int_equal(findings.n, 0);
	done();
}

/* Processes below the recorder come first, at any cost. */
static void findings_about_the_command_come_first(void **state)
{
	int recorder = thread(5, 5, "ovni-bpf", "", ""), other, child;

	(void)state;
	begin(recorder, 0, -1);
	end(recorder, 0);
	other = thread(10, 10, "other", "\"parent\":1,", "");
	child = thread(20, 20, "child", "\"parent\":7,", "");
	begin(other, 0, 0);
	leave(other, 100, OFF_CPU_IO, 0);
	end(other, 900);
	begin(child, 0, 1);
	leave(child, 100, OFF_CPU_IO, 0);
	end(child, 200);
	other = thread(7, 7, "shell", "\"parent\":5,", "");
	begin(other, 0, -1);
	end(other, 0);
	analyse();
	assert_true(findings.targets);
	assert_int_equal(findings.n, 2);
	assert_int_equal(tid_of(&findings.list[0].who), 20);
	assert_true(findings.list[0].target);
	assert_int_equal(tid_of(&findings.list[1].who), 10);
	assert_false(findings.list[1].target);
	done();
}

/* Throttled `ms` ms: in one piece. */
static void make_quota(double ms)
{
	int t = thread(10, 10, "job", "\"cgroup\":\"/job.slice\",", "");

	begin(t, 0, 0);
	leave(t, 100, OFF_CPU_THROTTLED, 0);
	run(t, 100 + ms);
	end(t, 1000);
}

static void quota(void **state)
{
	const struct finding *finding;

	(void)state;
	make_quota(300);
	analyse();
	finding = find(FINDING_QUOTA);
	assert_non_null(finding);
	same(finding, NUMBER_TIME, 300);
	same(finding, NUMBER_OF, 1000);
	only(FINDING_QUOTA);
	done();
	make_quota(9.9);
	analyse();
	assert_int_equal(findings.n, 0);
	done();
}

/* ---- imbalance ---- */

/* Two threads work `a` and `b` ms of 1000 on CPUs of their own, then sleep. */
static void make_team(double a, double b, const char *second)
{
	int one = thread(10, 10, "worker-0", "", ""), two = thread(10, 11, second, "", "");

	begin(one, 0, 0);
	begin(two, 0, 1);
	leave(one, a, OFF_CPU_SLEEPING, 0);
	leave(two, b, OFF_CPU_SLEEPING, 0);
	wake(one, 1000, -2);
	wake(two, 1000, -2);
	run(one, 1000);
	run(two, 1000);
	end(one, 1000);
	end(two, 1000);
}

static void imbalance(void **state)
{
	const struct finding *finding;

	(void)state;
	make_team(800, 400, "worker-1");
	analyse();
	finding = find(FINDING_IMBALANCE);
	assert_non_null(finding);
	same(finding, NUMBER_MOST, 800);
	same(finding, NUMBER_MEAN, 600);
	assert_int_equal(finding->cost, 200 * MS);
	assert_int_equal(finding->numbers[NUMBER_THREADS], 2);
	assert_int_equal(tid_of(&finding->by), 10);
	only(FINDING_IMBALANCE);
	done();
	make_team(800, 600, "worker-1"); /* 0.875 */
	analyse();
	assert_int_equal(findings.n, 0);
	done();
	make_team(800, 79, "worker-1"); /* not of the team */
	analyse();
	assert_int_equal(findings.n, 0);
	done();
	make_team(800, 400, "server"); /* not of the team */
	analyse();
	assert_int_equal(findings.n, 0);
	done();
}

/* Busy in a barrier is no work; a microtask makes a thread a member, with any name. */
static void a_barrier_is_no_work(void **state)
{
	int one = thread(10, 10, "main", "", ""), two = thread(10, 11, "pool", "", "");
	const struct finding *finding;

	(void)state;
	for (int t = one; t <= two; t++) {
		begin(t, 0, t);
		event(t, "PMu", 0);
		event(t, "PBb", t == one ? 900 : 300);
		event(t, "PBB", 1000);
		event(t, "PMU", 1000);
		end(t, 1000);
	}
	analyse();
	finding = find(FINDING_IMBALANCE);
	assert_non_null(finding);
	same(finding, NUMBER_MOST, 900);
	same(finding, NUMBER_MEAN, 600);
	done();
}

/* ---- ranks ---- */

/* Rank 0 computes `early` ms, rank 1 900; then both are in MPI_Barrier up to 1000 ms, polling. */
static void make_ranks(double early)
{
	int ranks[] = {thread(10, 10, "solver", "\"rank\":0,\"nranks\":2,", ""),
		       thread(20, 20, "solver", "\"rank\":1,\"nranks\":2,", "")};

	for (int r = 0; r < 2; r++) {
		begin(ranks[r], 0, r);
		event(ranks[r], "MCb", r ? 900 : early);
		event(ranks[r], "MCB", 999);
		end(ranks[r], 1000);
	}
}

static void a_late_rank(void **state)
{
	const struct finding *finding;

	(void)state;
	make_ranks(300);
	analyse();
	finding = find(FINDING_LATE_RANK);
	assert_non_null(finding);
	assert_int_equal(finding->who.rank, 0);
	assert_int_equal(finding->by.rank, 1);
	same(finding, NUMBER_TIME, 699);
	same(finding, NUMBER_RUN, 600);
	same(finding, NUMBER_WAIT, 0);
	assert_int_equal(finding->numbers[NUMBER_FUNCTION], 29); /* MPI_Barrier */
	finding = find(FINDING_RANK_IMBALANCE);
	assert_non_null(finding);
	same(finding, NUMBER_MOST, 901);
	same(finding, NUMBER_MEAN, 601);
	done();
	make_ranks(892);
	analyse();
	assert_int_equal(findings.n, 0);
	done();
}

/* ---- messages ---- */

#define MESSAGES                                                                                   \
	",\"rank\":%d,\"nranks\":2,\"mark\":{\"56\":{\"title\":\"MPI messages\","                  \
	"\"chan_type\":\"stack\",\"labels\":{\"1\":\"MPI_Ssend of MPICH\","                        \
	"\"2\":\"MPI_Recv of MPICH\"}}}"
enum { SSEND = 1, RECV = 2, CALL = 56, PARTNER = 60, TAG = 61, COMM = 64, WORLD = 0x44000000 };

static void call(int t, int function, int partner, double from, double to)
{
	const struct {
		int type;
		int64_t value;
	} values[] = {{PARTNER, partner}, {TAG, 5}, {COMM, WORLD}};
	struct {
		int64_t value;
		int32_t type;
	} __attribute__((packed)) payload;

	for (size_t i = 0; i < COUNT(values); i++) {
		payload.value = values[i].value ? values[i].value : INT32_MIN;
		payload.type = values[i].type;
		put(t, "OM=", from, &payload, sizeof(payload));
	}
	payload.value = function;
	payload.type = CALL;
	put(t, "OM[", from, &payload, sizeof(payload));
	put(t, "OM]", to, &payload, sizeof(payload));
}

/* Rank 0 receives from 100 ms on, rank 1 sends at 300 and, from 400 on, a message that rank 0
 * receives `late` ms later. */
static void make_messages(double late)
{
	char meta[2][512];
	int ranks[2];

	for (int r = 0; r < 2; r++) {
		snprintf(meta[r], sizeof(meta[r]), MESSAGES, r);
		ranks[r] = thread(10 + r, 10 + r, "solver", "", meta[r]);
		begin(ranks[r], 0, r);
	}
	call(ranks[0], RECV, 1, 100, 301);
	call(ranks[1], SSEND, 0, 300, 300.5);
	call(ranks[0], RECV, 1, 400 + late, 401 + late);
	call(ranks[1], SSEND, 0, 400, 402 + late);
	for (int r = 0; r < 2; r++)
		end(ranks[r], 1000);
}

static void late_messages(void **state)
{
	const struct finding *finding;

	(void)state;
	make_messages(150);
	analyse();
	finding = find(FINDING_LATE_SENDER);
	assert_non_null(finding);
	assert_int_equal(finding->who.rank, 0);
	assert_int_equal(finding->by.rank, 1);
	same(finding, NUMBER_TIME, 200);
	same(finding, NUMBER_MOST, 200);
	same(finding, NUMBER_MOST_AT, 300);
	assert_int_equal(finding->numbers[NUMBER_COUNT], 1);
	finding = find(FINDING_LATE_RECEIVER);
	assert_non_null(finding);
	assert_int_equal(finding->who.rank, 1);
	assert_int_equal(finding->by.rank, 0);
	same(finding, NUMBER_TIME, 150);
	same(finding, NUMBER_MOST_AT, 550);
	done();
	make_messages(9);
	analyse();
	assert_non_null(find(FINDING_LATE_SENDER));
	assert_null(find(FINDING_LATE_RECEIVER));
	done();
}

/* ---- mutexes ---- */

static double unlocked_ms; /* from the end of the unlock to the wake-up */

/* Thread 10 holds a mutex from 100 to 100 + `ms` ms, asleep or waiting for a CPU; 11 sleeps on it
 * from 101 on. `inside` is the call of 11. */
static void make_lock(double ms, int why, int inside)
{
	int holder = thread(10, 10, "holder", "", PTHREAD);
	int waiter = thread(10, 11, "waiter", "", PTHREAD), other = thread(20, 20, "other", "", "");

	begin(holder, 0, 0);
	begin(waiter, 0, 1);
	mark(holder, 99, '[', LOCK);
	mark(holder, 100, ']', LOCK);
	mark(holder, 100, '[', HELD);
	leave(holder, 101, why, why == OFF_CPU_PREEMPTED ? 20 : 0);
	mark(waiter, 101, '[', inside);
	leave(waiter, 101, OFF_CPU_SLEEPING, 0);
	if (why == OFF_CPU_PREEMPTED) {
		begin(other, 101, 0);
		end(other, 99 + ms);
	} else {
		begin(other, 0, -1);
		end(other, 0);
		wake(holder, 99 + ms, -2);
	}
	run(holder, 99 + ms);
	mark(holder, 100 + ms, ']', HELD);
	mark(holder, 100 + ms, '[', UNLOCK);
	wake(waiter, 101 + ms, 10);
	run(waiter, 101 + ms);
	mark(holder, 101 + ms - unlocked_ms, ']', UNLOCK);
	mark(waiter, 102 + ms, ']', inside);
	end(holder, 1000);
	end(waiter, 1000);
}

static void a_mutex_held_asleep(void **state)
{
	const struct finding *finding;

	(void)state;
	make_lock(500, OFF_CPU_SLEEPING, LOCK);
	analyse();
	finding = find(FINDING_LOCK);
	assert_non_null(finding);
	assert_int_equal(tid_of(&finding->by), 10);
	same(finding, NUMBER_TIME, 500);
	same(finding, NUMBER_BY, 500);
	same(finding, NUMBER_SLEEP, 498);
	same(finding, NUMBER_RUN, 2);
	same(finding, NUMBER_WAIT, 0);
	only(FINDING_LOCK);
	done();
	make_lock(9.5, OFF_CPU_SLEEPING, LOCK);
	analyse();
	assert_int_equal(findings.n, 0);
	done();
	make_lock(500, OFF_CPU_SLEEPING, 3); /* a barrier has no holder */
	analyse();
	assert_int_equal(findings.n, 0);
	done();
}

/* The clock of a wake-up on another CPU may be later than the call that made it. */
static void a_wake_up_that_was_under_way(void **state)
{
	(void)state;
	unlocked_ms = 0.05;
	make_lock(500, OFF_CPU_SLEEPING, LOCK);
	analyse();
	assert_non_null(find(FINDING_LOCK));
	done();
	unlocked_ms = 0.2;
	make_lock(500, OFF_CPU_SLEEPING, LOCK);
	analyse();
	assert_null(find(FINDING_LOCK));
	done();
	unlocked_ms = 0;
}

static void a_holder_that_waits_for_a_cpu(void **state)
{
	const struct finding *finding;

	(void)state;
	make_lock(500, OFF_CPU_PREEMPTED, LOCK);
	analyse();
	finding = find(FINDING_INVERSION);
	assert_non_null(finding);
	same(finding, NUMBER_TIME, 500);
	same(finding, NUMBER_WAIT, 498);
	assert_null(find(FINDING_LOCK));
	done();
}

/* ---- sleeps ---- */

/* Two threads of a process wait for I/O. */
static void the_thread_with_nearly_all_sleeps(void **state)
{
	const struct finding *finding;

	(void)state;
	for (int ms = 10; ms <= 100; ms += 90) {
		for (int tid = 10; tid < 12; tid++) {
			int t = thread(10, tid, "reader", "", "");

			begin(t, 0, tid - 10);
			leave(t, 100, OFF_CPU_IO, 0);
			wake(t, tid == 10 ? 300 : 100 + ms, -2);
			run(t, tid == 10 ? 300 : 100 + ms);
			end(t, 1000);
		}
		analyse();
		finding = find(FINDING_IO);
		assert_non_null(finding);
		assert_int_equal(finding->who.kind, ms == 10 ? PARTY_THREAD : PARTY_PROCESS);
		assert_int_equal(finding->numbers[NUMBER_COUNT], ms == 10 ? 1 : 2);
		same(finding, NUMBER_TIME, ms == 10 ? 200 : 200 + ms);
		same(finding, NUMBER_OF, ms == 10 ? 1000 : 2000);
		done();
	}
}

static void make_sleep(double ms, int why)
{
	int t = thread(10, 10, "reader", "", "");

	begin(t, 0, 0);
	leave(t, 100, why, 0);
	wake(t, 100 + ms, -2);
	run(t, 100 + ms);
	end(t, 1000);
}

static void sleeps(void **state)
{
	const struct finding *finding;

	(void)state;
	make_sleep(200, OFF_CPU_IO);
	analyse();
	finding = find(FINDING_IO);
	assert_non_null(finding);
	same(finding, NUMBER_TIME, 200);
	same(finding, NUMBER_MOST, 200);
	assert_int_equal(finding->numbers[NUMBER_COUNT], 1);
	only(FINDING_IO);
	done();
	make_sleep(200, OFF_CPU_UNINTERRUPTIBLE);
	analyse();
	finding = find(FINDING_BLOCKED);
	assert_non_null(finding);
	same(finding, NUMBER_TIME, 200);
	only(FINDING_BLOCKED);
	done();
	make_sleep(9.5, OFF_CPU_IO);
	analyse();
	assert_int_equal(findings.n, 0);
	done();
	make_sleep(200, OFF_CPU_SLEEPING); /* its own decision */
	analyse();
	assert_int_equal(findings.n, 0);
	done();
}

/* Runs 1 ms each 20 ms; the period after the 30th run is 20 + `late` ms long. */
static void make_periods(double late, bool regular, double scale)
{
	int t = thread(10, 10, "ticker", "", "");
	double at = 0;

	begin(t, 0, 0);
	for (int i = 0; i < 45; i++) {
		/* preempted in between, which begins no period */
		leave(t, at + 0.45 * scale, OFF_CPU_PREEMPTED, 0);
		run(t, at + 0.5 * scale);
		leave(t, at + scale, OFF_CPU_SLEEPING, 0);
		at += 20 * scale + (i == 30 ? late : 0) + (!regular && i % 2 ? 9 : 0);
		wake(t, at, -2);
		run(t, at);
	}
	end(t, 1000 > at + 1 ? 1000 : at + 1);
}

static void jitter(void **state)
{
	const struct finding *finding;

	(void)state;
	make_periods(60, true, 1);
	analyse();
	finding = find(FINDING_JITTER);
	assert_non_null(finding);
	same(finding, NUMBER_MEAN, 20);
	same(finding, NUMBER_MOST, 80);
	same(finding, NUMBER_WAIT, 0);
	assert_int_equal(finding->numbers[NUMBER_COUNT], 1);
	only(FINDING_JITTER);
	done();
	make_periods(15, true, 1); /* below twice the period */
	analyse();
	assert_int_equal(findings.n, 0);
	done();
	make_periods(60, true, 0.04); /* 0.8 ms: polling */
	analyse();
	assert_null(find(FINDING_JITTER));
	done();
	make_periods(60, false, 1); /* half of the periods are longer by a half */
	analyse();
	assert_int_equal(findings.n, 0);
	done();
}

/* The uses of a thread's time add up to its life, on a random schedule. */
static void times_add_up(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		int t = thread(10, 10, "any", "", "");
		int64_t waits = 0;
		double at = (double)kit_random(100);

		begin(t, at, 0);
		for (int i = 0; i < 20; i++) {
			int why = 1 + (int)kit_random(OFF_CPU_PARKED);

			at += 1 + (double)kit_random(9);
			leave(t, at, why, 0);
			if (!off_cpu_runnable((unsigned)why)) {
				at += (double)kit_random(9);
				wake(t, at, kit_random(2) ? -2 : 10);
			}
			at += (double)kit_random(9);
			run(t, at);
		}
		at += 1;
		end(t, at);
		analyse();
		assert_int_equal(
			findings.threads[0].life,
			clock_distance(findings.threads[0].first, findings.threads[0].last));
		for (int cause = 0; cause < WAIT_CAUSES; cause++)
			waits += thread_time_stays(&findings.times.threads[0], TIME_WAITING + cause)
					 ->ns;
		assert_int_equal(waits, findings.threads[0].waited);
		done();
	}
}

#define COMMAND                                                                                    \
	SESSION_OF("\"options\":[\"ovni-bpf\",\"-a\",\"x\"],\"command\":{\"status\":0},"           \
		   "\"stopped_by\":\"target\",")

/* main sleeps until sink wakes it, which sleeps until middle wakes it, which sleeps on a timer. */
static void chain(int main_thread, int middle, int sink)
{
	begin(main_thread, 0, 0);
	leave(main_thread, 10, 1, 0);
	wake(main_thread, 900, threads[sink].tid);
	run(main_thread, 905);
	end(main_thread, 910);
	begin(middle, 0, 1);
	leave(middle, 100, 1, 0);
	wake(middle, 800, -2);
	run(middle, 830);
	leave(middle, 885, 1, 0);
	begin(sink, 10, 0);
	leave(sink, 20, 1, 0);
	wake(sink, 880, threads[middle].tid);
	run(sink, 890);
	end(sink, 901);
}

static void judge_path(int end_tid, int most_tid)
{
	const struct finding_path *path = &findings.path;

	assert_true(path->known && path->complete);
	assert_int_equal(source.owners[path->end].tid, end_tid);
	assert_int_equal(source.owners[path->most].tid, most_tid);
	assert_int_equal(path->ns[CLASS_RUNNING], 165 * MS);
	assert_int_equal(path->ns[CLASS_RUNNABLE], 45 * MS);
	assert_int_equal(path->ns[CLASS_ASLEEP], 700 * MS);
	assert_int_equal(path->ns[CLASS_UNKNOWN], 0);
	assert_int_equal(path->most_ns[CLASS_RUNNING], 150 * MS);
	assert_int_equal(path->most_ns[CLASS_RUNNABLE], 30 * MS);
	assert_int_equal(path->most_ns[CLASS_ASLEEP], 700 * MS);
}

static void the_path_to_the_end_of_the_command(void **state)
{
	int first = thread(10, 10, "main", COMMAND "\"parent\":5,", "");
	int middle = thread(11, 11, "middle", "\"parent\":10,", "");
	int sink = thread(12, 12, "sink", "\"parent\":10,", "");

	(void)state;
	chain(first, middle, sink);
	analyse();
	judge_path(10, 11);
	done();

	/* a recording that did not end with its command has no such path */
	first = thread(10, 10, "main", "\"parent\":5,", "");
	middle = thread(11, 11, "middle", "\"parent\":10,", "");
	sink = thread(12, 12, "sink", "\"parent\":10,", "");
	chain(first, middle, sink);
	analyse();
	assert_false(findings.path.known);
	done();
}

/* With the whole machine, the command is what this recorder started, not another one. */
static void the_command_of_this_recorder(void **state)
{
	int own = thread(5, 5, "ovni-bpf", COMMAND "\"command\":[\"ovni-bpf\",\"-a\",\"x\"],", "");
	int first = thread(10, 10, "main", "\"parent\":5,", "");
	int middle = thread(11, 11, "middle", "\"parent\":10,", "");
	int sink = thread(12, 12, "sink", "\"parent\":10,", "");
	int other = thread(6, 6, "ovni-bpf", "\"command\":[\"ovni-bpf\",\"-a\",\"y\"],", "");
	int child = thread(60, 60, "child", "\"parent\":6,", "");
	int reader = thread(7, 7, "ovni-elf", "\"parent\":5,", ""); /* of the recorder */

	(void)state;
	begin(own, 0, 0);
	end(own, 1);
	begin(reader, 3, 0);
	end(reader, 4);
	begin(other, 1, 0);
	end(other, 2);
	begin(child, 2, 0);
	end(child, 3);
	chain(first, middle, sink);
	analyse();
	assert_true(findings.targets);
	for (size_t p = 0; p < findings.nprocesses; p++) {
		int64_t pid = source.owners[findings.processes[p].stream].pid;

		assert_int_equal(findings.processes[p].target, pid >= 10 && pid <= 12);
	}
	judge_path(10, 11);
	done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_are_charged_to_the_neighbour),
		cmocka_unit_test(a_wait_below_five_percent_is_no_finding),
		cmocka_unit_test(waits_for_a_thread_of_the_own_process),
		cmocka_unit_test(waits_for_another_rank),
		cmocka_unit_test(the_culprit_of_one_thread),
		cmocka_unit_test(waits_for_a_kernel_thread),
		cmocka_unit_test(the_recorder_itself_has_no_findings),
		cmocka_unit_test(findings_about_the_command_come_first),
		cmocka_unit_test(quota),
		cmocka_unit_test(imbalance),
		cmocka_unit_test(a_barrier_is_no_work),
		cmocka_unit_test(a_late_rank),
		cmocka_unit_test(late_messages),
		cmocka_unit_test(a_mutex_held_asleep),
		cmocka_unit_test(a_wake_up_that_was_under_way),
		cmocka_unit_test(a_holder_that_waits_for_a_cpu),
		cmocka_unit_test(the_thread_with_nearly_all_sleeps),
		cmocka_unit_test(sleeps),
		cmocka_unit_test(jitter),
		cmocka_unit_test(times_add_up),
		cmocka_unit_test(the_path_to_the_end_of_the_command),
		cmocka_unit_test(the_command_of_this_recorder),
	};

	return cmocka_run_group_tests_name("findings", tests, kit_open, kit_close);
}
