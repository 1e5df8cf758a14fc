/* SPDX-License-Identifier: MIT */
/*
 * out: bytes to one descriptor through one big buffer.
 *
 * In: text made by hand; out: as few write() calls as possible. A caller asks for
 * room, writes at most that much, and says how far it came. Invariant: the first write error
 * is kept, nothing is written after it, and out_close() returns it.
 */
#ifndef TOOLS_COMMON_OUT_H
#define TOOLS_COMMON_OUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct out {
	int fd;
	int error; /* -errno of the first failed write, or 0 */
	size_t len, cap;
	char *buf;
};

/* Writes go to `fd`, which stays the caller's; a pipe is made as large as it may be. Returns 0
 * or -ENOMEM without a message. */
int out_open(struct out *out, int fd) __attribute__((warn_unused_result));

void out_flush(struct out *out);

/* Makes room for `size` bytes more, whatever that takes; false without memory (kept as error). */
int out_grow(struct out *out, size_t size);

/* Flushes and frees. Returns 0 or the first error after one message, "standard output: ...". */
int out_close(struct out *out) __attribute__((warn_unused_result));

/* A place for `size` bytes, NULL without memory. */
static inline char *out_room(struct out *out, size_t size)
{
	if (__builtin_expect(out->cap - out->len < size, 0)) {
		out_flush(out);
		if (out->cap < size && out_grow(out, size) < 0)
			return NULL;
	}
	return out->buf + out->len;
}

/* What was written at out_room() ends before `end`. */
static inline void out_upto(struct out *out, const char *end)
{
	out->len = (size_t)(end - out->buf);
}

void out_bytes(struct out *out, const void *bytes, size_t size);
void out_text(struct out *out, const char *text);
void out_format(struct out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copies the text with bytes that are not printable or not UTF-8 as \xNN. */
void out_escaped(struct out *out, const char *text, size_t size);

/* A JSON string with its quotes; bytes that are no UTF-8 become the text \xNN. */
void out_json_string(struct out *out, const char *text, size_t size);

#endif
