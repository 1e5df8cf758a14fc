/* SPDX-License-Identifier: MIT */
/* gzip: members of a compressed file (see gzip.h). */
#include "emu/paraver/gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#define LEVEL	    1	      /* three times as fast as the default, a fifth larger */
#define WINDOW_BITS (15 + 16) /* a gzip member, not a bare zlib stream */
#define MEMORY	    8

struct gzip {
	z_stream z;
	bool started;
	char *buffer;
	size_t room;
};

struct gzip *gzip_new(void)
{
	return calloc(1, sizeof(struct gzip));
}

void gzip_free(struct gzip *gzip)
{
	if (!gzip)
		return;
	if (gzip->started)
		deflateEnd(&gzip->z);
	free(gzip->buffer);
	free(gzip);
}

int gzip_member(struct gzip *gzip, const char *data, size_t size, const char **out,
		size_t *out_size)
{
	size_t bound;

	if (!gzip)
		return -ENOMEM;
	if (!gzip->started && deflateInit2(&gzip->z, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY,
					   Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	gzip->started = true;
	deflateReset(&gzip->z);
	bound = deflateBound(&gzip->z, size);
	if (bound > gzip->room) {
		char *buffer = realloc(gzip->buffer, bound);

		if (!buffer)
			return -ENOMEM;
		gzip->buffer = buffer;
		gzip->room = bound;
	}
	gzip->z.next_in = (Bytef *)(uintptr_t)data;
	gzip->z.avail_in = (uInt)size;
	gzip->z.next_out = (Bytef *)gzip->buffer;
	gzip->z.avail_out = (uInt)gzip->room;
	if (deflate(&gzip->z, Z_FINISH) != Z_STREAM_END)
		return -ENOMEM;
	*out = gzip->buffer;
	*out_size = gzip->room - gzip->z.avail_out;
	return 0;
}

static char *put_u32(char *at, uint32_t value)
{
	for (int i = 0; i < 4; i++, value >>= 8)
		*at++ = (char)(value & 0xff);
	return at;
}

size_t gzip_stored(char *out, const char *data, size_t size)
{
	static const char head[] = "\x1f\x8b\x08\0\0\0\0\0\0\xff" /* no name, no time */
				   "\x01";			  /* last block, stored */
	char *at = out;

	memcpy(at, head, sizeof(head) - 1);
	at += sizeof(head) - 1;
	at = put_u32(at, (uint32_t)size | (uint32_t)~size << 16);
	memcpy(at, data, size);
	at = put_u32(at + size, (uint32_t)crc32(0, (const Bytef *)data, (uInt)size));
	at = put_u32(at, (uint32_t)size);
	return (size_t)(at - out);
}
