/* SPDX-License-Identifier: MIT */
#include "tools/lib/printer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/text.h"

#define OUT_BYTES  (256 << 10) /* stays in the second level cache of today's cores */
#define PIPE_BYTES (1 << 20)   /* the limit for users without privilege */

void printer_open(struct printer *out, int fd)
{
	struct stat st;

	memset(out, 0, sizeof(*out));
	out->fd = fd;
	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		(void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* only an improvement */
}

void printer_flush(struct printer *out)
{
	size_t done = 0;

	while (done < out->len && !out->error) {
		ssize_t n = write(out->fd, out->buf + done, out->len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			out->error = -errno;
	}
	out->len = 0;
}

int printer_grow(struct printer *out, size_t size)
{
	size_t cap = size < OUT_BYTES ? OUT_BYTES : size;
	char *buf = realloc(out->buf, cap);

	if (!buf) {
		if (!out->error)
			out->error = -ENOMEM;
		return -ENOMEM;
	}
	out->buf = buf;
	out->cap = cap;
	return 0;
}

int printer_close(struct printer *out)
{
	printer_flush(out);
	free(out->buf);
	out->buf = NULL;
	out->cap = 0;
	if (out->error == -ENOMEM)
		log_lack("while printing");
	else if (out->error)
		log_error("output: %s", strerror(-out->error));
	return out->error;
}

void printer_bytes(struct printer *out, const void *bytes, size_t size)
{
	char *at = printer_room(out, size);

	if (!at)
		return;
	memcpy(at, bytes, size);
	out->len += size;
}

void printer_text(struct printer *out, const char *text)
{
	printer_bytes(out, text, strlen(text));
}

void printer_format(struct printer *out, const char *fmt, ...)
{
	char small[512], *at;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(small, sizeof(small), fmt, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n < sizeof(small)) {
		printer_bytes(out, small, (size_t)n);
		return;
	}
	at = printer_room(out, (size_t)n + 1);
	if (!at)
		return;
	va_start(args, fmt);
	vsnprintf(at, (size_t)n + 1, fmt, args);
	va_end(args);
	out->len += (size_t)n;
}

static char *put_hex(char *at, const char *lead, uint8_t byte)
{
	static const char digits[] = "0123456789abcdef";

	while (*lead)
		*at++ = *lead++;
	*at++ = digits[byte >> 4];
	*at++ = digits[byte & 15];
	return at;
}

void printer_escaped(struct printer *out, const char *text, size_t size)
{
	size_t room = size * 4 + 1;
	char *at = printer_room(out, room);

	if (at)
		printer_upto(out, at + text_escape(at, room, text, size));
}

void printer_json_string(struct printer *out, const char *text, size_t size)
{
	char *at = printer_room(out, size * 6 + 2);

	if (!at)
		return;
	*at++ = '"';
	for (size_t i = 0; i < size;) {
		size_t n = text_char(text + i, text + size);
		uint8_t c = (uint8_t)text[i];

		if (n == 0) { /* not UTF-8: the four characters \xNN */
			at = put_hex(at, "\\\\x", c);
			i++;
		} else if (c < 0x20 || c == 0x7f) {
			at = put_hex(at, "\\u00", c);
			i++;
		} else if (!text_printable(text + i, n)) { /* U+0080, U+202E ... */
			uint32_t code = text_code(text + i, n);

			at = put_hex(at, "\\u", (uint8_t)(code >> 8));
			at = put_hex(at, "", (uint8_t)code);
			i += n;
		} else if (c == '"' || c == '\\') {
			*at++ = '\\';
			*at++ = (char)c;
			i++;
		} else {
			memcpy(at, text + i, n);
			at += n;
			i += n;
		}
	}
	*at++ = '"';
	printer_upto(out, at);
}
