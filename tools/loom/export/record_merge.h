/* SPDX-License-Identifier: MIT */
/*
 * record_merge: records of many sources as one run.
 *
 * In: sources that each give records in the order of their cycles; out: all of them in that order,
 * those of one cycle by source, those of one source as they came. Invariant: memory is one record
 * for each source.
 */
#ifndef TOOLS_LOOM_EXPORT_RECORD_MERGE_H
#define TOOLS_LOOM_EXPORT_RECORD_MERGE_H

#include <stddef.h>

#include "trace/loom/loom_record.h"

/* The next record of a source: 1, 0 at its end, or -errno. */
typedef int (*loom_next_fn)(void *source, struct loom_record *record);

struct record_merge;

/* Asks each of the n sources, `size` bytes apart, for its first record. NULL after an error, which
 * is in *err then (-ENOMEM, or what a source returned). The caller frees; sources stay the
 * caller's. */
struct record_merge *record_merge_new(void *sources, size_t n, size_t size, loom_next_fn next,
				      int *err);
void record_merge_free(struct record_merge *merge);

/* The next record, and its source: 1, 0 at the end, or what a source returned. The source has
 * not been asked for the one after it yet. */
int record_merge_next(struct record_merge *merge, struct loom_record *record, void **source)
	__attribute__((warn_unused_result));

#endif
