/* SPDX-License-Identifier: MIT */
/*
 * neighbours: a periodic thread whose CPU another process uses.
 *
 * "latcrit" works for a while in each period, and "noisy", another process, never stops. Both are
 * pinned to one CPU. Each says the time that it ran, by its own clock of the CPU.
 */
#include "workload.h"

static long msec = 1000, period_us = 10000, work_us = 3000, noise = 1, cpu = -2;

static const struct knob knobs[] = {
	{'t', &msec, "time, ms"},
	{'p', &period_us, "period, us"},
	{'w', &work_us, "work in each period, us"},
	{'n', &noise, "neighbours"},
	{'c', &cpu, "CPU, -2: the first one allowed"},
	{0, NULL, NULL},
};

/* ns that this thread has waited for a CPU, as the kernel counts them; -1: it does not. */
static long wait_ns(void)
{
	unsigned long run, wait;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	int n = file ? fscanf(file, "%lu %lu", &run, &wait) : 0;

	if (file)
		fclose(file);
	return n == 2 ? (long)wait : -1;
}

static int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Uses the CPU for `ns`, however long that takes. */
static void work_for(int64_t ns)
{
	int64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		;
}

static void latcrit(int64_t end)
{
	long turns = 0;

	name_thread("latcrit");
	for (int64_t next = now_ns(); next < end; next += period_us * 1000) {
		sleep_for(next - now_ns());
		work_for(work_us * 1000);
		turns++;
	}
	say("latcrit=%d turns=%ld cpu_ns=%ld wait_ns=%ld", getpid(), turns, (long)cpu_ns(),
	    wait_ns());
}

int main(int argc, char **argv)
{
	int64_t end;

	workload_begin(argc, argv, knobs);
	pin(cpu == -2 ? allowed_cpu(0) : cpu);
	end = now_ns() + msec * MSEC;
	for (long i = 0; i < noise; i++) {
		pid_t pid = fork();

		must(pid >= 0, "fork");
		if (pid)
			continue;
		name_thread("noisy");
		while (now_ns() < end)
			;
		say("noisy=%d cpu_ns=%ld wait_ns=%ld", getpid(), (long)cpu_ns(), wait_ns());
		return 0;
	}
	latcrit(end);
	for (long i = 0; i < noise; i++)
		must(wait(NULL) > 0, "wait");
	return 0;
}
