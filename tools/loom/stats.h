/* SPDX-License-Identifier: MIT */
/*
 * stats: compares the metrics of a run from its statistics and from its records.
 *
 * In: a run; out: a row for each node and each core in each invocation, or for sums of these, with
 * the counters of both sides. Invariant: metrics are derived from the counters in the row; metrics
 * in a file are only compared. Specification: loom.md 6 (metrics, windows, tolerance), 5.1 (cores).
 */
#ifndef TOOLS_LOOM_STATS_H
#define TOOLS_LOOM_STATS_H

#include "tools/loom/run/run_records.h"
#include "tools/lib/printer.h"

struct stats_side {
	bool given;
	uint64_t has; /* a bit for each counter */
	uint64_t counters[STATS_NCOUNTERS];
	uint64_t total; /* cycles of the window */
};

struct stats_row {
	bool has_ids, whole_core;
	bool has_core, has_invocation; /* of a sum */
	uint16_t core;
	uint32_t epoch, node;
	uint64_t invocation;
	uint64_t order;				/* of the row, the last key to sort by */
	const struct loom_module *module;	/* NULL: no name */
	const struct stats_snapshot *announced; /* NULL for sums, and without statistics */
	struct stats_side statistics, records;
};

struct stats {
	const struct loom_options *o;
	struct run_files run;
	struct run_stats perf;
	bool has_perf;
	struct run_records records;
	struct loom_modules names; /* of the trace, the statistics, --names */
	const char *obstacle;	   /* why the sides cannot be compared, or NULL */
	struct stats_row *rows;
	size_t nrows, room;
	uint64_t total_cycles, config_writes; /* of the run */
	bool has_total, has_config_writes;
	uint64_t announced, wrong; /* number of metrics in the file, and of wrong ones */
	uint64_t compared, differ; /* number of counters of both sides, and of different ones */
};

/* True if both sides of the row have this counter. */
bool stats_comparable(const struct stats_row *row, enum stats_counter c);
/* True if such a counter differs. */
bool stats_differs(const struct stats_row *row);

void stats_print_text(const struct stats *s, struct printer *out);
void stats_print_json(const struct stats *s, struct printer *out);
void stats_print_csv(const struct stats *s, struct printer *out);

#endif
