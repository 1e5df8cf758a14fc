/* SPDX-License-Identifier: MIT */
/*
 * loom_channel: the messages between a writer in a simulator and `ovni-loom record`.
 *
 * In: what the writer would write into its files; out: the same bytes, in messages with a length,
 * over a Unix stream socket. The recorder answers the hello, and the end, or its first failure.
 * Invariants: a length is checked before its bytes are read; a dead peer is an error and no signal;
 * the bytes of the messages, in their order, are those of the files.
 * Specification: loom.md 13.
 */
#ifndef TRACE_LOOM_WRITE_LOOM_CHANNEL_H
#define TRACE_LOOM_WRITE_LOOM_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "trace/loom/write/loom_writer.h"

enum channel_kind {
	CHANNEL_HELLO = 1, /* of the writer, first: struct channel_hello */
	CHANNEL_RECORDS,   /* whole records, as in the trace file */
	CHANNEL_TEXT,	   /* of the statistics */
	CHANNEL_WHOLE,	   /* the text so far ends after its start, or after a snapshot */
	CHANNEL_COUNTS,	   /* struct loom_account up to here, without `refused` */
	CHANNEL_END,	   /* likewise, final: both files are complete */
	CHANNEL_ANSWER,	   /* of the recorder: an error number, or 0 */
	CHANNEL_KINDS
};

#define CHANNEL_MOST (256u << 10) /* bytes of a message, without its head */

struct channel_hello {
	enum loom_mode mode;
	enum loom_written as;
	enum loom_statistics statistics;
};

struct channel_message {
	enum channel_kind kind;
	uint32_t size;
	uint8_t *bytes; /* of the caller: CHANNEL_MOST */
};

/* The length of a record in the trace file. */
static inline size_t channel_record_size(enum loom_written as)
{
	return as == LOOM_AS_NATURAL48 ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;
}

/* ---- the writer ---- */

/* Stores the address of the socket `path`. Returns 0, or -ENAMETOOLONG. */
int channel_address(struct sockaddr_un *name, const char *path);

/*
 * Connects to the recorder that listens at the socket `path`, and waits for its answer. Returns a
 * descriptor, or -errno: -ECONNREFUSED if no recorder listens there, -ETIMEDOUT without an answer
 * in 30 seconds, -EBADMSG for another answer, or the error of the recorder.
 */
int channel_connect(const char *path, const struct channel_hello *hello);

/* Sends `size` bytes, in as many messages as they need. Waits while the recorder is slow. Returns
 * 0, the error of the recorder, or -errno. */
int channel_send(int fd, enum channel_kind kind, const void *bytes, size_t size);
int channel_send_counts(int fd, enum channel_kind kind, const struct loom_account *account);

/* Waits for the answer of the recorder. Returns its error, 0, or -EPIPE if it has ended. */
int channel_wait(int fd);

/* ---- the recorder ---- */

/* Receives a message into m->bytes. Returns 1; 0 at the end of the stream, also inside a message;
 * -EBADMSG for a message that no writer sends, or another -errno. */
int channel_receive(int fd, struct channel_message *m) __attribute__((warn_unused_result));

/* These parse a message. They return false for what no writer sends. */
bool channel_parse_hello(const struct channel_message *m, struct channel_hello *hello);
bool channel_parse_counts(const struct channel_message *m, struct loom_account *account);

int channel_answer(int fd, int err);

#endif
