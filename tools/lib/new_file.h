/* SPDX-License-Identifier: MIT */
/*
 * new_file: a result that appears under its name only when it is complete.
 *
 * In: a path and bytes; out: a regular file with mode 0644 at most, or a directory with files of
 * this mode. Until then it is called "NAME.PID.part", or "NAME.PID-N.part" where that exists.
 * Invariants: an older file is replaced in one step, a failure leaves it as it was; a link, a
 * device, a pipe or a directory is never replaced; the directory that holds the result is opened
 * once, so a path that means another directory meanwhile changes nothing there.
 */
#ifndef TOOLS_LIB_NEW_FILE_H
#define TOOLS_LIB_NEW_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct new_file {
	char *path, *temporary; /* temporary: its present name, in `parent`; NULL: none */
	const char *name;	/* the last part of path */
	int parent, fd;
	bool directory, borrowed; /* borrowed: parent belongs to another one */
};

/* Each returns 0, or -errno after one message; new_file_abandon() must follow in any case. */
int new_file_open(struct new_file *file, const char *path) __attribute__((warn_unused_result));
/* The same for a directory; file->fd is then for openat(). Nothing may have its name. */
int new_file_open_directory(struct new_file *file, const char *path)
	__attribute__((warn_unused_result));
/* The same for a file in the directory of `first`, which must be abandoned later. */
int new_file_open_beside(struct new_file *file, const struct new_file *first, const char *path)
	__attribute__((warn_unused_result));
int new_file_write(struct new_file *file, const void *data, size_t size)
	__attribute__((warn_unused_result));
/* All bytes are written: closes the file, which has its temporary name until new_file_finish(). */
int new_file_seal(struct new_file *file) __attribute__((warn_unused_result));
/* The result gets its name. */
int new_file_finish(struct new_file *file) __attribute__((warn_unused_result));

/* Removes the unfinished result; a directory must be empty. Also of a zeroed or finished file. */
void new_file_abandon(struct new_file *file);

#endif
