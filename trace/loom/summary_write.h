/* SPDX-License-Identifier: MIT */
/*
 * summary_write: the statistics of a run as text, in the schema `loom-perf`.
 *
 * In: what was asked for, the account of the records, the counters; out: one JSON document.
 * Invariant: no integer passes through a double, no ratio is NaN or infinite, and the
 * same input gives the same bytes.
 * Specification: loom.md 5.4, 6.
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
	const struct loom_writer_options *options;
	const struct loom_account *account;
	const struct loom_counters *counters; /* finished */
	const uint64_t *dropped_by_kind;      /* 256 of them */
	const struct loom_core_drops *cores;
	size_t ncores;
};

/* Writes the document. Returns 0, or -errno if `out` failed. */
int loom_summary_write(FILE *out, const struct loom_summary *summary)
	__attribute__((warn_unused_result));

#endif
