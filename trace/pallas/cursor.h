/* SPDX-License-Identifier: MIT */
/*
 * cursor: reads the bytes of one file in order, inside its bounds.
 *
 * In: bytes and the name of their file; out: integers and slices. The first error stays in `err`: a
 * read beyond the end, which logs one message, or a lack of memory. After it, every read returns
 * zeros, so a caller checks once per record. Invariant: at <= end, and no byte at or past `end` is
 * read.
 */
#ifndef TRACE_PALLAS_CURSOR_H
#define TRACE_PALLAS_CURSOR_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ovni/event.h"
#include "trace/base/log.h"

struct cursor {
	uint8_t *start, *at, *end;
	const char *path; /* for messages; owned by the caller */
	int err;	  /* -EBADMSG or -ENOMEM */
	uint8_t version;  /* of the ABI of the file */
};

static inline void cursor_init(struct cursor *c, uint8_t *bytes, size_t size, const char *path,
			       uint8_t version)
{
	*c = (struct cursor){
		.start = bytes, .at = bytes, .end = bytes + size, .path = path, .version = version};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* Logs a fault at the present byte unless there was an error before. Returns the first error. */
#define cursor_fail(c, fmt, ...)                                                                   \
	({                                                                                         \
		if (!(c)->err) {                                                                   \
			log_error("%s: byte %zu: " fmt, (c)->path, (size_t)((c)->at - (c)->start), \
				  ##__VA_ARGS__);                                                  \
			(c)->err = -EBADMSG;                                                       \
		}                                                                                  \
		(c)->err;                                                                          \
	})

/* The next `size` bytes, or NULL; `what` is for the message. */
static inline uint8_t *cursor_bytes(struct cursor *c, size_t size, const char *what)
{
	uint8_t *at = c->at;

	if (c->err)
		return NULL;
	if (size > cursor_left(c)) {
		cursor_fail(c, "the file ends inside %s: %zu bytes wanted, %zu left", what, size,
			    cursor_left(c));
		return NULL;
	}
	c->at += size;
	return at;
}

static inline uint8_t cursor_u8(struct cursor *c, const char *what)
{
	const uint8_t *at = cursor_bytes(c, 1, what);

	return at ? *at : 0;
}

static inline uint32_t cursor_u32(struct cursor *c, const char *what)
{
	const uint8_t *at = cursor_bytes(c, 4, what);

	return at ? get_u32(at) : 0;
}

static inline uint64_t cursor_u64(struct cursor *c, const char *what)
{
	const uint8_t *at = cursor_bytes(c, 8, what);

	return at ? get_u64(at) : 0;
}

/* Checks a count of records of at least `least` bytes each against the rest of the file. */
static inline size_t cursor_check(struct cursor *c, uint64_t n, size_t least, const char *what)
{
	if (n > cursor_left(c) / least)
		cursor_fail(c, "%llu %s do not fit into the %zu bytes that are left",
			    (unsigned long long)n, what, cursor_left(c));
	return c->err ? 0 : (size_t)n;
}

static inline size_t cursor_count(struct cursor *c, size_t least, const char *what)
{
	uint64_t n = cursor_u64(c, what);

	return cursor_check(c, n, least, what);
}

/* Zeroed memory for n rows, which the caller frees; NULL after an error. */
static inline void *cursor_rows(struct cursor *c, size_t n, size_t size)
{
	void *rows = c->err ? NULL : calloc(n ? n : 1, size);

	if (!rows && !c->err)
		c->err = -ENOMEM;
	return rows;
}

#endif
