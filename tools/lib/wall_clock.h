/* SPDX-License-Identifier: MIT */
/*
 * wall_clock: the time of day of a trace.
 *
 * In: bpf.session.realtime in the metadata of any of its streams, which is not trusted; out: the
 * time of day of a clock, and the clock of a time of day, both in the local time of the recording.
 * Invariant: all that is computed fits into 64 bits, since values that are too large count as
 * missing. Specification: event-mapping.md "Metadata".
 */
#ifndef TOOLS_LIB_WALL_CLOCK_H
#define TOOLS_LIB_WALL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/trace.h"

#define WALL_CLOCK_TEXT 64 /* bytes of wall_clock_text() */

struct wall_clock {
	bool known;
	int64_t clock, ns;	   /* at the begin of the window: clock, and ns since the epoch */
	int64_t end_clock, end_ns; /* at its end; without one, the same as at the begin */
	int64_t error_ns;	   /* of each pair */
	int64_t step_ns;	   /* by which the clock of the machine was set; 0: not set */
	int32_t utc_offset;	   /* of the local time, s */
};

/* Adds bpf.session.realtime of the metadata of one stream. */
void wall_clock_add(struct wall_clock *wall, const struct json *meta);

/* Reads the time of day from the metadata of a trace. `owners`: of its streams, so that only those
 * with a session are read; NULL: not known. Returns 0 (`known` is false in a trace without it), or
 * -errno after one message. */
int wall_clock_read(struct wall_clock *wall, const struct trace *trace, const struct owner *owners)
	__attribute__((warn_unused_result));

/* Writes the time of day of a clock, "2026-11-22 03:12:05.250000 +0100", into `text`. */
void wall_clock_text(const struct wall_clock *wall, int64_t clock, char *text);

/* Finds the clock of a local time of day (ns since midnight) in the recording, or of the nearest
 * time in it. Returns 0, or -ERANGE if the time occurs more than once. */
int wall_clock_find(const struct wall_clock *wall, int64_t day_ns, int64_t *clock)
	__attribute__((warn_unused_result));

#endif
