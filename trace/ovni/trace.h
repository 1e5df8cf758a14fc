/* SPDX-License-Identifier: MIT */
/*
 * trace: a directory, and the streams found in it.
 *
 * In: a path; out: the streams below it, sorted by path, byte for byte. Every
 * directory with a regular stream.json is a stream, at any depth, the top one
 * included; symbolic links are followed and cycles of them end.
 * Specification: emulator.md 3.1.
 */
#ifndef TRACE_OVNI_TRACE_H
#define TRACE_OVNI_TRACE_H

#include <stddef.h>

#include "trace/base/json.h"
#include "trace/ovni/stream.h"

struct trace {
	char *path;	/* as given, without slashes at its end */
	int fd;		/* of the directory */
	char **streams; /* their paths relative to it, sorted by strcmp() */
	size_t nstreams;
};

/* Walks `path`. Returns 0, or -errno after one message. The caller closes. */
int trace_open(struct trace *trace, const char *path) __attribute__((warn_unused_result));
void trace_close(struct trace *trace);

/*
 * Reads the stream.json of stream i: JSON, an object, version 3. The caller frees
 * it with json_free(). Returns NULL after one message.
 */
struct json *trace_metadata(const struct trace *trace, size_t i);

#endif
