/* SPDX-License-Identifier: MIT */
/*
 * text: escapes untrusted bytes for a terminal or a document; composes strings.
 *
 * In: any bytes (names of threads, labels, paths); out: the same text, in which bytes that are not
 * printable or not UTF-8 become the four characters \xNN.
 * Invariant: the output is valid UTF-8 without control characters.
 */
#ifndef TRACE_BASE_TEXT_H
#define TRACE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/base/array.h"

/* The length of the UTF-8 character at [at, end), 1 to 4 bytes; 0 if it is invalid (overlong forms,
 * surrogates and numbers above U+10FFFF are), or if at == end. */
size_t text_char(const char *at, const char *end);

/* True if that character, of `len` bytes, can be shown as it is: no control character, and none
 * that changes the direction or the lines of the text around it (as U+202E does). */
bool text_printable(const char *at, size_t len);

/* The number of such a character. */
uint32_t text_code(const char *at, size_t len);

/*
 * Writes `len` bytes of `in` into `out`, escaped: at most `size` bytes, the NUL included (nothing
 * if size is 0), never half a character or half an escape. Returns the length of the whole text, as
 * snprintf() does.
 */
size_t text_escape(char *out, size_t size, const char *in, size_t len);

/*
 * `text` itself if all of it is printable, else an escaped copy, for the arguments of a printf():
 * it holds until 8 more copies were made, by any thread. "?" without memory, and for NULL.
 */
const char *text_shown(const char *text);

/* An escaped copy, for free(); NULL without memory. */
char *text_escaped(const char *text);

/* The text that printf() would print, which the caller frees; NULL without memory. */
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A text that fprintf() and its like write. It is whole or missing: that of open_memstream() lacks
 * bytes where an allocation failed, without an error of its stream. */
struct text_stream {
	FILE *out; /* NULL: not open */
	struct bytes text;
};

/* Opens `stream`, which must stay in its place; false without memory. */
bool text_stream_open(struct text_stream *stream);

/* Closes the stream. Returns its text, which the caller frees; NULL without memory, or if it is not
 * open. */
char *text_stream_close(struct text_stream *stream);

/* A path without the slashes at its end, and `suffix`; for free(). NULL without memory. */
char *path_with_suffix(const char *path, const char *suffix);

/* The noun that agrees with the number `n`: "1 repair", "2 repairs". */
static inline const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

#endif
