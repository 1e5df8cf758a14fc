/* SPDX-License-Identifier: MIT */
/*
 * run_hints: reads data about a trace from its statistics: clock, style, nodes.
 *
 * In: a statistics file of any form; out: its declarations, some of them missing.
 * Specification: loom.md 5.2 to 5.4.
 */
#ifndef TOOLS_LOOM_RUN_RUN_HINTS_H
#define TOOLS_LOOM_RUN_RUN_HINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/loom/run/run_survey.h"
#include "trace/loom/stats/run_stats.h"

struct run_hints {
	struct run_stats perf; /* empty without a file */
	uint64_t period_ps;    /* 0: unknown */
	uint64_t dropped;      /* records, declared */
	enum loom_style style;
	bool has_style;
};

/*
 * Reads the file, relative to the current directory; NULL: no file. Returns 0, or -errno after a
 * message. The caller frees in both cases.
 */
int run_hints_load(struct run_hints *hints, const char *path) __attribute__((warn_unused_result));
void run_hints_free(struct run_hints *hints);

/*
 * Adds the nodes in the statistics to a survey with all records, before it is sealed. Rows of
 * several unnamed cores are separated only if that is safe: with one increasing list of nodes per
 * core, which has all nodes with records of its core; otherwise *doubtful is set. With declared
 * losses (filters, sampling, drops) no node is added: a node without records may have been busy,
 * and must not appear as idle. Returns 0 or -ENOMEM.
 */
int run_hints_nodes(const struct run_hints *hints, struct run_survey *survey, bool *doubtful)
	__attribute__((warn_unused_result));

#endif
