/* SPDX-License-Identifier: MIT */
/*
 * protobuf: encodes messages of Protocol Buffers, as far as Perfetto needs them.
 *
 * In: fields by number; out: their bytes, appended to a buffer. A message inside another one is
 * written in place, and its length put before it when it ends. The buffer remembers a lack of
 * memory. Specification: perfetto.md 2.
 */
#ifndef TOOLS_EXPORT_PROTOBUF_H
#define TOOLS_EXPORT_PROTOBUF_H

#include "trace/base/array.h"

#define VARINT_MOST 10 /* bytes */

static inline size_t pb_encode(uint8_t *to, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

static inline void pb_varint(struct bytes *b, uint64_t value)
{
	uint8_t *to = bytes_more(b, VARINT_MOST);

	if (to)
		b->size -= VARINT_MOST - pb_encode(to, value);
}

/* A number; a negative one is given as its 64 bits. */
static inline void pb_uint(struct bytes *b, unsigned field, uint64_t value)
{
	pb_varint(b, field << 3);
	pb_varint(b, value);
}

static inline void pb_bytes(struct bytes *b, unsigned field, const void *data, size_t size)
{
	pb_varint(b, field << 3 | 2);
	pb_varint(b, size);
	bytes_put(b, data, size);
}

/* `text` must be valid UTF-8. */
static inline void pb_text(struct bytes *b, unsigned field, const char *text)
{
	pb_bytes(b, field, text, strlen(text));
}

/* Begins a message; the result is for pb_end(). */
static inline size_t pb_begin(struct bytes *b, unsigned field)
{
	pb_varint(b, field << 3 | 2);
	return b->size;
}

static inline void pb_end(struct bytes *b, size_t start)
{
	uint8_t length[VARINT_MOST];
	size_t size = b->size - start, n = pb_encode(length, size);

	if (b->failed || !bytes_more(b, n))
		return;
	memmove(b->data + start + n, b->data + start, size);
	memcpy(b->data + start, length, n);
}

#endif
