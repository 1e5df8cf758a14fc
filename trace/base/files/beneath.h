/* SPDX-License-Identifier: MIT */
/*
 * beneath: opens files and directories below a directory only.
 *
 * In: a directory and a relative path; out: a descriptor. A program that runs as root writes into a
 * directory of a user, and the user must not be able to redirect it. Invariant: no symbolic link
 * and no ".." is followed in any part of the path. It is one openat2() (Linux 5.6), or one step per
 * name.
 */
#ifndef TRACE_BASE_FILES_BENEATH_H
#define TRACE_BASE_FILES_BENEATH_H

#include <sys/types.h>

/*
 * Opens `path` below `dirfd` ("" is the directory itself) with the flags of openat() and,
 * if it creates a file, `mode`; O_CLOEXEC is always added. Returns a descriptor, which the
 * caller closes, or -errno without a message (-ELOOP or -ENOTDIR: a symbolic link; -EXDEV: a path
 * out of the directory).
 */
int beneath_open(int dirfd, const char *path, int flags, mode_t mode)
	__attribute__((warn_unused_result));

/*
 * Creates the directory `path` below `dirfd` and its parents (mode 0755) where they are missing.
 * Returns its descriptor (O_PATH), which the caller closes, or -errno without a message.
 */
int beneath_mkdirs(int dirfd, const char *path) __attribute__((warn_unused_result));

#endif
