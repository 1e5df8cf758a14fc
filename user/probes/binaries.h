/* SPDX-License-Identifier: MIT */
/*
 * binaries: the files that are probed, each opened and read once.
 *
 * In: places (binary_candidates.h); out: for each file, whatever its names are, one binary: its
 * image, its functions and USDT probes, and a path that leads to exactly this file as long as it is
 * open. Invariant: no two binaries are the same file (device and inode).
 */
#ifndef USER_PROBES_BINARIES_H
#define USER_PROBES_BINARIES_H

#include <stdbool.h>
#include <stddef.h>

#include "user/elf/elf_file.h"
#include "user/probes/binary_candidates.h"
#include "user/elf/symbols.h"
#include "user/elf/unwind.h"
#include "user/elf/usdt.h"

struct binary {
	unsigned number; /* in the order of opening */
	struct elf_file file;
	struct functions functions;
	struct usdt_probes usdt;
	struct unwind_frames frames; /* binary_frames() reads them */
	bool has_frames;
	char *name;	 /* as users know it */
	char attach[32]; /* /proc/self/fd/N */
	bool unwinds;	 /* see site.h */
	size_t visited;	 /* the caller's; 0 at first */
};

struct binaries {
	struct binary **list;
	size_t count;
};

/*
 * Opens the file of a place, or finds it among those that are open. 0; or -errno, with the end of a
 * sentence about the file in *wrong ("is not a regular file"), NULL without memory.
 */
int binaries_open(struct binaries *binaries, const struct place *place, struct binary **binary,
		  const char **wrong) __attribute__((warn_unused_result));
/* The functions that the unwind tables know, read at the first call. NULL: they cannot be read. */
const struct unwind_frames *binary_frames(struct binary *binary);

void binaries_free(struct binaries *binaries);

#endif
