/* SPDX-License-Identifier: MIT */
/*
 * disk_error: what the disk refuses, said once in a session.
 *
 * In: acts on the output that have failed, of any thread and any file; out: one sentence, with what
 * was tried, why it failed and what can be done. What fails after it is its consequence: it is
 * not told again.
 * Invariant: of all acts that share a disk_error, exactly one is told.
 * Specification: ebpf.md 13.
 */
#ifndef USER_WRITER_DISK_ERROR_H
#define USER_WRITER_DISK_ERROR_H

#include <stdbool.h>

struct disk_error { /* zeroed: nothing has failed */
	_Atomic bool told;
};

/* `err` (-errno) is why what `fmt` says failed, as in "PATH: cannot write". Says it, unless that
 * has been done for another act. NULL: it is the only one. */
void disk_error_report(struct disk_error *disk_error, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
