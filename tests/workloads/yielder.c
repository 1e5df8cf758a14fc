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
	pthread_t *threads;
	long i;

	workload_begin(argc, argv, knobs);
	if (nthreads < 1)
		fail("-n takes 1 or more");
	threads = calloc((size_t)nthreads, sizeof(*threads));
	must(threads != NULL, "calloc");
	if (cpu == -2)
		cpu = allowed_cpu(0);
	pthread_barrier_init(&start, NULL, (unsigned)nthreads);
	for (i = 0; i < nthreads; i++)
		threads[i] = start_thread(give_up, NULL);
	for (i = 0; i < nthreads; i++)
		join_thread(threads[i]);
	free(threads);
	return 0;
}
