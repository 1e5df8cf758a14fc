/* SPDX-License-Identifier: MIT */
/*
 * vector_writer: writes the elements of vectors as the chunks of a data file.
 *
 * In: one element after the other; out: chunks, and the descriptions of the vectors for
 * thread.pallas. Memory has the elements of one incomplete sub-array for each vector, and the
 * descriptions of the others.
 *
 * Elements of a vector differ from their predecessor in the low bytes: in a zstd frame, the high
 * bytes match those 8 bytes back. This parse goes to zstd, which only encodes it: faster and
 * smaller than any zstd level on such data. Levels above LEVEL_PARSED use the search of zstd.
 * Invariant: every frame has its content size (rule R16). Specification: pallas.md 8, 9.
 */
#ifndef TRACE_PALLAS_WRITE_VECTOR_WRITER_H
#define TRACE_PALLAS_WRITE_VECTOR_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "trace/base/array.h"
#include "trace/pallas/pallas_file.h"
#include "trace/pallas/thread_grammar.h"

#define CHUNK_ELEMENTS_MAX  65536 /* of a chunk of our own archives; a copy may have larger ones */
#define CHUNK_ELEMENT_BYTES 56	  /* of memory for an element of a chunk in writing, at most */

struct data_file;

/* Creates `path` below `dirfd`; `shown` is its directory in messages. NULL after one message. */
struct data_file *data_file_new(int dirfd, const char *path, const char *shown,
				uint32_t compression, uint32_t encoding, int level);
/* Completes the file and frees. Returns 0, or -errno after one message. Accepts NULL. */
int data_file_close(struct data_file *file);

/* A vector; all zero at first. */
struct series {
	uint64_t *v; /* elements of the incomplete sub-array */
	uint32_t n, room;
	uint64_t total; /* elements of written sub-arrays */
	uint64_t nsubs, min, max, sum;
	struct bytes subs; /* their descriptions */
};

/* Grows the memory; *held counts the bytes of all series. Returns 0 or -ENOMEM. */
int series_grow(struct series *s, size_t *held) __attribute__((warn_unused_result));

static inline int series_add(struct series *s, uint64_t value, size_t *held)
{
	if (__builtin_expect(s->n == s->room, 0)) {
		int err = series_grow(s, held);

		if (err)
			return err;
	}
	s->v[s->n++] = value;
	return 0;
}

/*
 * Writes the elements in memory as one sub-array. If *offset is the offset of a chunk with the same
 * elements, uses that chunk; if it is PALLAS_INVALID, stores the offset of the new chunk. Returns 0
 * or -errno; data_file_close() reports a file that cannot be written.
 */
int series_flush(struct series *s, enum pallas_vector_kind kind, struct data_file *file,
		 uint64_t *offset, size_t *held) __attribute__((warn_unused_result));

/* Writes the description of a flushed series to thread.pallas. */
void series_describe(const struct series *s, enum pallas_vector_kind kind, struct pallas_out *out);

void series_free(struct series *s);

#endif
