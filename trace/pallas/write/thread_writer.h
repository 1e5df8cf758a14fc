/* SPDX-License-Identifier: MIT */
/*
 * thread_writer: the events of one thread in, its grammar and its data files out.
 *
 * The writer builds the grammar event by event. Open blocks are frames on a stack; a frame has the
 * tokens of its block, which fold when they repeat:
 *
 *   E0 (S1 S1) (S1 S1)   ->   E0 L(S1 x 4)        a loop grows
 *   A B | A B            ->   L([A B] x 2)        at most THREAD_PATTERN tokens per pattern
 *   [E1 E2]              ->   S1                  a closed block, known or large enough
 *
 * Each token has its first and last time and its time in blocks, so no data are read back. A block
 * that is too small for a sequence (some 280 bytes) stays inline, as tokens of its parent; calls
 * without an order share tokens in pairs. Statistics of such calls are kept per region (struct
 * region_summary). Work per event is bounded; memory is bounded by THREAD_HELD plus the size of the
 * grammar. Invariant: the output obeys the rules R1 to R3 and R10 to R18.
 * Specification: pallas.md 7, 12, 15, 16.
 */
#ifndef TRACE_PALLAS_WRITE_THREAD_WRITER_H
#define TRACE_PALLAS_WRITE_THREAD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/format.h"

#define THREAD_PATTERN 100	   /* tokens of the longest pattern */
#define THREAD_HELD    (40u << 20) /* bytes of elements in incomplete sub-arrays */

struct thread_writer;

/* All calls of a region in one thread, with inline blocks; times in ns. */
struct region_summary {
	uint32_t region;
	uint64_t calls, inlined; /* inlined: those without an occurrence of a sequence */
	uint64_t min, max, sum;
	uint64_t excl_min, excl_max, excl_sum; /* without the regions called from it */
};

struct thread_writer_options {
	uint32_t compression, encoding;
	int level;
	bool whole_blocks; /* make every block a sequence, at any cost */
};

/*
 * Creates the directory `path` below `dirfd` with its three files; `shown` is its name in messages.
 * Returns NULL after one message.
 */
struct thread_writer *thread_writer_new(int dirfd, const char *path, const char *shown,
					uint32_t archive, uint32_t thread,
					const struct thread_writer_options *options);

/*
 * Returns the index of an event entry, added if it is new, or PALLAS_NONE out of memory. The
 * payload is the reference of a string or region, PALLAS_NONE for no payload. Every entry must
 * occur before the end (rule R10).
 */
uint32_t thread_writer_entry(struct thread_writer *w, uint32_t record, uint32_t ref);

/*
 * Adds an occurrence of an entry. `time` (ns) must not decrease. Returns 0, or -errno after one
 * message; then the caller must free the writer.
 */
int thread_writer_event(struct thread_writer *w, uint32_t entry, uint64_t time)
	__attribute__((warn_unused_result));

/*
 * Adds a list of values (pallas.md 11, without its header) to the last occurrence of `entry`.
 * Returns 0 or -errno.
 */
int thread_writer_values(struct thread_writer *w, uint32_t entry, uint8_t nvalues,
			 const void *values, size_t size) __attribute__((warn_unused_result));

/* Completes the grammar and writes thread.pallas. A thread without events is an error (rule R3). */
int thread_writer_finish(struct thread_writer *w) __attribute__((warn_unused_result));

/* Summaries of all regions, after thread_writer_finish(); *n is 0 if no block stayed inline. */
const struct region_summary *thread_writer_regions(const struct thread_writer *w, size_t *n);

void thread_writer_free(struct thread_writer *w); /* accepts NULL */

#endif
