/* SPDX-License-Identifier: MIT */
/*
 * out: the files of an emulation, and the threads that write them.
 *
 *   emulator ──► full buffer ──► queue ──► writers: (gzip) ──► write() ──► file
 *            ◄── empty buffer ◄──────────────────┘
 *
 * Without writer threads (-j 1) a full buffer is written on the spot. The pieces of a file are
 * cut by the emulator alone and written in their order, so the bytes are the same for any number
 * of threads. Nothing is created through a symbolic link, and only regular files are truncated.
 * The first error of a file (a full disk) is said once and ends the emulation.
 */
#ifndef EMU_PARAVER_OUT_H
#define EMU_PARAVER_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUT_BUFFER_BYTES (1u << 18) /* a piece is at least this long, but for the last one */

struct out;	 /* one file */
struct out_pool; /* the writer threads, and the buffers on their way */

/* `threads` writers (0: none). NULL after a message. */
struct out_pool *out_pool_new(unsigned threads);
/* Waits for what is queued and ends the threads. NULL is fine. */
void out_pool_free(struct out_pool *pool);
/* Says that `path` could not be written; a full disk fails many files, but one message is enough.
 */
void out_report(struct out_pool *pool, const char *path, int err);

/* What to do about a file that cannot be created or written, in parentheses; "" if the error says
 * enough. `err` is a negative errno. */
const char *out_remedy(int err);

/*
 * Creates (or truncates) the file `name` in the directory `dir_fd`; `path` names it in messages
 * and is copied. With `gzip` the body is compressed and the name gets ".gz". NULL after a message.
 */
struct out *out_open(struct out_pool *pool, int dir_fd, const char *dir, const char *name,
		     bool gzip);

/* The first empty buffer to fill, of `bytes`; later ones come from out_put(). NULL after a
 * message. */
char *out_buffer(struct out *out, size_t bytes);

/*
 * Takes the first `size` bytes of the buffer and gives an empty one in *buffer, which may be the
 * same. Returns 0, or -errno if the file could not be written.
 */
int out_put(struct out *out, size_t size, char **buffer) __attribute__((warn_unused_result));

/*
 * The first line of the file, of a fixed length: written by the first call, before the
 * body, and replaced by the next ones (then all of the body must have been put).
 */
int out_header(struct out *out, const char *line, size_t size) __attribute__((warn_unused_result));

/* Waits for the body, closes the file and frees. Returns 0 or -errno. NULL is fine. */
int out_close(struct out *out) __attribute__((warn_unused_result));

#define OUT_NOWHERE (-1) /* in place of a directory: what is written is thrown away */

/*
 * Opens a file for writing below dir_fd: created or truncated, regular, never
 * through a symbolic link. Returns the descriptor or -errno, without a message.
 */
int out_create(int dir_fd, const char *name);

#endif
