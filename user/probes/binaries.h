/* SPDX-License-Identifier: MIT */
/*
 * binaries: the probed files, each opened and read once.
 *
 * In: candidates (binary_candidates.h); out: for each file, whatever its names, one binary: its
 * segments, functions and USDT probes, and a path that leads to exactly this file as long as it is
 * open. Invariant: no two binaries are the same file (device and inode).
 */
#ifndef USER_PROBES_BINARIES_H
#define USER_PROBES_BINARIES_H

#include <stdbool.h>
#include <stddef.h>

#include "user/elf/elf_file.h"
#include "user/probes/binary_candidates.h"
#include "user/elf/functions.h"
#include "user/elf/unwind.h"
#include "user/elf/usdt.h"

struct binary {
	unsigned number; /* in the order of opening */
	struct elf_file file;
	struct functions functions;
	struct usdt_probes usdt;
	struct unwind_frames frames; /* binaries_frames() reads them */
	bool has_frames;
	char *name;	 /* for messages and labels */
	char attach[32]; /* /proc/self/fd/N */
	bool unwinds;	 /* unwind_throws() */
	size_t visited;	 /* for the caller; 0 at first */
};

struct binaries {
	struct binary **list;
	size_t count;
};

/*
 * Opens the file of a candidate, or finds it among the open ones. 0; or -errno, with the end
 * of a sentence about the file in *wrong ("is not a regular file"), NULL: out of memory.
 */
int binaries_open(struct binaries *binaries, const struct binary_candidate *candidate,
		  struct binary **binary, const char **wrong) __attribute__((warn_unused_result));
/* The functions of the unwind tables, read at the first call. NULL: they cannot be read. */
const struct unwind_frames *binaries_frames(struct binary *binary);

void binaries_free(struct binaries *binaries);

#endif
