/* SPDX-License-Identifier: MIT */
/*
 * import_anchors: puts invocations where the host called them.
 *
 * In: the statistics of a run, with the clocks of the host's calls; its records; out: anchors of a
 * clock. While the run is imported, the cycles from the start of such an invocation on are one
 * higher: the end of the one before, in the same cycle, has its own place then (run_clock.h takes
 * it back). Invariants: an invocation with a clock starts exactly there; the clock never falls, and
 * an invocation is never shortened: a run for which that is impossible is refused. Specification:
 * loom.md 5.4, 9.2.
 */
#ifndef TOOLS_LOOM_IMPORT_IMPORT_ANCHORS_H
#define TOOLS_LOOM_IMPORT_IMPORT_ANCHORS_H

#include "tools/loom/run/run_clock.h"
#include "tools/loom/run/run_survey.h"
#include "trace/base/hash.h"
#include "trace/loom/stats/run_stats.h"

struct import_call {
	struct run_anchor anchor;
	bool started; /* its START was read */
};

struct import_calls {	/* zero it to start */
	struct hash of; /* id, epoch */
	struct import_call *list;
	size_t n;
	uint64_t shift; /* of the present record */
};

/* Takes the clocks from the statistics. Returns 0 or -ENOMEM. */
int import_calls_load(struct import_calls *calls, const struct run_stats *perf)
	__attribute__((warn_unused_result));

/* Shifts the cycle of the next record. import_calls_restart(): the first one follows again. */
void import_calls_shift(struct import_calls *calls, struct loom_record *record);
void import_calls_restart(struct import_calls *calls);
void import_calls_free(struct import_calls *calls);

/*
 * Sets the anchors of `clock`, and its base, after the last record; unchanged without the start of
 * an invocation with a clock. *anchors is the list that it uses, which the caller frees in all
 * cases. `run` is the name in messages. Returns 0, or -errno after a message.
 */
int import_anchors(struct run_clock *clock, const struct import_calls *calls,
		   const struct run_survey *survey, const char *run, struct run_anchor **anchors);

#endif
