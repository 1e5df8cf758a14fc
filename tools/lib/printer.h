/* SPDX-License-Identifier: MIT */
/*
 * printer: bytes to one descriptor through one big buffer.
 *
 * In: text; out: few write() calls. A caller asks for room, writes at most that many
 * bytes, and reports the end of its text. Invariant: the first write error
 * is kept, nothing is written after it, and printer_close() returns it.
 */
#ifndef TOOLS_LIB_PRINTER_H
#define TOOLS_LIB_PRINTER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct printer {
	int fd;
	int error; /* -errno of the first failed write, or 0 */
	size_t len, cap;
	char *buf;
};

/* Writes go to `fd`, which stays the caller's; a pipe is made as large as it may be. */
void printer_open(struct printer *out, int fd);

void printer_flush(struct printer *out);

/* Makes room for `size` bytes in an empty buffer. Returns 0, or -ENOMEM, which is kept as error. */
int printer_grow(struct printer *out, size_t size);

/* Flushes and frees. Returns 0 or the first error after one message, "standard output: ...". */
int printer_close(struct printer *out) __attribute__((warn_unused_result));

/* A place for `size` bytes, NULL without memory. */
static inline char *printer_room(struct printer *out, size_t size)
{
	if (__builtin_expect(out->cap - out->len < size, 0)) {
		printer_flush(out);
		if (out->cap < size && printer_grow(out, size) < 0)
			return NULL;
	}
	return out->buf + out->len;
}

/* The text written at printer_room() ends before `end`. */
static inline void printer_upto(struct printer *out, const char *end)
{
	out->len = (size_t)(end - out->buf);
}

void printer_bytes(struct printer *out, const void *bytes, size_t size);
void printer_text(struct printer *out, const char *text);
void printer_format(struct printer *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Copies the text with bytes that are not printable or not UTF-8 as \xNN. */
void printer_escaped(struct printer *out, const char *text, size_t size);

/* A JSON string with its quotes; bytes that are no UTF-8 become the text \xNN. */
void printer_json_string(struct printer *out, const char *text, size_t size);

#endif
