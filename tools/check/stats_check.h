/* SPDX-License-Identifier: MIT */
/*
 * stats_check: perf.json of a recording, held against its own rules and against the streams beside
 * it.
 *
 * In: the perf.json in the directory of a trace, and the events of its streams; out: findings.
 *
 *   counters   active + runnable + blocked    switches   wake-ups   migrations
 *                 =         =         =           =          =          =         to the nanosecond
 *   stream     Running   Warming   Paused        OHp        OHw        OAs
 *
 * Invariant: where the streams do not tell everything (events were lost or sampled out, moves had
 * to be concluded, no switches were recorded) they are not held against the counters.
 * Specification: loom.md 8 (P1 to P5, P8, P10), 12; ovni-perf(5).
 */
#ifndef TOOLS_CHECK_STATS_CHECK_H
#define TOOLS_CHECK_STATS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/check/diagnostics.h"
#include "trace/ovni/trace_input.h"
#include "tools/check/survey.h"
#include "trace/loom/stats/run_stats.h"

struct figures {
	struct run_stats perf;
	bool there;			/* the trace has a perf.json, and it could be read */
	bool sound;			/* it breaks no rule */
	uint64_t t0, t1;		/* the window, as the streams have it */
	bool session;			/* they have one, */
	bool part;			/* which has several traces, */
	bool switches;			/* and it was told who runs when */
	struct figures_thread *threads; /* one for each stream, by pid and tid when compared */
	size_t nthreads;
};

/* Reads perf.json, if there is one, and judges it: rules that are broken become findings. Returns 0
 * or -ENOMEM. figures_free() is allowed in any case. */
int figures_load(struct figures *figures, const struct trace *trace, struct diagnostics *findings)
	__attribute__((warn_unused_result));

/* What the streams tell of themselves; then each event of stream `who`. Returns 0, or -errno after
 * one message. */
int figures_begin(struct figures *figures, const struct source *source)
	__attribute__((warn_unused_result));
void figures_event(struct figures *figures, uint32_t who, const struct event *ev);

/* Once all events were seen: what does not agree becomes findings of the severity `severity`.
 * Returns true if all that can be compared agrees. */
bool figures_compare(struct figures *figures, const struct survey *survey, enum severity severity,
		     struct diagnostics *findings);
void figures_free(struct figures *figures); /* also of a zeroed struct */

#endif
