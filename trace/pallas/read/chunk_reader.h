/* SPDX-License-Identifier: MIT */
/*
 * chunk_reader: reads the elements of one sub-array, encoded, then compressed.
 *
 *   u64 size of the rest | zstd frame, or uncompressed | 8 or w bytes per element
 *
 * In: a chunk of a data file; out: an array of u64. Invariant: sizes are checked before memory is
 * allocated for them.
 * Specification: pallas.md 9.
 */
#ifndef TRACE_PALLAS_READ_CHUNK_READER_H
#define TRACE_PALLAS_READ_CHUNK_READER_H

#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/format.h"

struct chunk_reader; /* reusable buffers */

struct chunk_reader *chunk_reader_new(uint32_t compression, uint32_t encoding);
void chunk_reader_free(struct chunk_reader *r);		  /* NULL is fine */
size_t chunk_reader_memory(const struct chunk_reader *r); /* bytes held */

/*
 * Reads the chunk at `offset` of `fd`, a file of `file_size` bytes, into out[n]. Returns 0, or
 * -errno with the reason in *why.
 */
int chunk_reader_read(struct chunk_reader *r, int fd, uint64_t file_size, uint64_t offset,
		      uint64_t *out, size_t n, const char **why)
	__attribute__((warn_unused_result));

#endif
