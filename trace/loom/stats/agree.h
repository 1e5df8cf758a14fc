/* SPDX-License-Identifier: MIT */
/*
 * agree: do the records of a run and its statistics tell the same?
 *
 * In: statistics, and the tally of the records; out: findings.
 * Invariant: what cannot be decided (something was left out, or is out of order) is not judged, and
 * the reason is given. Specification: loom.md 8, rules P6, P8, P9.
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

/* What the records say of the node, or core, of a snapshot; NULL if that cannot be told. */
const struct loom_row *loom_agree_row(const struct loom_tally *t, const struct run_stats *p,
				      const struct stats_snapshot *s);

/*
 * Why the counters of nodes cannot be held against the records; NULL if they can. Static.
 */
const char *loom_agree_obstacle(const struct loom_tally *t, const struct run_stats *p,
				const struct loom_agree_options *o);

/* How many counters differ from the records: what P6 would find, without saying it. */
uint64_t loom_agree_differences(const struct loom_tally *t, const struct run_stats *p);

/* P8, P9, and if there is no obstacle P6. */
void loom_agree(const struct loom_tally *t, const struct run_stats *p,
		const struct loom_agree_options *o, struct loom_violations *findings);

#endif
