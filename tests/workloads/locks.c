/* SPDX-License-Identifier: MIT */
/*
 * locks: threads wait for locks whose owner is known, and for objects without an owner.
 *
 * In each phase the main thread takes a lock, waits until /proc says that each waiter sleeps in a
 * futex of that object, keeps it for a while, and releases it: so each waiter sleeps on the object
 * exactly once, while the main thread is its owner. Reports a line for each phase (the bytes of the
 * object, the owner: a tid, -1 none, 0 not readable) and one for each waiter, with clocks around
 * its wait.
 *
 * Then a thread sleeps in a page fault (userfaultfd) while it holds a lock of the kernel, the mutex
 * of a pipe and the rw-semaphore of a file, and another thread waits for it.
 */
#include "workload.h"

#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MOST_WAITERS 8
#define LIE_WORDS    5 /* that a mutex has up to its kind */

static long waiters = 3, hold_ms = 10, rounds = 1;

static const struct knob knobs[] = {
	{'n', &waiters, "waiters of the mutexes, at most 8"},
	{'h', &hold_ms, "ms for which a lock is held after the waiters sleep"},
	{'r', &rounds, "rounds"},
	{0, NULL, NULL},
};

/* The names of the symbols are what a report should show. */
pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t pool_changed = PTHREAD_COND_INITIALIZER;
sem_t pool_slots;
pthread_barrier_t pool_start;
static pthread_mutex_t recursive_lock, inheriting_lock, robust_lock;
static pthread_mutex_t cond_lock = PTHREAD_MUTEX_INITIALIZER;
static bool changed;

static struct shared { /* with another process */
	pthread_mutex_t lock;
} * shared;

static _Atomic int tids[MOST_WAITERS];
static pid_t main_tid;

static void must_be_0(int err, const char *what)
{
	if (err)
		fail("%s: %s", what, strerror(err));
}

/* ---- the phases ---- */

static void take_mutex(void *object)
{
	must_be_0(pthread_mutex_lock(object), "pthread_mutex_lock");
}
static void drop_mutex(void *object)
{
	must_be_0(pthread_mutex_unlock(object), "pthread_mutex_unlock");
}
static void take_for_writing(void *object)
{
	must_be_0(pthread_rwlock_wrlock(object), "wrlock");
}
static void take_for_reading(void *object)
{
	must_be_0(pthread_rwlock_rdlock(object), "rdlock");
}
static void drop_rwlock(void *object)
{
	must_be_0(pthread_rwlock_unlock(object), "rwlock_unlock");
}

static void wait_mutex(void *object)
{
	take_mutex(object);
	drop_mutex(object);
}

static void wait_writing(void *object)
{
	take_for_writing(object);
	drop_rwlock(object);
}

static void wait_reading(void *object)
{
	take_for_reading(object);
	drop_rwlock(object);
}

static void nothing(void *object)
{
	(void)object;
}

static void unset(void *object)
{
	(void)object;
	changed = false;
}

static void wait_changed(void *object)
{
	take_mutex(&cond_lock);
	while (!changed)
		pthread_cond_wait(object, &cond_lock);
	drop_mutex(&cond_lock);
}

static void change(void *object)
{
	take_mutex(&cond_lock);
	changed = true;
	drop_mutex(&cond_lock);
	must_be_0(pthread_cond_broadcast(object), "broadcast");
}

static void wait_slot(void *object)
{
	must(!sem_wait(object), "sem_wait");
}

static void add_slot(void *object)
{
	must(!sem_post(object), "sem_post");
}

static void wait_barrier(void *object)
{
	pthread_barrier_wait(object);
}

/* Words that look like a contended mutex. */
static uint32_t *lie;

static void wait_lie(void *object)
{
	if (syscall(SYS_futex, object, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0))
		must(errno == EINTR, "futex");
}

static void wait_lie_bits(void *object)
{
	if (syscall(SYS_futex, object, FUTEX_WAIT_BITSET_PRIVATE, 2, NULL, NULL, ~0u))
		must(errno == EINTR, "futex");
}

static void wake_lie(void *object)
{
	syscall(SYS_futex, object, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void tell_lie(uint32_t owner, uint32_t kind)
{
	const uint32_t words[LIE_WORDS] = {2, 0, owner, 1, kind};

	memcpy(lie, words, sizeof(words));
}

static void lie_garbage(void *object)
{
	(void)object;
	tell_lie(0x7ffffff0, 0);
}

/* The number of a thread, and more bits than a number has. */
static void lie_bits(void *object)
{
	(void)object;
	tell_lie((uint32_t)main_tid | ((uint32_t)main_tid & 0xff) << 22, 0);
}

static void lie_init(void *object)
{
	(void)object;
	tell_lie(1, 0);
}

static void lie_kind(void *object)
{
	(void)object;
	tell_lie((uint32_t)main_tid, 0xdeadbeef);
}

static void lie_nothing(void *object)
{
	(void)object;
	tell_lie(0, 0);
}

static void lie_itself(void *object)
{
	tell_lie((uint32_t)gettid(), 0);
	wait_lie(object);
}

static void lie_truth(void *object)
{
	(void)object;
	tell_lie((uint32_t)main_tid, 0);
}

/* The truth of a thread that lives, and then the same words when it has ended. */
static sem_t keeper_ends;
static pthread_t keeper;
static _Atomic int keeper_tid;

static void *keep(void *arg)
{
	name_thread("keeper");
	keeper_tid = gettid();
	must(!sem_wait(&keeper_ends), "sem_wait");
	return arg;
}

static void keeper_begin(void *object)
{
	(void)object;
	keeper_tid = 0;
	keeper = start_thread(keep, NULL);
	while (!keeper_tid)
		sleep_for(MSEC);
	tell_lie((uint32_t)keeper_tid, 0);
}

static void keeper_end(void *object)
{
	(void)object;
	must(!sem_post(&keeper_ends), "sem_post");
	join_thread(keeper);
	while (!syscall(SYS_tgkill, getpid(), keeper_tid, 0))
		sleep_for(MSEC);
	tell_lie((uint32_t)keeper_tid, 0);
}

/* The last word before memory that cannot be read. */
static uint32_t *edge;

static void edge_set(void *object)
{
	*(uint32_t *)object = 2;
}

enum owner { OWNER_MAIN, OWNER_KEEPER, OWNER_NONE, OWNER_UNKNOWN };

struct phase {
	const char *name;
	void *object;
	size_t size;
	enum owner owner;
	void (*take)(void *object);
	void (*wait)(void *object);
	void (*drop)(void *object); /* called once, or once for each waiter */
	long most;		    /* waiters; 0: as many as asked for */
	bool drop_each, process;
};

/* ---- waiting ---- */

struct waiter {
	const struct phase *phase;
	long number;
};

static void wait_once(const struct phase *phase, long number)
{
	int64_t begin, end;

	tids[number] = gettid();
	begin = now_ns();
	phase->wait(phase->object);
	end = now_ns();
	say("waiter=%d of=%s begin=%ld end=%ld", gettid(), phase->name, begin, end);
}

static void *wait_thread(void *arg)
{
	const struct waiter *waiter = arg;

	name_thread("waiter%ld", waiter->number);
	wait_once(waiter->phase, waiter->number);
	return NULL;
}

/* Returns when the thread sleeps in futex(), in one of the words of the object. */
static void until_asleep(pid_t pid, int tid, const struct phase *phase)
{
	unsigned long address = 0, from = (unsigned long)phase->object;
	char path[64], line[256];
	int number;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	for (;;) {
		FILE *file = fopen(path, "re");

		must(file != NULL, path);
		number = -1;
		if (fgets(line, sizeof(line), file) &&
		    sscanf(line, "%d %lx", &number, &address) != 2)
			number = -1;
		fclose(file);
		if (number == SYS_futex && address >= from && address < from + phase->size)
			return;
		sleep_for(MSEC);
	}
}

static void run_phase(const struct phase *phase)
{
	long n = phase->most && phase->most < waiters ? phase->most : waiters;
	struct waiter list[MOST_WAITERS];
	pthread_t threads[MOST_WAITERS];
	int64_t taken, dropped;
	pid_t child = 0;

	memset((void *)tids, 0, sizeof(tids));
	taken = now_ns();
	phase->take(phase->object);
	for (long i = 0; i < n; i++) {
		list[i] = (struct waiter){phase, i};
		if (!phase->process) {
			threads[i] = start_thread(wait_thread, &list[i]);
			continue;
		}
		child = fork();
		must(child >= 0, "fork");
		if (!child) {
			wait_once(phase, i);
			_exit(0);
		}
		tids[i] = child; /* its copy of this array is its own */
	}
	for (long i = 0; i < n; i++) {
		while (!tids[i])
			sleep_for(MSEC);
		until_asleep(child ? child : getpid(), tids[i], phase);
	}
	sleep_for(hold_ms * MSEC);
	dropped = now_ns();
	for (long i = 0; i < (phase->drop_each ? n : 1); i++)
		phase->drop(phase->object);
	for (long i = 0; i < n && !phase->process; i++)
		join_thread(threads[i]);
	if (child)
		reap(child, 0);
	say("phase=%s from=%ld size=%zu owner=%d waiters=%ld taken=%ld dropped=%ld", phase->name,
	    (long)phase->object, phase->size,
	    phase->owner == OWNER_MAIN	   ? main_tid
	    : phase->owner == OWNER_KEEPER ? keeper_tid
	    : phase->owner == OWNER_NONE   ? -1
					   : 0,
	    n, taken, dropped);
}

/* ---- locks of the kernel ---- */

static struct kernel_phase {
	const char *name;
	int fd;
	const char *fault; /* memory that is not there yet */
	_Atomic int holder, waiter;
} kernel_phase;

static void *hold_kernel_lock(void *arg)
{
	(void)arg;
	name_thread("faulting");
	kernel_phase.holder = gettid();
	must(write(kernel_phase.fd, kernel_phase.fault, 1) == 1, "write");
	return NULL;
}

static void *wait_kernel_lock(void *arg)
{
	int64_t begin, end;

	(void)arg;
	name_thread("writing");
	begin = now_ns();
	kernel_phase.waiter = gettid();
	must(write(kernel_phase.fd, "x", 1) == 1, "write");
	end = now_ns();
	say("kernel=%s waiter=%d holder=%d begin=%ld end=%ld", kernel_phase.name, gettid(),
	    kernel_phase.holder, begin, end);
	return NULL;
}

/* The line of a file in /proc of a thread. */
static void thread_line(int tid, const char *name, char *line, int size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	file = fopen(path, "re");
	must(file != NULL, path);
	if (!fgets(line, size, file))
		line[0] = '\0';
	fclose(file);
}

/* Returns when the thread whose id is stored in *tid sleeps in write(), uninterruptibly. */
static void until_locked(_Atomic int *tid)
{
	char line[512], *after;
	int number;

	for (;;) {
		sleep_for(MSEC);
		if (!*tid)
			continue;
		thread_line(*tid, "syscall", line, sizeof(line));
		if (sscanf(line, "%d", &number) != 1 || number != SYS_write)
			continue;
		thread_line(*tid, "stat", line, sizeof(line));
		after = strrchr(line, ')');
		if (after && after[1] == ' ' && after[2] == 'D')
			return;
	}
}

static void run_kernel_phase(const char *name, int fd, int faults)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct uffdio_register area = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_zeropage fill = {0};
	struct uffd_msg message;
	pthread_t holder, waiter;

	kernel_phase.name = name;
	kernel_phase.fd = fd;
	kernel_phase.holder = kernel_phase.waiter = 0;
	kernel_phase.fault = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(kernel_phase.fault != MAP_FAILED, "mmap");
	area.range.start = fill.range.start = (uintptr_t)kernel_phase.fault;
	area.range.len = fill.range.len = page;
	must(!ioctl(faults, UFFDIO_REGISTER, &area), "UFFDIO_REGISTER");
	holder = start_thread(hold_kernel_lock, NULL);
	/* the holder sleeps in the fault, in write() */
	must(read(faults, &message, sizeof(message)) == sizeof(message), "read of a fault");
	waiter = start_thread(wait_kernel_lock, NULL);
	until_locked(&kernel_phase.waiter);
	sleep_for(hold_ms * MSEC);
	must(!ioctl(faults, UFFDIO_ZEROPAGE, &fill), "UFFDIO_ZEROPAGE");
	join_thread(holder);
	join_thread(waiter);
}

static void run_kernel_phases(void)
{
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC), ends[2];
	struct uffdio_api api = {.api = UFFD_API};

	if (faults < 0) {
		say("kernel=none");
		return;
	}
	must(!ioctl(faults, UFFDIO_API, &api), "UFFDIO_API");
	must(!pipe(ends), "pipe");
	run_kernel_phase("mutex", ends[1], faults);
	run_kernel_phase("semaphore", memfd_create("file", 0), faults);
}

static void init_mutex(pthread_mutex_t *mutex, int type, int protocol, int robust, int sharing)
{
	pthread_mutexattr_t attributes;

	must_be_0(pthread_mutexattr_init(&attributes), "mutexattr_init");
	must_be_0(pthread_mutexattr_settype(&attributes, type), "settype");
	must_be_0(pthread_mutexattr_setprotocol(&attributes, protocol), "setprotocol");
	must_be_0(pthread_mutexattr_setrobust(&attributes, robust), "setrobust");
	must_be_0(pthread_mutexattr_setpshared(&attributes, sharing), "setpshared");
	must_be_0(pthread_mutex_init(mutex, &attributes), "mutex_init");
}

static void *map(size_t bytes, int flags)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED, "mmap");
	return memory;
}

#define OBJECT(variable) &(variable), sizeof(variable)
#define LIE		 lie, LIE_WORDS * sizeof(*lie)

int main(int argc, char **argv)
{
	long page = sysconf(_SC_PAGESIZE);
	uint32_t *pages;

	workload_begin(argc, argv, knobs);
	if (waiters < 1 || waiters > MOST_WAITERS)
		fail("-n: from 1 to %d waiters", MOST_WAITERS);
	main_tid = gettid();
	name_thread("holder");
	init_mutex(&recursive_lock, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE,
		   PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);
	init_mutex(&inheriting_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT,
		   PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);
	init_mutex(&robust_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST,
		   PTHREAD_PROCESS_PRIVATE);
	shared = map(sizeof(*shared), MAP_SHARED);
	init_mutex(&shared->lock, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
		   PTHREAD_PROCESS_SHARED);
	must(!sem_init(&pool_slots, 0, 0), "sem_init");
	must(!sem_init(&keeper_ends, 0, 0), "sem_init");
	must_be_0(pthread_barrier_init(&pool_start, NULL, (unsigned)waiters + 1), "barrier_init");
	lie = map((size_t)page, MAP_PRIVATE);
	pages = map(2 * (size_t)page, MAP_PRIVATE);
	edge = pages + (size_t)page / sizeof(*pages) - 1;
	must(!mprotect((char *)pages + page, (size_t)page, PROT_NONE), "mprotect");

	const struct phase phases[] = {
		{"mutex", OBJECT(pool_lock), OWNER_MAIN, take_mutex, wait_mutex, drop_mutex},
		{"recursive", OBJECT(recursive_lock), OWNER_MAIN, take_mutex, wait_mutex,
		 drop_mutex},
		{"inheriting", OBJECT(inheriting_lock), OWNER_MAIN, take_mutex, wait_mutex,
		 drop_mutex},
		{"robust", OBJECT(robust_lock), OWNER_MAIN, take_mutex, wait_mutex, drop_mutex},
		{"shared", OBJECT(shared->lock), OWNER_MAIN, take_mutex, wait_mutex, drop_mutex, 1,
		 .process = true},
		{"write-write", OBJECT(table_lock), OWNER_MAIN, take_for_writing, wait_writing,
		 drop_rwlock, 1},
		{"write-read", OBJECT(table_lock), OWNER_MAIN, take_for_writing, wait_reading,
		 drop_rwlock, 1},
		{"read-write", OBJECT(table_lock), OWNER_NONE, take_for_reading, wait_writing,
		 drop_rwlock, 1},
		{"condition", OBJECT(pool_changed), OWNER_NONE, unset, wait_changed, change},
		{"semaphore", OBJECT(pool_slots), OWNER_NONE, nothing, wait_slot, add_slot,
		 .drop_each = true},
		{"barrier", OBJECT(pool_start), OWNER_NONE, nothing, wait_barrier, wait_barrier},
		{"no-words", LIE, OWNER_NONE, lie_nothing, wait_lie_bits, wake_lie, 1},
		{"truth", LIE, OWNER_MAIN, lie_truth, wait_lie_bits, wake_lie, 1},
		{"living", LIE, OWNER_KEEPER, keeper_begin, wait_lie, wake_lie, 1},
		{"ended", LIE, OWNER_NONE, keeper_end, wait_lie, wake_lie, 1},
		{"bits", LIE, OWNER_NONE, lie_bits, wait_lie, wake_lie, 1},
		{"garbage", LIE, OWNER_NONE, lie_garbage, wait_lie, wake_lie, 1},
		{"other-process", LIE, OWNER_NONE, lie_init, wait_lie, wake_lie, 1},
		{"itself", LIE, OWNER_NONE, lie_nothing, lie_itself, wake_lie, 1},
		{"kind", LIE, OWNER_NONE, lie_kind, wait_lie, wake_lie, 1},
		{"edge", edge, sizeof(*edge), OWNER_UNKNOWN, edge_set, wait_lie, wake_lie, 1},
	};

	for (long round = 0; round < rounds; round++)
		for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
			run_phase(&phases[i]);
	run_kernel_phases();
	return 0;
}
