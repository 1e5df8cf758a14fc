/* SPDX-License-Identifier: MIT */
/*
 * rivals: threads that use the CPU of one that never stops wanting it.
 *
 * All are pinned to one CPU. Thread "starved" spins until the rivals are done; rival i runs (i + 1)
 * times the work, in turns with a sleep after each. So whenever a rival runs, starved waits for its
 * CPU. Each says the time that it ran and that it waited for the CPU, as the kernel counts them
 * (my_schedstat).
 */
#include <stdatomic.h>

#include "workload.h"

static long rivals = 3, work_ms = 60, turn_ms = 4, sleep_us = 1000, cpu = -2;

static const struct knob knobs[] = {
	{'n', &rivals, "rivals"},
	{'w', &work_ms, "work of the first rival, ms"},
	{'t', &turn_ms, "work in each turn, ms"},
	{'s', &sleep_us, "sleep after each turn, us"},
	{'c', &cpu, "CPU, -2: the first one allowed"},
	{0, NULL, NULL},
};

static atomic_int spinning, done;

static void *starved(void *arg)
{
	struct schedstat from, to;

	(void)arg;
	name_thread("starved");
	from = my_schedstat();
	atomic_store(&spinning, 1);
	while (atomic_load(&done) < rivals)
		;
	to = my_schedstat();
	say("starved=%d ran=%ld waited=%ld", gettid(), to.ran - from.ran, to.waited - from.waited);
	return NULL;
}

static void *rival(void *arg)
{
	long i = (long)(intptr_t)arg;
	struct schedstat from, to;

	name_thread("rival%ld", i);
	while (!atomic_load(&spinning))
		sleep_for(MSEC);
	from = my_schedstat();
	for (long ms = 0; ms < (i + 1) * work_ms; ms += turn_ms) {
		work_for(turn_ms * MSEC);
		sleep_for(sleep_us * 1000);
	}
	to = my_schedstat();
	atomic_fetch_add(&done, 1);
	say("rival=%d ran=%ld waited=%ld", gettid(), to.ran - from.ran, to.waited - from.waited);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t victim;

	workload_begin(argc, argv, knobs);
	pin(cpu == -2 ? allowed_cpu(0) : cpu);
	victim = start_thread(starved, NULL);
	run_threads(rivals, rival);
	join_thread(victim);
	return 0;
}
