/* SPDX-License-Identifier: MIT */
/*
 * phases: a small parallel program as one meets them, to be looked at.
 *
 * A pool of workers goes through rounds of computing (uneven shares), a barrier, a
 * fight for one mutex, and sleeping, while a logger thread writes to disk and a ticker
 * wakes up every few milliseconds. Ends by itself after the given time.
 */
#include "workload.h"

static long nworkers = 4, msec = 3000, unit = 2000;
static int64_t end_ns;
static pthread_barrier_t together;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t logged = PTHREAD_COND_INITIALIZER;
static bool over;
static long shared_sum, pending, rounds, ticks, writes;

static const struct knob knobs[] = {
	{'n', &nworkers, "workers"},
	{'t', &msec, "time, ms"},
	{'u', &unit, "unit of computing, us"},
	{0, NULL, NULL},
};

/* Adds to the sum a few times, holding the lock longer than is good. */
static void contend(long number)
{
	int i;

	for (i = 0; i < 5; i++) {
		pthread_mutex_lock(&lock);
		shared_sum += number;
		spin_for(100000);
		pthread_mutex_unlock(&lock);
	}
}

static void *work(void *arg)
{
	long round, number = (long)(intptr_t)arg;

	name_thread("worker-%ld", number);
	for (round = 0; !over; round++) {
		spin_for((number + 1 + round % 3) * unit * 1000);
		pthread_barrier_wait(&together);
		contend(number);
		if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD) {
			pthread_mutex_lock(&lock);
			pending++;
			rounds++;
			over = now_ns() >= end_ns;
			pthread_cond_signal(&logged);
			pthread_mutex_unlock(&lock);
		}
		sleep_for(2 * MSEC);
		pthread_barrier_wait(&together); /* makes `over` the same for all */
	}
	return NULL;
}

static void *write_log(void *arg)
{
	char block[4096];
	int fd;

	(void)arg;
	name_thread("logger");
	memset(block, '.', sizeof(block));
	fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	must(fd >= 0, "file without a name");
	pthread_mutex_lock(&lock);
	while (!over) {
		while (!pending && !over)
			pthread_cond_wait(&logged, &lock);
		pending = 0;
		pthread_mutex_unlock(&lock);
		must(write(fd, block, sizeof(block)) == sizeof(block), "write of the log");
		must(!fsync(fd), "fsync of the log");
		pthread_mutex_lock(&lock);
		writes++;
	}
	pthread_mutex_unlock(&lock);
	close(fd);
	return NULL;
}

static void *tick(void *arg)
{
	(void)arg;
	name_thread("ticker");
	while (now_ns() < end_ns) {
		sleep_for(10 * MSEC);
		spin_for(200000);
		ticks++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t *workers, logger, ticker;
	long i;

	workload_begin(argc, argv, knobs);
	if (nworkers < 1 || msec < 1)
		fail("-n and -t take 1 or more");
	workers = calloc((size_t)nworkers, sizeof(*workers));
	must(workers != NULL, "calloc");
	end_ns = now_ns() + msec * MSEC;
	pthread_barrier_init(&together, NULL, (unsigned)nworkers);
	logger = start_thread(write_log, NULL);
	ticker = start_thread(tick, NULL);
	for (i = 0; i < nworkers; i++)
		workers[i] = start_thread(work, (void *)(intptr_t)i);
	for (i = 0; i < nworkers; i++)
		join_thread(workers[i]);
	join_thread(logger);
	join_thread(ticker);
	free(workers);
	if (shared_sum != rounds * 5 * nworkers * (nworkers - 1) / 2)
		fail("%ld rounds add up to %ld", rounds, shared_sum);
	say("workers=%ld rounds=%ld ticks=%ld writes=%ld", nworkers, rounds, ticks, writes);
	return 0;
}
