/* SPDX-License-Identifier: MIT */
/*
 * fd_names: the files behind the descriptors that a thread sleeps on.
 *
 * In: each sleep in a system call on a descriptor; out: `bpf.fds` of the stream. The name is read
 * in /proc by the writer's thread, at most once a second for each descriptor of a thread, as long
 * as the process lives. A name with the clocks of its first and last reading holds in between;
 * readers judge the rest (trace/states/sleep_call.h). Invariants: no system call and no waiting in
 * the draining thread; a stream has at most FD_NAMES_MAX names, the rest is counted. Specification:
 * event-mapping.md "The system call of a sleep".
 */
#ifndef USER_TIMELINE_FD_NAMES_H
#define USER_TIMELINE_FD_NAMES_H

#include <stdint.h>

#define FD_NAMES_MAX	64   /* of a stream */
#define FD_NAMES_FD_MAX 1024 /* descriptors from here on have no names */
#define FD_NAMES_SECOND 2000 /* readings in a second, of all threads */
#define FD_NAMES_SIZE	256  /* bytes of a name; a longer one is cut */

struct fd_names;
struct json;
struct writer;

struct fd_readings { /* of all threads, for the limit; zeroed at first */
	uint64_t second;
	unsigned count;
};

/* A thread of `pid` falls asleep at `clock` (ns) in a call on the descriptor `fd`. *names
 * is made if there is something to read; NULL at first. `proc` and the writer outlive it. */
void fd_names_sleep(struct fd_names **names, struct fd_readings *readings, struct writer *writer,
		    const char *proc, uint32_t pid, uint64_t fd, uint64_t clock);

/* In the writer's thread: puts the names below `bpf`. NULL has none. */
void fd_names_put(const struct fd_names *names, struct json *bpf);

/* After the writer has finished. */
void fd_names_free(struct fd_names *names);

#endif
