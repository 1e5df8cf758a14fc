/* SPDX-License-Identifier: MIT */
/*
 * tid_names: names of the threads that a trace mentions.
 *
 * In: the owners of the streams and `bpf.names` of all streams; out: "name (tid)" for a tid
 * of a loom, also for a thread without a stream.
 * Specification: event-mapping.md, "Metadata".
 */
#ifndef TRACE_STATES_TID_NAMES_H
#define TRACE_STATES_TID_NAMES_H

#include "trace/states/state_walk.h"

struct tid_names {
	const struct state_walk *walk;
	struct tid_name *names; /* of threads without a stream, sorted */
	size_t n;
};

/* Reads the metadata of all streams. Returns 0, or -errno after one message. */
int tid_names_init(struct tid_names *names, const struct state_walk *walk)
	__attribute__((warn_unused_result));
void tid_names_fini(struct tid_names *names);
/* Forgets the names of threads without a stream. */
void tid_names_forget(struct tid_names *names);

/* The name alone of a tid as an event of `stream` means it, as the trace has it; NULL: none. Until
 * tid_names_fini(). */
const char *tid_names_find(const struct tid_names *names, uint32_t stream, int64_t tid);

/* "name (tid)" of the thread of a stream, and of a tid as an event of `stream` means it. The caller
 * frees it; NULL without memory. */
char *tid_names_of_stream(const struct tid_names *names, uint32_t stream);
char *tid_names_of_tid(const struct tid_names *names, uint32_t stream, int32_t tid);

#endif
