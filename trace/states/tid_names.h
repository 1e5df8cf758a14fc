/* SPDX-License-Identifier: MIT */
/*
 * tid_names: what the threads that a trace mentions are called.
 *
 * In: the streams' owners and `bpf.names` of all streams; out: "name (tid)" for a tid
 * of a loom, also one that has no stream of its own.
 * Specification: event-mapping.md, "Metadata".
 */
#ifndef TRACE_STATES_TID_NAMES_H
#define TRACE_STATES_TID_NAMES_H

#include "trace/states/state_walk.h"

struct called {
	const struct whereabouts *where;
	struct called_name *names; /* of those without a stream, sorted */
	size_t n, room;
};

/* Reads the metadata once more. Returns 0, or -errno after one message. */
int called_init(struct called *called, const struct whereabouts *where)
	__attribute__((warn_unused_result));
void called_fini(struct called *called);

/* The thread of a stream, and a tid as the stream `who` means it: "name (tid)". The caller
 * frees; NULL without memory. */
char *called_stream(const struct called *called, uint32_t who);
char *called_tid(const struct called *called, uint32_t who, int32_t tid);

#endif
