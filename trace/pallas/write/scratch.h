/* SPDX-License-Identifier: MIT */
/*
 * scratch: a temporary file for data of a thread_writer that do not fit in memory.
 *
 * In: bytes; out: their offsets in a file without a name, which close() removes.
 */
#ifndef TRACE_PALLAS_WRITE_SCRATCH_H
#define TRACE_PALLAS_WRITE_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "trace/base/array.h"

struct scratch {
	int fd; /* -1 before the first write */
	uint64_t size;
};

/* Adjacent bytes. */
struct scratch_part {
	uint64_t at, n;
};

/*
 * Appends `size` bytes and adds their offset to `parts`, an array of struct scratch_part that joins
 * adjacent parts. The first call creates the file in `dirfd`; `shown` is its name in messages.
 * Returns 0, or -errno after one message.
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
