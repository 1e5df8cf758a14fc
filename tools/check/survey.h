/* SPDX-License-Identifier: MIT */
/*
 * survey: every stream of a trace by itself, to its end, whatever is wrong with it.
 *
 * The emulator stops at the first thing that it refuses; this goes on, and says for each
 * stream what kinds of faults it has, how often, and where the first one is. It also counts,
 * so that a trace that tells how many events it was given can be held to it.
 */
#ifndef TOOLS_CHECK_SURVEY_H
#define TOOLS_CHECK_SURVEY_H

#include <stdint.h>

#include "tools/check/diagnostics.h"
#include "trace/ovni/trace.h"

struct survey {
	uint64_t streams, events;
	uint64_t unfinished; /* streams without ovni.finished */
	uint64_t counted;    /* streams that tell their number of events */
	uint64_t missing;    /* events that they tell of and do not have */
	uint64_t recovered;  /* streams that a repair has closed */
	uint64_t lost;	     /* events that the recorder lost, as the session tells */
	uint64_t repairs;    /* moves that no record told */
	bool ours;	     /* some stream has `bpf` */
	bool told;	     /* the session tells its losses: completeness can be verified */
};

/* Looks at all streams. Faults become findings of the severity `faults`. Returns 0 or -ENOMEM. */
int survey_run(struct survey *survey, const struct trace *trace, struct diagnostics *findings,
	       enum severity faults) __attribute__((warn_unused_result));

#endif
