/* SPDX-License-Identifier: MIT */
/*
 * read_file: the content of small files of the disk, /proc or /sys; and files as a process in
 * another mount namespace sees them, by the root of that process ("/proc/PID/root", or "" for our
 * own) and a path below it.
 */
#ifndef USER_HOST_READ_FILE_H
#define USER_HOST_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the first `max` bytes of a file below `dirfd` and a NUL, for free(), or NULL with errno
 * set. `flags` are added to the flags of open(). */
char *read_file(int dirfd, const char *path, int flags, size_t max, size_t *size);

/* The first line of a file, without its newline, cut to `size` bytes with the NUL. False, and an
 * empty line, if it cannot be read. */
bool read_line(const char *path, char *line, size_t size);

/* Opens a path below `root`. Links in it, absolute ones too, stay below; where openat2() is refused
 * (a sandbox), all is. O_CLOEXEC is added. A descriptor, or -errno; no message. */
int open_in_root(const char *root, const char *path, int flags);

/*
 * Opens a regular file for reading, and nothing else: opening a FIFO or a device would wait, or do
 * something. -ENOEXEC: it is no regular file; -EISDIR: a directory.
 */
int open_regular(const char *root, const char *path);

#endif
