/* SPDX-License-Identifier: MIT */
/*
 * run_survey: what there is in a Loom run: cores, nodes, invocations, how long it lasts.
 *
 * In: its records, one after the other; out: tables, complete once the run is sealed. Parts of a
 * run whose cycles start anew with another epoch or invocation are put one behind the other
 * (chained).
 * Invariant: memory follows cores, nodes and invocations, never records.
 * Specification: loom.md 4.1, 4.2, 8 (chaining), 9.1.
 */
#ifndef TOOLS_LOOM_RUN_RUN_SURVEY_H
#define TOOLS_LOOM_RUN_RUN_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/chain.h"
#include "trace/base/hash.h"
#include "trace/loom/loom_record.h"
#include "trace/loom/style.h"

#define LOOM_NONE UINT32_MAX

/* One invocation on one core. */
struct loom_scope {
	uint32_t core, epoch, part; /* core: its index */
	uint64_t id;
	uint64_t begin, end; /* cycles, end exclusive, once the run is sealed */
	/* while it grows */
	uint64_t first, last; /* cycles of its records; last: one past what they cover */
	bool seen, started, done;
};

struct loom_span {
	uint64_t begin, end;
};

struct run_survey_node {
	uint32_t core, node; /* core: its index; node: hw_node_id */
	bool evidence;	     /* it has a record that only nodes have, or a table names it */
	bool routes;	     /* it has a ROUTE_USE */
	uint8_t *used_lanes; /* bits, if lanes are wanted and it has any */
	uint32_t first_lane; /* sealed: of its lanes in survey->lanes */
};

/* An output of a node that was routed to, if lanes are wanted. */
struct run_survey_lane {
	uint32_t node; /* index */
	uint8_t lane;
};

struct run_survey_core {
	uint16_t id;
	/* once the run is sealed */
	uint32_t first_scope, nscopes; /* in run->scopes, by begin */
	struct loom_span *inside;      /* the invocations as one, in order, apart from each other */
	size_t ninside;
	uint32_t current; /* scope of the last record */
	bool used;	  /* has records, not just a place in a table */
};

struct run_survey {
	enum loom_style style;
	struct run_survey_core *cores; /* sealed: by id */
	size_t ncores;
	struct run_survey_node *nodes; /* sealed: by core, by node */
	size_t nnodes;
	struct loom_scope *scopes; /* sealed: by core, by begin */
	size_t nscopes;
	bool by_lane;		       /* lanes are wanted: to be set before the first record */
	struct run_survey_lane *lanes; /* sealed: by node, by lane */
	size_t nlanes;
	uint64_t records, stalls; /* all; those of a stall */
	uint64_t end;		  /* one past the last cycle */
	bool sealed;
	/* for look-ups */
	uint32_t core_of[65536];
	struct hash node_of;  /* node, core */
	struct hash scope_of; /* id, core and epoch, part */
};

struct run_survey *run_survey_new(enum loom_style style); /* NULL without memory */
void run_survey_free(struct run_survey *run);

/* Adds a record whose cycle has gone through the chain (`part`: of it). 0 or -ENOMEM. */
int run_survey_add(struct run_survey *run, const struct loom_record *record, uint32_t part)
	__attribute__((warn_unused_result));

/* Makes sure that there is this node: a table names it. 0 or -ENOMEM. */
int run_survey_add_node(struct run_survey *run, uint16_t core, uint32_t node)
	__attribute__((warn_unused_result));

/* The same for a core of which nothing else is known. */
int run_survey_add_core(struct run_survey *run, uint16_t core) __attribute__((warn_unused_result));

/* No more records. Indices change: they are those of the sealed tables from here on. 0 or -ENOMEM.
 */
int run_survey_seal(struct run_survey *run) __attribute__((warn_unused_result));

/* Indices of a sealed run; LOOM_NONE: there is no such core, node or scope. */
uint32_t run_survey_core(const struct run_survey *run, uint16_t core);
uint32_t run_survey_node(const struct run_survey *run, uint32_t core, uint32_t node);
uint32_t run_survey_lane(const struct run_survey *run, uint32_t node, uint8_t lane);
uint32_t run_survey_scope(const struct run_survey *run, uint32_t core,
			  const struct loom_record *record, uint32_t part);

#endif
