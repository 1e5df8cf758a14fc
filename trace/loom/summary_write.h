/* SPDX-License-Identifier: MIT */
/*
 * summary_write: the statistics of a run as text: in the schema `loom-perf`, or upstream's.
 *
 * In: what was asked for, the account of the records, the counters; out: one JSON document. Ours is
 * written in three steps, so that snapshots on the way need no memory: what is known at the start,
 * snapshots, what is known at the end.
 * Invariant: no integer passes through a double, no ratio is NaN or infinite, and the
 * same input gives the same bytes.
 * Specification: loom.md 5.2, 5.4, 6.
 */
#ifndef TRACE_LOOM_SUMMARY_WRITE_H
#define TRACE_LOOM_SUMMARY_WRITE_H

#include <stdint.h>
#include <stdio.h>

#include "trace/loom/counters.h"
#include "trace/loom/writer.h"

struct loom_core_drops {
	uint32_t core;
	uint64_t dropped;
};

struct loom_summary {
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
void loom_summary_begin(struct loom_summary *s);
/* A snapshot, between start and end: is a loom_snapshot_fn for `s`. */
void loom_summary_row(void *s, const struct loom_invocation *v, const struct loom_row *row);
/* The rows of the counters, which are finished, and the end. Returns 0, or -errno if `out` failed
 * at any time. */
int loom_summary_end(struct loom_summary *s) __attribute__((warn_unused_result));

/* Upstream's: all of it, of the last invocation. `counters` are finished. 0, or -errno. */
int loom_summary_legacy(const struct loom_summary *s) __attribute__((warn_unused_result));

#endif
