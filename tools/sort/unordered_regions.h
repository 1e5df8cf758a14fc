/* SPDX-License-Identifier: MIT */
/*
 * unordered_regions: sorts the events between OU[ and OU] into the stream by their clocks.
 *
 * In: a stream; out: a replacement of its stream.obs with the regions sorted, or
 * none if no event moves. The stream is walked once; a ring of the last N events
 * (clock and place) serves the look-back, so memory does not follow the file.
 * Specification: tools.md 3.
 */
#ifndef TOOLS_SORT_UNORDERED_REGIONS_H
#define TOOLS_SORT_UNORDERED_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lib/mapped_stream.h"
#include "tools/sort/event_order.h"
#include "tools/lib/printer.h"
#include "tools/lib/replace_file.h"

struct unordered_regions {
	/* set by the caller before each stream; the rest is zero before the first one */
	int trace_fd;
	const char *path; /* of the stream */
	size_t window;	  /* N: the look-back sees N - 1 events */
	bool dry_run;	  /* count only */
	/* results */
	uint64_t events, sorted, moved, empty, open; /* regions, but for events and moved */
	struct replacement replacement;		     /* open if the stream changes */

	/* private */
	struct mapped_stream image;
	bool changed;
	struct printer out; /* to the replacement */
	size_t done, pending_from, pending_size, pending_room, scratch_size;
	uint8_t *pending, *scratch;
	struct event_place *ring, *range, *merge;
	size_t mask, range_room;
};

/*
 * Sorts. Returns 0, or -errno after one message (an incomplete event, a region older than the
 * window, no memory, a failed write), and then nothing has changed. In the end the caller calls
 * unordered_regions_finish() with the result, which renames the new file or removes it.
 */
int unordered_regions_sort(struct unordered_regions *r) __attribute__((warn_unused_result));
int unordered_regions_finish(struct unordered_regions *r, int result, bool durable)
	__attribute__((warn_unused_result));

/* Frees the memory that the streams share. */
void unordered_regions_fini(struct unordered_regions *r);

#endif
