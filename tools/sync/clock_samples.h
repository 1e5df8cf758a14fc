/* SPDX-License-Identifier: MIT */
/*
 * clock_samples: the offset of two clocks from many readings, and the table of offsets.
 *
 * In: for each exchange between this host and another one the three clock readings; out: the
 * offset with its spread and bound, and the rows that ovni-emu reads (emu/system/offsets.c). Pure.
 *
 * An exchange reads our clock, the other clock, and ours again. The other reading lies between the
 * two of ours, so their middle differs from it by the offset of the clocks, with an error of at
 * most half of the exchange: a bound, not an estimate. So only the quickest of a few exchanges
 * counts.
 * Specification: tools.md 6; emulator.md 5.
 */
#ifndef TOOLS_SYNC_CLOCK_SAMPLES_H
#define TOOLS_SYNC_CLOCK_SAMPLES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct clock_sample {
	int64_t delta; /* ns to add to the other clock to have ours */
	int64_t bound; /* ns: greatest error of delta */
};

struct clock_offset {
	int64_t median;		/* of the deltas: element n/2 of the sorted ones, ns */
	double mean, deviation; /* ns; divisor n - 1, 0 for one sample */
	int64_t bound;		/* of the median, ns */
};

/* The sample of one exchange: `before` and `after` of our clock, `other` of the other one. */
struct clock_sample clock_exchange(int64_t before, int64_t other, int64_t after);

/* The one with the smaller bound; of equal ones the first. */
struct clock_sample clock_better(struct clock_sample a, struct clock_sample b);

/* Sorts the n >= 1 samples by their deltas and sums them up. */
struct clock_offset clock_sum_up(struct clock_sample *samples, size_t n);

/* Length of the host name in the table: up to the first dot, the part of a loom's name that the
 * emulator compares. */
size_t clock_host_length(const char *name);

/* The line of titles, and one row. */
void clock_print_titles(FILE *out);
void clock_print_row(FILE *out, int rank, const char *host, const struct clock_offset *offset);

#endif
