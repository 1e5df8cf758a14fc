/* SPDX-License-Identifier: MIT */
/*
 * archive_writer: writes a whole archive: names, processes, threads.
 *
 * In: definitions and, thread by thread, events; out: the directory of an
 * archive. Invariants: equal strings have one reference; main.pallas is written last (rule R19), so
 * an incomplete archive cannot be opened. Specification: pallas.md 2 to 6, 16.
 */
#ifndef TRACE_PALLAS_WRITE_ARCHIVE_WRITER_H
#define TRACE_PALLAS_WRITE_ARCHIVE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/format.h"

struct archive_writer;
struct thread_writer;

struct thread_writer_options {
	uint32_t compression, encoding;
	int level;
	bool whole_blocks; /* make every block a sequence, at any cost */
};

/* Creates the directory `path`, which must not exist. Returns NULL after one message. */
struct archive_writer *archive_writer_new(const char *path,
					  const struct thread_writer_options *options);

/*
 * References of names, or PALLAS_NONE out of memory. Strings have one reference per text,
 * attributes one per text and type; a region is always new.
 */
uint32_t archive_writer_string(struct archive_writer *w, const char *text);
uint32_t archive_writer_region(struct archive_writer *w, const char *name);
uint32_t archive_writer_attribute(struct archive_writer *w, const char *name, uint8_t type);

/*
 * Completes the present archive and begins the archive of the next process. Returns its id, or
 * PALLAS_NONE after one message.
 */
uint32_t archive_writer_archive(struct archive_writer *w, const char *name);

/*
 * Begins the next thread of the present archive; *id is its location. The caller must finish and
 * free it before the next one begins. Returns NULL after one message.
 */
struct thread_writer *archive_writer_thread(struct archive_writer *w, const char *name,
					    uint32_t *id);

/* Adds metadata with a new key to the main file, or to the present archive. */
int archive_writer_main_metadata(struct archive_writer *w, const char *key, const char *value)
	__attribute__((warn_unused_result));
int archive_writer_metadata(struct archive_writer *w, const char *key, const char *value)
	__attribute__((warn_unused_result));

/* Completes the archive. Returns 0, or -errno after one message. */
int archive_writer_finish(struct archive_writer *w) __attribute__((warn_unused_result));
void archive_writer_free(struct archive_writer *w); /* accepts NULL */

/* ---- one thread (thread_writer.c) ---- */

/* All calls of a region in one thread, with inline blocks; times in ns. */
struct region_summary {
	uint32_t region;
	uint64_t calls, inlined; /* inlined: those without an occurrence of a sequence */
	uint64_t min, max, sum;
	uint64_t excl_min, excl_max, excl_sum; /* without the regions called from it */
	uint64_t outer_sum; /* of calls that are not inside a call of the same region */
	uint32_t open;	    /* calls at the moment */
};

/*
 * Returns the index of an event entry, added if it is new, or PALLAS_NONE out of memory. The
 * payload is the reference of a string or region, PALLAS_NONE for no payload. Every entry must
 * occur before the end (rule R10).
 */
uint32_t thread_writer_entry(struct thread_writer *w, uint32_t record, uint32_t ref);

/* The same for another record: a payload of at most 28 bytes, in the layout of pallas.md 10. */
uint32_t thread_writer_record(struct thread_writer *w, uint32_t record, const void *payload,
			      size_t size);

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

/* Summaries of all regions, after thread_writer_finish(); *inlined is 0 if no block stayed inline.
 */
const struct region_summary *thread_writer_regions(const struct thread_writer *w, size_t *n,
						   uint64_t *inlined);

void thread_writer_free(struct thread_writer *w); /* accepts NULL */

#endif
