/* SPDX-License-Identifier: MIT */
/*
 * chain: runs that each start at cycle 0, put one behind the other.
 *
 * In: records in the order of the file; out: the same with cycles on one time line. Where the cycle
 * falls just as the epoch or the invocation changes, a new part begins: it is shifted by the cycle
 * at which the part before it was done, or by the cycle after its last record if it never was (or
 * went on afterwards). Invariant: a record that starts no part is shifted as the one before it.
 * Specification: loom.md 8, "Chaining".
 */
#ifndef TRACE_LOOM_CHAIN_H
#define TRACE_LOOM_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/loom/record.h"

struct loom_chain { /* all zero is the start */
	uint64_t shift;
	uint64_t parts;	     /* that were shifted */
	uint64_t last, done; /* cycles of the part, shifted */
	uint64_t raw;	     /* cycle of the last record, as it stands in the file */
	uint32_t epoch_id;
	uint64_t invocation_id;
	bool any, has_done;
};

/* Shifts r->cycle. Returns 1 if a new part begins with it, else 0; -ERANGE, with nothing changed,
 * if it would exceed 64 bits. */
int loom_chain_record(struct loom_chain *chain, struct loom_record *r)
	__attribute__((warn_unused_result));

#endif
