/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/pallas/read/lossy.h"

int histogram_decode(uint64_t *out, const struct pallas_sub *sub)
{
	uint64_t n = sub->n, range = sub->max - sub->min;
	uint8_t *bytes = (uint8_t *)out;

	/* The writer leaves out the bounds if the bytes are exact, but not their space. */
	if (range > 255 && (get_u64(bytes) != sub->min || get_u64(bytes + 8) != sub->max))
		return -EBADMSG;
	/* at the end of the space of the elements, no byte is overwritten before it is read */
	memmove(bytes + 7 * n, bytes + (range > 255 ? 16 : 0), n);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t byte = bytes[7 * n + i];

		if (range > 255)
			byte = (uint64_t)((unsigned __int128)byte * range / 255);
		out[i] = sub->min + byte;
	}
	return 0;
}

/* ---- ZFP ---- */

/* What the writer states for its elements, in one dimension; zfp has no header in the chunks. */
#define ZFP_INT64     2 /* enum zfp_type */
#define ZFP_TOLERANCE 0.1
#define ZFP_BLOCK     4 /* elements */

static struct {
	void *(*stream_open)(void *buffer, size_t bytes);
	void (*stream_close)(void *bits);
	void *(*zfp_stream_open)(void *bits);
	void (*zfp_stream_close)(void *stream);
	double (*zfp_stream_set_accuracy)(void *stream, double tolerance);
	void *(*zfp_field_1d)(void *elements, int type, size_t n);
	void (*zfp_field_free)(void *field);
	size_t (*zfp_decompress)(void *stream, const void *field);
} zfp;

int zfp_load(const char *shown)
{
	static const char *const names[] = {
		"stream_open",
		"stream_close",
		"zfp_stream_open",
		"zfp_stream_close",
		"zfp_stream_set_accuracy",
		"zfp_field_1d",
		"zfp_field_free",
		"zfp_decompress",
	};
	void *library, **to = (void **)&zfp;

	if (zfp.zfp_decompress)
		return 0;
	library = dlopen("libzfp.so.1", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; library && i < sizeof(names) / sizeof(names[0]); i++) {
		to[i] = dlsym(library, names[i]);
		if (!to[i])
			library = NULL;
	}
	if (library)
		return 0;
	zfp.zfp_decompress = NULL;
	log_error("%s: its times are compressed with ZFP, which needs the library libzfp.so.1 "
		  "(package libzfp1); info and stats without --from and --to need no times",
		  shown);
	return -EPROTONOSUPPORT;
}

size_t zfp_bytes(uint64_t n)
{
	/* A block takes at most a bit for each bit of its elements and one for each element; the
	 * decoder reads words of 8 bytes. Twice that is far from its end. */
	return 2 * ((n + ZFP_BLOCK - 1) / ZFP_BLOCK * (ZFP_BLOCK * 8 + 1) + 32);
}

int zfp_decode(void *chunk, uint64_t *out, const struct pallas_sub *sub)
{
	void *bits = zfp.stream_open(chunk, zfp_bytes(sub->n));
	void *stream = bits ? zfp.zfp_stream_open(bits) : NULL;
	void *field = zfp.zfp_field_1d(out, ZFP_INT64, sub->n);
	int err = -ENOMEM;

	if (stream && field) {
		zfp.zfp_stream_set_accuracy(stream, ZFP_TOLERANCE);
		err = zfp.zfp_decompress(stream, field) ? 0 : -EBADMSG;
	}
	if (field)
		zfp.zfp_field_free(field);
	if (stream)
		zfp.zfp_stream_close(stream);
	if (bits)
		zfp.stream_close(bits);
	return err;
}

void lossy_fit(uint64_t *out, const struct pallas_sub *sub, enum pallas_vector_kind kind)
{
	for (uint64_t i = 0; i < sub->n; i++) {
		out[i] = out[i] < sub->min ? sub->min : out[i];
		out[i] = out[i] > sub->max ? sub->max : out[i];
	}
	if (kind == VECTOR_TIMES) {
		out[0] = sub->min;
		out[sub->n - 1] = sub->max;
	}
}
