/* SPDX-License-Identifier: MIT */
/*
 * stream: the two files of one thread, stream.json and stream.obs.
 *
 * Reading: stream.obs is mapped read-only and walked forward, event by event; no
 * descriptor stays open, so the limit on open files does not limit a trace. A file
 * that shrinks while it is read ends in a clear error (-EIO), not in a signal.
 * Writing: whole events are appended by path, without a descriptor kept open, so a
 * recording may have any number of streams. stream.json is first written without
 * `ovni.finished` and replaced by rename when the stream is complete: a reader
 * never takes a cut stream for a whole one.
 * Invariant: no symbolic link is followed on the way from the trace directory to a
 * file that is written.
 * Specification: trace specification v3; emulator specification 3.3.
 */
#ifndef TRACE_STREAM_H
#define TRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "json.h"

#define STREAM_META "stream.json"
#define STREAM_DATA "stream.obs"

/* ---- reading ---- */

struct stream {
	char *path;	     /* of the directory, relative to the trace; "" is the trace itself */
	const uint8_t *base; /* the mapped file */
	const uint8_t *at;   /* what comes after ev */
	const uint8_t *end;
	struct event ev;     /* valid after stream_step() returned 1 */
	size_t released;     /* bytes already given back to the kernel */
	int error;	     /* why stream_step() failed, 0 if it did not */
};

/*
 * Opens the stream in the directory `path` below `trace_fd` and checks the header
 * of its stream.obs. Takes no ownership of `path` (copied). Returns 0, or -errno after one
 * message: no file, short header, wrong magic or version.
 */
int stream_open(struct stream *stream, int trace_fd, const char *path)
	__attribute__((warn_unused_result));
void stream_close(struct stream *stream); /* also of a zeroed struct */

/* Steps to the next event. Returns 1 with it in stream->ev, 0 at the end, or a
 * negative errno without a message (-EBADMSG cut short, -EFBIG jumbo too large). */
static inline int stream_step(struct stream *stream)
{
	ssize_t n = event_decode(&stream->ev, stream->at, stream->end);

	if (__builtin_expect(n <= 0, 0)) {
		stream->error = (int)n;
		return (int)n;
	}
	stream->at += n;
	return 1;
}

/* The place of the current event in its file, in bytes, for messages. */
static inline uint64_t stream_offset(const struct stream *stream)
{
	return (uint64_t)(stream->at - stream->base) - stream->ev.size;
}

/* Says what stream_step() has found wrong: one message with path and byte. */
void stream_report(const struct stream *stream);

/* Starts again at the first event. */
void stream_rewind(struct stream *stream);

/* ---- writing ---- */

/*
 * Creates the directory `path` below `trace_fd` (all its parents too), writes `meta`
 * as its stream.json and starts an empty stream.obs with its header. A stream
 * that exists already is an error (-EEXIST). Returns 0 or -errno, with no message.
 */
int stream_create(int trace_fd, const char *path, const struct json *meta)
	__attribute__((warn_unused_result));

/* Appends `size` bytes, which are whole events, in one go. On failure (-ENOSPC,
 * -EIO, ...) the file is cut back to what it held before. No message. */
int stream_append(int trace_fd, const char *path, const void *events, size_t size)
	__attribute__((warn_unused_result));

/* Replaces stream.json by `meta` in one step (temporary file beside it, rename). */
int stream_describe(int trace_fd, const char *path, const struct json *meta)
	__attribute__((warn_unused_result));

#endif
