/* SPDX-License-Identifier: MIT */
#include "trace/base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t text_char(const char *at, const char *end)
{
	/* the lowest numbers that need 2, 3 and 4 bytes: longer forms of others are bad */
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t left = (size_t)(end - at), n;
	uint32_t number;
	uint8_t first;

	if (left == 0)
		return 0;
	first = (uint8_t)at[0];
	if (first < 0x80)
		return 1;
	if (first < 0xc0 || first > 0xf7)
		return 0;
	n = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (left < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if (((uint8_t)at[i] & 0xc0) != 0x80)
			return 0;
	number = text_code(at, n);
	if (number < lowest[n] || number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff))
		return 0;
	return n;
}

uint32_t text_code(const char *at, size_t len)
{
	uint32_t code = (uint8_t)at[0];

	if (len > 1)
		code &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((uint8_t)at[i] & 0x3f);
	return code;
}

bool text_printable(const char *at, size_t len)
{
	uint32_t code = text_code(at, len);

	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	/* these change the direction or the lines of the text around them */
	return code != 0x61c && code != 0x200e && code != 0x200f &&
	       !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069);
}

size_t text_escape(char *out, size_t size, const char *in, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const char *end = in + len;
	size_t total = 0, used = 0;
	bool full = size == 0;

	while (in < end) {
		size_t n = text_char(in, end), width = n;
		char escape[4] = {'\\', 'x', digits[(uint8_t)*in >> 4], digits[(uint8_t)*in & 15]};
		const char *what = in;

		if (n == 0 || !text_printable(in, n)) {
			/* one byte at a time: the rest of a bad character is bad by itself */
			n = 1;
			width = sizeof(escape);
			what = escape;
		}
		full = full || used + width >= size;
		if (!full) {
			memcpy(out + used, what, width);
			used += width;
		}
		total += width;
		in += n;
	}
	if (size)
		out[used] = '\0';
	return total;
}

const char *text_shown(const char *text)
{
	static char *copies[8];
	static unsigned next;
	size_t len = text ? strlen(text) : 0, need = text_escape(NULL, 0, text, len);
	char *grown, **copy = &copies[next % 8];

	if (!text)
		return "?";
	if (need == len) /* an escape is longer than its byte */
		return text;
	grown = realloc(*copy, need + 1);
	if (!grown)
		return "?";
	*copy = grown;
	next++;
	text_escape(grown, need + 1, text, len);
	return grown;
}

char *text_escaped(const char *text)
{
	size_t size = strlen(text), room = text_escape(NULL, 0, text, size) + 1;
	char *copy = malloc(room);

	if (copy)
		text_escape(copy, room, text, size);
	return copy;
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *out;
	int n;

	va_start(args, format);
	n = vasprintf(&out, format, args);
	va_end(args);
	return n < 0 ? NULL : out;
}

static ssize_t put(void *arg, const char *bytes, size_t size)
{
	struct bytes *text = arg;

	if (!text->failed)
		bytes_put(text, bytes, size);
	return text->failed ? 0 : (ssize_t)size;
}

bool text_stream_open(struct text_stream *stream)
{
	stream->text = (struct bytes){0};
	stream->out = fopencookie(&stream->text, "w", (cookie_io_functions_t){.write = put});
	return stream->out;
}

char *text_stream_close(struct text_stream *stream)
{
	if (!stream->out)
		return NULL;
	if (fclose(stream->out))
		stream->text.failed = true;
	stream->out = NULL;
	bytes_u8(&stream->text, '\0');
	if (stream->text.failed)
		bytes_free(&stream->text);
	return (char *)stream->text.data;
}

char *path_with_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return xasprintf("%.*s%s", (int)n, path, suffix);
}
