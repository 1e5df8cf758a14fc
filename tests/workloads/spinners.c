/* SPDX-License-Identifier: MIT */
/*
 * spinners: threads that never block fight for one CPU.
 *
 * They leave the CPU only because they are preempted, until the time is over and each has left it
 * often enough.
 */
#include "workload.h"

static long nspinners = 2, msec = 1000, cpu = -2, least;
static int64_t end_ns;

static const struct knob knobs[] = {
	{'n', &nspinners, "spinners"},
	{'t', &msec, "time, ms"},
	{'p', &least, "times that each must be preempted"},
	{'c', &cpu, "CPU, -1: any, -2: the first one allowed"},
	{0, NULL, NULL},
};

static void *spin(void *arg)
{
	unsigned long turns = 0;
	int64_t pinned_ns;

	name_thread("spinner-%ld", (long)(intptr_t)arg);
	pin(cpu);
	pinned_ns = now_ns();
	do /* on a busy machine it may come late */
		turns++;
	while (now_ns() < end_ns);
	while (my_switches().involuntary < least)
		turns++;
	say("tid=%d pinned=%ld turns=%lu involuntary=%ld", gettid(), (long)pinned_ns, turns,
	    my_switches().involuntary);
	return NULL;
}

int main(int argc, char **argv)
{
	workload_begin(argc, argv, knobs);
	if (nspinners < 1)
		fail("-n takes 1 or more");
	if (cpu == -2)
		cpu = allowed_cpu(0);
	end_ns = now_ns() + msec * MSEC;
	run_threads(nspinners, spin);
	say("spinners=%ld cpu=%ld usec=%ld", nspinners, cpu,
	    (long)((now_ns() - end_ns) / 1000 + msec * 1000));
	return 0;
}
