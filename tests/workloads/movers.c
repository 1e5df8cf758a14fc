/* SPDX-License-Identifier: MIT */
/*
 * movers: a thread that never sleeps is moved between two CPUs, each with a rival that never
 * sleeps.
 *
 * The move is a change of its affinity by the first thread, which says a clock before and after:
 * the kernel has put the thread on the queue of the other CPU in between. The next move comes after
 * the thread has run there.
 */
#include "workload.h"

static long moves = 40, usec = 15000;
static pid_t moved;
static bool over;
static unsigned long turns; /* of the thread that is moved */
static pthread_barrier_t start;

static const struct knob knobs[] = {
	{'n', &moves, "moves"},
	{'u', &usec, "time between two moves, us"},
	{0, NULL, NULL},
};

/* The thread 0 is moved, 1 and 2 are the rivals. */
static void *spin(void *arg)
{
	intptr_t number = (intptr_t)arg;

	name_thread(number ? "rival-%ld" : "moved", (long)number - 1);
	pin(allowed_cpu(number ? (int)number - 1 : 0));
	if (!number)
		moved = gettid();
	pthread_barrier_wait(&start);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		if (!number)
			__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	workload_begin(argc, argv, knobs);
	pthread_barrier_init(&start, NULL, 4);
	for (intptr_t i = 0; i < 3; i++)
		threads[i] = start_thread(spin, (void *)i);
	pthread_barrier_wait(&start);
	for (long i = 0; i < moves; i++) {
		int64_t before, after;
		cpu_set_t set;

		sleep_for(usec * 1000);
		CPU_ZERO(&set);
		CPU_SET(allowed_cpu((int)((i + 1) % 2)), &set);
		before = now_ns();
		must(!sched_setaffinity(moved, sizeof(set), &set), "sched_setaffinity");
		after = now_ns();
		for (unsigned long old = __atomic_load_n(&turns, __ATOMIC_RELAXED);
		     old == __atomic_load_n(&turns, __ATOMIC_RELAXED);)
			sleep_for(1000000);
		say("move=%ld before=%ld after=%ld", i, (long)before, (long)after);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		join_thread(threads[i]);
	say("tid=%d", moved);
	return 0;
}
