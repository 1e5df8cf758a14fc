/* SPDX-License-Identifier: MIT */
/*
 * pallas_file: reads whole small files and parts of large ones, and writes new files.
 */
#ifndef TRACE_PALLAS_PALLAS_FILE_H
#define TRACE_PALLAS_PALLAS_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Reads the regular file `path` below `dirfd` into memory that the caller frees; `shown` is its
 * name in messages. Returns 0, or -errno after one message; -EFBIG for more than `most` bytes.
 */
int pallas_file_read(int dirfd, const char *path, const char *shown, size_t most, uint8_t **bytes,
		     size_t *size) __attribute__((warn_unused_result));

/* Reads exactly `size` bytes. Returns 0, or -errno without a message; -EIO for a shorter file. */
int pallas_file_at(int fd, void *out, size_t size, uint64_t offset)
	__attribute__((warn_unused_result));

/* A new file. The first failed write is kept in `err`; the others have no effect on it. */
struct pallas_out {
	FILE *file;
	char *shown; /* its name in messages */
	uint64_t size;
	int err;
};

/* Creates `path` below `dirfd`, which must not exist. Returns 0, or -errno after one message. */
int pallas_out_create(struct pallas_out *out, int dirfd, const char *path, const char *shown)
	__attribute__((warn_unused_result));
void pallas_out_put(struct pallas_out *out, const void *data, size_t size);
void pallas_out_u32(struct pallas_out *out, uint32_t v);
void pallas_out_u64(struct pallas_out *out, uint64_t v);
/* Returns 0, or -errno after one message if the file is not complete. Accepts a zeroed struct. */
int pallas_out_close(struct pallas_out *out);

#endif
