/* SPDX-License-Identifier: MIT */
/*
 * clock_fix: the correction of one node's clock: an offset, and the drift between two measurements.
 *
 * In: a clock of the node, ns; out: the same moment by the clock of the reference node. Invariant:
 * clocks that do not fall stay so, since a drift is below 1/1000.
 * Specification: job.md 4.4; emulator.md 5.
 */
#ifndef TRACE_OVNI_CLOCK_FIX_H
#define TRACE_OVNI_CLOCK_FIX_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_DRIFT_MOST 1000 /* ppm; more is no clock */

struct clock_fix {
	int64_t offset; /* ns, added at the clock `begin`; everywhere if `length` is 0 */
	int64_t drift;	/* ns by which the offset grows in `length` ns of the node's clock */
	int64_t begin, length;
};

/* Corrects a clock, also outside of the two measurements. False if the result is out of range. */
static inline bool clock_fix(const struct clock_fix *fix, int64_t clock, int64_t *fixed)
{
	__int128 grown, more;

	if (__builtin_expect(!fix->length, 1))
		return !__builtin_add_overflow(clock, fix->offset, fixed);
	grown = (__int128)fix->drift * ((__int128)clock - fix->begin);
	more = grown / fix->length - (grown % fix->length < 0); /* the floor */
	return !__builtin_add_overflow(clock + more, fix->offset, fixed);
}

#endif
