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
#ifndef USER_WRITER_WRITER_H
#define USER_WRITER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct json;
struct disk_error;
struct writer;

/* What touches the disk, as in trace/ovni/stream.h; a table so that tests can let it fail. */
struct writer_files {
	int (*create)(int trace_fd, const char *path, const struct json *meta);
	int (*append)(int trace_fd, const char *path, const void *events, size_t size);
	int (*describe)(int trace_fd, const char *path, const struct json *meta);
	int (*store)(int trace_fd, const char *path, const struct json *meta, const void *events,
		     size_t size);
};

struct writer_options {
	int trace_fd;			  /* output directory; the caller's */
	size_t queue_bytes;		  /* bound of the queue; 0: the default, 256 MiB */
	uint64_t max_bytes;		  /* --max-size; 0: none */
	const struct writer_files *files; /* NULL: the real ones */
	struct disk_error *disk_error;	  /* of the session, the caller's; NULL: its own */
};

/* Starts the thread. NULL after one message. */
struct writer *writer_start(const struct writer_options *options);

/*
 * What is to be done with one stream: whole events, then its stream.json. A stream that is new
 * is created first, without `ovni.finished`; or in one go, if `meta` says that it is finished.
 * `meta` is called in the writer's thread, at most once, and gives the stream.json (freed by the
 * writer) or NULL without memory; `drop` frees `arg`, always. Either may be NULL.
 */
struct writer_request {
	const char *path; /* relative to the output directory; copied */
	bool create;	  /* the stream is new: meta must be given */
	void *events;	  /* taken over (free()); NULL: none */
	size_t size;	  /* bytes at events */
	struct json *(*meta)(void *arg);
	void (*drop)(void *arg);
	void *arg;
};

/* Queues `request`, and takes over what it holds, also on failure. May wait for room. Returns 0,
 * or the writer's first error. */
int writer_put(struct writer *writer, const struct writer_request *request);

/* Something that was to be written is lost, which has been said: from now on nothing is written, as
 * after any other error (-errno). */
void writer_abandon(struct writer *writer, int err);

/* Has `fn(arg)` called in the writer's thread ahead of all that waits, in the order given;
 * also after an error (a chance to free). Never waits. 0, or -ENOMEM and nothing is called. */
int writer_run(struct writer *writer, void (*fn)(void *arg), void *arg);

/* Waits until all that was queued is done. Returns the first error or 0. */
int writer_sync(struct writer *writer);

/* Waits until the queue is empty, ends the thread, frees all. Returns the first error (-errno;
 * it has been reported), or 0. */
int writer_finish(struct writer *writer);

/* Any time, any thread: */
int writer_error(const struct writer *writer);	    /* first error or 0 */
uint64_t writer_bytes(const struct writer *writer); /* written to stream.obs files */
size_t writer_queued(const struct writer *writer);  /* bytes waiting */
/* --max-size has been reached, by what is written and what waits: time to stop the session. Not
 * an error: the closing events are still written, above the limit. */
bool writer_full(const struct writer *writer);

#endif
