/* SPDX-License-Identifier: MIT */
/*
 * lock_names: the names of the futexes that a thread sleeps on.
 *
 * In: each sleep in futex, with the address; out: `bpf.futexes` of the stream: "pool", "pool.lock"
 * or, without debug information, "pool+0x10" (a variable of the program or of a library),
 * "libfoo.so.1+0x2040" (one without a name there), the path of shared memory with "+0x40", "heap
 * 0x5620c0de4060", "stack 0x7ffd0010" of the main thread, "stack of thread 1204 0x7f1000". The
 * writer's thread reads /proc/PID/maps while the process lives, and the symbols and types of a file
 * once. Invariants: no system call and no waiting in the draining thread; bounded by the limits
 * below; an address that cannot be looked up has no name. Specification: why.md A2;
 * event-mapping.md "The system call of a sleep".
 */
#ifndef USER_TIMELINE_LOCK_NAMES_H
#define USER_TIMELINE_LOCK_NAMES_H

#include <stdint.h>

#include "user/elf/data_symbols.h"

#define LOCK_NAMES_MAX	  64	       /* of a stream; later addresses have none */
#define LOCK_NAMES_CACHED 256	       /* of a process */
#define LOCK_NAMES_SECOND 200	       /* addresses in a second, of all threads */
#define LOCK_NAMES_FILES  32	       /* whose symbols are kept, of all processes */
#define LOCK_NAMES_FILE	  (256u << 20) /* bytes: larger files have no symbols */

struct json;
struct lock_cache;
struct lock_names;
struct writer;

struct lock_files { /* the writer's thread's */
	struct lock_file {
		dev_t device;
		ino_t inode;
		uint64_t size;
		struct data_symbols symbols;
	} list[LOCK_NAMES_FILES];
	size_t n;
};

struct lock_readings { /* of all threads; zeroed at first */
	uint64_t second;
	unsigned count;
	struct lock_files files;
};

/* A thread of `pid` falls asleep at `clock` (ns) on the futex at `address`. *names is of its
 * stream, *cache of its process, whose program has the number `program`; both are made if needed.
 * The others outlive them. */
void lock_names_sleep(struct lock_names **names, struct lock_cache **cache,
		      struct lock_readings *readings, struct writer *writer, const char *proc,
		      uint32_t pid, uint32_t program, uint64_t address, uint64_t clock);

/* In the writer's thread: puts the names below `bpf`. NULL has none. */
void lock_names_put(const struct lock_names *names, struct json *bpf);

/* In the writer's thread, after an exec: removes the names of the program before. */
void lock_cache_forget(struct lock_cache *cache);

/* After the writer has finished; NULL is allowed. */
void lock_names_free(struct lock_names *names);
void lock_cache_free(struct lock_cache *cache);
void lock_readings_fini(struct lock_readings *readings);

#endif
