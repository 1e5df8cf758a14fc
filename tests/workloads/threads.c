/* SPDX-License-Identifier: MIT */
/*
 * threads: many threads of one process, all alive at once, or so many at a time.
 *
 * Each names itself thr-N, sleeps a few times, waits until all threads that must be alive with it
 * have been born, and ends.
 */
#include "workload.h"

static long nthreads = 1000, at_once, sleeps = 3, usec = 500;
static pthread_barrier_t all_born;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'j', &at_once, "alive at once, a divisor of -n; 0: all"},
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
	long i, k;

	workload_begin(argc, argv, knobs);
	if (!at_once)
		at_once = nthreads;
	if (nthreads < 1 || at_once < 1 || nthreads % at_once)
		fail("-n takes 1 or more, -j a divisor of it");
	threads = calloc((size_t)at_once, sizeof(*threads));
	must(threads != NULL, "calloc");
	pthread_barrier_init(&all_born, NULL, (unsigned)at_once);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (i = 0; i < nthreads; i += at_once) {
		for (k = 0; k < at_once; k++) {
			errno = pthread_create(&threads[k], &attr, live, (void *)(intptr_t)(i + k));
			must(!errno, "pthread_create");
		}
		for (k = 0; k < at_once; k++)
			join_thread(threads[k]);
	}
	free(threads);
	say("threads=%ld pid=%d", nthreads, getpid());
	return 0;
}
