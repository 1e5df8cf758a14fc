/* SPDX-License-Identifier: MIT */
/*
 * Workload: pthread [ROUNDS]. Two threads that take a mutex, hand each other a turn, and meet.
 *
 * Prints, as key=value pairs on one line, how often all threads together have called each
 * function, and how often a mutex was got: by a lock, a trylock that worked, or a wait that ended.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int turn, rounds = 10;
static atomic_int locks, unlocks, waits, signals, barriers, trylocks, tried;

static void *run(void *arg)
{
	int me = arg != NULL;

	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		locks++;
		while (turn != me) {
			pthread_cond_wait(&changed, &mutex);
			waits++;
		}
		turn = !me;
		pthread_cond_signal(&changed);
		signals++;
		/* it is held: this cannot work */
		trylocks++;
		if (pthread_mutex_trylock(&mutex) == 0)
			tried++;
		pthread_mutex_unlock(&mutex);
		unlocks++;
	}
	pthread_barrier_wait(&barrier);
	barriers++;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc > 1)
		rounds = atoi(argv[1]);
	/* it is free: this works */
	trylocks++;
	if (pthread_mutex_trylock(&mutex) == 0)
		tried++;
	pthread_mutex_unlock(&mutex);
	unlocks++;
	pthread_barrier_init(&barrier, NULL, 2);
	for (long i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run, i ? &threads : NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("pid=%d locks=%d unlocks=%d waits=%d signals=%d barriers=%d trylocks=%d tried=%d "
	       "creates=2 joins=2\n",
	       (int)getpid(), locks, unlocks, waits, signals, barriers, trylocks, tried);
	return 0;
}
