/* SPDX-License-Identifier: MIT */
/*
 * carry: carries data of the statistics into a run that is rewritten.
 *
 * In: the kept statistics; out: earlier losses (controls, counts of records), and counters from
 * before any loss, which the records do not have: tokens, unrecorded stalls. Invariant: counters
 * from before filters do not change. Specification: loom.md 9.5.
 */
#ifndef TOOLS_LOOM_EXPORT_CARRY_H
#define TOOLS_LOOM_EXPORT_CARRY_H

#include "trace/loom/stats/run_stats.h"
#include "trace/loom/write/run_stats_write.h"

struct loom_carry {
	struct run_stats perf;
	struct loom_carried carried;
	struct loom_core_drops *cores;
	struct loom_invocation *invocations;
	struct loom_carried_row *rows;
};

/*
 * Reads the statistics `path` below `dirfd`, and restricts the filters of `chosen` to theirs. Warns
 * about unknown statistics, which carry no data. Returns 0, or -errno after a message.
 * loom_carry_free() may follow in both cases.
 */
int loom_carry_load(struct loom_carry *c, int dirfd, const char *path, struct loom_controls *chosen)
	__attribute__((warn_unused_result));
/* Drops the carried counters, which no longer fit the records; keeps the earlier losses. */
void loom_carry_forget_counters(struct loom_carry *c);
void loom_carry_free(struct loom_carry *c);

#endif
