/* SPDX-License-Identifier: MIT */
/*
 * input: opens the files that our programs read.
 *
 * In: a path, and the directory that it starts from; out: a descriptor for reading, and a size. A
 * trace is untrusted: a file of it may be a link to a secret, a FIFO, a device or without end.
 * Invariant: each opened file is a regular file of at most the given size, and no symbolic link
 * leads out of a trace. Only a path from the user may be a link. Nothing else is ever opened, not
 * even for a moment: opening a device can have effects.
 */
#ifndef TRACE_BASE_FILES_INPUT_H
#define TRACE_BASE_FILES_INPUT_H

#include <fcntl.h>
#include <stdint.h>

/* The largest files, in bytes. */
#define INPUT_TEXT_MAX	 (64ull << 20) /* read as a whole: metadata, clock offsets, --api */
#define INPUT_STATS_MAX	 (4ull << 30)  /* statistics: memory follows their lines */
#define INPUT_EVENTS_MAX (1ull << 40)  /* streams, runs and archives, read in pieces */

/* In place of a directory: the path starts from the current one, and its last name was found beside
 * a file, or in a directory, that the user named: it must not be a link. */
#define INPUT_BESIDE (-1000)

/*
 * Opens `path`, of at most `most` bytes. With AT_FDCWD it was named by the user, and links are
 * followed; with INPUT_BESIDE only the last name must not be a link; below a directory none.
 * Returns a descriptor, which the caller closes, and stores the size if `size` is not NULL; or
 * -errno without a message.
 */
int input_open(int dirfd, const char *path, uint64_t most, uint64_t *size)
	__attribute__((warn_unused_result));

/* The same for a directory, for readdir(). */
int input_open_directory(int dirfd, const char *path) __attribute__((warn_unused_result));

/* The reason for a message about that error of input_open() with `most`. */
const char *input_why(int err, uint64_t most);

#endif
