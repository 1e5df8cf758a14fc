/* SPDX-License-Identifier: MIT */
/*
 * new_file: a result that appears under its name only when it is complete.
 *
 * In: a path and bytes; out: a regular file with mode 0644 at most. Until then the bytes are in
 * "PATH.PID.part". Invariant: an older file is replaced in one step, a failure leaves it as it was;
 * a link, a device, a pipe or a directory is never replaced.
 */
#ifndef TOOLS_LIB_NEW_FILE_H
#define TOOLS_LIB_NEW_FILE_H

#include <stddef.h>

struct new_file {
	char *path, *temporary;
	int fd;
};

/* Each returns 0, or -errno after one message; new_file_abandon() must follow in any case. */
int new_file_open(struct new_file *file, const char *path) __attribute__((warn_unused_result));
int new_file_write(struct new_file *file, const void *data, size_t size)
	__attribute__((warn_unused_result));
/* The file gets its name. */
int new_file_finish(struct new_file *file) __attribute__((warn_unused_result));

/* Removes what is not finished; also of a zeroed or finished file. */
void new_file_abandon(struct new_file *file);

#endif
