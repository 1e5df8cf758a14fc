/* SPDX-License-Identifier: MIT */
/*
 * repair: a trace that a crash left behind, made valid up to what was written.
 *
 * In: a trace with streams that were never finished, or end inside an event, or lack what
 * is only written at the end; out: a copy (or, if asked, the trace itself) in which each such
 * stream ends at its last whole event, with all that is open left, its thread dead, and
 * the metadata complete. Finished streams are copied as they are.
 * Invariant: nothing is invented that happened: what is added are leavings and ends, and each
 * mended stream says so in `bpf.recovered`, so that nobody takes it for complete.
 */
#ifndef TOOLS_CHECK_REPAIR_H
#define TOOLS_CHECK_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

struct repair {
	const char *trace; /* set by the caller */
	const char *out;   /* a directory that will be made; NULL: in place */

	uint64_t streams, mended, left_out; /* left out: nothing of it can be read */
	uint64_t bytes_cut, events_added, events_dropped;
};

/* Returns 0, or -errno after one message. What was mended is said in between. */
int repair_run(struct repair *repair) __attribute__((warn_unused_result));

#endif
