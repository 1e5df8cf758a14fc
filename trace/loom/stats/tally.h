/* SPDX-License-Identifier: MIT */
/*
 * tally: counts the records of a trace: kinds, invocations, counters of every node.
 *
 * In: records in the order of the file; out: numbers to compare with statistics. Records outside
 * all invocations, or with decreasing cycles, count as refused. Memory follows nodes and
 * invocations. Specification: loom.md 5.1 (counters), 4.3 (styles).
 */
#ifndef TRACE_LOOM_STATS_TALLY_H
#define TRACE_LOOM_STATS_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/stats/counters.h"
#include "trace/loom/loom_record.h"

struct loom_tally {
	struct loom_counters *counters; /* complete after loom_tally_finish() */
	enum loom_style style;
	uint64_t records;
	uint64_t of_kind[256];
	uint64_t refused;	  /* of the kinds 0 to 3, except stalls after a DONE */
	uint64_t last_invocation; /* of the last record */
	uint32_t last_epoch;
	const struct loom_invocation **last; /* the last invocation, on each of its cores */
	size_t nlast;
};

/* Returns 0 or -ENOMEM. loom_tally_fini() may follow in both cases. */
int loom_tally_init(struct loom_tally *t, enum loom_style style)
	__attribute__((warn_unused_result));
void loom_tally_fini(struct loom_tally *t);

/* Counts a record. Returns 0 or -ENOMEM. */
int loom_tally_add(struct loom_tally *t, const struct loom_record *r)
	__attribute__((warn_unused_result));
/* Completes the counters, after the last record. Returns 0 or -ENOMEM. */
int loom_tally_finish(struct loom_tally *t) __attribute__((warn_unused_result));

/* After loom_tally_finish(). */
/* The last invocation of the trace, if it has one core; else NULL. */
const struct loom_invocation *loom_tally_last(const struct loom_tally *t);
/* The row of a node in the last invocation of the trace, if exactly one core has it; else NULL. */
const struct loom_row *loom_tally_last_row(const struct loom_tally *t, uint32_t node);

#endif
