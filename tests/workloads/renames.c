/* SPDX-License-Identifier: MIT */
/*
 * renames: threads whose names change while they are traced.
 *
 * Each thread takes the names tT-0, tT-1, ... with a sleep after each; the last
 * name, tT-outside, is given by the main thread through /proc.
 */
#include "workload.h"

static long nthreads = 2, changes = 10, msec = 2;
static pthread_barrier_t all_done, all_renamed;
static pid_t *tids;

static const struct knob knobs[] = {
	{'n', &nthreads, "threads"},
	{'c', &changes, "names that each takes by itself"},
	{'t', &msec, "sleep after each, ms"},
	{0, NULL, NULL},
};

static void *change(void *arg)
{
	long i, number = (long)(intptr_t)arg;

	tids[number] = gettid();
	for (i = 0; i < changes; i++) {
		name_thread("t%ld-%ld", number, i);
		sleep_for(msec * MSEC);
	}
	pthread_barrier_wait(&all_done);
	pthread_barrier_wait(&all_renamed);
	sleep_for(msec * MSEC);
	return NULL;
}

static void rename_from_outside(long number)
{
	char path[64];
	int fd, n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tids[number]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0, path);
	n = dprintf(fd, "t%ld-outside", number);
	must(n > 0, path);
	close(fd);
	say("tid=%d changes=%ld", tids[number], changes + 1);
}

int main(int argc, char **argv)
{
	pthread_t *threads;
	long i;

	workload_begin(argc, argv, knobs);
	if (nthreads < 1 || nthreads > 99)
		fail("-n takes 1 to 99");
	threads = calloc((size_t)nthreads, sizeof(*threads));
	tids = calloc((size_t)nthreads, sizeof(*tids));
	must(threads && tids, "calloc");
	pthread_barrier_init(&all_done, NULL, (unsigned)nthreads + 1);
	pthread_barrier_init(&all_renamed, NULL, (unsigned)nthreads + 1);
	for (i = 0; i < nthreads; i++)
		threads[i] = start_thread(change, (void *)(intptr_t)i);
	pthread_barrier_wait(&all_done);
	for (i = 0; i < nthreads; i++)
		rename_from_outside(i);
	pthread_barrier_wait(&all_renamed);
	for (i = 0; i < nthreads; i++)
		join_thread(threads[i]);
	free(threads);
	free(tids);
	return 0;
}
