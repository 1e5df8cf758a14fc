/* SPDX-License-Identifier: MIT */
#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_compressSequences() */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/base/log.h"
#include "trace/pallas/write/chunk_writer.h"

#define FILE_BUFFER (256u << 10)
#define MATCH_MIN   3 /* of the zstd format */

struct chunk_writer {
	uint32_t compression, encoding;
	int level;
	ZSTD_CCtx *zstd;
	ZSTD_Sequence *parse; /* at most one per element, and the end */
	uint8_t *encoded;     /* with Masking */
	uint8_t *packed;      /* a chunk, after its size */
	size_t packed_room;
	char *shown;
	int fd;
	uint64_t size; /* bytes of the file so far */
	uint8_t *out;
	size_t used;
};

static int no_memory(struct chunk_writer *w, const char *shown)
{
	log_no_memory("while writing %s", shown);
	chunk_writer_close(w);
	return -ENOMEM;
}

struct chunk_writer *chunk_writer_new(int dirfd, const char *path, const char *shown,
				      uint32_t compression, uint32_t encoding, int level)
{
	struct chunk_writer *w = calloc(1, sizeof(*w));
	size_t raw = 8 * (size_t)CHUNK_ELEMENTS_MAX;

	if (!w) {
		log_no_memory("while writing %s", shown);
		return NULL;
	}
	w->fd = -1;
	w->compression = compression;
	w->encoding = encoding;
	w->level = level;
	w->packed_room = 8 + (compression ? ZSTD_compressBound(raw) : raw);
	w->packed = malloc(w->packed_room);
	w->out = malloc(FILE_BUFFER);
	w->shown = strdup(shown);
	if (encoding == PALLAS_ENCODING_MASKING)
		w->encoded = malloc(raw);
	if (compression == PALLAS_COMPRESSION_ZSTD) {
		w->zstd = ZSTD_createCCtx();
		w->parse = malloc((CHUNK_ELEMENTS_MAX + 1) * sizeof(*w->parse));
	}
	if (!w->packed || !w->out || !w->shown ||
	    (encoding == PALLAS_ENCODING_MASKING && !w->encoded) ||
	    (compression == PALLAS_COMPRESSION_ZSTD && (!w->zstd || !w->parse))) {
		no_memory(w, shown);
		return NULL;
	}
	w->fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (w->fd < 0) {
		log_error("%s: cannot create: %s", shown, strerror(errno));
		chunk_writer_close(w);
		return NULL;
	}
	return w;
}

static int write_all(struct chunk_writer *w, const uint8_t *at, size_t size)
{
	while (size) {
		ssize_t n = write(w->fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int err = -errno;

			log_error("%s: cannot write: %s", w->shown, strerror(-err));
			return err;
		}
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int flush(struct chunk_writer *w)
{
	int err = write_all(w, w->out, w->used);

	w->used = 0;
	return err;
}

static int put(struct chunk_writer *w, const uint8_t *bytes, size_t size)
{
	int err = 0;

	if (size > FILE_BUFFER - w->used)
		err = flush(w);
	if (err)
		return err;
	w->size += size;
	if (size > FILE_BUFFER)
		return write_all(w, bytes, size);
	memcpy(w->out + w->used, bytes, size);
	w->used += size;
	return 0;
}

/* Number of low bytes up to the highest one that differs between a and b. */
static inline unsigned differing(uint64_t a, uint64_t b)
{
	return a == b ? 0 : 8 - (unsigned)__builtin_clzll(a ^ b) / 8;
}

/*
 * Parses v[0..n): the low bytes of an element are literals, at least `least` of them, and its high
 * bytes match those 8 bytes back; equal elements lengthen the match. Returns the number of
 * sequences; the last one has the remaining literals.
 */
static size_t parse(ZSTD_Sequence *out, const uint64_t *v, size_t n, unsigned least)
{
	ZSTD_Sequence *s = out;
	unsigned literals = 8; /* the first element */

	for (size_t i = 1; i < n; i++) {
		unsigned low = differing(v[i], v[i - 1]);

		if (low == 0 && literals == 0) {
			s[-1].matchLength += 8;
			continue;
		}
		if (low < least)
			low = least;
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

/* Bits of an ideal code for symbols with count[i] occurrences. */
static double bits(const uint32_t *count, unsigned n)
{
	double sum = 0, all = 0;

	for (unsigned i = 0; i < n; i++) {
		if (count[i])
			sum -= count[i] * log2(count[i]);
		all += count[i];
	}
	return all ? sum + all * log2(all) : 0;
}

/* Estimated bits of the first elements with at least `least` literals each. */
static double estimate(const uint64_t *v, size_t n, unsigned least)
{
	uint32_t bytes[256] = {0}, lengths[9] = {0};

	for (size_t i = 1; i < n; i++) {
		unsigned low = differing(v[i], v[i - 1]);

		low = low < least ? least : low;
		lengths[low]++;
		for (unsigned k = 0; k < low; k++)
			bytes[v[i] >> 8 * k & 0xff]++;
	}
	return bits(bytes, 256) + 2 * bits(lengths, 9);
}

/*
 * Chooses the minimum of literals per element: none, or the most frequent length. Varying lengths
 * cost bits twice (literal and match length); superfluous literals cost their bytes.
 */
#define SAMPLE 512

static unsigned best_least(const uint64_t *v, size_t n)
{
	uint32_t lengths[9] = {0};
	unsigned usual = 0;

	if (n > SAMPLE)
		n = SAMPLE;
	for (size_t i = 1; i < n; i++)
		lengths[differing(v[i], v[i - 1])]++;
	for (unsigned k = 1; k <= 8 - MATCH_MIN; k++)
		usual = lengths[k] > lengths[usual] ? k : usual;
	if (usual == 0 || estimate(v, n, usual) >= estimate(v, n, 0))
		return 0;
	return usual;
}

static size_t compress_parsed(struct chunk_writer *w, const uint64_t *v, size_t n)
{
	unsigned least = n > 256 ? best_least(v, n) : 0;

	ZSTD_CCtx_reset(w->zstd, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, 1);
	return ZSTD_compressSequences(w->zstd, w->packed + 8, w->packed_room - 8, w->parse,
				      parse(w->parse, v, n, least), v, 8 * n);
}

static size_t compress(struct chunk_writer *w, const void *bytes, size_t size, const uint64_t *v,
		       size_t n)
{
	if (w->encoding == PALLAS_ENCODING_NONE && w->level <= CHUNK_LEVEL_PARSED && n > 2) {
		size_t got = compress_parsed(w, v, n);

		if (!ZSTD_isError(got))
			return got;
	}
	return ZSTD_compressCCtx(w->zstd, w->packed + 8, w->packed_room - 8, bytes, size, w->level);
}

/* Masking: cuts every element to the size of the largest one. Returns the number of bytes. */
static size_t mask(struct chunk_writer *w, const uint64_t *v, size_t n)
{
	uint64_t all = 0;
	size_t bytes;

	for (size_t i = 0; i < n; i++)
		all |= v[i];
	bytes = differing(all, 0);
	if (bytes == 0 || bytes == 8)
		return 0;
	for (size_t i = 0; i < n; i++)
		memcpy(w->encoded + i * bytes, &v[i], bytes);
	return n * bytes;
}

int chunk_writer_put(struct chunk_writer *w, const uint64_t *v, size_t n, uint64_t *offset)
{
	const void *bytes = v;
	size_t size = 8 * n, masked;
	uint64_t packed;

	*offset = w->size;
	if (w->encoding == PALLAS_ENCODING_MASKING) {
		masked = mask(w, v, n);
		if (masked) {
			bytes = w->encoded;
			size = masked;
		}
	}
	packed = size;
	if (w->compression == PALLAS_COMPRESSION_ZSTD) {
		size_t got = compress(w, bytes, size, v, n);

		if (ZSTD_isError(got)) {
			log_error("%s: zstd cannot compress: %s", w->shown, ZSTD_getErrorName(got));
			return -EIO;
		}
		packed = got;
	} else {
		memcpy(w->packed + 8, bytes, size);
	}
	memcpy(w->packed, &packed, 8);
	return put(w, w->packed, 8 + (size_t)packed);
}

int chunk_writer_close(struct chunk_writer *w)
{
	int err = 0;

	if (!w)
		return 0;
	if (w->fd >= 0) {
		err = flush(w);
		if (close(w->fd) < 0 && !err) {
			err = -errno;
			log_error("%s: cannot write: %s", w->shown, strerror(-err));
		}
	}
	ZSTD_freeCCtx(w->zstd);
	free(w->parse);
	free(w->encoded);
	free(w->packed);
	free(w->out);
	free(w->shown);
	free(w);
	return err;
}
