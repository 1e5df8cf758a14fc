/* SPDX-License-Identifier: MIT */
/*
 * storm: threads that fight for one mutex and hand a token round through condition variables, so
 * that most events are futex waits and wakes.
 */
#include "workload.h"

struct seat {
	pthread_cond_t turn;
	long passes;
};

static long nthreads = 8, laps = 2000;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct seat *seats;
static long holder;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'l', &laps, "times that each has the token"},
	{0, NULL, NULL},
};

static void *hand_round(void *arg)
{
	long i, number = (long)(intptr_t)arg;
	struct seat *seat = &seats[number];

	name_thread("storm-%ld", number);
	for (i = 0; i < laps; i++) {
		pthread_mutex_lock(&lock);
		while (holder != number)
			pthread_cond_wait(&seat->turn, &lock);
		seat->passes++;
		holder = (number + 1) % nthreads;
		pthread_cond_signal(&seats[holder].turn);
		pthread_mutex_unlock(&lock);
	}
	say("tid=%d laps=%ld", gettid(), seat->passes);
	return NULL;
}

int main(int argc, char **argv)
{
	long i;

	workload_begin(argc, argv, knobs);
	if (nthreads < 1)
		fail("-n takes 1 or more");
	seats = calloc((size_t)nthreads, sizeof(*seats));
	must(seats != NULL, "calloc");
	for (i = 0; i < nthreads; i++)
		pthread_cond_init(&seats[i].turn, NULL);
	run_threads(nthreads, hand_round);
	for (i = 0; i < nthreads; i++) {
		if (seats[i].passes != laps)
			fail("thread %ld had the token %ld times", i, seats[i].passes);
	}
	free(seats);
	return 0;
}
