/* SPDX-License-Identifier: MIT */
/*
 * archive_writer: writes a whole archive: names, processes, threads.
 *
 * In: definitions and, thread by thread, events (thread_writer.h); out: the directory of an
 * archive. Invariants: equal strings have one reference; main.pallas is written last (rule R19), so
 * an incomplete archive cannot be opened. Specification: pallas.md 2 to 6, 16.
 */
#ifndef TRACE_PALLAS_WRITE_ARCHIVE_WRITER_H
#define TRACE_PALLAS_WRITE_ARCHIVE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/write/thread_writer.h"

struct archive_writer;

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
 * Completes the present archive and begins that of the next process. Returns its id, or PALLAS_NONE
 * after one message.
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

#endif
