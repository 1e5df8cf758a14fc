/* SPDX-License-Identifier: MIT */
/*
 * beneath: files and directories below a directory, and nowhere else.
 *
 * In: a directory and a relative path; out: a descriptor. Whoever can write to the
 * output directory of a program that runs as root must not be able to lead it elsewhere.
 * Invariant: neither a symbolic link nor ".." is followed on any part of the path.
 * One openat2() where the kernel has it (5.6), a step for each name where it does not.
 */
#ifndef TRACE_OVNI_BENEATH_H
#define TRACE_OVNI_BENEATH_H

#include <sys/types.h>

/*
 * Opens `path` below `dirfd` ("" is the directory itself) with the flags of openat() and,
 * if it creates a file, `mode`; O_CLOEXEC is always added. Returns a descriptor, which the
 * caller closes, or -errno without a message (-ELOOP or -ENOTDIR: a link is in the way;
 * -EXDEV: the path leads out).
 */
int beneath_open(int dirfd, const char *path, int flags, mode_t mode)
	__attribute__((warn_unused_result));

/*
 * Makes the directory `path` below `dirfd` and all its parents (mode 0755), as far as
 * they are missing. Returns a descriptor of it (O_PATH), or -errno without a message.
 */
int beneath_mkdirs(int dirfd, const char *path) __attribute__((warn_unused_result));

#endif
