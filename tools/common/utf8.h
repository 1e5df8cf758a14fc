/* SPDX-License-Identifier: MIT */
/*
 * utf8: where the next character of a text ends.
 */
#ifndef TOOLS_COMMON_UTF8_H
#define TOOLS_COMMON_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `at` (1 to 4), 0 if it is no valid UTF-8 or `size` is 0. */
static inline size_t utf8_length(const uint8_t *at, size_t size)
{
	uint32_t code, least;
	size_t n;

	if (size == 0)
		return 0;
	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	n = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	least = n == 2 ? 0x80 : n == 3 ? 0x800 : 0x10000;
	if (size < n)
		return 0;
	code = at[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

#endif
