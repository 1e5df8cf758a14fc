/* SPDX-License-Identifier: MIT */
/*
 * run_records: reads all records of a run once, to check or count them.
 *
 * In: the trace of a run; out: the tally, and violations of the order if that is checked. A run
 * without a readable trace has no records.
 */
#ifndef TOOLS_LOOM_RUN_RUN_RECORDS_H
#define TOOLS_LOOM_RUN_RUN_RECORDS_H

#include <stdbool.h>

#include "tools/loom/run/loom_command.h"
#include "trace/loom/record_order.h"
#include "trace/loom/stats/run_stats.h"
#include "trace/loom/run_files.h"
#include "trace/loom/stats/tally.h"

struct run_records {
	enum loom_form form;
	bool readable; /* the trace was opened: the next fields are valid */
	bool damaged;
	struct loom_tally tally;
	struct loom_modules modules;		    /* of the trace */
	uint64_t without_start, last_config_writes; /* if the order was checked */
};

/*
 * Reads the trace of `run` and reports violations of the file to `findings`; with `judge` also of
 * the order, with the losses that `perf` (may be NULL) and the options declare. Returns 0, with or
 * without records, or -errno after a message. run_records_fini() may follow in all cases.
 */
int run_records_read(struct run_records *r, const struct loom_options *o,
		     const struct run_files *run, const struct run_stats *perf,
		     enum loom_style style, bool judge, struct loom_violations *findings)
	__attribute__((warn_unused_result));
void run_records_fini(struct run_records *r);

/*
 * Repeats the reading in the style `edge`, unless the style is known, if there are stalls; replaces
 * *r if only that style agrees with the statistics. Returns 1 if it was replaced, 0, or -errno.
 */
int run_records_try_edge(struct run_records *r, const struct loom_options *o,
			 const struct run_files *run, const struct run_stats *perf)
	__attribute__((warn_unused_result));

/* The style of the user or of the statistics, else `cycle`. */
enum loom_style run_records_style(const struct loom_options *o, const struct run_stats *perf);

#endif
