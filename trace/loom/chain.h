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

#include "trace/loom/loom_record.h"

struct loom_chain { /* all zero is the start */
	bool off;   /* nothing is shifted: whatever falls is a mistake */
	bool fell;  /* the cycle of the last record fell, and no part begins with it */
	bool any, has_done;
	uint32_t parts; /* that were shifted */
	uint32_t epoch_id;
	uint64_t invocation_id;
	uint64_t shift;	     /* of the present part */
	uint64_t last, done; /* cycles of the part, shifted */
	uint64_t raw;	     /* cycle of the last record, as it stands in the file */
};

/* Shifts r->cycle. Returns 1 if a new part begins with it, else 0; -EOVERFLOW, with nothing
 * changed, if it would exceed 64 bits. */
int loom_chain_record(struct loom_chain *chain, struct loom_record *r)
	__attribute__((warn_unused_result));

/* The same for who cannot go back in time: 0; -ERANGE, with the record unchanged, if its cycle
 * falls inside of a part; or -EOVERFLOW. Nothing is said. */
int loom_chain_step(struct loom_chain *chain, struct loom_record *r)
	__attribute__((warn_unused_result));

#endif
