/* SPDX-License-Identifier: MIT */
/*
 * read_file: the content of a small file, of the disk, /proc or /sys.
 */
#ifndef USER_HOST_READ_FILE_H
#define USER_HOST_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The first `max` bytes of a file below `dirfd`, ended by one more NUL, for free(). `flags` are
 * added to those of open(). NULL with errno set. */
char *read_file(int dirfd, const char *path, int flags, size_t max, size_t *size);

/* The first line of a file, without its newline, cut to `size` bytes with the NUL. False, and an
 * empty line, if it cannot be read. */
bool read_line(const char *path, char *line, size_t size);

#endif
