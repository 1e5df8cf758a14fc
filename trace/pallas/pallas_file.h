/* SPDX-License-Identifier: MIT */
/*
 * pallas_file: reads whole small files, and parts of large ones.
 */
#ifndef TRACE_PALLAS_PALLAS_FILE_H
#define TRACE_PALLAS_PALLAS_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads the regular file `path` below `dirfd` into memory that the caller frees; `shown` is its
 * name in messages. Returns 0, or -errno after one message; -EFBIG for more than `most` bytes.
 */
int pallas_file_read(int dirfd, const char *path, const char *shown, size_t most, uint8_t **bytes,
		     size_t *size) __attribute__((warn_unused_result));

/* Reads exactly `size` bytes. Returns 0, or -errno without a message; -EIO for a shorter file. */
int pallas_file_at(int fd, void *out, size_t size, uint64_t offset)
	__attribute__((warn_unused_result));

#endif
