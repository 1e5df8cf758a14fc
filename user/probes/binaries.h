/* SPDX-License-Identifier: MIT */
/*
 * binaries: the files that the BIN of a request may mean, each opened and read once.
 *
 * In: a request and the target of the recording; out: candidates, and for each file, with any
 * number of names, one binary: its segments, functions and USDT probes, and a path that leads to
 * exactly this file as long as it is open. A BIN with a '/' is a path (with PID: below the root of
 * that process). A name, or a glob of names (libmpi.so.*), is the file name or the soname of, in
 * this order,
 *
 *   with PID, or with recorded processes: a file whose code they have mapped;
 *   with a command: the command itself; a library that it, a program among its arguments (of
 *       mpirun, env, ...) or the interpreter of a script needs (libraries.h);
 *   with the whole machine: a file whose code any process has mapped;
 *   else, since a program may load it later: a library of /etc/ld.so.cache, or a program in PATH.
 *
 * The first match wins (for the whole machine: the last two). Libraries may be given without
 * version and with it: libm, libm.so, libm.so.6. PATH is from our environment, where sudo sets a
 * safe one; the search runs nothing.
 * Invariant: no two binaries are the same file (device and inode).
 * Specification: ebpf.md 4, 11.2.
 */
#ifndef USER_PROBES_BINARIES_H
#define USER_PROBES_BINARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "user/elf/elf_file.h"
#include "user/elf/functions.h"
#include "user/elf/usdt.h"
#include "user/probes/resolve.h"

struct binary {
	unsigned number; /* in the order of opening */
	struct elf_file file;
	struct functions functions;
	struct usdt_probes usdt;
	char *name;	 /* for messages and labels */
	char attach[32]; /* /proc/self/fd/N */
	bool unwinds;	 /* unwind_throws() */
	size_t visited;	 /* for the caller; 0 at first */
};

struct binaries {
	struct binary **list;
	size_t count;
};

struct binary_candidate {
	char *path;    /* to open, below `root` */
	char *root;    /* read_file.h: "" or /proc/PID/root; of its debug files, too */
	char *spare;   /* to open, in our root, if `path` is not the expected file; or NULL */
	char *name;    /* for messages and labels */
	bool direct;   /* `path` is a link of /proc, which leads to the file from any root */
	bool expected; /* device and inode are known: by a mapping */
	bool deleted;  /* by the mapping: it has no name any more */
	dev_t device;
	ino_t inode;

	/* After binaries_open(): */
	struct binary *binary; /* NULL: not opened */
	int err;
	const char *wrong; /* the end of a sentence about the file; NULL: out of memory */
};

struct binary_candidates {
	struct binary_candidate *list;
	size_t count;
};

/*
 * Finds the candidates. 0; or -errno with the end of a sentence in *why, for the caller to free
 * ("process 12 does not exist"): -ENOENT, -ESRCH, -EACCES, -ENOMEM (no sentence then).
 */
int binary_candidates_find(struct binary_candidates *candidates, const struct request *request,
			   const struct resolve_scope *scope, char **why)
	__attribute__((warn_unused_result));
void binary_candidates_free(struct binary_candidates *candidates);

/* Opens the file of a candidate, or finds it among the open ones; does nothing if that was tried
 * before. Returns candidate->err. */
int binaries_open(struct binaries *binaries, struct binary_candidate *candidate);

void binaries_free(struct binaries *binaries);

#endif
