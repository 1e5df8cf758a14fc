/* SPDX-License-Identifier: MIT */
/*
 * run_reader: reads the records of one trace file of any form, in the order of the file.
 *
 * In: a file; out: its form, its metadata, and its records with their positions. The content
 * determines the form: LTRC, JSON, or records of 38 or 48 bytes without a header. Memory does not
 * depend on the number of records. Invariants: the reader returns only whole records; it reports a
 * violation of the rules of files (S1 to S5, O10) once, after the records before it.
 * Specification: loom.md 2, 3.
 */
#ifndef TRACE_LOOM_RUN_READER_H
#define TRACE_LOOM_RUN_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/violation.h"
#include "trace/loom/modules.h"
#include "trace/loom/loom_record.h"
#include "trace/base/inflow.h"
#include "trace/base/json_tokens.h"

enum loom_form { LOOM_UNKNOWN, LOOM_LTRC, LOOM_PACKED38, LOOM_NATURAL48, LOOM_JSON };

const char *loom_form_name(enum loom_form form); /* "ltrc", "packed38", "natural48", "json" */
/* LOOM_PACKED38 or LOOM_NATURAL48 by its name; LOOM_UNKNOWN for other text. */
enum loom_form loom_layout_parse(const char *name);

struct run_reader_options {
	enum loom_form layout; /* form without a header; LOOM_UNKNOWN: find it */
	bool as_stored;	       /* JSON: use the ids of each record, not only of the first */
};

struct run_reader {
	/* the present record */
	uint64_t index;	   /* from 0 */
	uint64_t offset;   /* of its first byte in the file */
	uint64_t sequence; /* among successive records of its cycle, from 0 */

	enum loom_form form;
	uint64_t count;	 /* number of records so far */
	uint64_t size;	 /* of the file in bytes */
	unsigned zeros;	 /* records of zeros, up to the present one */
	bool is_damaged; /* an error was reported: the records are incomplete */
	bool has_announced;
	uint64_t announced; /* LTRC: the number of records in the header */

	struct loom_modules modules; /* of JSON; complete after run_reader_open() */

	/* private */
	const char *path;
	struct loom_violations *findings;
	struct run_reader_options options;
	struct inflow inflow;
	struct tokens tokens;
	uint64_t last_cycle;
	uint64_t padded, first_padded; /* records with padding that is not zero */
	bool ended, is_bare;	       /* is_bare: a JSON array without a document */
	bool has_ids;
	uint16_t core_id; /* of the first record, for a whole JSON trace */
	uint32_t epoch_id;
	uint64_t invocation_id;
};

/*
 * Opens the trace `path` below `dirfd`; the caller keeps `path` until run_reader_close(). This and
 * each step report to `findings`. Returns 0; -EBADMSG for an unreadable trace, after violations
 * with the reason (r->form may be known); or another -errno after one message. run_reader_close()
 * may follow in all cases. `options` may be NULL.
 */
int run_reader_open(struct run_reader *r, int dirfd, const char *path,
		    const struct run_reader_options *options, struct loom_violations *findings)
	__attribute__((warn_unused_result));

/*
 * Reads the next record. Returns 1, 0 at the end or at damage, or -errno after a message about an
 * unreadable file.
 */
int run_reader_next(struct run_reader *r, struct loom_record *record)
	__attribute__((warn_unused_result));

void run_reader_close(struct run_reader *r);

/* The position of the present record, for a violation. */
static inline struct loom_place run_reader_place(const struct run_reader *r)
{
	return (struct loom_place){r->path, r->index, r->offset};
}

/* ---- chaining (loom.md 8) ---- */

/*
 * Puts runs that each start at cycle 0 on one time line: shifts the cycles of records, in the order
 * of the file. A new part begins where the cycle decreases together with a change of epoch or
 * invocation. Its shift is the cycle of the last DONE of the part before it, or the cycle after its
 * last record if that is later or there is no DONE. Invariant: records of one part have one shift.
 */
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
