/* SPDX-License-Identifier: MIT */
/*
 * rivals: threads that use the CPU of one that never stops wanting it.
 *
 * All are pinned to one CPU. Thread "starved" spins until the rivals are done; rival i runs (i + 1)
 * times the work, in turns with a sleep after each. So whenever a rival runs, starved waits for its
 * CPU. Each says the time that it ran and that it waited for the CPU, as the kernel counts them
 * (schedstat).
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

struct schedstat {
	long long ran, waited; /* ns */
};

static struct schedstat schedstat(void)
{
	struct schedstat s = {0, 0};
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	must(file != NULL, "/proc/thread-self/schedstat");
	if (fscanf(file, "%lld %lld", &s.ran, &s.waited) != 2)
		fail("cannot read schedstat");
	fclose(file);
	return s;
}

static void *starved(void *arg)
{
	struct schedstat from, to;

	(void)arg;
	name_thread("starved");
	from = schedstat();
	atomic_store(&spinning, 1);
	while (atomic_load(&done) < rivals)
		;
	to = schedstat();
	say("starved=%d ran=%lld waited=%lld", gettid(), to.ran - from.ran,
	    to.waited - from.waited);
	return NULL;
}

/* Uses the CPU for `ns` of its own time. */
static void work_for(int64_t ns)
{
	struct timespec now;
	int64_t end = -1, at;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		at = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
		if (end < 0)
			end = at + ns;
	} while (at < end);
}

static void *rival(void *arg)
{
	long i = (long)(intptr_t)arg;
	struct schedstat from, to;

	name_thread("rival%ld", i);
	while (!atomic_load(&spinning))
		sleep_for(MSEC);
	from = schedstat();
	for (long ms = 0; ms < (i + 1) * work_ms; ms += turn_ms) {
		work_for(turn_ms * MSEC);
		sleep_for(sleep_us * 1000);
	}
	to = schedstat();
	atomic_fetch_add(&done, 1);
	say("rival=%d ran=%lld waited=%lld", gettid(), to.ran - from.ran, to.waited - from.waited);
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
