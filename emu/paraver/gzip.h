/* SPDX-License-Identifier: MIT */
/*
 * gzip: pieces of a file as gzip members, one after the other, which readers take as one file.
 *
 * In: bytes; out: a member that stands by itself, so that pieces can be compressed
 * by several threads. The first line of a .prv is a stored member, whose length depends on the
 * length of the line alone, so it can be rewritten in place.
 * Specification: paraver.md 8.
 */
#ifndef EMU_PARAVER_GZIP_H
#define EMU_PARAVER_GZIP_H

#include <stddef.h>

struct gzip; /* of one thread: zlib's state and a buffer */

struct gzip *gzip_new(void);	   /* NULL without memory */
void gzip_free(struct gzip *gzip); /* NULL is fine */

/*
 * Compresses `size` bytes into a member: *out and *out_size, valid until the next call. Returns
 * 0 or -ENOMEM.
 */
int gzip_member(struct gzip *gzip, const char *data, size_t size, const char **out,
		size_t *out_size) __attribute__((warn_unused_result));

#define GZIP_LINE_MAX	256
#define GZIP_STORED_MAX (GZIP_LINE_MAX + 23)

/* Writes a stored member of `size` (at most GZIP_LINE_MAX) bytes at `out`. Returns its size. */
size_t gzip_stored(char *out, const char *data, size_t size);

#endif
