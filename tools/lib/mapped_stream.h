/* SPDX-License-Identifier: MIT */
/*
 * mapped_stream: the whole stream.obs of one stream in memory, for random access.
 *
 * The reader of trace/ovni/stream.h reads forward and unmaps the bytes behind it; sort and repair
 * need any byte of the file. In: a stream whose header has been checked; out: its bytes, mapped
 * read-only. A file that shrinks meanwhile reads as zeros and is noticed by mapped_stream_sound();
 * no signal ends the program.
 */
#ifndef TOOLS_LIB_MAPPED_STREAM_H
#define TOOLS_LIB_MAPPED_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/event.h"

struct guard;

struct mapped_stream {
	const uint8_t *base, *end;
	size_t size;
	struct guard *guard;
	/* mapped_stream_step() */
	const uint8_t *at; /* the byte after ev */
	struct event ev;
};

/* Maps the stream in the directory `path`. Returns 0, or -errno after one message. */
int mapped_stream_open(struct mapped_stream *stream, int trace_fd, const char *path)
	__attribute__((warn_unused_result));
/* The same for any file, which may be empty; mapped_stream_step() needs a stream. */
int mapped_file_open(struct mapped_stream *stream, int dir_fd, const char *path)
	__attribute__((warn_unused_result));
void mapped_stream_close(struct mapped_stream *stream); /* also of a zeroed one */

void mapped_stream_rewind(struct mapped_stream *stream);

/* As stream_step(): 1, 0 at the end, -EBADMSG or -EFBIG without a message. */
static inline int mapped_stream_step(struct mapped_stream *stream)
{
	ssize_t n = event_decode(&stream->ev, stream->at, stream->end);

	if (__builtin_expect(n <= 0, 0))
		return (int)n;
	if (__builtin_expect(!stream->ev.model && event_is_zeros(stream->at), 0))
		return -EBADMSG;
	stream->at += n;
	return 1;
}

/* The byte of the current event in the file. */
static inline size_t mapped_stream_offset(const struct mapped_stream *stream)
{
	return (size_t)(stream->at - stream->base) - stream->ev.size;
}

/* False if the file has become shorter since it was opened. */
bool mapped_stream_sound(const struct mapped_stream *stream);

#endif
