/* SPDX-License-Identifier: MIT */
/*
 * stats_check: checks stats.json, the statistics of a recording, by its own sums and against the
 * streams beside it.
 *
 * In: the file, and the events of the streams; out: diagnostics.
 *
 *   file        threads = run      CPUs = run      switches     migrations    dropped    window
 *   streams                                          OHp           OAs         lost     t0 to t1
 *
 * Invariant: where the streams may lack events (of lost events, of repairs, of kinds that were not
 * recorded) their threads are not compared. Specification: loom.md 12; ovni-stats(5).
 */
#ifndef TOOLS_CHECK_STATS_CHECK_H
#define TOOLS_CHECK_STATS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/check/diagnostics.h"
#include "tools/check/survey.h"
#include "trace/ovni/stats_file.h"
#include "trace/ovni/trace.h"

struct stats_check {
	struct diagnostics *diagnostics;
	struct recorded_stats stats;
	const char *name;	      /* of the file; NULL: the trace has none */
	bool sound;		      /* it could be read, and its sums agree */
	uint64_t t0, t1;	      /* the window of the streams */
	bool has_session;	      /* the streams have their session */
	bool is_part;		      /* of the session: the file belongs to several traces */
	bool has_switches;	      /* switches were recorded */
	struct stats_thread *threads; /* one for each stream */
	size_t nthreads;
	uint64_t findings;
};

/* Reads the file `name` below `dirfd`, and checks its sums. Returns 0 or -ENOMEM.
 * stats_check_free() may follow in all cases. */
int stats_check_load(struct stats_check *check, int dirfd, const char *name)
	__attribute__((warn_unused_result));

/* Takes the session of the streams, then each event of stream `i`. Returns 0, or -errno after one
 * message. */
int stats_check_begin(struct stats_check *check, const struct source *source)
	__attribute__((warn_unused_result));
void stats_check_event(struct stats_check *check, uint32_t i, const struct event *ev);

/* Compares file and streams after all events; differences have the severity `severity`. Returns
 * false if there are any. */
bool stats_check_compare(struct stats_check *check, const struct survey *survey,
			 enum severity severity);
void stats_check_free(struct stats_check *check); /* also of a zeroed struct */

#endif
