/* SPDX-License-Identifier: MIT */
/*
 * node_state: derives the state of each hardware node at each cycle from its records.
 *
 *   record        FIRE     ROUTE 1>0  ROUTE 0>1    ERROR                   DONE
 *   cycle     4     5    6     7    8     9    10    11     12         13    14
 *   state     idle  fire idle  route      route idle error  error      error outside
 *   route                      2    none  1    none
 *
 * In: the records of a surveyed run (run_survey.h), in order; out: each change of a node, in the
 * order of its cycles. Of several records of one cycle, the highest counts: error, fire, route,
 * stalled on output, stalled on input. Invariant: memory follows nodes. Specification:
 * loom.md 4.3, 9.3.
 */
#ifndef TOOLS_LOOM_RUN_NODE_STATE_H
#define TOOLS_LOOM_RUN_NODE_STATE_H

#include "tools/loom/run/run_survey.h"

/* Also the values of the mark. */
enum loom_state {
	LOOM_OUTSIDE = 1,
	LOOM_IDLE,
	LOOM_FIRE,
	LOOM_ROUTE,
	LOOM_STALLED_IN,
	LOOM_STALLED_OUT,
	LOOM_ERRED,
	LOOM_STATES
};

extern const char *const loom_state_names[LOOM_STATES];

enum loom_what {
	LOOM_WHAT_STATE,     /* value: enum loom_state */
	LOOM_WHAT_ROUTE,     /* the input of the lowest active lane, or -1: none */
	LOOM_WHAT_ERROR,     /* the code, or -1: its end */
	LOOM_WHAT_EXTENSION, /* the kind of the record, or -1: none */
};
#define LOOM_WHATS (LOOM_WHAT_EXTENSION + 1)

/* Receives a change of a node (an index of run->nodes) at a cycle. */
typedef void (*loom_change_fn)(void *arg, uint32_t node, enum loom_what what, uint64_t cycle,
			       int64_t value);

struct node_state;

/* Returns NULL out of memory. The run must be sealed, and outlive the result. Nodes start outside.
 */
struct node_state *node_state_new(const struct run_survey *run, loom_change_fn change, void *arg);
void node_state_free(struct node_state *states);

/* Adds a record with a chained cycle. */
void node_state_add(struct node_state *states, const struct loom_record *record, uint32_t part);

/* Reports all changes up to the end of the run. */
void node_state_finish(struct node_state *states);

#endif
