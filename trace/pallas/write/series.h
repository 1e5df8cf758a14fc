/* SPDX-License-Identifier: MIT */
/*
 * series: writes one vector.
 *
 * In: one element after the other; out: chunks in a data file, and the description of the vector in
 * thread.pallas. Memory has the elements of one incomplete sub-array, and the descriptions of the
 * others.
 * Specification: pallas.md 8.
 */
#ifndef TRACE_PALLAS_WRITE_SERIES_H
#define TRACE_PALLAS_WRITE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "trace/base/array.h"
#include "trace/pallas/write/chunk_writer.h"
#include "trace/pallas/thread_grammar.h"

struct series {
	uint64_t *v; /* elements of the incomplete sub-array */
	uint32_t n, room;
	uint64_t total; /* elements of written sub-arrays */
	uint64_t nsubs, min, max, sum;
	struct bytes subs; /* their descriptions */
};

/* Grows the memory; *held counts the bytes of all series. Returns 0 or -ENOMEM. */
int pallas_series_grow(struct series *s, size_t *held) __attribute__((warn_unused_result));

static inline int pallas_series_add(struct series *s, uint64_t value, size_t *held)
{
	if (__builtin_expect(s->n == s->room, 0)) {
		int err = pallas_series_grow(s, held);

		if (err)
			return err;
	}
	s->v[s->n++] = value;
	return 0;
}

/*
 * Writes the elements in memory as one sub-array. If *offset is the offset of a chunk with the same
 * elements, uses that chunk; if it is PALLAS_INVALID, stores the offset of the new chunk. `offset`
 * may be NULL. Returns 0 or -errno.
 */
int pallas_series_flush(struct series *s, enum pallas_vector_kind kind, struct chunk_writer *w,
			uint64_t *offset, size_t *held) __attribute__((warn_unused_result));

/* Appends the description of a flushed series for thread.pallas. */
int pallas_series_describe(const struct series *s, enum pallas_vector_kind kind, struct bytes *out)
	__attribute__((warn_unused_result));

void pallas_series_free(struct series *s, size_t *held);

#endif
