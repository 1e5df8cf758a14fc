/* SPDX-License-Identifier: MIT */
/*
 * scratch: what a thread_writer cannot keep in memory until thread.pallas is written.
 *
 * In: bytes; out: their places in a file without a name, which goes away with its descriptor.
 */
#ifndef TRACE_PALLAS_WRITE_SCRATCH_H
#define TRACE_PALLAS_WRITE_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "trace/base/array.h"

struct scratch {
	int fd; /* -1 until something is put */
	uint64_t size;
};

/* Bytes that were put together. */
struct scratch_part {
	uint64_t at, n;
};

/*
 * Appends `size` bytes and adds their place to `parts` (an array of struct scratch_part; what
 * follows its last part is joined with it). The file is made in `dirfd` at first use. 0, or a
 * negative errno after one message in which `shown` names the place.
 */
int pallas_scratch_put(struct scratch *s, int dirfd, const char *shown, const void *data,
		       size_t size, struct bytes *parts) __attribute__((warn_unused_result));
void pallas_scratch_close(struct scratch *s);

static inline size_t scratch_parts(const struct bytes *parts, const struct scratch_part **out)
{
	*out = (const struct scratch_part *)parts->data;
	return parts->size / sizeof(**out);
}

#endif
