/* SPDX-License-Identifier: MIT */
/*
 * proc_maps: the files whose code a process has mapped, and the mapping of an address, from
 * /proc/PID/maps.
 *
 * In: a process; out: each file once: its executable, its libraries, those that it has loaded by
 * dlopen(), as its mount namespace names them.
 */
#ifndef USER_HOST_PROC_MAPS_H
#define USER_HOST_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping {
	char *path;	     /* in the process's mount namespace, without " (deleted)" */
	uint64_t start, end; /* of its first executable mapping: the name in map_files */
	dev_t device;	     /* from maps: with some file systems, stat() returns another one */
	ino_t inode;
	bool deleted; /* no file of this name is the one that is mapped */
	bool shared, writable;
	uint64_t offset; /* in the file */
};

struct mappings {
	struct mapping *list;
	size_t count;
};

/* Reads them. 0 or -errno (-ENOENT, -ESRCH: no such process; -EACCES: not permitted), no
 * message. `pid` may be a thread. */
int mappings_read(struct mappings *mappings, const char *proc, uint32_t pid)
	__attribute__((warn_unused_result));
/* The same with all mappings that can be executed, also of no file ("[vdso]", ""). */
int mappings_read_all(struct mappings *mappings, const char *proc, uint32_t pid)
	__attribute__((warn_unused_result));
void mappings_free(struct mappings *mappings);

/* The mapping that has an address, of any kind ("[heap]", "" without a name); of memory that
 * directly follows the data of a file (.bss) that of the file. 0, and free(mapping->path)
 * must follow; -ENOENT: none; or as mappings_read(). */
int mapping_find(struct mapping *mapping, const char *proc, uint32_t pid, uint64_t address)
	__attribute__((warn_unused_result));

#endif
