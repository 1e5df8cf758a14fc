/* SPDX-License-Identifier: MIT */
/*
 * stream: reads and writes the two files of one thread, stream.json and stream.obs.
 *
 * Reading (stream.c): the file in, one event at a time out. stream.obs is mapped read-only and
 * walked forward. No descriptor stays open, so the limit on open files does not limit a trace, and
 * the kernel gets back the pages behind the reader. A file that cannot be mapped (too many streams,
 * some network file systems) is read through a small window. A file that shrinks causes an error
 * (-EIO), not a signal.
 * Writing (stream_write.c): whole events in, appended by path without an open descriptor, so a
 * recording may have any number of streams. stream.json first lacks `ovni.finished`; a rename
 * replaces it when the stream is complete, so a reader recognizes an incomplete stream.
 * Invariant: no symbolic link is followed between the trace directory and a written file.
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

#define STREAM_AHEAD 128	 /* bytes: two cache lines */
#define STREAM_PEEK  (64u << 10) /* bytes */

/* ---- reading ---- */

struct guard;

/* Two cache lines; the first one has the data of each step. */
struct stream {
	const uint8_t *at;  /* end of ev */
	const uint8_t *end; /* end of the part that is open for decoding */
	struct event ev;    /* valid after stream_step() returned 1, until the next step */

	const uint8_t *base;  /* the mapped file, or the window */
	char *path;	      /* of the directory, relative to the trace; "": the trace itself */
	uint64_t base_offset; /* offset of base in the file: 0 if mapped */
	uint64_t size;	      /* of the file at stream_open() */
	struct guard *guard;  /* mapped; NULL: a window */
	union {
		const uint8_t *kept; /* mapped: pages before it are released */
		size_t capacity;     /* of the window */
	};
	uint64_t sound;		/* mapped: zeros before it are bytes of the file */
	uint64_t device, inode; /* of the file, to detect another one in its place */
	int trace_fd;		/* owned by the caller */
	int16_t error;		/* of stream_step(), 0 for none */
	bool shared;		/* path and mapping belong to another stream: stream_share() */
	bool loaded;		/* base has the whole file, in memory */
};
_Static_assert(sizeof(struct stream) == 128, "streams_new() aligns each of them");

/*
 * Opens the stream in the directory `path` below `trace_fd`, which the caller keeps open until
 * stream_close(), and checks the header of its stream.obs. Returns 0, or -errno after one message:
 * no file, short header, wrong magic or version.
 */
int stream_open(struct stream *stream, int trace_fd, const char *path)
	__attribute__((warn_unused_result));
/*
 * Opens the same stream once more, for another thread, without another mapping; it begins before
 * the first event. `of` must stay open until stream_close(). Returns 0, or -errno after one
 * message.
 */
int stream_share(struct stream *stream, const struct stream *of)
	__attribute__((warn_unused_result));
void stream_close(struct stream *stream); /* accepts a zeroed struct */

/* Allocates `n` streams, all closed. Returns NULL out of memory. */
struct stream *streams_new(size_t n);
/* The same streams once more, each by stream_share(); closed ones stay closed. Returns NULL with
 * errno after a failure. */
struct stream *streams_share(const struct stream *streams, size_t n);
/* Closes all streams, in fewer steps than one by one, and frees them. Accepts NULL. */
void streams_free(struct stream *streams, size_t n);
/* Gives back the memory of their files. Later accesses, also by streams that share a mapping, take
 * it again. */
void streams_release(const struct stream *streams, size_t n);

/* The cold part of stream_step(): `n` is the result of event_decode(). */
int stream_more(struct stream *stream, ssize_t n);

/*
 * Steps to the next event. Returns 1 with it in stream->ev; 0 at the end; or -errno without a
 * message: -EBADMSG incomplete event, or zeros in its place, -EFBIG jumbo event too large, -EIO
 * file shrunk or unreadable, -ESTALE another file in its place, -ENOMEM. After 0 or an error it
 * returns the same again.
 */
static inline int stream_step(struct stream *stream)
{
	ssize_t n = event_decode(&stream->ev, stream->at, stream->end);

	/* no event has the model 0, and missing pages of the file read as zeros */
	if (__builtin_expect(n <= 0 || !stream->ev.model, 0))
		return stream_more(stream, n);
	stream->at += n;
	/* the processor does not detect the sequential reads of many interleaved streams */
	__builtin_prefetch(stream->at + STREAM_AHEAD);
	return 1;
}

/* The end of the bytes from stream->at on that may be decoded ahead of their turn: of a mapped
 * file, the next STREAM_PEEK bytes; of a window, its rest. */
static inline const uint8_t *stream_peek_end(const struct stream *stream)
{
	size_t left;

	if (!stream->guard)
		return stream->end;
	left = (size_t)(stream->base + stream->size - stream->at);
	return stream->at + (left < STREAM_PEEK ? left : STREAM_PEEK);
}

/* Offset of the current event in its file, in bytes. */
static inline uint64_t stream_offset(const struct stream *stream)
{
	return stream->base_offset + (uint64_t)(stream->at - stream->base) - stream->ev.size;
}

/* Logs the error of stream_step(), with path and byte. */
void stream_report(const struct stream *stream);

/* Goes back before the first event. stream->ev.size is 0 until the next step. A zeroed stream stays
 * one without events. */
void stream_rewind(struct stream *stream);

/* ---- writing ---- */

/* Writes all of it or fails: 0 or -errno without a message. */
int write_all(int fd, const void *data, size_t size) __attribute__((warn_unused_result));

/*
 * Creates the directory `path` below `trace_fd` with its parents, a stream.obs with only its
 * header, and `meta` as stream.json. Returns 0, or -errno without a message and without files;
 * -EEXIST if the stream exists.
 */
int stream_create(int trace_fd, const char *path, const struct json *meta)
	__attribute__((warn_unused_result));

/* The same for a complete stream: stream.obs gets `size` bytes of whole events before stream.json.
 */
int stream_store(int trace_fd, const char *path, const struct json *meta, const void *events,
		 size_t size) __attribute__((warn_unused_result));

/*
 * Appends `size` bytes of whole events. Returns 0, or -errno without a message (-ENOSPC, -EFBIG if
 * the caller ignores SIGXFSZ, ...). After a failure the file has its former size; if the disk
 * refuses to truncate it, it may end inside an event. The caller must not append to it again.
 */
int stream_append(int trace_fd, const char *path, const void *events, size_t size)
	__attribute__((warn_unused_result));

/* The same for lines of text and the file `name` of the trace, which is created if necessary. */
int stream_append_text(int trace_fd, const char *name, const void *lines, size_t size)
	__attribute__((warn_unused_result));

/*
 * Replaces stream.json with `meta` atomically (rename of a temporary file). Returns 0, or -errno
 * without a message; the old stream.json then stays.
 */
int stream_describe(int trace_fd, const char *path, const struct json *meta)
	__attribute__((warn_unused_result));

#endif
