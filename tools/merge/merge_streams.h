/* SPDX-License-Identifier: MIT */
/*
 * merge_streams: the events of one thread from its program and from the kernel, as one sequence.
 *
 *   program   ── a ─────── b ── c ───────── d ──
 *   kernel    ────── KCO ───────────── KCI ─────
 *
 * In: two sorted streams; out: the program's events and the K events in clock order. While a
 * thread is off the CPU the models ovni and nosv accept no event. Such an event inside the interval
 * moves its boundary by at most the tolerance, since the two clocks are not read at the same
 * moment; further inside, the interval is split: KCI, event, KCO.
 * Invariant: no event of the program is dropped.
 * Specification: event-mapping.md, "Next to libovni".
 */
#ifndef TOOLS_MERGE_MERGE_STREAMS_H
#define TOOLS_MERGE_MERGE_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/lib/mapped_stream.h"

/* Takes the bytes of one event; a non-zero return ends the merge and is returned. */
typedef int (*merge_put_fn)(void *arg, const void *bytes, size_t size);

struct merge_streams {
	struct mapped_stream *program, *kernel; /* rewound; other kernel events are skipped */
	int64_t offset;	   /* ns, added to the kernel's clocks (time namespace of the process) */
	int64_t tolerance; /* ns */
	merge_put_fn put;
	void *arg;

	uint64_t program_events, kernel_events, moved, split;
	int64_t most_moved; /* ns */
};

/* Returns 0, -ERANGE if a stream is not sorted, -EBADMSG if one is cut, -EEXIST if the program has
 * K events, or the error of `put`. No message. */
int merge_streams(struct merge_streams *weave);

#endif
