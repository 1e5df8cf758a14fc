/* SPDX-License-Identifier: MIT */
/*
 * writer: the one thread of the recorder that touches files.
 *
 * In: full buffers of whole events and descriptions of streams, through a bounded
 * queue; out: stream.obs and stream.json below the output directory. The draining
 * thread never opens a file. When the queue is full, the giver waits: the rings then fill,
 * and a loss is counted where it happens.
 * Invariants: buffers of one stream are written in the order given; after the first error
 * nothing more is written, what is on disk is whole events, and the error is kept.
 * Specification: ebpf.md 13.
 */
#ifndef USER_WRITER_H
#define USER_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct json;
struct writer;

struct writer_options {
	int trace_fd;	    /* output directory; the caller's */
	size_t queue_bytes; /* bound of the queue; 0: the default, 256 MiB */
	uint64_t max_bytes; /* --max-size; 0: none */
};

/* Starts the thread. NULL after one message. */
struct writer *writer_start(const struct writer_options *options);

/* Queues the creation of a stream; takes both over (freed when done). 0 or the writer's error. */
int writer_create(struct writer *writer, char *path, struct json *meta);
/* Queues `size` bytes of whole events for `path`, which must stay valid until
 * writer_finish(); takes `events` over. 0, or the writer's error. */
int writer_append(struct writer *writer, const char *path, void *events, size_t size);
/* Queues the last stream.json of a stream; takes `meta` over. */
int writer_describe(struct writer *writer, const char *path, struct json *meta);

/* Waits until the queue is empty, ends the thread, frees all. Returns the first error (-errno;
 * it has been reported), or 0. */
int writer_finish(struct writer *writer);

/* Any time, any thread: */
int writer_error(const struct writer *writer);	      /* first error or 0 */
uint64_t writer_bytes(const struct writer *writer);   /* written to stream.obs files */
size_t writer_queued(const struct writer *writer);    /* bytes waiting */

#endif
