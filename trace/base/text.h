/* SPDX-License-Identifier: MIT */
/*
 * text: bytes of strangers made fit for a terminal or a document.
 *
 * In: bytes of any kind (names of threads, labels, paths); out: the same text where
 * what is not printable or not UTF-8 stands as the four characters \xNN.
 * Invariant: the output is always valid UTF-8 without control characters.
 */
#ifndef TRACE_BASE_TEXT_H
#define TRACE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at [at, end), 1 to 4; 0 if it is none (overlong forms,
 * surrogates and numbers above U+10FFFF are none) or if at == end. */
size_t text_char(const char *at, const char *end);

/* True if that character, of `len` bytes, can be shown: no control character. */
bool text_printable(const char *at, size_t len);

/*
 * Writes `len` bytes of `in` into `out`, escaped; at most `size` bytes with the NUL
 * that always ends them (nothing if size is 0), never half a character or half an
 * escape. Returns the length that the whole would have, as snprintf() does.
 */
size_t text_escape(char *out, size_t size, const char *in, size_t len);

#endif
