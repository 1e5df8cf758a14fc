/* SPDX-License-Identifier: MIT */
/*
 * mapped_stream: the whole stream.obs of one stream in memory, for tools that look back.
 *
 * The reader of trace/ovni/stream.h goes forward and gives back what lies behind; sorting and
 * mending need any place of the file. In: a stream whose header has been checked; out: its
 * bytes, mapped read-only. A file that shrinks meanwhile reads as zeros and is noticed by
 * image_sound(), never by a signal.
 */
#ifndef TOOLS_LIB_MAPPED_STREAM_H
#define TOOLS_LIB_MAPPED_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/event.h"

struct guard;

struct image {
	const uint8_t *base, *end;
	size_t size;
	struct guard *guard;
	/* image_step() */
	const uint8_t *at; /* what comes after ev */
	struct event ev;
};

/* Maps the stream in the directory `path`. Returns 0, or -errno after one message. */
int image_open(struct image *image, int trace_fd, const char *path)
	__attribute__((warn_unused_result));
void image_close(struct image *image); /* also of a zeroed one */

void image_rewind(struct image *image);

/* As stream_step(): 1, 0 at the end, -EBADMSG or -EFBIG without a message. */
static inline int image_step(struct image *image)
{
	ssize_t n = event_decode(&image->ev, image->at, image->end);

	if (__builtin_expect(n <= 0, 0))
		return (int)n;
	image->at += n;
	return 1;
}

/* The place of the current event in the file. */
static inline size_t image_offset(const struct image *image)
{
	return (size_t)(image->at - image->base) - image->ev.size;
}

/* False if the file has become shorter since it was opened. */
bool image_sound(const struct image *image);

#endif
