/* SPDX-License-Identifier: MIT */
/*
 * merge_streams: the events of one thread that a program wrote, and what the kernel saw of it, as
 * one sequence.
 *
 *   program   ── a ─────── b ── c ───────── d ──
 *   kernel    ────── KCO ───────────── KCI ─────
 *
 * In: two sorted streams; out: the program's events and the K events in clock order. While a
 * thread is out of the CPU the models ovni and nosv accept no event, so one of them that
 * falls into such an interval by at most the tolerance moves its boundary (the two clocks
 * were not read at the same moment); beyond that the interval is split around it: KCI, event,
 * KCO. Nothing is dropped, both are counted.
 * Specification: event-mapping.md, "Next to libovni".
 */
#ifndef TOOLS_MERGE_MERGE_STREAMS_H
#define TOOLS_MERGE_MERGE_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/lib/mapped_stream.h"

/* Takes the bytes of one event; a non-zero return ends the weaving and is returned. */
typedef int (*merge_put_fn)(void *arg, const void *bytes, size_t size);

struct merge_streams {
	struct mapped_stream *program,
		*kernel;   /* rewound; the kernel's other events are passed over */
	int64_t offset;	   /* ns, added to the kernel's clocks (time namespace of the process) */
	int64_t tolerance; /* ns */
	merge_put_fn put;
	void *arg;

	uint64_t program_events, kernel_events, moved, split;
	int64_t most_moved; /* ns */
};

/* Returns 0, -ERANGE if one of them is not sorted, -EBADMSG if one is cut, -EEXIST if the
 * program's has K events, or what `put` returned. No message. */
int merge_streams(struct merge_streams *weave);

#endif
