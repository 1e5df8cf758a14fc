/* SPDX-License-Identifier: MIT */
/*
 * pallas_file: a whole small file in memory, and slices of a large one.
 */
#ifndef TRACE_PALLAS_PALLAS_FILE_H
#define TRACE_PALLAS_PALLAS_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads the regular file `path` below `dirfd` into memory that the caller frees; `shown`
 * names it in messages. Files of more than `most` bytes are refused (-EFBIG). Returns 0
 * or a negative errno after one message.
 */
int pallas_file_read(int dirfd, const char *path, const char *shown, size_t most, uint8_t **bytes,
		     size_t *size) __attribute__((warn_unused_result));

/* pread() of exactly `size` bytes: 0, -errno, or -EIO if the file is shorter. No message. */
int pallas_file_at(int fd, void *out, size_t size, uint64_t offset)
	__attribute__((warn_unused_result));

#endif
