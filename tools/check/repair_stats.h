/* SPDX-License-Identifier: MIT */
/*
 * repair_stats: statistics of a recorder in mode summary that was killed.
 *
 * In: NAME.stats.json.part, the snapshots of --interval, of which the last one may be torn; out:
 * NAME.stats.json with all whole snapshots, whose end is the last of them.
 * Invariant: no number is invented: the sums of threads that have ended are what the run has more
 * than its live threads, and events are not counted. The document has `recovered`, so that no
 * reader takes it for complete. Specification: loom.md 12.
 */
#ifndef TOOLS_CHECK_REPAIR_STATS_H
#define TOOLS_CHECK_REPAIR_STATS_H

#include <stdbool.h>

/* True if the file name is one of unfinished statistics. */
bool repair_stats_is_for(const char *path);

/* Writes the file `out`, which must not exist. 0, or -errno after one message. */
int repair_stats(const char *path, const char *out) __attribute__((warn_unused_result));

#endif
