/* SPDX-License-Identifier: MIT */
#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_compressSequences() */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace/base/log.h"
#include "trace/pallas/write/vector_writer.h"

#define LEVEL_PARSED 5 /* maximum level with the parse of this file */
#define MATCH_MIN    3 /* of the zstd format */

struct data_file {
	struct pallas_out out;
	uint32_t compression, encoding;
	int level;
	ZSTD_CCtx *zstd;
	size_t room;	      /* of the buffers below, in elements of a chunk */
	ZSTD_Sequence *parse; /* at most one per element, and the end */
	uint8_t *encoded;     /* with Masking */
	uint8_t *packed;      /* a chunk with zstd */
	size_t packed_room;
};

static void buffers_free(struct data_file *f)
{
	free(f->parse);
	free(f->encoded);
	free(f->packed);
	f->parse = NULL;
	f->encoded = f->packed = NULL;
	f->room = 0;
}

/* Makes the buffers large enough for a chunk of n elements. Returns 0 or -ENOMEM. */
static int buffers_grow(struct data_file *f, size_t n)
{
	if (n <= f->room)
		return 0;
	buffers_free(f);
	if (f->encoding == PALLAS_ENCODING_MASKING) {
		f->encoded = malloc(8 * n);
		if (!f->encoded)
			return -ENOMEM;
	}
	if (f->compression == PALLAS_COMPRESSION_ZSTD) {
		f->packed_room = ZSTD_compressBound(8 * n);
		f->packed = malloc(f->packed_room);
		f->parse = malloc((n + 1) * sizeof(*f->parse));
		if (!f->packed || !f->parse)
			return -ENOMEM;
	}
	f->room = n;
	return 0;
}

struct data_file *data_file_new(int dirfd, const char *path, const char *shown,
				uint32_t compression, uint32_t encoding, int level)
{
	struct data_file *f = calloc(1, sizeof(*f));

	if (!f)
		goto no_memory;
	f->compression = compression;
	f->encoding = encoding;
	f->level = level;
	if (compression == PALLAS_COMPRESSION_ZSTD) {
		f->zstd = ZSTD_createCCtx();
		if (!f->zstd)
			goto no_memory;
	}
	if (buffers_grow(f, CHUNK_ELEMENTS_MAX))
		goto no_memory;
	if (pallas_out_create(&f->out, dirfd, path, shown))
		goto fail;
	return f;
no_memory:
	log_no_memory("while writing %s", shown);
fail:
	(void)data_file_close(f);
	return NULL;
}

int data_file_close(struct data_file *f)
{
	int err;

	if (!f)
		return 0;
	err = pallas_out_close(&f->out);
	ZSTD_freeCCtx(f->zstd);
	buffers_free(f);
	free(f);
	return err;
}

/* ---- chunks ---- */

/* Number of low bytes up to the highest one that differs between a and b. */
static inline unsigned differing(uint64_t a, uint64_t b)
{
	return a == b ? 0 : 8 - (unsigned)__builtin_clzll(a ^ b) / 8;
}

/*
 * Parses v[0..n): the low bytes of an element are literals, and its high bytes match those 8 bytes
 * back; equal elements lengthen the match. Returns the number of sequences; the last one has the
 * remaining literals.
 */
static size_t parse(ZSTD_Sequence *out, const uint64_t *v, size_t n)
{
	ZSTD_Sequence *s = out;
	unsigned literals = 8; /* the first element */

	for (size_t i = 1; i < n; i++) {
		unsigned low = differing(v[i], v[i - 1]);

		if (low == 0 && literals == 0) {
			s[-1].matchLength += 8;
			continue;
		}
		literals += low;
		if (8 - low < MATCH_MIN) {
			literals += 8 - low;
			continue;
		}
		*s++ = (ZSTD_Sequence){.offset = 8, .litLength = literals, .matchLength = 8 - low};
		literals = 0;
	}
	*s++ = (ZSTD_Sequence){.litLength = literals};
	return (size_t)(s - out);
}

static size_t compress_parsed(struct data_file *f, const uint64_t *v, size_t n)
{
	ZSTD_CCtx_reset(f->zstd, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(f->zstd, ZSTD_c_compressionLevel, 1);
	return ZSTD_compressSequences(f->zstd, f->packed, f->packed_room, f->parse,
				      parse(f->parse, v, n), v, 8 * n);
}

static size_t compress(struct data_file *f, const void *bytes, size_t size, const uint64_t *v,
		       size_t n)
{
	if (f->encoding == PALLAS_ENCODING_NONE && f->level <= LEVEL_PARSED && n > 2) {
		size_t got = compress_parsed(f, v, n);

		if (!ZSTD_isError(got))
			return got;
	}
	return ZSTD_compressCCtx(f->zstd, f->packed, f->packed_room, bytes, size, f->level);
}

/* Masking: cuts every element to the size of the largest one. Returns the number of bytes. */
static size_t mask(struct data_file *f, const uint64_t *v, size_t n)
{
	uint64_t all = 0;
	size_t bytes;

	for (size_t i = 0; i < n; i++)
		all |= v[i];
	bytes = differing(all, 0);
	if (bytes == 0 || bytes == 8)
		return 0;
	for (size_t i = 0; i < n; i++)
		memcpy(f->encoded + i * bytes, &v[i], bytes);
	return n * bytes;
}

/* Appends the elements v[0] to v[n - 1] as a chunk; n is at least 1. */
static int chunk_put(struct data_file *f, const uint64_t *v, size_t n)
{
	size_t masked, size;
	const void *bytes;

	if (buffers_grow(f, n)) {
		log_no_memory("while writing %s", f->out.shown);
		return -ENOMEM;
	}
	masked = f->encoding == PALLAS_ENCODING_MASKING ? mask(f, v, n) : 0;
	bytes = masked ? (const void *)f->encoded : v;
	size = masked ? masked : 8 * n;
	if (f->compression == PALLAS_COMPRESSION_ZSTD) {
		size = compress(f, bytes, size, v, n);
		if (ZSTD_isError(size)) {
			log_error("%s: zstd cannot compress: %s", f->out.shown,
				  ZSTD_getErrorName(size));
			return -EIO;
		}
		bytes = f->packed;
	}
	pallas_out_u64(&f->out, size);
	pallas_out_put(&f->out, bytes, size);
	return f->out.err;
}

/* ---- vectors ---- */

int series_grow(struct series *s, size_t *held)
{
	uint32_t room = s->room ? 2 * s->room : 2;
	uint64_t *v = realloc(s->v, room * sizeof(*v));

	if (!v)
		return -ENOMEM;
	*held += (room - s->room) * sizeof(*v);
	s->v = v;
	s->room = room;
	return 0;
}

int series_flush(struct series *s, enum pallas_vector_kind kind, struct data_file *file,
		 uint64_t *offset, size_t *held)
{
	uint64_t min = UINT64_MAX, max = 0, sum = 0;
	int err;

	if (s->n == 0)
		return 0;
	if (*offset == PALLAS_INVALID) {
		*offset = file->out.size;
		err = chunk_put(file, s->v, s->n);
		if (err)
			return err;
	}
	bytes_u64(&s->subs, s->n);
	if (kind == VECTOR_DURATIONS) {
		for (uint32_t i = 0; i < s->n; i++) {
			min = s->v[i] < min ? s->v[i] : min;
			max = s->v[i] > max ? s->v[i] : max;
			sum += s->v[i];
		}
		bytes_u64(&s->subs, min);
		bytes_u64(&s->subs, max);
		bytes_u64(&s->subs, sum / s->n);
		s->min = s->nsubs == 0 || min < s->min ? min : s->min;
		s->max = max > s->max ? max : s->max;
		s->sum += sum;
	} else {
		bytes_u64(&s->subs, s->v[0]);
		bytes_u64(&s->subs, s->v[s->n - 1]);
	}
	bytes_u64(&s->subs, *offset);
	s->nsubs++;
	s->total += s->n;
	s->n = 0;
	*held -= s->room * sizeof(*s->v);
	free(s->v);
	s->v = NULL;
	s->room = 0;
	return s->subs.failed ? -ENOMEM : 0;
}

void series_describe(const struct series *s, enum pallas_vector_kind kind, struct pallas_out *out)
{
	pallas_out_u64(out, s->total);
	pallas_out_u64(out, s->nsubs);
	if (kind == VECTOR_DURATIONS) {
		pallas_out_u64(out, s->min);
		pallas_out_u64(out, s->max);
		pallas_out_u64(out, s->sum / s->total);
	}
	pallas_out_put(out, s->subs.data, s->subs.size);
}

void series_free(struct series *s)
{
	free(s->v);
	bytes_free(&s->subs);
}
