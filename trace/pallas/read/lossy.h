/* SPDX-License-Identifier: MIT */
/*
 * lossy: decodes chunks of compressions that lose information: approximate elements.
 *
 * In: the bytes of a chunk, and its description in thread.pallas, which is exact; out: elements,
 * with the exact first and last ones of times, and the others within the bounds. Histogram: each
 * element is off by at most a 255th of the range of its chunk. ZFP: within the bound of the writer;
 * the library libzfp is loaded for the first archive that needs it. Specification: pallas.md 9.
 */
#ifndef TRACE_PALLAS_READ_LOSSY_H
#define TRACE_PALLAS_READ_LOSSY_H

#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/thread_grammar.h"

/* The bytes of the content of a histogram with n elements. */
#define HISTOGRAM_BYTES(n) (16 + (n))

/* Decodes the histogram in `out`, which has room for sub->n + 2 elements, in place. Returns 0, or
 * -EBADMSG. */
int histogram_decode(uint64_t *out, const struct pallas_sub *sub)
	__attribute__((warn_unused_result));

/* Loads libzfp. Returns 0, or -errno after one message; `shown` is the archive. */
int zfp_load(const char *shown) __attribute__((warn_unused_result));

/* Bytes that the decoder may read of a chunk of n elements: the buffer must have as many. */
size_t zfp_bytes(uint64_t n);

/* Decodes a chunk, whose rest to zfp_bytes() is 0, to sub->n elements. Returns 0, or -EBADMSG or
 * -ENOMEM. */
int zfp_decode(void *chunk, uint64_t *out, const struct pallas_sub *sub)
	__attribute__((warn_unused_result));

/* Makes the elements of a decoded chunk agree with thread.pallas. */
void lossy_fit(uint64_t *out, const struct pallas_sub *sub, enum pallas_vector_kind kind);

#endif
