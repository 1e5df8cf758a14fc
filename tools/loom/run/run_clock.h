/* SPDX-License-Identifier: MIT */
/*
 * run_clock: converts cycles of a run into nanoseconds of a trace, and back.
 *
 *   ns = base + cycle * period_ps / 1000, rounded down
 *
 * With anchors, pairs of a cycle and a clock, the cycles from each anchor on count from its clock,
 * and end at the clock of the next one; those before the first one count backwards.
 * Each anchor makes the cycles from it on one higher, which run_clock_cycle() takes back.
 *
 * In: a period and the clock of cycle 0, or anchors; out: clocks and cycles. Invariants: no
 * overflow for cycles up to run_clock_last(); each result is rounded once. Specification:
 * loom.md 9.2.
 */
#ifndef TOOLS_LOOM_RUN_RUN_CLOCK_H
#define TOOLS_LOOM_RUN_RUN_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_anchor {
	uint64_t cycle;
	int64_t clock; /* ns */
};

struct run_clock {
	uint64_t period_ps; /* of a cycle; not 0 */
	int64_t base;	    /* ns of cycle 0; not negative */
	/* of the caller; cycles rise, clocks do not fall; see run_clock_anchor() */
	const struct run_anchor *anchors;
	size_t nanchors;
};

/* Parses "1ns", "800ps", "1.25ns", "2us" into ps; 0 for other text or a fraction of a ps. */
uint64_t run_clock_period(const char *text);
/* Parses "100MHz", "1.5GHz", "32768Hz" into a period in ps, or 0. *exact: it was not rounded. */
uint64_t run_clock_frequency(const char *text, bool *exact);

/* The last cycle with a clock of 63 bits. */
uint64_t run_clock_last(const struct run_clock *clock);
/* The longest period in ps that allows `cycle`; 0: none. */
uint64_t run_clock_longest(const struct run_clock *clock, uint64_t cycle);

/*
 * Sets anchors, and the base of cycle 0 from them. Returns 0; -EINVAL for anchors out of order;
 * -ERANGE if a clock of cycle 0 to `end` is negative or has more than 63 bits.
 */
int run_clock_anchor(struct run_clock *clock, const struct run_anchor *anchors, size_t n,
		     uint64_t end);

/* The two conversions below, with anchors. */
int64_t run_clock_anchored_ns(const struct run_clock *clock, uint64_t cycle);
uint64_t run_clock_anchored_cycle(const struct run_clock *clock, int64_t ns);

/* The clock of a cycle up to run_clock_last(), ns. */
static inline int64_t run_clock_ns(const struct run_clock *c, uint64_t cycle)
{
	uint64_t ps;

	if (c->nanchors)
		return run_clock_anchored_ns(c, cycle);
	if (__builtin_expect(c->period_ps % 1000 == 0, 1))
		return c->base + (int64_t)(cycle * (c->period_ps / 1000));
	if (!__builtin_mul_overflow(cycle, c->period_ps, &ps))
		return c->base + (int64_t)(ps / 1000);
	return c->base + (int64_t)((unsigned __int128)cycle * c->period_ps / 1000);
}

/* The first cycle at this clock, which is not before the base; exact for periods from 1 ns on. */
static inline uint64_t run_clock_cycle(const struct run_clock *c, int64_t ns)
{
	unsigned __int128 ps;

	if (c->nanchors)
		return run_clock_anchored_cycle(c, ns);
	ps = (unsigned __int128)(uint64_t)(ns - c->base) * 1000;
	return (uint64_t)((ps + c->period_ps - 1) / c->period_ps);
}

#endif
