/* SPDX-License-Identifier: MIT */
/*
 * archive_writer: a whole archive: names, processes, threads.
 *
 * In: definitions and, thread by thread, events (thread_writer.h); out: the directory of an
 * archive. Names are interned: the same text is one reference. main.pallas is written last (rule
 * R19): a trace that was not finished cannot be opened. Specification: pallas.md 2 to
 * 6, 16.
 */
#ifndef TRACE_PALLAS_WRITE_ARCHIVE_WRITER_H
#define TRACE_PALLAS_WRITE_ARCHIVE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/write/thread_writer.h"

struct archive_writer;

/* Creates the directory `path`, which must not exist. NULL after one message. */
struct archive_writer *archive_writer_new(const char *path,
					  const struct thread_writer_options *options);

/* References of names; PALLAS_NONE without memory. A region is named once per text, an attribute
 * once per text and type. */
uint32_t archive_writer_string(struct archive_writer *w, const char *text);
uint32_t archive_writer_region(struct archive_writer *w, const char *name);
uint32_t archive_writer_new_region(struct archive_writer *w,
				   const char *name); /* never one that is there */
uint32_t archive_writer_attribute(struct archive_writer *w, const char *name, uint8_t type);

/* Begins the archive of the next process; returns its id, or PALLAS_NONE after one message. The one
 * before is then complete. */
uint32_t archive_writer_archive(struct archive_writer *w, const char *name);

/* Begins the next thread of the present archive: NULL after one message. The caller gives it
 * events and finishes and frees it before the next one begins. *id is its location. */
struct thread_writer *archive_writer_thread(struct archive_writer *w, const char *name,
					    uint32_t *id);

/* Metadata of the main file, or of the present archive. Keys are unique; the later value holds. */
int archive_writer_main_metadata(struct archive_writer *w, const char *key, const char *value)
	__attribute__((warn_unused_result));
int archive_writer_metadata(struct archive_writer *w, const char *key, const char *value)
	__attribute__((warn_unused_result));

/* Completes the archive. 0 or a negative errno after one message. */
int archive_writer_finish(struct archive_writer *w) __attribute__((warn_unused_result));
void archive_writer_free(struct archive_writer *w); /* NULL is fine */

#endif
