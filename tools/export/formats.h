/* SPDX-License-Identifier: MIT */
/*
 * formats: the formats that ovni-export writes, one file or more each.
 *
 * In: an open trace and the selected part; out: a file, complete or none. A writer walks
 * the trace once (trace/states/intervals.h), and its memory follows threads.
 */
#ifndef TOOLS_EXPORT_FORMATS_H
#define TOOLS_EXPORT_FORMATS_H

#include "tools/lib/filter.h"

struct export_request {
	const char *path;   /* of the trace */
	const char *output; /* of the file */
	struct source *source;
	struct filter *filter; /* started */
	uint64_t split;	       /* bytes after which another file begins; 0: never */
	uint64_t limit;	       /* bytes that a file of JSON may have; 0: as many as browsers read */
	bool quiet;	       /* print only warnings and errors */
	bool damaged;	       /* set: the trace is damaged, and the file ends there */
	bool lacks;	       /* set: the stacks are damaged, after a message */
};

/* Perfetto's own format. Specification: perfetto.md. Returns 0, or -errno after one message. */
int export_perfetto(struct export_request *request) __attribute__((warn_unused_result));

/* The tables of docs/export.md, as a database and as a directory of files. Return as above. */
int export_sqlite(struct export_request *request) __attribute__((warn_unused_result));
int export_csv(struct export_request *request) __attribute__((warn_unused_result));

/* The same rows as JSON trace events; -EFBIG above the limit. */
int export_chrome(struct export_request *request) __attribute__((warn_unused_result));

#endif
