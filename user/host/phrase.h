/* SPDX-License-Identifier: MIT */
/* phrase: a string made of parts: a path, a reason. */
#ifndef TRACE_BASE_PHRASE_H
#define TRACE_BASE_PHRASE_H

/* As printf() would print it, for the caller to free; NULL without memory. */
char *phrase(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
