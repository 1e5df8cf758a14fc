/* SPDX-License-Identifier: MIT */
/*
 * stream: the two files of one thread, stream.json and stream.obs.
 *
 * Reading: stream.obs is mapped read-only and walked forward, event by event; no
 * descriptor stays open, so the limit on open files does not limit a trace, and what
 * lies behind the reader is given back to the kernel. Where the file cannot be mapped
 * (too many streams, some network file systems) a small window of it is read instead.
 * A file that shrinks while it is read ends in a clear error (-EIO), not in a signal.
 * Writing: whole events are appended by path, without a descriptor kept open, so a
 * recording may have any number of streams. stream.json is first written without
 * `ovni.finished` and replaced by rename when the stream is complete: a reader
 * never takes a cut stream for a whole one.
 * Invariant: no symbolic link is followed on the way from the trace directory to a
 * file that is written.
 * Specification: emulator.md 3.
 */
#ifndef TRACE_OVNI_STREAM_H
#define TRACE_OVNI_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/event.h"
#include "trace/base/json.h"

#define STREAM_META "stream.json"
#define STREAM_DATA "stream.obs"

#define STREAM_AHEAD 128 /* bytes: two cache lines */
#define STREAM_ALIGN 64	 /* a cache line */

/* ---- reading ---- */

struct guard;

/* Two cache lines, the first one is what each step needs. */
struct stream {
	const uint8_t *at;  /* what comes after ev */
	const uint8_t *end; /* as far as events may be decoded without stream_more() */
	struct event ev;    /* valid after stream_step() returned 1, until the next step */

	const uint8_t *base;  /* the mapped file, or the window */
	char *path;	      /* of the directory, relative to the trace; "" is the trace itself */
	uint64_t base_offset; /* place of base in the file: 0 if mapped */
	uint64_t size;	      /* of the file when it was opened */
	struct guard *guard;  /* mapped; NULL: a window */
	union {
		const uint8_t *kept; /* mapped: what lies before it has been given back */
		size_t capacity;     /* of the window */
	};
	uint64_t sound;		/* mapped: zeros before it are known to be in the file */
	uint64_t device, inode; /* so that another file is not read for this one */
	int trace_fd;		/* the caller's, which keeps it open */
	int error;		/* why stream_step() failed, 0 if it did not */
};
_Static_assert(sizeof(struct stream) == 2 * STREAM_ALIGN, "streams_new() aligns each of them");

/*
 * Opens the stream in the directory `path` (copied) below `trace_fd` (kept open by the
 * caller until stream_close()) and checks the header of its stream.obs. Returns 0, or
 * -errno after one message: no file, short header, wrong magic or version.
 */
int stream_open(struct stream *stream, int trace_fd, const char *path)
	__attribute__((warn_unused_result));
void stream_close(struct stream *stream); /* also of a zeroed struct */

/* Room for `n` streams, which read as closed ones. NULL without memory. */
struct stream *streams_new(size_t n);
/* Closes them all, in fewer steps than one by one, and frees the room. NULL is fine. */
void streams_free(struct stream *streams, size_t n);

/* The cold part of stream_step(): `n` is what event_decode() said. */
int stream_more(struct stream *stream, ssize_t n);

/*
 * Steps to the next event. Returns 1 with it in stream->ev; 0 at the end; or a negative
 * errno without a message: -EBADMSG cut short, -EFBIG jumbo too large, -EIO the file has
 * shrunk or cannot be read, -ESTALE it was replaced, -ENOMEM. After 0 or an error it
 * returns the same again.
 */
static inline int stream_step(struct stream *stream)
{
	ssize_t n = event_decode(&stream->ev, stream->at, stream->end);

	/* no event has the model 0; a page that the file has lost reads as zeros */
	if (__builtin_expect(n <= 0 || !stream->ev.model, 0))
		return stream_more(stream, n);
	stream->at += n;
	/* with many streams in turns the processor does not see that each one goes forward */
	__builtin_prefetch(stream->at + STREAM_AHEAD);
	return 1;
}

/* The place of the current event in its file, in bytes, for messages. */
static inline uint64_t stream_offset(const struct stream *stream)
{
	return stream->base_offset + (uint64_t)(stream->at - stream->base) - stream->ev.size;
}

/* Says what stream_step() has found wrong: one message with path and byte. */
void stream_report(const struct stream *stream);

/* Starts again at the first event. stream->ev.size is 0 until the first step. */
void stream_rewind(struct stream *stream);

/* ---- writing ---- */

/*
 * Creates the directory `path` below `trace_fd` (all its parents too), starts a
 * stream.obs with nothing but its header and writes `meta` as stream.json. A stream that
 * exists already is an error (-EEXIST). On failure neither file is left behind. Returns 0
 * or -errno, with no message.
 */
int stream_create(int trace_fd, const char *path, const struct json *meta)
	__attribute__((warn_unused_result));

/* The same for a stream that is complete already: its stream.obs has `size` bytes of whole
 * events, too, before stream.json says so. */
int stream_store(int trace_fd, const char *path, const struct json *meta, const void *events,
		 size_t size) __attribute__((warn_unused_result));

/*
 * Appends `size` bytes, which are whole events, in one go. Returns 0 or -errno (-ENOSPC,
 * -EFBIG if the caller ignores SIGXFSZ, ...) with no message; then the file has been cut
 * back to what it held before, unless the disk refuses that as well: it may end inside an event,
 * and nothing must be appended to it any more.
 */
int stream_append(int trace_fd, const char *path, const void *events, size_t size)
	__attribute__((warn_unused_result));

/* Replaces stream.json by `meta` in one step (temporary file beside it, rename). Returns 0
 * or -errno with no message; then the old stream.json is still there. */
int stream_describe(int trace_fd, const char *path, const struct json *meta)
	__attribute__((warn_unused_result));

#endif
