/* SPDX-License-Identifier: MIT */
/*
 * run_stats_write: writes the statistics of a run, in the schema `loom-perf` or of upstream.
 *
 * In: options, counts of records, counters; out: one JSON document. loom-perf is written in three
 * steps: its start, snapshots, its end; so periodic snapshots need no memory.
 * Invariants: no integer passes through a double, no ratio is NaN or infinite, and the same input
 * gives the same bytes.
 * Specification: loom.md 5.2, 5.4, 6.
 */
#ifndef TRACE_LOOM_WRITE_RUN_STATS_WRITE_H
#define TRACE_LOOM_WRITE_RUN_STATS_WRITE_H

#include <stdint.h>
#include <stdio.h>

#include "trace/loom/stats/counters.h"
#include "trace/loom/write/loom_writer.h"

/* A snapshot of another file. */
struct loom_carried_row {
	struct loom_invocation v;
	struct loom_row row;
	bool has_ids; /* else it belongs to the only invocation, and v is unused */
};

/*
 * Data of a run that is rewritten: earlier losses, and counters from before any loss. The writer
 * reads them at the end, except the sampling.
 */
struct loom_carried {
	uint32_t keep, of; /* sampling; 0 and 0: none */
	uint64_t filtered, sampled_out, dropped;
	const uint64_t *dropped_by_kind; /* 256 of them; NULL: not known */
	const uint64_t *dropped_by_core; /* LOOM_CORES of them; NULL: not known */
	const struct loom_invocation *invocations;
	size_t ninvocations; /* 0: taken from the records */
	const struct loom_carried_row *rows;
	size_t nrows; /* 0: taken from the records */
};

struct run_stats_writer {
	FILE *out;
	const struct loom_writer_options *options;
	const struct loom_account *account;
	const struct loom_counters *counters;
	const uint64_t *dropped_by_kind; /* 256 of them; NULL: not known */
	const uint64_t *dropped_by_core; /* LOOM_CORES of them; NULL: not known */
	bool any;			 /* true after the first snapshot */
};

/* Writes the start of the document, from `options`. */
void run_stats_write_begin(struct run_stats_writer *s);
/* Writes a row of a snapshot; a loom_snapshot_fn with `s` as its argument. */
void run_stats_write_row(void *s, const struct loom_invocation *v, const struct loom_row *row);
/*
 * Writes the rows of the finished counters and the end. Returns 0, or -errno after any failure of
 * `out`.
 */
int run_stats_write_end(struct run_stats_writer *s) __attribute__((warn_unused_result));

/*
 * Writes the end of a document whose run was cut: its counters and invocations are unknown. `out`
 * is after a whole snapshot, or, without `any`, after the start; `first` to `end` are the cycles of
 * the records, end exclusive. Returns 0 or -errno.
 */
int run_stats_write_cut(FILE *out, bool any, const struct loom_account *account, uint64_t first,
			uint64_t end) __attribute__((warn_unused_result));

/* Writes the form of upstream, from finished counters. Returns 0 or -errno. */
int run_stats_write_legacy(const struct run_stats_writer *s) __attribute__((warn_unused_result));

#endif
