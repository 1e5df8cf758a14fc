/* SPDX-License-Identifier: MIT */
/*
 * v1: a trace in the layout of version 1.
 *
 *   ovni/loom.LOOM/proc.PID/metadata.json
 *   ovni/loom.LOOM/proc.PID/thread.TID        events, with or without the 8-byte header
 *
 * In: a directory; out: its threads, sorted by path, each with the metadata of its process.
 * Invariant: the metadata keeps all rules of the specification.
 * Specification: tools.md 8.
 */
#ifndef TOOLS_CONVERT_V1_H
#define TOOLS_CONVERT_V1_H

#include <stddef.h>
#include <stdint.h>

#include "trace/base/json.h"

struct v1_process {
	char *loom, *path; /* path: "loom.LOOM/proc.PID" */
	int32_t pid;
	int64_t app_id, rank, nranks; /* rank: -1 if there is none */
	struct json *meta;
	const struct json *cpus; /* in meta, NULL if it does not declare them */
};

struct v1_thread {
	uint32_t process; /* index */
	int32_t tid;
	char *path; /* "loom.LOOM/proc.PID/thread.TID" */
};

struct v1 {
	int fd; /* of the trace */
	struct v1_process *processes;
	struct v1_thread *threads;
	size_t nprocesses, nthreads;
};

/* Whether the directory has the layout of version 1 (a loom.* with a proc.* with a metadata.json):
 * 1, 0 or -errno. */
int v1_looks_like(const char *path);

/* Opens and checks. Returns 0, or -errno after one message. The caller closes. */
int v1_open(struct v1 *v1, const char *path) __attribute__((warn_unused_result));
void v1_close(struct v1 *v1);

/* The stream.json of version 3 of a thread, without the models that its events need. NULL
 * without memory; the caller frees. */
struct json *v1_describe(const struct v1 *v1, const struct v1_thread *thread);

#endif
