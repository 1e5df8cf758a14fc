/* SPDX-License-Identifier: MIT */
/* phrase: a string made of parts: a path, a reason. */
#ifndef USER_PROBES_PHRASE_H
#define USER_PROBES_PHRASE_H

/* As printf() would print it, for the caller to free; NULL without memory. */
char *phrase(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
