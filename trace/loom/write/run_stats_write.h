/* SPDX-License-Identifier: MIT */
/*
 * run_stats_write: the statistics of a run as text: in the schema `loom-perf`, or upstream's.
 *
 * In: what was asked for, the account of the records, the counters; out: one JSON document. Ours is
 * written in three steps, so that snapshots on the way need no memory: what is known at the start,
 * snapshots, what is known at the end.
 * Invariant: no integer passes through a double, no ratio is NaN or infinite, and the
 * same input gives the same bytes.
 * Specification: loom.md 5.2, 5.4, 6.
 */
#ifndef TRACE_LOOM_WRITE_RUN_STATS_WRITE_H
#define TRACE_LOOM_WRITE_RUN_STATS_WRITE_H

#include <stdint.h>
#include <stdio.h>

#include "trace/loom/stats/counters.h"
#include "trace/loom/write/loom_writer.h"

struct loom_core_drops {
	uint32_t core;
	uint64_t dropped;
};

/* A snapshot of another file. */
struct loom_carried_row {
	struct loom_invocation v;
	struct loom_row row;
	bool has_ids; /* else it is of the only invocation that there is, and v is nothing */
};

/*
 * A run that is written once more: what was left out of it before, and the counters from the time
 * when nothing was. Read when the summary ends, but for the sampling.
 */
struct loom_carried {
	uint32_t keep, of; /* sampling; 0 and 0: none */
	uint64_t filtered, sampled_out, dropped;
	const uint64_t *dropped_by_kind; /* 256 of them; NULL: not known */
	const struct loom_core_drops *cores;
	size_t ncores; /* 0 though records were dropped: not known */
	const struct loom_invocation *invocations;
	size_t ninvocations; /* 0: those of the records */
	const struct loom_carried_row *rows;
	size_t nrows; /* 0: those of the records */
};

struct run_stats_writer {
	FILE *out;
	const struct loom_writer_options *options;
	const struct loom_account *account;
	const struct loom_counters *counters;
	const uint64_t *dropped_by_kind; /* 256 of them */
	const struct loom_core_drops *cores;
	size_t ncores;
	bool any; /* a snapshot was written */
};

/* Ours: the start of the document. `options` must be known. */
void run_stats_write_begin(struct run_stats_writer *s);
/* A snapshot, between start and end: is a loom_snapshot_fn for `s`. */
void run_stats_write_row(void *s, const struct loom_invocation *v, const struct loom_row *row);
/* The rows of the counters, which are finished, and the end. Returns 0, or -errno if `out` failed
 * at any time. */
int run_stats_write_end(struct run_stats_writer *s) __attribute__((warn_unused_result));

/* Upstream's: all of it, of the last invocation. `counters` are finished. 0, or -errno. */
int run_stats_write_legacy(const struct run_stats_writer *s) __attribute__((warn_unused_result));

#endif
