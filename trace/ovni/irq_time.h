/* SPDX-License-Identifier: MIT */
/*
 * irq_time: the time that interrupts took from a run, in the 4 bytes of OHr and OHe.
 *
 * In: ns; out: a number of ns below 2^31, or, with the highest bit, of 1024 ns: up to 2^41 ns (36
 * minutes of handlers in one run), with an error below 1 us. Longer times are cut to that.
 * Specification: event-mapping.md, "The time of interrupts".
 */
#ifndef TRACE_OVNI_IRQ_TIME_H
#define TRACE_OVNI_IRQ_TIME_H

#include <stdint.h>

#define IRQ_TIME_COARSE 0x80000000u
#define IRQ_TIME_SHIFT	10

static inline uint32_t irq_time_encode(uint64_t ns)
{
	if (ns < IRQ_TIME_COARSE)
		return (uint32_t)ns;
	ns >>= IRQ_TIME_SHIFT;
	return IRQ_TIME_COARSE | (ns < IRQ_TIME_COARSE ? (uint32_t)ns : IRQ_TIME_COARSE - 1);
}

static inline int64_t irq_time_decode(uint32_t value)
{
	return value & IRQ_TIME_COARSE ? (int64_t)(value & ~IRQ_TIME_COARSE) << IRQ_TIME_SHIFT
				       : (int64_t)value;
}

#endif
