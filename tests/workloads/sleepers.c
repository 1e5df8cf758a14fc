/* SPDX-License-Identifier: MIT */
/*
 * sleepers: threads that only sleep; a timer's interrupt wakes them each time.
 */
#include "workload.h"

static long nthreads = 4, sleeps = 100, usec = 1000;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'s', &sleeps, "sleeps of each"},
	{'u', &usec, "length of a sleep, us"},
	{0, NULL, NULL},
};

static void *doze(void *arg)
{
	int64_t start;
	long i;

	name_thread("sleeper-%ld", (long)(intptr_t)arg);
	for (i = 0; i < sleeps; i++) {
		start = now_ns();
		sleep_for(usec * 1000);
		if (now_ns() - start < usec * 1000)
			fail("a sleep of %ld us was too short", usec);
	}
	say("tid=%d sleeps=%ld voluntary=%ld", gettid(), sleeps, my_switches().voluntary);
	return NULL;
}

int main(int argc, char **argv)
{
	workload_begin(argc, argv, knobs);
	if (nthreads < 1)
		fail("-n takes 1 or more");
	run_threads(nthreads, doze);
	say("pid=%d usec=%ld", getpid(), usec);
	return 0;
}
