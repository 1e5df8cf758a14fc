/* SPDX-License-Identifier: MIT */
/*
 * run_reader: the records of one trace file, in any form, in the order of the file.
 *
 * In: a file; out: its form, its metadata, and record after record with its place. The form is
 * found in the content: LTRC, JSON, or records of 38 or 48 bytes without a header. Memory does not
 * depend on the number of records. Invariants: a record is shown only if it is whole; what breaks a
 * rule of the file (S1 to S5, O10) is reported once, and the records before it are shown all the
 * same. Specification: loom.md 2, 3.
 */
#ifndef TRACE_LOOM_RUN_READER_H
#define TRACE_LOOM_RUN_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/violation.h"
#include "trace/loom/modules.h"
#include "trace/loom/loom_record.h"
#include "trace/loom/inflow.h"
#include "trace/loom/json_tokens.h"

enum loom_form { LOOM_UNKNOWN, LOOM_LTRC, LOOM_PACKED38, LOOM_NATURAL48, LOOM_JSON };

const char *loom_form_name(enum loom_form form); /* "ltrc", "packed38", "natural48", "json" */
/* LOOM_PACKED38 or LOOM_NATURAL48 by its name; LOOM_UNKNOWN for anything else. */
enum loom_form loom_layout_parse(const char *name);

struct run_reader_options {
	enum loom_form layout; /* without a header: how to read it; LOOM_UNKNOWN: find out */
	bool as_stored; /* JSON: the ids as they stand at each record, not those of the first */
};

struct run_reader {
	/* of the record that run_reader_next() gave last */
	uint64_t index;	   /* from 0 */
	uint64_t offset;   /* of its first byte in the file */
	uint64_t sequence; /* among the records of its cycle that follow each other, from 0 */

	enum loom_form form;
	uint64_t count;	 /* records shown so far; after the end: all */
	uint64_t size;	 /* of the file in bytes */
	bool is_damaged; /* an error was reported: what was shown is not the whole */
	bool has_announced;
	uint64_t announced; /* LTRC: the number of records in the header */

	/* JSON alone */
	uint32_t version;
	char trace_kind[32], producer[64]; /* empty if there is none */
	struct loom_modules modules;	   /* complete once the file is open, sealed */

	/* what follows is the reader's own */
	const char *path;
	struct loom_violations *findings;
	struct run_reader_options options;
	struct inflow inflow;
	struct tokens tokens;
	uint64_t last_cycle;
	uint64_t padded, first_padded; /* records with padding that is not zero */
	bool ended, is_bare;	       /* is_bare: a JSON array without a document around it */
	bool has_ids;
	uint16_t core_id; /* of the first record: they hold for all of a JSON trace */
	uint32_t epoch_id;
	uint64_t invocation_id;
};

/*
 * Opens the trace `path` (kept by the caller until run_reader_close()) below `dirfd`. Findings go
 * to `findings` now and at each step. Returns 0; -EBADMSG if there is nothing to be read and
 * findings say why (r->form tells as much as was recognised); or another -errno after one message.
 * run_reader_close() is allowed in any case. `options` may be NULL.
 */
int run_reader_open(struct run_reader *r, int dirfd, const char *path,
		    const struct run_reader_options *options, struct loom_violations *findings)
	__attribute__((warn_unused_result));

/* The next record: 1, or 0 at the end (which may be one of a damaged file), or -errno after a
 * message if the file cannot be read. */
int run_reader_next(struct run_reader *r, struct loom_record *record)
	__attribute__((warn_unused_result));

void run_reader_close(struct run_reader *r);

/* The place of the last record, for a finding. */
static inline struct loom_place run_reader_place(const struct run_reader *r)
{
	return (struct loom_place){r->path, r->index, r->offset};
}

/* ---- between the files of the reader ---- */

int loom_json_open(struct run_reader *r);
int loom_json_next(struct run_reader *r, struct loom_record *record);
/* The layout of a file without a header, judged by its first records (loom.md 2.2); LOOM_UNKNOWN
 * after a finding. */
enum loom_form loom_layout_find(struct run_reader *r);

#endif
