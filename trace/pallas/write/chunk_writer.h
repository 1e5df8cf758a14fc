/* SPDX-License-Identifier: MIT */
/*
 * chunk_writer: writes one data file, chunk after chunk.
 *
 * In: arrays of u64; out: the bytes of the file and the offset of each chunk. Elements of a vector
 * differ from their predecessor in the low bytes: in a zstd frame, the high bytes match those 8
 * bytes back. This parse goes to zstd, which only encodes it: faster and smaller than any zstd
 * level on such data. Levels above CHUNK_LEVEL_PARSED use the search of zstd. Invariant: every
 * frame has its content size (rule R16). Specification: pallas.md 9.
 */
#ifndef TRACE_PALLAS_WRITE_CHUNK_WRITER_H
#define TRACE_PALLAS_WRITE_CHUNK_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/format.h"

#define CHUNK_LEVEL_PARSED 5	 /* maximum level with the parse of this file */
#define CHUNK_ELEMENTS_MAX 65536 /* of one chunk */

struct chunk_writer;

/*
 * Creates the file `path` below `dirfd`, which must not exist; `shown` is its name in messages.
 * Returns NULL after one message.
 */
struct chunk_writer *chunk_writer_new(int dirfd, const char *path, const char *shown,
				      uint32_t compression, uint32_t encoding, int level);

/*
 * Appends v[0..n), n from 1 to CHUNK_ELEMENTS_MAX, and stores its offset in *offset. Returns 0, or
 * -errno after one message.
 */
int chunk_writer_put(struct chunk_writer *w, const uint64_t *v, size_t n, uint64_t *offset)
	__attribute__((warn_unused_result));

/* Writes the buffer and frees. Returns 0, or -errno after one message. Accepts NULL. */
int chunk_writer_close(struct chunk_writer *w);

#endif
