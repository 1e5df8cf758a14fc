/* SPDX-License-Identifier: MIT */
/*
 * write_lock: a trace has one writer at a time.
 *
 * In: the descriptor of a directory (or of the only file of a summary) that is about to be written;
 * out: a lock of the kernel, flock(2), that lasts until every copy of the descriptor is closed. A
 * process that ends in any way gives it up, so no lock is ever stale, and nothing is written into
 * the directory. The lock belongs to the directory, not to its name: it stays through a rename.
 * ovni-emu locks its output directory in the same way.
 * Invariant: the second writer gets the pid of the first in its message, and changes nothing. Not
 * every file system has locks, and NFS does not share locks of directories between machines.
 */
#ifndef TRACE_OVNI_WRITE_LOCK_H
#define TRACE_OVNI_WRITE_LOCK_H

enum write_lock {
	WRITE_LOCK_READER, /* no writer meanwhile; other readers may come */
	WRITE_LOCK_WRITER,
};

/*
 * Locks `fd`, called `path` in messages; never waits. Returns 0; -EBUSY after one message, which
 * names the process that has the lock and ends with `advice`; or -errno without a message if there
 * are no locks here (see write_lock_missing()).
 */
int write_lock_acquire(int fd, const char *path, enum write_lock lock, const char *advice)
	__attribute__((warn_unused_result));

/* Gives the lock up before the descriptor is closed. */
void write_lock_release(int fd);

/* Warns that `path` has no lock, for the reason -errno of write_lock_acquire(). */
void write_lock_missing(const char *path, int err);

#endif
