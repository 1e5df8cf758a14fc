/* SPDX-License-Identifier: MIT */
/*
 * writer: the only thread of the recorder that touches files.
 *
 * In: full buffers of whole events and metadata of streams, and lines of text, through a bounded
 * queue; out: stream.obs and stream.json, and files of text, below the output directory. The
 * draining thread never opens a file. When the queue is full, the caller waits: the rings then
 * fill, and the loss is counted where it happens. The memory of a long queue goes back to the
 * kernel when it is empty.
 * Invariants: buffers of one stream are written in the order given; after the first error
 * nothing more is written, the disk holds whole events, and the error is kept.
 * Specification: ebpf.md 13.
 */
#ifndef USER_WRITER_WRITER_H
#define USER_WRITER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct json;
struct writer;

/* The first error of the disk in a session, of any thread and any file, is reported; later ones are
 * its consequences and stay silent. */
struct disk_error { /* zeroed: no error yet */
	_Atomic bool reported;
};

/* Reports that the operation `fmt`, as in "PATH: cannot write", failed with `err` (-errno), and the
 * remedy, unless another error was reported before. With NULL it always reports. */
void disk_error_report(struct disk_error *disk_error, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The functions that touch the disk, of trace/ovni/stream.h; a table so that tests can make them
 * fail. */
struct writer_files {
	int (*create)(int trace_fd, const char *path, const struct json *meta);
	int (*append)(int trace_fd, const char *path, const void *events, size_t size);
	int (*describe)(int trace_fd, const char *path, const struct json *meta);
	int (*store)(int trace_fd, const char *path, const struct json *meta, const void *events,
		     size_t size);
	int (*append_text)(int trace_fd, const char *name, const void *lines, size_t size);
};

struct writer_options {
	int trace_fd;			  /* output directory; owned by the caller */
	size_t queue_bytes;		  /* bound of the queue; 0: the default, 256 MiB */
	uint64_t max_bytes;		  /* --max-size; 0: none */
	const struct writer_files *files; /* NULL: the real ones */
	struct disk_error *disk_error;	  /* of the session, owned by the caller; NULL: its own */
};

/* Starts the thread. NULL after one message. */
struct writer *writer_start(const struct writer_options *options);

/*
 * A request to write one stream: whole events, then its stream.json. A new stream is created first,
 * without `ovni.finished`; or in one step if its metadata is finished. The writer calls `meta` at
 * most once, in its thread, for the stream.json, which it frees; NULL means no memory. It always
 * calls `drop` to free `arg`. Either function may be NULL.
 */
struct writer_request {
	const char *path; /* relative to the output directory; copied */
	bool create;	  /* the stream is new: meta must be given */
	bool text;    /* `path` is no stream but a file of text: `events` are whole lines of it */
	void *events; /* taken over, freed with free(); NULL: none */
	size_t size;  /* bytes at events */
	struct json *(*meta)(void *arg);
	void (*drop)(void *arg);
	void *arg;
};

/* Queues `request` and takes over its memory, also on failure. Waits for room in the queue. 0, or
 * the first error of the writer. */
int writer_put(struct writer *writer, const struct writer_request *request);

/* Reports that a buffer was lost (-errno, already reported to the user): nothing more is written,
 * as after any other error. */
void writer_abandon(struct writer *writer, int err);

/* Calls `fn(arg)` in the thread of the writer, before all queued requests, in the order given; also
 * after an error, so that it can free. Never waits. 0, or -ENOMEM and `fn` is not called. */
int writer_run(struct writer *writer, void (*fn)(void *arg), void *arg);

/* Waits until every queued request is done. Returns the first error or 0. */
int writer_sync(struct writer *writer);

/* Waits for the queue to empty, ends the thread, frees everything. Returns the first error (-errno,
 * already reported), or 0. */
int writer_finish(struct writer *writer);

/* Any time, any thread: */
uint64_t writer_bytes(const struct writer *writer); /* written to stream.obs files */
size_t writer_queued(const struct writer *writer);  /* bytes waiting */
/* True if written and queued bytes have reached --max-size: the session must stop. Not an error:
 * the closing events are still written, above the limit. */
bool writer_full(const struct writer *writer);

#endif
