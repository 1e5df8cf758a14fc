/* SPDX-License-Identifier: MIT */
/*
 * switcher: threads that sleep, yield and work in turn, and report the kernel's count of their
 * switches.
 *
 * All of it is in the function steady, each turn in step; in the middle, each calls raise_alarm.
 * Each reads its counters last, between two clocks: a recording has at most the kernel's count up
 * to the first clock, and at least this count up to the second.
 */
#include <sys/resource.h>

#include "workload.h"

static long nthreads = 4, usec = 500000;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'u', &usec, "how long, us"},
	{0, NULL, NULL},
};

/* A function as it stands here. */
#define PROBED static __attribute__((noinline, noclone, noipa, used))
#define KEEP   asm volatile("" ::: "memory")

PROBED void step(void)
{
	sleep_for(50000);
	sched_yield();
	spin_for(20000);
	KEEP;
}

PROBED void raise_alarm(void)
{
	KEEP;
}

PROBED long steady(int64_t begin)
{
	long steps = 0;
	int64_t now;
	bool alarmed = false;

	while ((now = now_ns()) < begin + usec * 1000) {
		step();
		steps++;
		if (!alarmed && now >= begin + usec * 500) {
			raise_alarm();
			alarmed = true;
		}
	}
	KEEP;
	return steps;
}

static void *live(void *arg)
{
	int64_t from, to;
	struct rusage usage;
	long steps;

	name_thread("sw-%ld", (long)(intptr_t)arg);
	steps = steady(now_ns());
	from = now_ns();
	must(!getrusage(RUSAGE_THREAD, &usage), "getrusage");
	to = now_ns();
	say("tid=%d leaves=%ld from=%lld to=%lld steps=%ld", gettid(),
	    usage.ru_nvcsw + usage.ru_nivcsw, (long long)from, (long long)to, steps);
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
