/* SPDX-License-Identifier: MIT */
/*
 * brief: a process with a few busy threads that ends after a given time,
 * to end while somebody attaches to it.
 */
#include "workload.h"

static long nthreads = 2, usec = 10000;
static int64_t end_ns;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads beside the first"},
	{'t', &usec, "time to live, us"},
	{0, NULL, NULL},
};

static void *live(void *arg)
{
	(void)arg;
	while (now_ns() < end_ns) {
		spin_for(20000);
		sleep_for(20000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long i;

	workload_begin(argc, argv, knobs);
	end_ns = now_ns() + usec * 1000;
	for (i = 0; i < nthreads; i++)
		start_thread(live, NULL);
	live(NULL);
	return 0; /* ends the other threads at any point */
}
