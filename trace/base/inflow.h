/* SPDX-License-Identifier: MIT */
/*
 * inflow: the bytes of one file, forward, through one buffer.
 *
 * In: a regular file of any size; out: its bytes, with their offsets. Memory is one buffer, however
 * large the file is, and a file that shrinks meanwhile just ends earlier.
 * Invariant: nothing is shown that was not read.
 */
#ifndef TRACE_BASE_INFLOW_H
#define TRACE_BASE_INFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inflow {
	uint8_t *buf;
	size_t at, len;	 /* the next byte in buf; bytes in it */
	uint64_t offset; /* of buf[0] in the file */
	uint64_t size;	 /* of the file when it was opened */
	int fd;
	int error; /* -errno once reading has failed, after one message */
	char *path;
};

/*
 * Opens a regular file of at most `most` bytes, as input_open() does ("-" has no meaning here).
 * Returns 0, or -errno after one message; inflow_close() is allowed in either case.
 */
int inflow_open(struct inflow *s, int dirfd, const char *path, uint64_t most)
	__attribute__((warn_unused_result));
void inflow_close(struct inflow *s);

/* Continues at `offset`. */
void inflow_seek(struct inflow *s, uint64_t offset);

/* Reads on until `size` bytes (at most 64 KiB) lie at buf + at, or the file ends. Returns how many
 * do. */
size_t inflow_fill(struct inflow *s, size_t size);

/* Place of the next byte in the file. */
static inline uint64_t inflow_offset(const struct inflow *s)
{
	return s->offset + s->at;
}

/* `size` bytes that come next, which stay next; NULL if there are fewer. */
static inline const uint8_t *inflow_peek(struct inflow *s, size_t size)
{
	if (__builtin_expect(s->len - s->at < size, 0) && inflow_fill(s, size) < size)
		return NULL;
	return s->buf + s->at;
}

static inline void inflow_skip(struct inflow *s, size_t size)
{
	s->at += size;
}

/* The next byte, which stays next; -1 at the end. */
static inline int inflow_peek_byte(struct inflow *s)
{
	if (__builtin_expect(s->at == s->len, 0) && inflow_fill(s, 1) == 0)
		return -1;
	return s->buf[s->at];
}

#endif
