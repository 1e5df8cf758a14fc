/* SPDX-License-Identifier: MIT */
/*
 * chain: stages that wake each other in turn; the last one wakes the main thread.
 *
 *   holder  ··········holds the mutex, asleep··········
 *   stage0  ██████
 *   stage1        ████··········wants the mutex········█
 *   stage2                                              ████
 *   main    ················································█
 *
 * Stage 0 works -a ms, stage 1 -b ms and then takes the mutex, stage 2 -c ms. With -m 1 a thread
 * holds the mutex asleep until stage 1 has slept for it for -l ms. A stage begins after all others
 * sleep. Each thread says when it began and ended its part (CLOCK_MONOTONIC), and the time that it
 * ran.
 */
#include <semaphore.h>

#include "workload.h"

static long work_ms[3] = {30, 20, 10}, held = 1, more_ms = 60;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t start[3], holding, ready, done;
static volatile pid_t tids[3];
static volatile bool wants; /* stage 1, the mutex */

static const struct knob knobs[] = {
	{'a', &work_ms[0], "work of stage 0, ms"},
	{'b', &work_ms[1], "work of stage 1, ms"},
	{'c', &work_ms[2], "work of stage 2, ms"},
	{'m', &held, "1: a thread holds the mutex"},
	{'l', &more_ms, "sleep of the holder while stage 1 waits, ms"},
	{0, NULL, NULL},
};

/* Waits until a stage sleeps, in the main thread or the holder. */
static void wait_asleep(volatile pid_t *tid)
{
	char path[64], text[256], *state;
	ssize_t n;
	int fd;

	for (;;) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *tid);
		fd = *tid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = '\0';
		state = strrchr(text, ')');
		if (state && state[1] == ' ' && state[2] == 'S')
			return;
		sleep_for(2 * MSEC);
	}
}

static void *hold(void *arg)
{
	(void)arg;
	name_thread("holder");
	pthread_mutex_lock(&mutex);
	sem_post(&holding);
	sem_wait(&ready);
	while (!wants)
		sleep_for(10 * MSEC);
	wait_asleep(&tids[1]);
	sleep_for(more_ms * MSEC);
	say("thread=holder tid=%d to=%ld cpu_ns=%ld", gettid(), (long)now_ns(), (long)cpu_ns());
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *stage(void *arg)
{
	long me = (long)(intptr_t)arg;

	name_thread("stage%ld", me);
	tids[me] = gettid();
	sem_wait(&start[me]);
	work_for(work_ms[me] * MSEC);
	say("thread=stage%ld tid=%d to=%ld cpu_ns=%ld", me, gettid(), (long)now_ns(),
	    (long)cpu_ns());
	if (me == 1) {
		wants = true;
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	sem_post(me < 2 ? &start[me + 1] : &done);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3], holder = 0;

	workload_begin(argc, argv, knobs);
	for (int i = 0; i < 3; i++)
		must(!sem_init(&start[i], 0, 0), "sem_init");
	must(!sem_init(&holding, 0, 0) && !sem_init(&ready, 0, 0) && !sem_init(&done, 0, 0),
	     "sem_init");
	if (held) {
		holder = start_thread(hold, NULL);
		sem_wait(&holding);
	}
	for (int i = 0; i < 3; i++)
		threads[i] = start_thread(stage, (void *)(intptr_t)i);
	for (int i = 0; i < 3; i++)
		wait_asleep(&tids[i]);
	if (held)
		sem_post(&ready);
	sem_post(&start[0]);
	sem_wait(&done);
	say("thread=main tid=%d to=%ld cpu_ns=%ld", gettid(), (long)now_ns(), (long)cpu_ns());
	for (int i = 0; i < 3; i++)
		join_thread(threads[i]);
	if (held)
		join_thread(holder);
	return 0;
}
