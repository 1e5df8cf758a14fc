/* SPDX-License-Identifier: MIT */
/*
 * clock_samples: what many readings of two clocks say about their offset, and the table of it.
 *
 * In: for each exchange between this host and another one the three clock readings; out: the
 * offset with its spread and bound, and the rows that ovni-emu reads (emu/system/offsets.h). Pure.
 *
 * An exchange reads our clock, the other's, and ours again. The other reading was made at
 * some time between the two of ours, so the middle of these differs from it by the offset
 * of the clocks, to within half of the time that the exchange took: that is a bound, not
 * an estimate. Hence only the quickest exchange of a few counts.
 * Specification: tools.md 6; emulator.md 5.
 */
#ifndef TOOLS_SYNC_CLOCK_SAMPLES_H
#define TOOLS_SYNC_CLOCK_SAMPLES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct clocks_sample {
	int64_t delta; /* ns to add to the other clock to have ours */
	int64_t bound; /* ns: the true one is not further away */
};

struct clocks_offset {
	int64_t median;		/* of the deltas: element n/2 of the sorted ones, ns */
	double mean, deviation; /* ns; divisor n - 1, 0 for one sample */
	int64_t bound;		/* of the median, ns */
};

/* What one exchange says: `before` and `after` of our clock, `other` of the other one. */
struct clocks_sample clocks_exchange(int64_t before, int64_t other, int64_t after);

/* The one with the smaller bound; of equal ones the first. */
struct clocks_sample clocks_better(struct clocks_sample a, struct clocks_sample b);

/* Sorts the n >= 1 samples by their deltas and sums them up. */
struct clocks_offset clocks_sum_up(struct clocks_sample *samples, size_t n);

/* Bytes of `name` that name a host in the table: up to the first dot, since that is all of a
 * loom's name that an emulator looks at. */
size_t clocks_host_length(const char *name);

/* The line of titles, and one row. */
void clocks_print_titles(FILE *out);
void clocks_print_row(FILE *out, int rank, const char *host, const struct clocks_offset *offset);

#endif
