/* SPDX-License-Identifier: MIT */
/*
 * metadata_subset: the metadata of a trace that has only some of the streams of another.
 *
 * In: a trace, and which of its streams are kept; out: the metadata of a kept stream. One stream
 * may have members for its whole loom, process or trace (CPUs, application, rank, marks, the
 * session). Invariant: if that stream is omitted, the first kept one of the same loom, process or
 * trace gets them. Specification: emulator.md 4.1; models.md 1.4; event-mapping.md, "Metadata".
 */
#ifndef TOOLS_LIB_METADATA_SUBSET_H
#define TOOLS_LIB_METADATA_SUBSET_H

#include <stdbool.h>

#include "trace/ovni/trace.h"

/* Copies the members of `from` below `path` (dotted, "" for all) that `to` does not have. Returns 0
 * or -ENOMEM. */
int metadata_add(struct json *to, const struct json *from, const char *path)
	__attribute__((warn_unused_result));

/* Returns the metadata of stream i, with the session's facts from omitted streams, or NULL after
 * one message. The caller frees it. */
struct json *metadata_subset(const struct source *source, const bool *kept, size_t i);

#endif
