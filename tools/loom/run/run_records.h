/* SPDX-License-Identifier: MIT */
/*
 * run_records: all records of a run, once through, for the commands that judge or count them.
 *
 * In: the trace of a run; out: the tally, and with an order the findings about it. A run without a
 * trace, or whose trace cannot be read, has no records.
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
	bool readable; /* the trace was opened; what follows is of it */
	bool damaged;
	struct loom_tally tally;
	struct loom_modules modules;		    /* those of the trace, sealed */
	uint64_t without_start, last_config_writes; /* if they were put in order */
};

/*
 * Reads the trace of `run`. `findings`: where to (in order, and of the file); with `judge` the
 * order is judged, as `perf` (may be NULL) and the options declare. Returns 0 (with or without
 * records) or -errno after a message. run_records_fini() is allowed in any case.
 */
int run_records_read(struct run_records *r, const struct loom_options *o,
		     const struct run_files *run, const struct run_stats *perf,
		     enum loom_style style, bool judge, struct loom_violations *findings)
	__attribute__((warn_unused_result));
void run_records_fini(struct run_records *r);

/*
 * The same once more, unless the style is known, in the style `edge`, if stalls are recorded and
 * only that agrees with the statistics. *r is replaced then. Returns 1 if it was, 0, or -errno.
 */
int run_records_try_edge(struct run_records *r, const struct loom_options *o,
			 const struct run_files *run, const struct run_stats *perf)
	__attribute__((warn_unused_result));

/* The style that the user or the statistics name, else `cycle`. */
enum loom_style run_records_style(const struct loom_options *o, const struct run_stats *perf);

/* True if the user declares a filter. */
bool loom_declares(const struct loom_options *o);

#endif
