/* SPDX-License-Identifier: MIT */
/*
 * ovniwriter: a program that writes its own ovni v3 streams, in the shape libovni gives.
 *
 *   ovniwriter DIR THREADS ROUNDS
 *
 * Each thread writes its subsystem (nosv) while it works, sleeps, and works again, all threads on
 * one CPU, so that the kernel has to switch between them. A sleep is inside of VAp/VAP: the
 * kernel's switch-out must be found there.
 */
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trace/ovni/event.h"

static const char *dir;
static char loom[80]; /* HOST.0 */
static int rounds;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static uint8_t *put(uint8_t *at, uint32_t mcv, const void *payload, size_t size)
{
	return at + event_encode(at, mcv, now(), payload, size);
}

static void work(int64_t ns)
{
	for (int64_t end = now() + ns; now() < end;)
		;
}

static void make(const char *path, int length)
{
	if (length >= 4096 || (mkdir(path, 0755) < 0 && access(path, F_OK) < 0))
		err(1, "%s", path);
}

static void save(int tid, const uint8_t *events, size_t size, int cpu)
{
	static const uint32_t version = STREAM_VERSION;
	char path[4096], file[4200];
	FILE *out;

	make(path, snprintf(path, sizeof(path), "%s", dir));
	make(path, snprintf(path, sizeof(path), "%s/loom.%s", dir, loom));
	make(path, snprintf(path, sizeof(path), "%s/loom.%s/proc.%d", dir, loom, getpid()));
	make(path, snprintf(path, sizeof(path), "%s/loom.%s/proc.%d/thread.%d", dir, loom, getpid(),
			    tid));
	snprintf(file, sizeof(file), "%s/stream.obs", path);
	out = fopen(file, "w");
	if (!out || fwrite(STREAM_MAGIC, 4, 1, out) != 1 || fwrite(&version, 4, 1, out) != 1 ||
	    fwrite(events, size, 1, out) != 1 || fclose(out))
		err(1, "%s", file);
	snprintf(file, sizeof(file), "%s/stream.json", path);
	out = fopen(file, "w");
	if (!out)
		err(1, "%s", file);
	fprintf(out,
		"{\"version\": 3, \"ovni\": {\"lib\": {\"version\": \"1.14.0\", \"commit\": "
		"\"x\"}, "
		"\"part\": \"thread\", \"tid\": %d, \"pid\": %d, \"loom\": \"%s\", \"app_id\": 1, "
		"\"require\": {\"ovni\": \"1.1.0\", \"nosv\": \"2.7.0\"}, \"finished\": 1, "
		"\"loom_cpus\": [{\"index\": 0, \"phyid\": %d}]}, "
		"\"nosv\": {\"can_breakdown\": false}}\n",
		tid, getpid(), loom, cpu);
	if (fclose(out))
		err(1, "%s", file);
}

static void *thread(void *arg)
{
	struct __attribute__((packed)) {
		int32_t cpu, creator;
		uint64_t tag;
	} begin = {-1, -1, 0};
	uint8_t *events = malloc(64 + (size_t)rounds * 6 * EVENT_HEADER_SIZE), *at = events;
	int tid = (int)syscall(SYS_gettid);

	(void)arg;
	if (!events)
		err(1, "events");
	at = put(at, MCV('O', 'H', 'x'), &begin, sizeof(begin));
	for (int i = 0; i < rounds; i++) {
		at = put(at, MCV('V', 'S', '['), NULL, 0);
		work(200000);
		at = put(at, MCV('V', 'S', ']'), NULL, 0);
		at = put(at, MCV('V', 'A', 'p'), NULL, 0);
		usleep(1000);
		at = put(at, MCV('V', 'A', 'P'), NULL, 0);
	}
	at = put(at, MCV('O', 'H', 'e'), NULL, 0);
	save(tid, events, (size_t)(at - events), sched_getcpu());
	free(events);
	return NULL;
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	pthread_t threads[64];
	int n;

	if (argc != 4 || (n = atoi(argv[2])) < 1 || n > 64 || (rounds = atoi(argv[3])) < 1)
		errx(2, "usage: ovniwriter DIR THREADS ROUNDS");
	dir = argv[1];
	if (gethostname(loom, 64) < 0)
		err(1, "host name");
	loom[strcspn(loom, ".")] = '\0';
	snprintf(loom + strlen(loom), sizeof(loom) - strlen(loom), ".0");
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		err(1, "CPU 0");
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			errx(1, "thread");
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
