/* SPDX-License-Identifier: MIT */
/*
 * export: declarations for the files of the export command.
 *
 * In: a trace and one of its looms; out: records, passed to a writer.
 * Specification: loom.md 9.5.
 */
#ifndef TOOLS_LOOM_EXPORT_EXPORT_H
#define TOOLS_LOOM_EXPORT_EXPORT_H

#include "tools/loom/run/run_clock.h"
#include "tools/loom/run/loom_command.h"
#include "trace/ovni/whole.h"
#include "trace/base/json.h"
#include "trace/loom/write/run_stats_write.h"
#include "trace/ovni/trace.h"

struct loom_export {
	struct loom_options *o;
	struct trace trace;
	size_t *streams; /* of the chosen loom: indices into trace.streams */
	size_t nstreams;
	struct json *run; /* the metadata that has "accel.run"; NULL: not an imported run */
	char *run_path;	  /* of its stream */
	struct run_clock clock;
	struct run_anchor *anchors; /* of the clock, or NULL */
	struct loom_writer_options as;
	struct loom_carried carried; /* of the run, from its metadata */
	uint16_t core;		     /* of the last record */
	struct whole whole;	     /* of all looms */
	uint64_t dropped;	     /* records, by the producers of the chosen one */
	uint64_t lost;		     /* events, from marks in a recording of threads */
	uint64_t lives;		     /* of threads so far */
};

/* Opens the writer for x->as. Returns 0, or -errno after a message. */
int loom_export_open(struct loom_export *x, struct loom_writer **w)
	__attribute__((warn_unused_result));
/* Passes a record to the writer. Returns 0, or -errno after a message. */
int loom_export_put(struct loom_export *x, struct loom_writer *w, const struct loom_record *r)
	__attribute__((warn_unused_result));

/* Reads the next record of a source. Returns 1, 0 at its end, or -errno after a message. */
typedef int (*loom_next_fn)(void *source, struct loom_record *record);
/* Completes the next record of all; false: it is not written. */
typedef bool (*loom_complete_fn)(struct loom_export *x, void *source, struct loom_record *record);

/*
 * Merges `n` sources, which are `size` bytes apart: passes all their records to the writer in the
 * order of the cycles, and of the sources for one cycle. The order in a source stays; memory is one
 * record per source. If *w is NULL, opens the writer after the first records are read. Returns 0,
 * or -errno after a message.
 */
int loom_export_merge(struct loom_export *x, struct loom_writer **w, void *sources, size_t n,
		      size_t size, loom_next_fn next, loom_complete_fn complete)
	__attribute__((warn_unused_result));
/* Closes the writer and logs the numbers of records. */
int loom_export_close(struct loom_export *x, struct loom_writer *w, int err)
	__attribute__((warn_unused_result));

/* These make records from streams. They return 0, or -errno after a message. */
int loom_export_marks(struct loom_export *x) __attribute__((warn_unused_result));
int loom_export_schedule(struct loom_export *x) __attribute__((warn_unused_result));

#endif
