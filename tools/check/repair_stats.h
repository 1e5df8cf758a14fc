/* SPDX-License-Identifier: MIT */
/*
 * repair_stats: statistics of a recorder that was killed, of --interval.
 *
 * In: the snapshots, of which the last one may be torn, in NAME.stats.json.part (mode summary) or
 * stats.json.part (in a trace); out: that name without .part, with all whole snapshots, whose end
 * is the last of them. Invariant: no number is invented: the sums of threads that have ended are
 * what the run has more than its live threads, and events are not counted. The document has
 * `recovered`, so that no reader takes it for complete. Specification: loom.md 12.
 */
#ifndef TOOLS_CHECK_REPAIR_STATS_H
#define TOOLS_CHECK_REPAIR_STATS_H

#include <stdbool.h>

/* True if the file name is one of unfinished statistics. */
bool repair_stats_is_for(const char *path);

/*
 * Writes the file `out`, which must not exist, from the file `path`; both are names below a
 * directory, which may be AT_FDCWD. `mode` is that of the recording. Returns 0; -ENODATA without a
 * message if there is no whole snapshot; or -errno after one message.
 */
int repair_stats(int dir, const char *path, int out_dir, const char *out, const char *mode)
	__attribute__((warn_unused_result));

#endif
