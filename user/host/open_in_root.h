/* SPDX-License-Identifier: MIT */
/*
 * open_in_root: files as a process in another mount namespace sees them.
 *
 * In: the root of a process ("/proc/PID/root", or "" for our own) and a path below it; out: a
 * descriptor. Links in the path, absolute ones too, stay below that root (Linux 5.6; before,
 * absolute links lead into ours).
 */
#ifndef USER_HOST_OPEN_IN_ROOT_H
#define USER_HOST_OPEN_IN_ROOT_H

/* O_CLOEXEC is added. A descriptor, or -errno; no message. */
int open_in_root(const char *root, const char *path, int flags);

/*
 * Opens a regular file for reading, and nothing else: opening a FIFO or a device would wait, or do
 * something. -ENOEXEC: it is no regular file; -EISDIR: a directory.
 */
int open_regular(const char *root, const char *path);

#endif
