/* SPDX-License-Identifier: MIT */
/*
 * bytes: a buffer that grows. A failed growth is remembered, so that a caller asks once at the end.
 */
#ifndef TRACE_PALLAS_BYTES_H
#define TRACE_PALLAS_BYTES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
	uint8_t *data;
	size_t size, room;
	bool failed; /* no memory */
};

/* Room for `size` more bytes at the end, which now count; NULL without memory. */
static inline void *bytes_more(struct bytes *b, size_t size)
{
	uint8_t *data;

	if (size > b->room - b->size) {
		size_t room = b->room ? 2 * b->room : 64;

		while (room - b->size < size)
			room *= 2;
		data = realloc(b->data, room);
		if (!data) {
			b->failed = true;
			return NULL;
		}
		b->data = data;
		b->room = room;
	}
	b->size += size;
	return b->data + b->size - size;
}

static inline void bytes_put(struct bytes *b, const void *data, size_t size)
{
	void *to = bytes_more(b, size);

	if (to && size)
		memcpy(to, data, size);
}

static inline void bytes_u8(struct bytes *b, uint8_t v)
{
	bytes_put(b, &v, sizeof(v));
}

static inline void bytes_u32(struct bytes *b, uint32_t v)
{
	bytes_put(b, &v, sizeof(v));
}

static inline void bytes_u64(struct bytes *b, uint64_t v)
{
	bytes_put(b, &v, sizeof(v));
}

static inline void bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){0};
}

#endif
