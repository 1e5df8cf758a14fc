/* SPDX-License-Identifier: MIT */
/*
 * trace_input: opens a trace for the tools.
 *
 * In: the path of a trace, or of one stream; out: its open streams with their owners. Checks the
 * versions and headers, but not the looms, ranks and models of the metadata.
 * Specification: tools.md, first paragraph; emulator.md 3.1 to 3.3.
 */
#ifndef TRACE_OVNI_TRACE_INPUT_H
#define TRACE_OVNI_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/stream.h"
#include "trace/ovni/trace.h"

/* The thread of a stream, from its metadata; missing values are 0, NULL or -1 (rank). */
struct owner {
	char *loom;
	char *name; /* bpf.name; NULL in traces of other programs */
	int64_t pid, tid, app_id, rank;
	bool thread;   /* ovni.part is "thread" */
	bool finished; /* ovni.finished is 1 */
};

struct source {
	struct trace trace;
	struct stream *streams; /* trace.nstreams, open */
	struct owner *owners;	/* of each stream */
};

/*
 * Opens a trace and all its streams. Returns 0, or -errno after one message; trace_input_close()
 * must follow in both cases.
 */
int source_open(struct source *source, const char *path) __attribute__((warn_unused_result));
void source_close(struct source *source);

/* Stores the lowest clock of all events in *clock, ns. Returns false if there is no event. */
bool source_start(const struct source *source, int64_t *clock);

/* Reads the owner in a stream.json. Returns 0 or -ENOMEM. The caller frees with
 * stream_owner_fini(). */
int owner_init(struct owner *owner, const struct json *meta) __attribute__((warn_unused_result));
void owner_fini(struct owner *owner);

#endif
