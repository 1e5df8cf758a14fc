/* SPDX-License-Identifier: MIT */
/*
 * trace_input: a trace as the tools read it: found, versions and headers checked, streams mapped.
 *
 * What the metadata says of looms, ranks and models plays no part here, so one
 * stream's directory may be given as well as a whole trace.
 * Specification: tools.md, first paragraph; emulator.md 3.1 to 3.3.
 */
#ifndef TRACE_OVNI_TRACE_INPUT_H
#define TRACE_OVNI_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/stream.h"
#include "trace/ovni/trace.h"

/* Whose events a stream has, as its metadata says it; all that is missing is 0, NULL or -1. */
struct owner {
	char *loom;
	char *name; /* of the thread, bpf.name; NULL in traces of others */
	int64_t pid, tid, app_id, rank;
	bool thread;   /* ovni.part is "thread" */
	bool finished; /* ovni.finished is 1 */
};

struct source {
	struct trace trace;
	struct stream *streams; /* trace.nstreams of them, opened */
	struct owner *owners;	/* of each stream */
};

/* Opens all. Returns 0, or -errno after one message. The caller closes, even a failed one. */
int source_open(struct source *source, const char *path) __attribute__((warn_unused_result));
void source_close(struct source *source);

/* The lowest clock that a stream starts with; false if there is no event at all. */
bool source_start(const struct source *source, int64_t *clock);

/* Fills an owner from a stream.json. Returns 0 or -ENOMEM. The caller frees with owner_fini(). */
int owner_init(struct owner *owner, const struct json *meta) __attribute__((warn_unused_result));
void owner_fini(struct owner *owner);

#endif
