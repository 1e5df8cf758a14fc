/* SPDX-License-Identifier: MIT */
/*
 * record_order: checks the order of the records of a trace.
 *
 * In: records with their positions, in the order of the file; out: violations, at once or, about
 * whole scopes, at the end. A scope is a core, an epoch and an invocation. Memory follows cores and
 * scopes. Invariant: the result for a scope depends only on its own records, and on a START or DONE
 * that only another core of the same invocation has. Specification: loom.md 8, rules O1 to O6, O8,
 * O9, K1, K2; scopes: 4.1.
 */
#ifndef TRACE_LOOM_RECORD_ORDER_H
#define TRACE_LOOM_RECORD_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/loom/violation.h"
#include "trace/loom/loom_record.h"

struct record_order;

/* Returns NULL out of memory. The caller frees. */
struct record_order *record_order_new(struct loom_violations *findings);
void record_order_free(struct record_order *order); /* accepts NULL */

/*
 * Checks the next record. `restarts`: it begins a new part (struct loom_chain), which is reported.
 * Returns 0 or -ENOMEM.
 */
int record_order_add(struct record_order *order, const struct loom_place *place,
		     const struct loom_record *record, bool restarts)
	__attribute__((warn_unused_result));

/*
 * Judges the scopes, after the last record. `may_lack` returns true if the INVOCATION_START or
 * _DONE of a core may be missing because of declared filters, sampling or drops.
 */
void record_order_finish(struct record_order *order,
			 bool (*may_lack)(void *arg, uint8_t kind, uint16_t core), void *arg);

/* CONFIG_WRITE records of the invocation (on all cores) of the last record. */
uint64_t record_order_last_config_writes(const struct record_order *order);
/* After record_order_finish(): scopes with records of nodes, but without a start. */
uint64_t record_order_without_start(const struct record_order *order);
/* Number of scopes. */
uint64_t record_order_scopes(const struct record_order *order);

#endif
