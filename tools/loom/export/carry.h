/* SPDX-License-Identifier: MIT */
/*
 * carry: what the statistics of a run know that its records do not, for a run that is written
 * once more.
 *
 * In: the kept statistics; out: what was left out of the records before (controls, the account),
 * and the counters from the time when nothing was: tokens, stalls that nobody recorded. Invariant:
 * counters that were taken before filters stay what they were. Specification: loom.md 9.5.
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
 * Reads the statistics `path` below `dirfd`, and narrows the filters of `chosen` to what they let
 * through. Statistics that cannot be understood are said, and carry nothing. 0, or -errno after a
 * message. loom_carry_free() is allowed in any case.
 */
int loom_carry_load(struct loom_carry *c, int dirfd, const char *path, struct loom_controls *chosen)
	__attribute__((warn_unused_result));
/* The counters do not fit the records any more: they are counted anew. What was left out stays. */
void loom_carry_forget_counters(struct loom_carry *c);
void loom_carry_free(struct loom_carry *c);

#endif
