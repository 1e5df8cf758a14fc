/* SPDX-License-Identifier: MIT */
/* phrase: see phrase.h. */
#include <stdarg.h>
#include <stdio.h>

#include "user/host/phrase.h"

char *phrase(const char *format, ...)
{
	va_list args;
	char *out;
	int n;

	va_start(args, format);
	n = vasprintf(&out, format, args);
	va_end(args);
	return n < 0 ? NULL : out;
}
