/* SPDX-License-Identifier: MIT */
/*
 * debugfile: the symbols of a stripped file, where they were put.
 *
 * In: an image and its path; out: the image of its separate debug file, found by build id
 * (/usr/lib/debug/.build-id) or by .gnu_debuglink (beside the file, in .debug, below
 * /usr/lib/debug), or of the compressed symbols that it carries (.gnu_debugdata).
 * Invariant: it belongs to the file: its build id is the same, or, where one of them has none,
 * its checksum is the one that the file names. Nothing is fetched from elsewhere.
 */
#ifndef USER_ELF_DEBUGFILE_H
#define USER_ELF_DEBUGFILE_H

#include <stdbool.h>

#include "user/elf/elf_file.h"

/* Opens it; false if there is none. *found: its path, for the caller to free; NULL if it was in the
 * file itself. `root` stands before all paths ("" or /proc/PID/root); `path` is the file's below
 * it. */
bool debugfile_open(struct image *debug, const struct image *image, const char *root,
		    const char *path, char **found);

#endif
