/* SPDX-License-Identifier: MIT */
/*
 * source: the bytes of one file, forward, through one buffer.
 *
 * In: a regular file of any size; out: its bytes, with their offsets. Memory is one buffer, however
 * large the file is, and a file that shrinks meanwhile just ends earlier.
 * Invariant: nothing is shown that was not read.
 */
#ifndef TRACE_LOOM_SOURCE_H
#define TRACE_LOOM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source {
	uint8_t *buf;
	size_t at, len;	 /* what comes next in buf; bytes in it */
	uint64_t offset; /* of buf[0] in the file */
	uint64_t size;	 /* of the file when it was opened */
	int fd;
	int error; /* -errno once reading has failed, after one message */
	char *path;
};

/*
 * Opens a regular file for reading ("-" has no meaning here). Returns 0, or -errno after one
 * message; source_close() is allowed in either case.
 */
int source_open(struct source *s, int dirfd, const char *path) __attribute__((warn_unused_result));
void source_close(struct source *s);

/* Continues at `offset`. */
void source_seek(struct source *s, uint64_t offset);

/* Reads on until `size` bytes (at most 64 KiB) lie at buf + at, or the file ends. Returns how many
 * do. */
size_t source_fill(struct source *s, size_t size);

/* Place of the next byte in the file. */
static inline uint64_t source_tell(const struct source *s)
{
	return s->offset + s->at;
}

/* `size` bytes that come next, which stay next; NULL if there are fewer. */
static inline const uint8_t *source_peek(struct source *s, size_t size)
{
	if (__builtin_expect(s->len - s->at < size, 0) && source_fill(s, size) < size)
		return NULL;
	return s->buf + s->at;
}

static inline void source_skip(struct source *s, size_t size)
{
	s->at += size;
}

/* The next byte, which stays next; -1 at the end. */
static inline int source_look(struct source *s)
{
	if (__builtin_expect(s->at == s->len, 0) && source_fill(s, 1) == 0)
		return -1;
	return s->buf[s->at];
}

#endif
