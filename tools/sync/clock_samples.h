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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct clock_sample {
	int64_t delta; /* ns to add to the other clock to have ours */
	int64_t bound; /* ns: greatest error of delta */
	int64_t clock; /* the reading of the other clock, ns */
};

struct clock_offset {
	int64_t median;		/* of the deltas: element n/2 of the sorted ones, ns */
	double mean, deviation; /* ns; divisor n - 1, 0 for one sample */
	int64_t bound;		/* of the median, ns */
	int64_t clock;		/* reading of the other clock in the sample of the median, ns */
};

/* The sample of one exchange: `before` and `after` of our clock, `other` of the other one. */
struct clock_sample clock_exchange(int64_t before, int64_t other, int64_t after);

/* The one with the smaller bound; of equal ones the first. */
struct clock_sample clock_better(struct clock_sample a, struct clock_sample b);

/* Puts the n >= 1 samples in the order of their bounds. Returns the size of the first quarter, at
 * least 1, without those that took more than twice as long as the first: on busy nodes most
 * exchanges are slow, and a median of all would have their bound. */
size_t clock_quickest(struct clock_sample *samples, size_t n);

/* Sorts the n >= 1 samples by their deltas and sums them up. */
struct clock_offset clock_sum_up(struct clock_sample *samples, size_t n);

#define CLOCK_ALL_NS	    INT64_C(1000000000) /* the measurement of all hosts, at most */
#define CLOCK_MANY	    16			/* hosts */
#define CLOCK_SAMPLES_LEAST 12

/* How long one of `hosts` is measured that begin at the clock `begin`: until `end`, but with
 * `least` samples. Of at most CLOCK_MANY all samples are taken; while ranks run (`between`), one is
 * enough. */
struct clock_part {
	int64_t end; /* 0: all samples are taken */
	int least;
};
struct clock_part clock_part(uint64_t samples, int64_t begin, int host, int hosts, bool between);

/* Length of the host name in the table: up to the first dot, the part of a loom's name that the
 * emulator compares. */
size_t clock_host_length(const char *name);

/* The line of titles, and one row. */
void clock_print_titles(FILE *out);
void clock_print_row(FILE *out, int rank, const char *host, const struct clock_offset *offset);

/*
 * A table with two measurements: the columns above of the first one, and four more. The clock of
 * the host at the first and the last measurement, the offset of the last, and the larger bound.
 */
struct clock_row {
	int rank;
	char host[256]; /* up to its first dot */
	struct clock_offset first;
	int64_t end, offset_end, bound; /* ns; end: a clock of the host */
};

/* Adds the measurement of a host: its first row, or the end of the row that it has. */
void clock_row_add(struct clock_row *row, bool is_new, int rank, const char *host,
		   const struct clock_offset *offset);
void clock_print_long_titles(FILE *out);
void clock_print_long_row(FILE *out, const struct clock_row *row);
/* Reads a line of such a table. False if it is none: another number of columns, no numbers. */
bool clock_read_long_row(const char *line, struct clock_row *row);

#endif
