/* SPDX-License-Identifier: MIT */
/*
 * trace: finds the streams in a trace directory.
 *
 * In: a path; out: the streams below it, sorted by path, byte for byte. A stream is a directory
 * with a regular stream.json, at any depth, the top one included. Invariant: symbolic links are
 * followed, and each directory counts once. Specification: emulator.md 3.1.
 */
#ifndef TRACE_OVNI_TRACE_H
#define TRACE_OVNI_TRACE_H

#include <stddef.h>

#include "trace/base/json.h"
#include "trace/ovni/stream.h"

struct trace {
	char *path;	/* of the caller, without slashes at its end */
	int fd;		/* of the directory */
	char **streams; /* relative paths, sorted by strcmp() */
	size_t nstreams;
};

/* Walks `path`. Returns 0, or -errno after one message. trace_close() must follow a success. */
int trace_open(struct trace *trace, const char *path) __attribute__((warn_unused_result));
void trace_close(struct trace *trace);

/*
 * Reads the stream.json of stream i, and checks that it is a JSON object of version 3. The caller
 * frees it with json_free(). Returns NULL after one message.
 */
struct json *trace_metadata(const struct trace *trace, size_t i);

#endif
