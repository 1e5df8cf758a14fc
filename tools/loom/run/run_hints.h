/* SPDX-License-Identifier: MIT */
/*
 * run_hints: what the statistics of a Loom run tell of its trace: clock, style, nodes.
 *
 * In: a statistics file of any form; out: what it says, as far as it does.
 * Specification: loom.md 5.2 to 5.4.
 */
#ifndef TOOLS_LOOM_RUN_RUN_HINTS_H
#define TOOLS_LOOM_RUN_RUN_HINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/loom/run/run_survey.h"
#include "trace/loom/stats/run_stats.h"

struct run_hints {
	struct run_stats perf; /* empty if there is none */
	uint64_t period_ps;    /* 0: not said */
	uint64_t dropped;      /* records, as declared */
	enum loom_style style;
	bool has_style;
};

/* Reads the file (relative to the current directory; NULL: there is none). Returns 0; or -errno
 * after a message. The caller frees, in any case. */
int run_hints_load(struct run_hints *hints, const char *path) __attribute__((warn_unused_result));
void run_hints_free(struct run_hints *hints);

/*
 * Adds the nodes that the statistics name to a survey that has all records and is not sealed. Where
 * several cores are joined without being named, they are told apart only if that is safe: as many
 * rising lists of nodes as there are cores, each with all nodes that its core has records
 * of. *doubtful says that it is not. Where records were left out (filters, sampling, drops) no node
 * is added: one without records may have been busy, and must not be shown as idle. 0 or -ENOMEM.
 */
int run_hints_nodes(const struct run_hints *hints, struct run_survey *survey, bool *doubtful)
	__attribute__((warn_unused_result));

#endif
