/* SPDX-License-Identifier: MIT */
/*
 * out: the files of an emulation, and the threads that write them.
 *
 *   emulator ──► full buffer ──► queue ──► writers: (gzip) ──► write() ──► file
 *            ◄── empty buffer ◄──────────────────┘
 *
 * Without writer threads (-j 1) the emulator writes a full buffer itself. It alone cuts a file into
 * pieces, and they are written in order: the bytes do not depend on the number of threads. No file
 * is created through a symbolic link, and only regular files are truncated. The first error (a full
 * disk) is logged once and ends the emulation.
 */
#ifndef EMU_PARAVER_OUT_H
#define EMU_PARAVER_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUT_BUFFER_BYTES (1u << 18) /* minimum of a piece, except the last one */

struct out;	 /* one file */
struct out_pool; /* the writer threads and their queue */

/* Starts `threads` writers (0: none). Returns NULL after a message. */
struct out_pool *out_pool_new(unsigned threads);
/* Waits for the queue and ends the threads. Accepts NULL. */
void out_pool_free(struct out_pool *pool);
/* Logs that writing `path` failed, once per pool: a full disk fails many files. */
void out_report(struct out_pool *pool, const char *path, int err);

/*
 * Advice for a file that cannot be created or written, in parentheses; "" if there is none. `err`
 * is a negative errno.
 */
const char *out_remedy(int err);

/*
 * Creates (or truncates) the file `name` in the directory `dir_fd`; `dir` is its name in messages.
 * With `gzip` the body is compressed and the name gets ".gz". Returns NULL after a message.
 */
struct out *out_open(struct out_pool *pool, int dir_fd, const char *dir, const char *name,
		     bool gzip);

/*
 * Returns the first empty buffer, of `bytes`; out_put() returns the next ones. NULL after a
 * message.
 */
char *out_buffer(struct out *out, size_t bytes);

/*
 * Writes the first `size` bytes of the buffer, now or later, and returns an empty one in *buffer,
 * maybe the same. Returns 0, or the -errno of the file after a message.
 */
int out_put(struct out *out, size_t size, char **buffer) __attribute__((warn_unused_result));

/*
 * Writes the first line of the file, of a fixed length. The first call precedes the body; later
 * calls replace the line after the whole body. Returns 0 or -errno.
 */
int out_header(struct out *out, const char *line, size_t size) __attribute__((warn_unused_result));

/* Waits for the body, closes the file and frees. Returns 0 or -errno. Accepts NULL. */
int out_close(struct out *out) __attribute__((warn_unused_result));

#define OUT_NOWHERE (-1) /* instead of a directory: discards all output */

/*
 * Creates a file below dir_fd. A regular file of that name is removed, not truncated: other names
 * of it keep its bytes. A link, or another kind of file, is an error. Returns the descriptor or
 * -errno, without a message.
 */
int out_create(int dir_fd, const char *name);

#endif
