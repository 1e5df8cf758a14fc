/* SPDX-License-Identifier: MIT */
/*
 * team: threads that use the CPU for different times, or fight for a mutex.
 *
 * Thread i works -w ms plus i times -m ms. With -l each of -r rounds holds one mutex for -l us
 * asleep (or, with -b 1, busy). With -c all share a CPU. Each says the time that it ran.
 */
#include "workload.h"

static long nthreads = 4, work_ms = 100, more_ms = 100, hold_us, busy, rounds = 1, cpu = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'w', &work_ms, "work of the first thread, ms"},
	{'m', &more_ms, "more of each further thread, ms"},
	{'l', &hold_us, "time that a mutex is held in each round, us"},
	{'b', &busy, "1: the holder works, 0: it sleeps"},
	{'r', &rounds, "rounds"},
	{'c', &cpu, "CPU, -1: any, -2: the first one allowed"},
	{0, NULL, NULL},
};

static void *work(void *arg)
{
	long me = (long)(intptr_t)arg;
	int64_t held = 0;

	name_thread("worker-%ld", me);
	pin(cpu);
	for (long round = 0; round < rounds; round++) {
		if (hold_us) {
			int64_t at;

			pthread_mutex_lock(&mutex);
			at = now_ns();
			if (busy)
				work_for(hold_us * 1000);
			else
				sleep_for(hold_us * 1000);
			held += now_ns() - at;
			pthread_mutex_unlock(&mutex);
		}
		work_for((work_ms + me * more_ms) * MSEC / rounds);
	}
	say("tid=%d held_ns=%ld cpu_ns=%ld wait_ns=%ld", gettid(), (long)held, (long)cpu_ns(),
	    (long)my_schedstat().waited);
	return NULL;
}

int main(int argc, char **argv)
{
	workload_begin(argc, argv, knobs);
	if (cpu == -2)
		cpu = allowed_cpu(0);
	run_threads(nthreads, work);
	return 0;
}
