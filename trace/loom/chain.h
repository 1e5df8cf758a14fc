/* SPDX-License-Identifier: MIT */
/*
 * chain: puts runs that each start at cycle 0 on one time line.
 *
 * In: records in the order of the file; out: the same records with shifted cycles. A new part
 * begins where the cycle decreases together with a change of epoch or invocation. Its shift is the
 * cycle of the last DONE of the part before it, or the cycle after its last record if that is later
 * or there is no DONE. Invariant: records of one part have one shift. Specification: loom.md 8,
 * "Chaining".
 */
#ifndef TRACE_LOOM_CHAIN_H
#define TRACE_LOOM_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/loom/loom_record.h"

struct loom_chain { /* zero it to start */
	bool off;   /* never shift: each decrease is a violation */
	bool fell;  /* the last cycle decreased inside a part */
	bool any, has_done;
	uint32_t parts; /* number of shifted parts */
	uint32_t epoch_id;
	uint64_t invocation_id;
	uint64_t shift;	     /* of the present part */
	uint64_t last, done; /* shifted cycles of the part: last record, last DONE */
	uint64_t raw;	     /* cycle of the last record in the file */
};

/*
 * Shifts r->cycle. Returns 1 if a new part begins with the record, else 0; -EOVERFLOW, without a
 * change, for a result of more than 64 bits.
 */
int loom_chain_record(struct loom_chain *chain, struct loom_record *r)
	__attribute__((warn_unused_result));

/*
 * The same for callers that need increasing cycles: returns 0, -EOVERFLOW, or -ERANGE without a
 * change if the cycle decreases inside a part. Logs nothing.
 */
int loom_chain_step(struct loom_chain *chain, struct loom_record *r)
	__attribute__((warn_unused_result));

#endif
