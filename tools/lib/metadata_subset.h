/* SPDX-License-Identifier: MIT */
/*
 * metadata_subset: the metadata of a trace that has only some of the streams of another.
 *
 * What a stream says for its loom, its process or the whole trace (CPUs, application, rank,
 * marks, the session) must not be lost with it: the first stream that stays says it then.
 * Specification: emulator.md 4.1; models.md 1.4; event-mapping.md, "Metadata".
 */
#ifndef TOOLS_LIB_METADATA_SUBSET_H
#define TOOLS_LIB_METADATA_SUBSET_H

#include <stdbool.h>

#include "trace/ovni/trace_input.h"

/* Adds what `from` says below `path` (dotted, "" for all) to the same place of `to`, where it is
 * not there yet. Returns 0 or -ENOMEM. */
int metadata_add(struct json *to, const struct json *from, const char *path)
	__attribute__((warn_unused_result));

/* The metadata of stream i, with what those streams say that are not `kept` if it is the first
 * kept one that can say it. NULL after one message; the caller frees. */
struct json *metadata_subset(const struct source *source, const bool *kept, size_t i);

#endif
