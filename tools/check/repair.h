/* SPDX-License-Identifier: MIT */
/*
 * repair: a valid trace from the trace of a crashed program.
 *
 * In: a trace with streams that are not finished, end inside an event, or lack the metadata that is
 * written at the end; out: a copy (or the trace itself, on request) in which each such stream ends
 * at its last whole event, its open regions are left, its thread is dead, and its metadata is
 * complete. Finished streams are copied unchanged.
 * Invariant: a repair adds nothing but leaving events and ends, and each repaired stream has
 * `bpf.recovered`, so that no reader takes it for complete.
 */
#ifndef TOOLS_CHECK_REPAIR_H
#define TOOLS_CHECK_REPAIR_H

#include <stdint.h>

struct repair_counts {
	uint64_t streams, repaired, left_out; /* left out: unreadable streams */
	uint64_t bytes_cut, events_added, events_dropped;
};

/* Repairs the trace `path` into the new directory `out`, or in place if that is NULL, with a
 * message for each stream. Returns 0, or -errno after one message. */
int repair_trace(const char *path, const char *out, struct repair_counts *counts)
	__attribute__((warn_unused_result));

#endif
