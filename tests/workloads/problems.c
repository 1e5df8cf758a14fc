/* SPDX-License-Identifier: MIT */
/*
 * problems: programs that are slow for one known reason each; docs/cookbook.md finds these reasons.
 *
 *   problems NAME [-LETTER NUMBER]...
 *
 * A thread measures itself with clocks that the trace does not know. A hypervisor's share of its
 * time on a CPU is in there, as in the clocks of a trace; CPU clocks may leave it out.
 */
#include "workload.h"

#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>

static long nthreads = 4, msec = 1000, cpu = -2, rounds = 10, work_ms = 60, burst_ms = 30,
	    period_ms = 10;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'t', &msec, "time, ms"},
	{'c', &cpu, "CPU of those that share one, -2: the first one allowed"},
	{'r', &rounds, "rounds"},
	{'w', &work_ms, "work, ms"},
	{'b', &burst_ms, "time of a burst, ms"},
	{'p', &period_ms, "period, ms"},
	{0, NULL, NULL},
};

/* ---- times of a thread, measured by itself ---- */

struct times {			   /* ns */
	int64_t wall, waited, cpu; /* waited: for a CPU; cpu: of the CPU clock */
};

static struct times times_now(void)
{
	return (struct times){now_ns(), my_schedstat().waited, cpu_ns()};
}

static struct times times_since(struct times from)
{
	struct times t = times_now();

	return (struct times){t.wall - from.wall, t.waited - from.waited, t.cpu - from.cpu};
}

static void times_add(struct times *sum, struct times t)
{
	sum->wall += t.wall;
	sum->waited += t.waited;
	sum->cpu += t.cpu;
}

/*
 * The waits of a thread that never sleeps: steps of CLOCK_MONOTONIC during which it was switched
 * out, by the scheduler's own count. Other steps are interrupts, or time that a hypervisor stole:
 * no waits.
 */
struct meter {
	int64_t begin, last, waited; /* ns */
	int64_t delay;		     /* times.waited */
	long switches;
};

#define STEP_NS 20000 /* shorter ones are not looked at */

static struct meter meter_begin(void)
{
	struct times t = times_now();

	return (struct meter){t.wall, t.wall, 0, t.waited, my_switches().involuntary};
}

/* Returns the time that the thread ran since the last call. */
static int64_t meter_step(struct meter *m)
{
	int64_t step = now_ns() - m->last, waited = 0;
	long switches = m->switches;

	m->last += step;
	if (step > STEP_NS)
		m->switches = my_switches().involuntary;
	if (m->switches != switches) {
		int64_t delay = times_now().waited;

		/* the scheduler's clock may stand still while the hypervisor has the CPU */
		waited = delay - m->delay;
		if (waited > step || waited < step / 10 * 9)
			waited = step;
		m->delay = delay;
	}
	m->waited += waited;
	return step - waited;
}

static int64_t meter_ran(const struct meter *m)
{
	return m->last - m->begin - m->waited;
}

/* Works for `ns` of CPU time; adds the waits for a CPU meanwhile to `m`. */
static void work_metered(int64_t ns, struct meter *m)
{
	int64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		meter_step(m);
}

static void sleep_until(int64_t ns)
{
	struct timespec ts = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* The calling thread gets the CPU before all threads of a smaller `priority`. */
static void real_time(int priority)
{
	struct sched_param param = {.sched_priority = priority};

	must(!sched_setscheduler(0, SCHED_FIFO, &param), "sched_setscheduler");
}

/* ---- imbalance: each thread has more work than the one before ---- */

static void *unequal(void *arg)
{
	struct meter m = meter_begin();

	name_thread("worker-%ld", (long)(intptr_t)arg);
	work_metered(((intptr_t)arg + 1) * work_ms * MSEC, &m);
	say("tid=%d ran=%ld", gettid(), (long)meter_ran(&m));
	return NULL;
}

static void imbalance(void)
{
	struct sched_param param = {.sched_priority = 1};

	/* all threads begin together, under any load */
	must(!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param),
	     "sched_setscheduler");
	run_threads(nthreads, unequal);
}

/* ---- convoy: all threads sleep while they hold one mutex ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *convoy_member(void *arg)
{
	struct times lock = {0}, hold = {0}, at;
	struct meter m = meter_begin();
	long sleeps = 0, before;

	name_thread("writer-%ld", (long)(intptr_t)arg);
	for (long i = 0; i < rounds; i++) {
		before = my_switches().voluntary;
		at = times_now();
		pthread_mutex_lock(&mutex);
		times_add(&lock, times_since(at));
		sleeps += my_switches().voluntary - before;
		at = times_now();
		sleep_for(5 * MSEC);
		times_add(&hold, times_since(at));
		pthread_mutex_unlock(&mutex);
		work_metered(MSEC, &m);
	}
	say("tid=%d slept=%ld sleeps=%ld held=%ld", gettid(),
	    (long)(lock.wall - lock.waited - lock.cpu), sleeps, (long)hold.wall);
	return NULL;
}

static void convoy(void)
{
	run_threads(nthreads, convoy_member);
}

/* ---- oversubscription: more threads than CPUs ---- */

static int64_t begin_ns, end_ns;

static void *crowd_member(void *arg)
{
	struct meter m;

	name_thread("worker-%ld", (long)(intptr_t)arg);
	pin(cpu);
	sleep_until(begin_ns);
	m = meter_begin();
	m.waited = m.begin - begin_ns; /* for its first run */
	m.begin = begin_ns;
	while (m.last < end_ns)
		meter_step(&m);
	say("tid=%d waited=%ld ran=%ld", gettid(), (long)m.waited, (long)meter_ran(&m));
	return NULL;
}

static void oversubscription(void)
{
	begin_ns = now_ns() + 100 * MSEC;
	end_ns = begin_ns + msec * MSEC;
	run_threads(nthreads, crowd_member);
}

/* ---- neighbour: another process uses the CPU of a periodic thread ---- */

/* Clock from which "latcrit" waits or runs; 0 before its first and after its last period. */
struct next_period {
	_Atomic int64_t ns;
};

/* Adds up the time that it runs while the other thread has something to do. */
static int64_t run_while_wanted(struct next_period *period)
{
	struct meter m = meter_begin();
	int64_t ran = 0, from;

	while ((from = period->ns) != 0) {
		int64_t last = m.last, ns = meter_step(&m);

		if (last >= from)
			ran += ns;
	}
	return ran;
}

static void *latcrit(void *arg)
{
	struct next_period *period = arg;
	int64_t end = now_ns() + msec * MSEC, waited = times_now().waited;
	struct meter m;

	name_thread("latcrit");
	must(!prctl(PR_SET_TIMERSLACK, 1), "prctl");
	for (int64_t next = now_ns() + MSEC; next < end; next += period_ms * MSEC) {
		struct times before = times_now();

		period->ns = next;
		sleep_until(next);
		m = meter_begin();
		waited += times_since(before).waited;
		work_metered(period_ms * MSEC * 2 / 5, &m);
		waited += m.waited;
		while (now_ns() > next + period_ms * MSEC)
			next += period_ms * MSEC;
	}
	period->ns = 0;
	say("latcrit=%d waited=%ld cpu_ns=%ld wait_ns=%ld", gettid(), (long)waited, (long)cpu_ns(),
	    (long)my_schedstat().waited);
	return NULL;
}

static void neighbour(void)
{
	struct next_period *period = mmap(NULL, sizeof(*period), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t ran;
	pid_t pid;

	must(period != MAP_FAILED, "mmap");
	pin(cpu);
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid) {
		name_thread("noisy");
		while (!period->ns) /* "latcrit" does not wait for it before that */
			sleep_for(MSEC);
		ran = run_while_wanted(period);
		say("noisy=%d ran=%ld cpu_ns=%ld wait_ns=%ld", getpid(), (long)ran, (long)cpu_ns(),
		    (long)my_schedstat().waited);
		_exit(0);
	}
	join_thread(start_thread(latcrit, period));
	reap(pid, 0);
}

/* ---- inversion: a thread that is not urgent holds the mutex of an urgent one ---- */

static sem_t wanted, busy, done;

static void *low(void *arg)
{
	int64_t waited = 0, ran = 0;

	name_thread("low");
	pin(cpu);
	for (long i = 0; i < rounds; i++) {
		struct meter m;

		pthread_mutex_lock(&mutex);
		m = meter_begin();
		sem_post(&wanted); /* it runs at once, up to the mutex */
		sem_post(&busy);
		work_metered(5 * MSEC, &m);
		waited += m.waited;
		ran += meter_ran(&m);
		pthread_mutex_unlock(&mutex);
		sem_wait(&done);
	}
	say("low=%d waited=%ld ran=%ld", gettid(), (long)waited, (long)ran);
	return arg;
}

static void *middle(void *arg)
{
	struct times ran = {0}, at;

	name_thread("middle");
	pin(cpu);
	real_time(1);
	for (long i = 0; i < rounds; i++) {
		sem_wait(&busy);
		at = times_now();
		spin_for(burst_ms * MSEC);
		times_add(&ran, times_since(at));
	}
	say("middle=%d ran=%ld", gettid(), (long)(ran.wall - ran.waited));
	return arg;
}

static void *high(void *arg)
{
	struct times lock = {0}, at;

	name_thread("high");
	pin(cpu);
	real_time(2);
	for (long i = 0; i < rounds; i++) {
		sem_wait(&wanted);
		at = times_now();
		pthread_mutex_lock(&mutex);
		times_add(&lock, times_since(at));
		pthread_mutex_unlock(&mutex);
		sem_post(&done);
	}
	say("high=%d slept=%ld", gettid(), (long)(lock.wall - lock.waited - lock.cpu));
	return arg;
}

static void inversion(void)
{
	void *(*const run[])(void *) = {high, middle, low};
	pthread_t threads[3];

	must(!sem_init(&wanted, 0, 0) && !sem_init(&busy, 0, 0) && !sem_init(&done, 0, 0),
	     "sem_init");
	for (int i = 0; i < 3; i++)
		threads[i] = start_thread(run[i], NULL);
	for (int i = 0; i < 3; i++)
		join_thread(threads[i]);
}

/* ---- io, faults: reads from a disk ---- */

#define BLOCK (4L << 20)

#define BLOCKS 16

/* The file "data" of the current folder, which the first call makes; nothing of it is in memory. */
static int open_data(int flags)
{
	char *block = calloc(1, BLOCK);
	int fd = open("data", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat stat;

	must(block && fd >= 0 && !fstat(fd, &stat), "data");
	for (long i = stat.st_size / BLOCK; i < BLOCKS; i++)
		must(write(fd, block, BLOCK) == BLOCK, "write");
	must(!fsync(fd) && !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "fsync");
	close(fd);
	free(block);
	fd = open("data", O_RDONLY | O_CLOEXEC | flags);
	must(fd >= 0, "data");
	return fd;
}

static void data(void)
{
	close(open_data(0));
}

/*
 * A thread that only reads from `begin` on: it sleeps when it is neither on a CPU nor waits for
 * one. Time that a hypervisor stole from it on a CPU is included, since the CPU clock leaves it
 * out.
 */
static void say_slept(struct times begin)
{
	struct times t = times_since(begin); /* without the wait of a newborn for its first CPU */
	struct rusage usage;

	must(!getrusage(RUSAGE_THREAD, &usage), "getrusage");
	say("tid=%d slept=%ld sleeps=%ld faults=%ld", gettid(), (long)(t.wall - t.waited - t.cpu),
	    usage.ru_nvcsw, usage.ru_majflt);
}

static void *reader(void *arg)
{
	struct times begin = times_now();
	int64_t end = begin.wall + msec * MSEC;
	void *block = aligned_alloc(4096, BLOCK);

	must(block != NULL, "aligned_alloc");
	name_thread("reader");
	for (long i = 0; now_ns() < end; i++)
		must(pread((int)(intptr_t)arg, block, BLOCK, i * 7 % BLOCKS * BLOCK) == BLOCK,
		     "pread");
	say_slept(begin);
	return NULL;
}

static void io(void)
{
	join_thread(start_thread(reader, (void *)(intptr_t)open_data(O_DIRECT)));
}

static void *toucher(void *arg)
{
	struct times begin = times_now();
	int64_t end = begin.wall + msec * MSEC;
	long n = BLOCKS * BLOCK / 4096;
	char *file = mmap(NULL, (size_t)n * 4096, PROT_READ, MAP_SHARED, (int)(intptr_t)arg, 0);
	volatile char *bytes = file;

	must(file != MAP_FAILED && !madvise(file, (size_t)n * 4096, MADV_RANDOM), "mmap");
	name_thread("toucher");
	for (long i = 0; i < n && now_ns() < end; i++)
		(void)bytes[i * 1031 % n * 4096];
	say_slept(begin);
	return NULL;
}

static void faults(void)
{
	join_thread(start_thread(toucher, (void *)(intptr_t)open_data(0)));
}

/* ---- jitter: something delays a periodic thread now and then ---- */

static void *ticker(void *arg)
{
	int64_t last = 0, worst = 0, late_ns = 0;
	long late = 0, periods = 0, worst_waited = 0;
	struct times before = {0};
	int64_t waited;

	name_thread("ticker");
	real_time(1);
	waited = times_now().waited;
	while (now_ns() < end_ns) {
		struct times t;
		int64_t period;

		sleep_for(period_ms * MSEC);
		t = times_now();
		period = last ? t.wall - last : 0;
		if (period > worst) {
			worst = period;
			worst_waited = t.waited - before.waited;
		}
		if (period > 2 * period_ms * MSEC) {
			late++;
			late_ns += period - period_ms * MSEC;
		}
		periods += last != 0;
		last = t.wall;
		before = t;
	}
	say("ticker=%d periods=%ld late=%ld late_ns=%ld worst=%ld worst_waited=%ld waited=%ld",
	    gettid(), periods, late, (long)late_ns, (long)worst, worst_waited,
	    (long)(before.waited - waited));
	return arg;
}

static void jitter(void)
{
	struct times ran = {0}, at;
	pid_t pid;

	end_ns = now_ns() + msec * MSEC;
	pin(cpu);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid) {
		join_thread(start_thread(ticker, NULL));
		reap(pid, 0);
		return;
	}
	name_thread("burst");
	real_time(2);
	while (now_ns() < end_ns - burst_ms * MSEC - 20 * period_ms * MSEC) {
		sleep_for(20 * period_ms * MSEC);
		at = times_now();
		spin_for(burst_ms * MSEC);
		times_add(&ran, times_since(at));
	}
	say("burst=%d ran=%ld", getpid(), (long)(ran.wall - ran.waited));
	_exit(0);
}

/* ---- quota: one thread that never stops, in a cgroup that the test made ---- */

static void *spinner(void *arg)
{
	struct meter m = meter_begin();

	name_thread("spinner");
	while (m.last < m.begin + msec * MSEC)
		meter_step(&m);
	say("spinner=%d stopped=%ld ran=%ld", gettid(), (long)m.waited, (long)meter_ran(&m));
	return arg;
}

static void quota(void)
{
	join_thread(start_thread(spinner, NULL));
}

static const struct {
	const char *name;
	void (*run)(void);
} problems[] = {
	{"imbalance", imbalance},
	{"convoy", convoy},
	{"oversubscription", oversubscription},
	{"neighbour", neighbour},
	{"inversion", inversion},
	{"data", data},
	{"io", io},
	{"faults", faults},
	{"jitter", jitter},
	{"quota", quota},
};

int main(int argc, char **argv)
{
	size_t n = sizeof(problems) / sizeof(problems[0]), i = 0;

	while (argc > 1 && i < n && strcmp(argv[1], problems[i].name) != 0)
		i++;
	if (argc < 2 || i == n) {
		fprintf(stderr, "usage: %s NAME [-LETTER NUMBER]...\n",
			program_invocation_short_name);
		for (i = 0; i < n; i++)
			fprintf(stderr, "  %s\n", problems[i].name);
		return 2;
	}
	workload_begin(argc - 1, argv + 1, knobs);
	cpu = cpu == -2 ? allowed_cpu(0) : cpu;
	problems[i].run();
	return 0;
}
