/* SPDX-License-Identifier: MIT */
/*
 * switcher: threads that sleep, yield and work in turn, and say how often the kernel counts that
 * each has left its CPU.
 *
 * Each reads its counters last, between two clocks: what a recording shows up to the first is at
 * most, and up to the second at least, what the kernel has counted.
 */
#include <sys/resource.h>

#include "workload.h"

static long nthreads = 4, usec = 500000;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'u', &usec, "how long, us"},
	{0, NULL, NULL},
};

static void *live(void *arg)
{
	int64_t end = now_ns() + usec * 1000, from, to;
	struct rusage usage;

	name_thread("sw-%ld", (long)(intptr_t)arg);
	while (now_ns() < end) {
		sleep_for(50000);
		sched_yield();
		spin_for(20000);
	}
	from = now_ns();
	must(!getrusage(RUSAGE_THREAD, &usage), "getrusage");
	to = now_ns();
	say("tid=%d leaves=%ld from=%lld to=%lld", gettid(), usage.ru_nvcsw + usage.ru_nivcsw,
	    (long long)from, (long long)to);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];

	workload_begin(argc, argv, knobs);
	must(nthreads > 0 && nthreads <= 64, "1 to 64 threads");
	for (long i = 0; i < nthreads; i++)
		must(!pthread_create(&threads[i], NULL, live, (void *)(intptr_t)i),
		     "pthread_create");
	for (long i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
