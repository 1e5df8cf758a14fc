/* SPDX-License-Identifier: MIT */
/*
 * thread_writer: the events of one thread in, its grammar and its data files out.
 *
 * The grammar is found while the events arrive. Blocks that are still open are frames on a stack; a
 * frame holds the tokens of its block, which fold as they repeat:
 *
 *   E0 (S1 S1) (S1 S1)   ->   E0 L(S1 x 4)        a loop grows
 *   A B | A B            ->   L([A B] x 2)        at most THREAD_PATTERN tokens a pattern
 *   [E1 E2]              ->   S1                  a block that is closed, seen before or worth it
 *
 * Each token keeps its first and last time and the time spent in blocks, so nothing is ever read
 * back. A block that is not worth a sequence (some 280 bytes) stays as tokens of the one around
 * it, and where calls follow each other without order, two that often do share one; what is lost
 * so of their statistics is kept per region (struct region_summary).
 * Work per event is bounded; memory is bounded by THREAD_HELD plus the size of the grammar.
 * Invariant: what is written obeys the rules R1 to R3 and R10 to R18.
 * Specification: pallas.md 7, 12, 15, 16.
 */
#ifndef TRACE_PALLAS_WRITE_THREAD_WRITER_H
#define TRACE_PALLAS_WRITE_THREAD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/format.h"

#define THREAD_PATTERN 100	   /* tokens of the longest pattern that is looked for */
#define THREAD_HELD    (40u << 20) /* bytes of elements that wait for their sub-array to fill */

struct thread_writer;

/* All calls of a region in one thread, blocks that stayed inline included; times in ns. */
struct region_summary {
	uint32_t region;
	uint64_t calls, inlined; /* inlined: those without an occurrence of a sequence */
	uint64_t min, max, sum;
	uint64_t excl_min, excl_max, excl_sum; /* without the regions called from it */
};

struct thread_writer_options {
	uint32_t compression, encoding;
	int level;
	bool whole_blocks; /* every block becomes a sequence, whatever that costs */
};

/*
 * Creates the directory `path` below `dirfd` with the three files in it. `shown` names it in
 * messages. NULL after one message.
 */
struct thread_writer *thread_writer_new(int dirfd, const char *path, const char *shown,
					uint32_t archive, uint32_t thread,
					const struct thread_writer_options *options);

/* The entry of an event, made when it is new: its place, or PALLAS_NONE without memory.
 * `size` is at most PALLAS_PAYLOAD_MAX. An entry has to occur before the end (rule R10). */
uint32_t thread_writer_entry(struct thread_writer *w, uint32_t record, const void *payload,
			     size_t size);

/*
 * One occurrence of an entry. `time` (ns) must not be below that of the event before. Returns 0, or
 * a negative errno after one message; then nothing but freeing makes sense.
 */
int thread_writer_event(struct thread_writer *w, uint32_t entry, uint64_t time)
	__attribute__((warn_unused_result));

/* Attaches a list of values (pallas.md 11, without its header) to the latest occurrence
 * of `entry`. 0 or -ENOMEM, without a message. */
int thread_writer_values(struct thread_writer *w, uint32_t entry, uint8_t nvalues,
			 const void *values, size_t size) __attribute__((warn_unused_result));

/* Closes the grammar and writes thread.pallas. A thread without events is an error (rule R3). */
int thread_writer_finish(struct thread_writer *w) __attribute__((warn_unused_result));

/* After finish: summaries of all regions; *n is 0 if no block stayed inline. */
const struct region_summary *thread_writer_regions(const struct thread_writer *w, size_t *n);

void thread_writer_free(struct thread_writer *w); /* NULL is fine */

#endif
