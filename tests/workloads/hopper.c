/* SPDX-License-Identifier: MIT */
/*
 * hopper: a thread that changes its affinity again and again.
 *
 * It goes round over all the CPUs that it may use and checks where it is each time.
 */
#include "workload.h"

static long hops = 1000, usec = 20;

static const struct knob knobs[] = {
	{'n', &hops, "hops"},
	{'u', &usec, "time on a CPU before the next hop, us"},
	{0, NULL, NULL},
};

int main(int argc, char **argv)
{
	int cpus[CPU_SETSIZE], ncpus;
	cpu_set_t set;
	long i;

	workload_begin(argc, argv, knobs);
	must(!sched_getaffinity(0, sizeof(set), &set), "sched_getaffinity");
	ncpus = CPU_COUNT(&set);
	if (ncpus < 1 || ncpus > CPU_SETSIZE)
		fail("%d CPUs allowed", ncpus);
	for (i = 0; i < ncpus; i++)
		cpus[i] = allowed_cpu((int)i);
	for (i = 0; i < hops; i++) {
		pin(cpus[i % ncpus]);
		if (sched_getcpu() != cpus[i % ncpus])
			fail("hop %ld ended on CPU %d instead of %d", i, sched_getcpu(),
			     cpus[i % ncpus]);
		spin_for(usec * 1000);
	}
	say("tid=%d hops=%ld cpus=%d", gettid(), hops, ncpus);
	return 0;
}
