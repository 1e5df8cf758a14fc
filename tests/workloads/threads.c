/* SPDX-License-Identifier: MIT */
/*
 * threads: many threads of one process, all alive at once.
 *
 * Each names itself thr-N, sleeps a few times, waits until the last one has
 * been born, and ends.
 */
#include "workload.h"

static long nthreads = 1000, sleeps = 3, usec = 500;
static pthread_barrier_t all_born;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'s', &sleeps, "sleeps of each"},
	{'u', &usec, "length of a sleep, us"},
	{0, NULL, NULL},
};

static void *live(void *arg)
{
	long i, number = (long)(intptr_t)arg;

	name_thread("thr-%ld", number);
	say("thread=%ld tid=%d", number, gettid());
	for (i = 0; i < sleeps; i++)
		sleep_for(usec * 1000);
	pthread_barrier_wait(&all_born);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t *threads;
	pthread_attr_t attr;
	long i;

	workload_begin(argc, argv, knobs);
	if (nthreads < 1)
		fail("-n takes 1 or more");
	threads = calloc((size_t)nthreads, sizeof(*threads));
	must(threads != NULL, "calloc");
	pthread_barrier_init(&all_born, NULL, (unsigned)nthreads);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (i = 0; i < nthreads; i++) {
		errno = pthread_create(&threads[i], &attr, live, (void *)(intptr_t)i);
		must(!errno, "pthread_create");
	}
	for (i = 0; i < nthreads; i++)
		join_thread(threads[i]);
	free(threads);
	say("threads=%ld pid=%d", nthreads, getpid());
	return 0;
}
