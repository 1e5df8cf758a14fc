/* SPDX-License-Identifier: MIT */
/*
 * stays: the times of a thread on a CPU, with begin, end and the reason of its end, for compare.c.
 * Every thread has two lists: from ftrace (seen) and from the trace (told).
 */
#ifndef TESTS_LIVE_STAYS_H
#define TESTS_LIVE_STAYS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TID_MAX	 (1 << 22)
#define MAX_CPUS 1024
#define NOBODY	 (-1)

enum leave { BLOCKED, PREEMPTED, ENDED, LOST, STILL_THERE };
static const char *const leave_names[] = {"blocked", "preempted", "ended", "lost", "still there"};

/* One stay of a thread on a CPU. */
struct stay {
	uint64_t in, out;
	uint64_t in_slack, out_slack; /* ftrace: the end may be so much earlier (unseen) */
	uint64_t in_next, out_next;   /* ftrace: next event of the CPU after that end */
	uint64_t woken;		      /* the wake-up that led to it; 0: none known */
	uint64_t waking;	      /* ftrace: when that was about to come */
	int32_t waker;
	int16_t cpu;
	uint8_t leave; /* enum leave */
	uint8_t state; /* ftrace: as reported; trace: why */
	bool unseen;   /* ftrace: its beginning */
	bool loose;    /* ftrace: it began when one of PID 1 left, which ftrace alone may see */
	bool hidden;   /* ftrace: the wake-up happened where no BPF program runs */
};

struct stays {
	struct stay *list;
	size_t n, room;
};

struct thread {
	struct stays seen, told; /* by ftrace, by the trace */
	int on_cpu;		 /* ftrace: where it should run, or NOBODY */
	bool hidden;		 /* of PID 1: no BPF program runs in its context on some machines */
	bool wake_hidden;	 /* ftrace: as in struct stay */
	bool wanted, root;	 /* root: chosen by -w */
	bool blocked;		 /* ftrace: off the CPU, asleep, and not yet woken */
	uint64_t woken;		 /* ftrace */
	uint64_t waking;	 /* ftrace: the last sched_waking before it */
	int32_t waking_by, waker;
};

static struct thread *threads[TID_MAX];
static uint64_t t0, t1;
static bool only_wanted;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	va_list args;

	fputs("compare: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static struct thread *thread_of(int tid)
{
	if (tid < 0 || tid >= TID_MAX)
		fail("tid %d", tid);
	if (!threads[tid]) {
		threads[tid] = calloc(1, sizeof(struct thread));
		if (!threads[tid])
			fail("no memory");
		threads[tid]->on_cpu = NOBODY;
		threads[tid]->wanted = !only_wanted;
	}
	return threads[tid];
}

static struct stay *stays_add(struct stays *stays)
{
	if (stays->n == stays->room) {
		stays->room = stays->room ? stays->room * 2 : 16;
		stays->list = realloc(stays->list, stays->room * sizeof(*stays->list));
		if (!stays->list)
			fail("no memory");
	}
	return memset(&stays->list[stays->n++], 0, sizeof(struct stay));
}

static const void *map_file(const char *path, size_t *size)
{
	struct stat st;
	const void *base;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		fail("cannot open %s: %s", path, strerror(errno));
	*size = (size_t)st.st_size;
	if (!*size)
		fail("%s is empty", path);
	base = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (base == MAP_FAILED)
		fail("cannot map %s: %s", path, strerror(errno));
	close(fd);
	return base;
}

#endif
