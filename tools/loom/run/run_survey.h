/* SPDX-License-Identifier: MIT */
/*
 * run_survey: lists the cores, nodes and invocations of a Loom run, and its length.
 *
 * In: its records, one after the other, with chained cycles (struct loom_chain); out: tables,
 * complete after run_survey_seal(). Invariant: memory follows cores, nodes and invocations, not
 * records. Specification: loom.md 4.1, 4.2, 8 (chaining), 9.1.
 */
#ifndef TOOLS_LOOM_RUN_RUN_SURVEY_H
#define TOOLS_LOOM_RUN_RUN_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/run_reader.h"
#include "trace/base/hash.h"
#include "trace/loom/loom_record.h"

#define LOOM_NONE	  UINT32_MAX
#define RUN_SURVEY_RECENT 256 /* a power of two */

/* One invocation on one core. */
struct loom_scope {
	uint32_t core, epoch, part; /* core: its id; sealed: its index */
	uint64_t id;
	uint64_t begin, end; /* cycles, end exclusive, of a sealed run */
	/* before run_survey_seal() */
	uint64_t first, last; /* cycles of its records; last: end of the covered cycles */
	bool seen, started, done;
};

struct loom_span {
	uint64_t begin, end;
};

struct run_survey_node {
	uint32_t core, node; /* core: its id; sealed: its index. node: hw_node_id */
	bool evidence;	     /* it has a record of a node, or is in a table */
	bool routes;	     /* it has ROUTE_USE records */
	uint8_t *used_lanes; /* set of lanes, with by_lane, or NULL */
	uint32_t first_lane; /* sealed: index of its lanes in survey->lanes */
};

/* An output of a node with routes, with by_lane. */
struct run_survey_lane {
	uint32_t node; /* index */
	uint8_t lane;
};

struct run_survey_core {
	uint16_t id;
	/* of a sealed run */
	uint32_t first_scope, nscopes; /* indices in run->scopes, by begin */
	struct loom_span *inside; /* the union of the invocations: sorted spans without overlaps */
	size_t ninside;
	uint32_t current; /* scope of the last record */
	bool used;	  /* it has records */
};

struct run_survey {
	enum loom_style style;
	struct run_survey_core *cores; /* sealed: by id */
	size_t ncores;
	struct run_survey_node *nodes; /* sealed: by core, by node */
	size_t nnodes;
	struct loom_scope *scopes; /* sealed: by core, by begin */
	size_t nscopes;
	bool by_lane;		       /* list lanes, too; set it before the first record */
	struct run_survey_lane *lanes; /* sealed: by node, by lane */
	size_t nlanes;
	uint64_t records, stalls; /* number of records, and of stalls */
	uint64_t end;		  /* cycle after the last one */
	/* for look-ups: indices, or LOOM_NONE */
	uint32_t recent[RUN_SURVEY_RECENT]; /* the last nodes */
	uint32_t core_of[LOOM_CORES];
	struct hash node_of;  /* node, id of the core */
	struct hash scope_of; /* id, id of the core and epoch, part */
};

struct run_survey *run_survey_new(enum loom_style style); /* NULL without memory */
void run_survey_free(struct run_survey *run);

/* Adds a record with a chained cycle of the part `part`. Returns 0 or -ENOMEM. */
int run_survey_add(struct run_survey *run, const struct loom_record *record, uint32_t part)
	__attribute__((warn_unused_result));

/* Adds a node of a table, if it is new. Returns 0 or -ENOMEM. */
int run_survey_add_node(struct run_survey *run, uint16_t core, uint32_t node)
	__attribute__((warn_unused_result));

/* The same for a core without records. */
int run_survey_add_core(struct run_survey *run, uint16_t core) __attribute__((warn_unused_result));

/* Completes the tables after the last record, and changes the indices. Returns 0 or -ENOMEM. */
int run_survey_seal(struct run_survey *run) __attribute__((warn_unused_result));

/* The index of a node or scope on a core, by their ids; of a lane, by the index of its node. Lanes
 * and scopes are of a sealed run. LOOM_NONE if it is unknown. */
uint32_t run_survey_node(const struct run_survey *run, uint16_t core, uint32_t node);
uint32_t run_survey_lane(const struct run_survey *run, uint32_t node, uint8_t lane);
uint32_t run_survey_scope(const struct run_survey *run, const struct loom_record *record,
			  uint32_t part);

#endif
