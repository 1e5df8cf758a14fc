/* SPDX-License-Identifier: MIT */
/*
 * disk_error: reports the first disk error of a session, and only that.
 *
 * In: failed operations on the output, of any thread and any file; out: one sentence with the
 * operation, the reason and the remedy. Later failures are its consequences and stay silent.
 * Invariant: of all failures that share a struct disk_error, exactly one is reported.
 * Specification: ebpf.md 13.
 */
#ifndef USER_WRITER_DISK_ERROR_H
#define USER_WRITER_DISK_ERROR_H

#include <stdbool.h>

struct disk_error { /* zeroed: no error yet */
	_Atomic bool reported;
};

/* Reports that the operation `fmt`, as in "PATH: cannot write", failed with `err` (-errno), unless
 * another error was reported before. With NULL it always reports. */
void disk_error_report(struct disk_error *disk_error, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
