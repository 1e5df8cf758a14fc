/* SPDX-License-Identifier: MIT */
/*
 * proc_info: one process in /proc: executable, command line, MPI rank, namespaces, cgroup.
 *
 * In: a pid of the initial PID namespace and the place of proc; out: struct process_info, and its
 * `bpf` keys. A process may be gone, or another user's: unreadable facts are left out. Read in the
 * writer's thread (writer_run), never while records wait.
 * Specification: event-mapping.md "Metadata", ebpf.md 9 (namespaces, MPI rank).
 */
#ifndef USER_HOST_PROC_INFO_H
#define USER_HOST_PROC_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

#define PROCESS_COMMAND_MAX 4096 /* bytes of the command line that are kept */

enum process_namespace {
	NS_CGROUP,
	NS_IPC,
	NS_MNT,
	NS_NET,
	NS_PID,
	NS_TIME,
	NS_USER,
	NS_UTS,
	NS_COUNT
};

struct process_info {
	char *executable;      /* NULL: not known */
	char *cgroup;	       /* of its main thread; see thread_cgroup() */
	char *command;	       /* arguments, each ended by NUL; NULL: not known */
	size_t command_size;   /* bytes at command */
	bool command_cut;      /* it was longer */
	int32_t rank, nranks;  /* -1: none */
	uint64_t ns[NS_COUNT]; /* inode numbers; 0: not known */
	int64_t monotonic_ns;  /* offset of CLOCK_MONOTONIC in its time namespace */
};

/* Reads all that can be read. False if the process is not there (nothing is changed then),
 * or without memory. The caller frees with process_fini(). */
bool process_read(struct process_info *info, const char *proc, uint32_t pid);
void process_fini(struct process_info *info); /* also of a zeroed struct */

/* The process has become another program that cannot be read: forgets all that an exec changes. */
void process_forget_program(struct process_info *info);

/* May the calling user look into the process, whose folder `dir` (/proc/PID, /proc/PID/fd) is open?
 * Our capabilities may, into any process. The kernel gives the folder to root if the process has
 * more rights than its user. */
bool process_is_users(int dir);

/* True if the pids in `proc` are of the initial PID namespace: only then can a pid of the kernel be
 * looked up there. */
bool process_numbers_are_ours(const char *proc);

/* The cgroup that has the CPU quota of a thread, as a path below the root that the recorder sees:
 * of the controller cpu of version 1, where that is in use, else of version 2. For free(); NULL if
 * the thread has ended, or without memory. */
char *thread_cgroup(const char *proc, uint32_t pid, uint32_t tid);

/* The rank that an environment (strings, each ended by NUL) gives, and how many there are:
 * -1 if they are missing or invalid. */
void process_rank(const char *environment, size_t size, int32_t *rank, int32_t *nranks);

/* Puts the known fields below `bpf`. Namespaces that `own` (the recorder) is in, too, are left
 * out; NULL: all are put. */
void process_put(const struct process_info *info, const struct process_info *own, struct json *bpf);

/* The letter of the state of a process in /proc/PID/stat ('T': stopped); NUL if it cannot be read.
 */
char process_state(uint32_t pid);

#endif
