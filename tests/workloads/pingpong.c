/* SPDX-License-Identifier: MIT */
/*
 * pingpong: two threads pass one byte through two pipes, or (-m) two locks with futexes, laid out
 * as mutexes of glibc that the other thread owns.
 *
 * Each round makes each thread block once, so on one CPU the two alternate strictly:
 * two switches a round. Their policy is SCHED_BATCH, under which a woken thread does not preempt
 * its waker: else the waker finds an answer and does not block. With different CPUs each wake-up
 * goes across. The time of a pass is measured after the warm-up, and the time that the process has
 * had on CPUs in it, which other work on the machine does not lengthen.
 */
#include "workload.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#define HELD 2 /* a mutex that another thread waits for */

struct mutex { /* as struct __pthread_mutex_s begins */
	int word;
	unsigned count;
	int owner;
	unsigned users;
	int kind;
};

struct side {
	int in, out;
	struct mutex *mutex, *others;
	bool serves;
	long cpu;
	char letter;
};

static long rounds = 10000, warmup, cpu_a = -2, cpu_b = -2, mutexes, rate;
static int64_t started_ns, ended_ns, started_cpu_ns, ended_cpu_ns;

static const struct knob knobs[] = {
	{'n', &rounds, "rounds"},
	{'w', &warmup, "rounds before the clock starts"},
	{'m', &mutexes, "pass locks: 1"},
	{'r', &rate, "rounds a second, 0: as many as there is time for"},
	{'a', &cpu_a, "CPU of the first thread, -1: any, -2: the first one allowed"},
	{'b', &cpu_b, "CPU of the second thread, -1: any, -2: as the first"},
	{0, NULL, NULL},
};

static void pass_on(const struct side *side)
{
	char byte = 0;

	if (mutexes) {
		__atomic_store_n(&side->others->word, 0, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &side->others->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		return;
	}
	must(write(side->out, &byte, 1) == 1, "write to the pipe");
}

static void await(const struct side *side)
{
	char byte;

	if (mutexes) {
		while (__atomic_load_n(&side->mutex->word, __ATOMIC_SEQ_CST) == HELD)
			syscall(SYS_futex, &side->mutex->word, FUTEX_WAIT_PRIVATE, HELD, NULL, NULL,
				0);
		__atomic_store_n(&side->mutex->word, HELD, __ATOMIC_SEQ_CST);
		return;
	}
	must(read(side->in, &byte, 1) == 1, "read from the pipe");
}

static int64_t cpu_time_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Sleeps until round `i` is due. */
static void keep_pace(int64_t start_ns, long i)
{
	const int64_t due = start_ns + (int64_t)i * 1000000 / (rate / 1000);
	const struct timespec until = {due / 1000000000, due % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *play(void *arg)
{
	const struct sched_param no_priority = {0};
	const struct side *side = arg;
	const int64_t start_ns = now_ns();
	struct switches left;
	long i;

	pin(side->cpu);
	must(!sched_setscheduler(0, SCHED_BATCH, &no_priority), "sched_setscheduler");
	name_thread("%s", side->serves ? "ping" : "pong");
	say("tid_%c=%d", side->letter, gettid());
	side->others->owner = gettid();
	for (i = 0; i < warmup + rounds; i++) {
		if (side->serves && i == warmup) {
			started_ns = now_ns();
			started_cpu_ns = cpu_time_ns();
		}
		if (side->serves && rate && i % (rate / 1000) == 0)
			keep_pace(start_ns, i);
		if (side->serves)
			pass_on(side);
		await(side);
		if (!side->serves)
			pass_on(side);
	}
	if (side->serves) {
		ended_ns = now_ns();
		ended_cpu_ns = cpu_time_ns();
	}
	left = my_switches();
	say("voluntary_%c=%ld involuntary_%c=%ld", side->letter, left.voluntary, side->letter,
	    left.involuntary);
	return NULL;
}

int main(int argc, char **argv)
{
	struct side a = {.serves = true, .letter = 'a'}, b = {.letter = 'b'};
	struct mutex for_a = {.word = HELD}, for_b = {.word = HELD};
	int there[2], back[2];
	pthread_t threads[2];

	workload_begin(argc, argv, knobs);
	if (rounds < 1 || warmup < 0)
		fail("-n takes 1 or more, -w takes 0 or more");
	if (rate < 0 || rate % 1000)
		fail("-r takes a multiple of 1000");
	must(!pipe(there) && !pipe(back), "pipe");
	a.in = back[0], a.out = there[1];
	b.in = there[0], b.out = back[1];
	a.mutex = b.others = &for_a;
	b.mutex = a.others = &for_b;
	a.cpu = cpu_a == -2 ? allowed_cpu(0) : cpu_a;
	b.cpu = cpu_b == -2 ? a.cpu : cpu_b;
	threads[0] = start_thread(play, &a);
	threads[1] = start_thread(play, &b);
	join_thread(threads[0]);
	join_thread(threads[1]);
	say("rounds=%ld cpu_a=%ld cpu_b=%ld ns_per_pass=%.1f cpu_ns_per_pass=%.1f", warmup + rounds,
	    a.cpu, b.cpu, (double)(ended_ns - started_ns) / (2.0 * (double)rounds),
	    (double)(ended_cpu_ns - started_cpu_ns) / (2.0 * (double)rounds));
	return 0;
}
