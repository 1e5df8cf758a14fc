/* SPDX-License-Identifier: MIT */
/*
 * record_merge: merges many sources of records.
 *
 * In: sources with records in the order of their cycles; out: all records in that order; equal
 * cycles in the order of the sources. Invariants: the order in a source stays; memory is one record
 * per source.
 */
#ifndef TOOLS_LOOM_EXPORT_RECORD_MERGE_H
#define TOOLS_LOOM_EXPORT_RECORD_MERGE_H

#include <stddef.h>

#include "trace/loom/loom_record.h"

/* Reads the next record of a source. Returns 1, 0 at its end, or -errno. */
typedef int (*loom_next_fn)(void *source, struct loom_record *record);

struct record_merge;

/*
 * Reads the first record of each of the n sources, which are `size` bytes apart and stay owned by
 * the caller. Returns NULL with the error in *err: -ENOMEM, or of a source. The caller frees.
 */
struct record_merge *record_merge_new(void *sources, size_t n, size_t size, loom_next_fn next,
				      int *err);
void record_merge_free(struct record_merge *merge);

/*
 * Returns the next record and its source: 1, 0 at the end, or the error of a source. The following
 * record of that source is read at the next call.
 */
int record_merge_next(struct record_merge *merge, struct loom_record *record, void **source)
	__attribute__((warn_unused_result));

#endif
