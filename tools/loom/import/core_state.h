/* SPDX-License-Identifier: MIT */
/*
 * core_state: what each core as a whole is doing: epoch, invocation, configuration, errors.
 *
 * In: the records of a run whose tables are known (run_survey.h), in order; out: each change of
 * a core, in the order of the cycles of that core. Of invocations that overlap the one that began
 * last is shown.
 * Invariant: memory follows invocations.
 * Specification: loom.md 9.3.
 */
#ifndef TOOLS_LOOM_IMPORT_CORE_STATE_H
#define TOOLS_LOOM_IMPORT_CORE_STATE_H

#include "tools/loom/run/run_survey.h"

enum loom_session_what {
	LOOM_SESSION_EPOCH,	 /* value: its id */
	LOOM_SESSION_INVOCATION, /* value: index of the scope in the survey, or -1: none */
	LOOM_SESSION_CONFIG,	 /* value: index of the word that is written, or -1: none */
	LOOM_SESSION_ERROR,	 /* value: the code, or -1: none any more */
};

/* A core (its index) changes at a cycle. Non-zero ends everything and is returned. */
typedef int (*loom_session_fn)(void *arg, uint32_t core, enum loom_session_what what,
			       uint64_t cycle, int64_t value);

struct loom_sessions;

/* NULL without memory. The survey must be sealed, and stay. */
struct loom_sessions *loom_sessions_new(const struct loom_survey *survey, loom_session_fn change,
					void *arg);
void loom_sessions_free(struct loom_sessions *sessions);

/* The next record; its cycle has gone through the chain. 0 or what `change` returned. */
int loom_sessions_add(struct loom_sessions *sessions, const struct loom_record *record,
		      uint32_t part) __attribute__((warn_unused_result));
/* All changes up to the end of the run. */
int loom_sessions_finish(struct loom_sessions *sessions) __attribute__((warn_unused_result));

#endif
