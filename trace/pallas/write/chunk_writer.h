/* SPDX-License-Identifier: MIT */
/*
 * chunk_writer: one data file, chunk after chunk.
 *
 * In: arrays of u64; out: the bytes of the file and the offset of each chunk. Elements of a vector
 * differ from their predecessor in the low bytes, so the matches of the zstd frame are known
 * beforehand: the high bytes repeat those 8 bytes back. That parse is handed to zstd, which then
 * only codes it: faster than any of its levels on such data, and smaller. Levels above
 * CHUNK_LEVEL_PARSED let zstd search by itself.
 * Invariant: every frame carries its content size (rule R16).
 * Specification: pallas.md 9.
 */
#ifndef TRACE_PALLAS_WRITE_CHUNK_WRITER_H
#define TRACE_PALLAS_WRITE_CHUNK_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/format.h"

#define CHUNK_LEVEL_PARSED 5	 /* levels up to here use the parse that is known */
#define CHUNK_ELEMENTS_MAX 65536 /* of one chunk */

struct chunk_writer;

/* Creates the file `path` below `dirfd`, which must not exist. NULL after one message, in which
 * `shown` names the file. */
struct chunk_writer *chunk_writer_new(int dirfd, const char *path, const char *shown,
				      uint32_t compression, uint32_t encoding, int level);

/* Appends v[0..n), n from 1 to CHUNK_ELEMENTS_MAX; *offset is its place. 0, or a negative errno
 * after one message. */
int chunk_writer_put(struct chunk_writer *w, const uint64_t *v, size_t n, uint64_t *offset)
	__attribute__((warn_unused_result));

/* Writes what is buffered and frees. 0, or a negative errno after one message. NULL is fine. */
int chunk_writer_close(struct chunk_writer *w);

#endif
