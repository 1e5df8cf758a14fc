/* SPDX-License-Identifier: MIT */
/*
 * yielder: threads on one CPU that give it up again and again (sched_yield), and
 * never for another reason of their own.
 */
#include "workload.h"

static long nthreads = 2, yields = 10000, cpu = -2;
static pthread_barrier_t start;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'y', &yields, "yields of each"},
	{'c', &cpu, "CPU, -2: the first one allowed"},
	{0, NULL, NULL},
};

static void *give_up(void *arg)
{
	long i;

	(void)arg;
	pin(cpu);
	pthread_barrier_wait(&start);
	for (i = 0; i < yields; i++)
		must(!sched_yield(), "sched_yield");
	say("tid=%d yields=%ld", gettid(), yields);
	return NULL;
}

int main(int argc, char **argv)
{
	workload_begin(argc, argv, knobs);
	if (nthreads < 1)
		fail("-n takes 1 or more");
	if (cpu == -2)
		cpu = allowed_cpu(0);
	pthread_barrier_init(&start, NULL, (unsigned)nthreads);
	run_threads(nthreads, give_up);
	return 0;
}
