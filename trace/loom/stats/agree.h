/* SPDX-License-Identifier: MIT */
/*
 * agree: compares the records of a run with its statistics.
 *
 * In: statistics, and the tally of the records; out: violations.
 * Invariant: where records are missing or out of order, counters are not compared, and the reason
 * is given. Specification: loom.md 8, rules P6, P8, P9.
 */
#ifndef TRACE_LOOM_STATS_AGREE_H
#define TRACE_LOOM_STATS_AGREE_H

#include <stdbool.h>

#include "trace/loom/stats/run_stats.h"
#include "trace/loom/stats/tally.h"

struct loom_agree_options {
	bool leaves_out;	/* the user declares filters that the statistics do not */
	bool is_json;		/* the trace is; JSON traces need not have configuration writes */
	uint64_t without_start; /* scopes that have records of nodes and no start */
	uint64_t last_config_writes; /* of the last invocation of the trace, on all cores */
};

/* The row of the records for the node, or core, of a snapshot; NULL if it is unknown. */
const struct loom_row *loom_agree_row(const struct loom_tally *t, const struct run_stats *p,
				      const struct stats_snapshot *s);

/* The reason not to compare the counters of nodes with the records; NULL: they can be compared.
 * Static. */
const char *loom_agree_obstacle(const struct loom_tally *t, const struct run_stats *p,
				const struct loom_agree_options *o);

/* The number of counters that differ from the records: violations of P6, not reported. */
uint64_t loom_agree_differences(const struct loom_tally *t, const struct run_stats *p);

/* Reports violations of P8 and P9, and without an obstacle of P6. */
void loom_agree(const struct loom_tally *t, const struct run_stats *p,
		const struct loom_agree_options *o, struct loom_violations *findings);

#endif
