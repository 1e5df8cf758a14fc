/* SPDX-License-Identifier: MIT */
/*
 * binary_candidates: the files that the BIN of a request may mean.
 *
 * In: a request and the target of the recording; out: paths of files to open, with what is known of
 * each. A BIN with a '/' is a path (with PID: below the root of that process). A name, or a glob of
 * names (libmpi.so.*), is the file name or the soname of, in this order,
 *
 *   with PID, or with recorded processes: a file whose code they have mapped;
 *   with a command: the command itself; a library that it, a program among its arguments (of
 *       mpirun, env, ...) or the interpreter of a script needs (libraries.h);
 *   with the whole machine: a file whose code any process has mapped;
 *   else, since a program may load it later: a library of the system, or a program in PATH.
 *
 * The first match wins (for the whole machine: the last two). Libraries may be given without
 * version and with it: libm, libm.so, libm.so.6.
 * PATH is that of our environment, which sudo sets to a safe one; nothing is run by the search.
 * Specification: ebpf.md 4, 11.2.
 */
#ifndef USER_PROBES_BINARY_CANDIDATES_H
#define USER_PROBES_BINARY_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "user/probes/resolve.h"

struct binary_candidate {
	char *path;    /* to open, below `root` */
	char *root;    /* open_in_root.h: "" or /proc/PID/root; of its debug files, too */
	char *spare;   /* to open, in our root, if `path` is not the expected file; or NULL */
	char *name;    /* for messages and labels */
	bool direct;   /* `path` is a link of /proc, which leads to the file from any root */
	bool expected; /* device and inode are known: by a mapping */
	bool deleted;  /* by the mapping: it has no name any more */
	dev_t device;
	ino_t inode;
};

struct binary_candidates {
	struct binary_candidate *list;
	size_t count;
};

/*
 * Finds them. 0; or -errno with the end of a sentence in *why, for the caller to free ("process
 * 12 does not exist"): -ENOENT, -ESRCH, -EACCES, -ENOMEM (no
 * sentence then).
 */
int binary_candidates_find(struct binary_candidates *candidates, const struct request *request,
			   const struct resolve_scope *scope, char **why)
	__attribute__((warn_unused_result));
void binary_candidates_free(struct binary_candidates *candidates);

#endif
