/* SPDX-License-Identifier: MIT */
/*
 * core_state: derives the state of each core: epoch, invocation, configuration, errors.
 *
 * In: the records of a surveyed run (run_survey.h), in order; out: each change of a core, in the
 * order of its cycles. Of overlapping invocations, the latest one is shown. Invariant: memory
 * follows invocations. Specification: loom.md 9.3.
 */
#ifndef TOOLS_LOOM_IMPORT_CORE_STATE_H
#define TOOLS_LOOM_IMPORT_CORE_STATE_H

#include "tools/loom/run/run_survey.h"

enum core_state_change {
	LOOM_SESSION_EPOCH,	 /* value: its id */
	LOOM_SESSION_INVOCATION, /* value: index of the scope in the survey, or -1: none */
	LOOM_SESSION_CONFIG,	 /* value: index of the present word, or -1: none */
	LOOM_SESSION_ERROR,	 /* value: the code, or -1: its end */
};

/* Receives a change of a core (an index) at a cycle. */
typedef void (*core_state_fn)(void *arg, uint32_t core, enum core_state_change what, uint64_t cycle,
			      int64_t value);

struct core_state;

/* Returns NULL out of memory. The survey must be sealed, and outlive the result. */
struct core_state *core_state_new(const struct run_survey *survey, core_state_fn change, void *arg);
void core_state_free(struct core_state *sessions);

/* Adds a record with a chained cycle. */
void core_state_add(struct core_state *sessions, const struct loom_record *record, uint32_t part);
/* Reports all changes up to the end of the run. */
void core_state_finish(struct core_state *sessions);

#endif
