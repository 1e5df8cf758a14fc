/* SPDX-License-Identifier: MIT */
/*
 * survey: the faults of each stream of a trace.
 *
 * In: the streams, one by one, each to its end, although the emulator stops at the first event that
 * it refuses; out: for each kind of fault in a stream a diagnostic with the count and the first
 * event. It also compares the events with the numbers of the recorder.
 */
#ifndef TOOLS_CHECK_SURVEY_H
#define TOOLS_CHECK_SURVEY_H

#include <stdint.h>

#include "tools/check/diagnostics.h"
#include "trace/ovni/trace.h"
#include "trace/ovni/whole.h"

struct survey {
	uint64_t streams, events;
	uint64_t repairs; /* switches without a record: not reported by the kernel, or lost */
	struct whole whole;
};

/* Examines all streams, also of a source that could not be opened to its end. Faults become
 * diagnostics of the given severity. Returns 0 or -ENOMEM. */
int survey_run(struct survey *survey, const struct source *source, struct diagnostics *diagnostics,
	       enum severity severity) __attribute__((warn_unused_result));

#endif
