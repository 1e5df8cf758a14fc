/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace/pallas/read/chunk_reader.h"
#include "trace/pallas/pallas_file.h"

struct chunk_reader {
	uint32_t compression, encoding;
	ZSTD_DCtx *zstd;
	uint8_t *raw; /* the bytes of the file */
	size_t room;
};

struct chunk_reader *chunk_reader_new(uint32_t compression, uint32_t encoding)
{
	struct chunk_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->compression = compression;
	r->encoding = encoding;
	if (compression == PALLAS_COMPRESSION_ZSTD) {
		r->zstd = ZSTD_createDCtx();
		if (!r->zstd) {
			free(r);
			return NULL;
		}
	}
	return r;
}

void chunk_reader_free(struct chunk_reader *r)
{
	if (!r)
		return;
	ZSTD_freeDCtx(r->zstd);
	free(r->raw);
	free(r);
}

size_t chunk_reader_memory(const struct chunk_reader *r)
{
	return r->room + (r->zstd ? ZSTD_sizeof_DCtx(r->zstd) : 0);
}

/* Expands n elements of w bytes at the start of out to 8 bytes each. */
static void unmask(uint64_t *out, size_t n, size_t w)
{
	const uint8_t *bytes = (const uint8_t *)out;

	for (size_t i = n; i-- > 0;) {
		uint64_t v = 0;

		memcpy(&v, bytes + i * w, w);
		out[i] = v;
	}
}

/* Bytes of an element if `size` encoded bytes have n elements, else 0. */
static size_t width(const struct chunk_reader *r, uint64_t size, size_t n)
{
	if (size == 8 * (uint64_t)n)
		return 8;
	if (r->encoding != PALLAS_ENCODING_MASKING || size % n || size / n > 7)
		return 0;
	return (size_t)(size / n);
}

int chunk_reader_read(struct chunk_reader *r, int fd, uint64_t file_size, uint64_t offset,
		      uint64_t *out, size_t n, const char **why)
{
	uint64_t size, content;
	uint8_t head[8];
	size_t got, w;
	int err;

	*why = "the chunk is not inside the file";
	if (file_size < 8 || offset > file_size - 8)
		return -EBADMSG;
	err = pallas_file_at(fd, head, 8, offset);
	if (err) {
		*why = strerror(-err);
		return err;
	}
	memcpy(&size, head, 8);
	offset += 8;
	if (size > file_size - offset)
		return -EBADMSG;

	if (r->compression == PALLAS_COMPRESSION_NONE) {
		*why = "the size of the chunk does not fit its number of elements";
		w = width(r, size, n);
		if (!w)
			return -EBADMSG;
		err = pallas_file_at(fd, out, (size_t)size, offset);
		*why = err ? strerror(-err) : NULL;
	} else {
		if (size > r->room) {
			/* Incompressible data grows by little: more than that is no frame of ours.
			 */
			*why = "the zstd frame is larger than what it holds";
			if (size > ZSTD_compressBound(8 * n) + 4096)
				return -EBADMSG;
			*why = "out of memory";
			free(r->raw);
			r->room = 0;
			r->raw = malloc((size_t)size);
			if (!r->raw)
				return -ENOMEM;
			r->room = (size_t)size;
		}
		err = pallas_file_at(fd, r->raw, (size_t)size, offset);
		if (err) {
			*why = strerror(-err);
			return err;
		}
		content = ZSTD_getFrameContentSize(r->raw, (size_t)size);
		*why = "the zstd frame is damaged or does not say its content size";
		if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR)
			return -EBADMSG;
		*why = "the size of the zstd frame does not fit its number of elements";
		w = width(r, content, n);
		if (!w)
			return -EBADMSG;
		got = ZSTD_decompressDCtx(r->zstd, out, (size_t)content, r->raw, (size_t)size);
		*why = "the zstd frame is damaged";
		err = ZSTD_isError(got) || got != content ? -EBADMSG : 0;
	}
	if (err)
		return err;
	if (w < 8)
		unmask(out, n, w);
	return err;
}
