/* SPDX-License-Identifier: MIT */
/*
 * import_streams: writes the ovni streams of a Loom run, with a buffer for each.
 *
 * In: marks; out: streams below DIR/loom.NAME/. A core is a process, with a control thread for the
 * whole core; a node is a thread of it, on its own CPU, because nodes run in parallel and a CPU
 * runs one thread. Invariants: memory is bounded for any number of streams; a stream is complete
 * (`ovni.finished`) only after import_streams_finish().
 * Specification: loom.md 9.1.
 */
#ifndef TOOLS_LOOM_IMPORT_IMPORT_STREAMS_H
#define TOOLS_LOOM_IMPORT_IMPORT_STREAMS_H

#include "tools/loom/import/import_map.h"
#include "tools/loom/run/accel_marks.h"
#include "tools/loom/run/run_survey.h"
#include "trace/base/json.h"
#include "trace/loom/modules.h"

struct import_streams;

/* The row of the control thread of a core, and of a node; indices are of the survey. */
static inline size_t loom_row_of_core(uint32_t core)
{
	return core;
}

static inline size_t loom_row_of_node(const struct run_survey *survey, uint32_t node)
{
	return survey->ncores + node;
}

/* The row of a lane. */
static inline size_t loom_row_of_lane(const struct run_survey *survey, uint32_t lane)
{
	return survey->ncores + survey->nnodes + lane;
}

/* Adds metadata of the whole run to its first stream. */
typedef void (*import_streams_fn)(const void *arg, struct json *meta);

/*
 * Creates all streams of the loom "loomsim.NAME" below the directory `fd`, which the caller keeps
 * open; `dir` is its name in messages. Their threads run from `clock` on. `names` and `map` may be
 * empty; the result uses them.
 * Returns NULL after a message.
 */
struct import_streams *import_streams_open(int fd, const char *dir, const char *name,
					   const struct run_survey *survey,
					   const struct loom_modules *names,
					   const struct import_map *map, int64_t clock,
					   import_streams_fn about_run, const void *arg);
void import_streams_close(struct import_streams *rows);

/*
 * Appends a mark; the clocks of a row must not decrease. An error is reported once, and remembered:
 * import_streams_error().
 */
void import_streams_mark(struct import_streams *rows, size_t row, int64_t clock,
			 enum loom_mark mark, int64_t value);

/* Adds the label of a value of a mark in this row; ignores a second label of a value. Remembers an
 * error likewise. */
void import_streams_label(struct import_streams *rows, size_t row, enum loom_mark mark,
			  int64_t value, const char *label);

/* The first error, which was reported: -errno, or 0. */
int import_streams_error(const struct import_streams *rows);

/* Ends all threads at `clock` and completes the streams. Returns 0, or the first error. */
int import_streams_finish(struct import_streams *rows, int64_t clock)
	__attribute__((warn_unused_result));

uint64_t import_streams_events(const struct import_streams *rows);

#endif
