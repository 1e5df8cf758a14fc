/* SPDX-License-Identifier: MIT */
/*
 * survivors: waves of short-lived threads, of which a few stay until the next wave is over.
 *
 * After each wave it reports wave=NUMBER and waits for a byte on its standard input. The threads
 * that stay wake again and again: each trace of a rotation has them.
 */
#include "workload.h"

static long nwaves = 4, nthreads = 12000, one_in = 300;
static _Atomic long over; /* waves that have ended */

static const struct knob knobs[] = {
	{'w', &nwaves, "waves"},
	{'n', &nthreads, "threads of a wave"},
	{'k', &one_in, "one in so many stays"},
	{0, NULL, NULL},
};

static void *stay(void *arg)
{
	long wave = (long)arg;

	while (over < wave + 2)
		sleep_for(20 * MSEC);
	return NULL;
}

static void *end_at_once(void *arg)
{
	return arg;
}

/* Like start_thread(), but joins no memory to the end: nobody waits for the thread. */
static void start(void *(*run)(void *), long wave)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	while ((err = pthread_create(&thread, &attr, run, (void *)wave)) == EAGAIN)
		sleep_for(MSEC);
	errno = err;
	must(!err, "pthread_create");
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	char byte;

	workload_begin(argc, argv, knobs);
	for (long wave = 0; wave < nwaves; wave++) {
		for (long i = 0; i < nthreads; i++)
			start(i % one_in ? end_at_once : stay, wave);
		over = wave + 1;
		say("wave=%ld", wave + 1);
		must(read(STDIN_FILENO, &byte, 1) == 1, "read");
	}
	return 0;
}
