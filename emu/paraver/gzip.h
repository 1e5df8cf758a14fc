/* SPDX-License-Identifier: MIT */
/*
 * gzip: compresses pieces of a file into gzip members; readers see their sequence as one file.
 *
 * In: bytes; out: an independent member, so that several threads can compress. The first line of
 * a .prv is a stored member: its length depends on the length of the line alone, so the emulator
 * can rewrite it in place.
 * Specification: paraver.md 8.
 */
#ifndef EMU_PARAVER_GZIP_H
#define EMU_PARAVER_GZIP_H

#include <stddef.h>

struct gzip; /* of one thread: the state of zlib and a buffer */

struct gzip *gzip_new(void);	   /* NULL: out of memory */
void gzip_free(struct gzip *gzip); /* accepts NULL */

/*
 * Compresses `size` bytes into a member in *out of *out_size bytes, valid until the next call.
 * Returns 0 or -ENOMEM.
 */
int gzip_member(struct gzip *gzip, const char *data, size_t size, const char **out,
		size_t *out_size) __attribute__((warn_unused_result));

#define GZIP_LINE_MAX	256
#define GZIP_STORED_MAX (GZIP_LINE_MAX + 23)

/* Writes a stored member of `size` (at most GZIP_LINE_MAX) bytes at `out`. Returns its size. */
size_t gzip_stored(char *out, const char *data, size_t size);

#endif
