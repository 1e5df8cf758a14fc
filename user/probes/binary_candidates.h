/* SPDX-License-Identifier: MIT */
/*
 * binary_candidates: which files the BIN of a request means.
 *
 * In: a request and what is recorded; out: paths of files that may be opened, each with what is
 * known of it. A BIN with a '/' is a path (with PID: below the root of that process). A name, or
 * a glob of names (libmpi.so.*), is the file name or the soname of, in this order,
 *
 *   with PID, or with processes that are recorded: a file whose code they have mapped;
 *   with a command: the command itself; a library that it or a program among its arguments (of
 *       mpirun, env, ...) or the interpreter of a script needs, found as the dynamic linker finds
 * it (libraries.h); with the whole machine: a file whose code any process has mapped; else, since
 * it may be loaded later: a library in the places of the system, or a program in PATH.
 *
 * The first of these that knows the name holds (for the whole machine: the last two). Libraries may
 * be given without version and with it: libm, libm.so, libm.so.6.
 * PATH is that of our environment; sudo sets it to a safe one, and nothing is run for being found.
 * Specification: ebpf.md 4, 11.2.
 */
#ifndef USER_PROBES_BINARY_CANDIDATES_H
#define USER_PROBES_BINARY_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "user/probes/resolve.h"

struct place {
	char *path;  /* to open, below `root` */
	char *root;  /* open_in_root.h: "" or /proc/PID/root; debug files lie below it, too */
	char *spare; /* to open, in our root, if `path` is not the file that is expected; or NULL */
	char *name;  /* as users know it */
	bool direct; /* `path` leads to the file whatever the root: a link of /proc */
	bool expected; /* device and inode are known: by a mapping */
	bool deleted;  /* by the mapping: no name leads to it any more */
	dev_t device;
	ino_t inode;
};

struct places {
	struct place *list;
	size_t count;
};

/*
 * Finds them. 0; or -errno with the end of a sentence in *why, for the caller to free ("there is no
 * process 12"; "process 12 has no libfoo.so mapped, ..."): -ENOENT, -ESRCH, -EACCES, -ENOMEM (no
 * sentence then).
 */
int locate(struct places *places, const struct request *request, const struct resolve_scope *scope,
	   char **why) __attribute__((warn_unused_result));
void places_free(struct places *places);

#endif
