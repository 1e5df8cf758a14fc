/* SPDX-License-Identifier: MIT */
/*
 * named_locks: one thread sleeps on a mutex in each kind of memory, and says which one.
 *
 * A variable with and without bytes in the file, a part of a variable, the heap, the stacks of the
 * main thread and of another one, shared memory with and without a file.
 */
#include "workload.h"

#include <sys/mman.h>

struct pool {
	long used;
	pthread_mutex_t lock;
};

static long hold_ms = 300;
static const struct knob knobs[] = {{'h', &hold_ms, "ms for which a lock is held"},
				    {0, NULL, NULL}};

pthread_mutex_t zeroed_lock;						  /* .bss */
struct pool filled_pool = {.used = 1, .lock = PTHREAD_MUTEX_INITIALIZER}; /* .data */
static pthread_mutex_t local_locks[2];

static _Atomic int waiting; /* tid */

static void *waiter(void *mutex)
{
	name_thread("waiter");
	waiting = gettid();
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

static bool is_asleep(int tid)
{
	char path[64], line[256] = "", *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = tid ? fopen(path, "r") : NULL;
	if (!file)
		return false;
	must(fgets(line, sizeof(line), file), path);
	fclose(file);
	state = strrchr(line, ')');
	return state && state[2] == 'S';
}

static void hold(const char *kind, pthread_mutex_t *mutex)
{
	pthread_t thread;

	waiting = 0;
	pthread_mutex_lock(mutex);
	thread = start_thread(waiter, mutex);
	while (!is_asleep(waiting))
		sleep_for(1000000);
	sleep_for(hold_ms * 1000000); /* for the recorder, which looks now and then */
	pthread_mutex_unlock(mutex);
	join_thread(thread);
	say("kind=%s address=%lu holder=%d", kind, (unsigned long)(uintptr_t)mutex, gettid());
}

static void *on_own_stack(void *arg)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	(void)arg;
	name_thread("owner");
	hold("thread_stack", &mutex);
	return NULL;
}

static pthread_mutex_t *shared_mutex(int fd)
{
	pthread_mutex_t *mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				      MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	must(mutex != MAP_FAILED, "mmap");
	pthread_mutex_init(mutex, NULL);
	return mutex;
}

int main(int argc, char **argv)
{
	pthread_mutex_t on_stack = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_t *on_heap;
	int fd;

	workload_begin(argc, argv, knobs);
	on_heap = calloc(1, sizeof(*on_heap));
	fd = open("mapped.locks", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(on_heap && fd >= 0 && !ftruncate(fd, 4096), "memory for locks");
	hold("bss", &zeroed_lock);
	hold("part", &filled_pool.lock);
	hold("array", &local_locks[1]);
	hold("heap", on_heap);
	hold("stack", &on_stack);
	join_thread(start_thread(on_own_stack, NULL));
	hold("file", shared_mutex(fd) + 1);
	hold("anonymous", shared_mutex(-1));
	return 0;
}
