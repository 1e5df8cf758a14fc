/* SPDX-License-Identifier: MIT */
/*
 * loom_command: declares the commands of ovni-loom, one file each (check.c, import.c, ...).
 *
 * In: the options of the command line; out: the exit status of the program.
 */
#ifndef TOOLS_LOOM_RUN_LOOM_COMMAND_H
#define TOOLS_LOOM_RUN_LOOM_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/lib/filter.h"
#include "trace/loom/controls.h"
#include "trace/loom/run_reader.h"

/* stats: the object of a row, and the window of ratios. */
enum loom_by { LOOM_BY_ALL, LOOM_BY_NODE, LOOM_BY_CORE, LOOM_BY_INVOCATION };
enum loom_window { LOOM_OF_INVOCATION, LOOM_OF_RUN, LOOM_OF_BUSY };

struct loom_options {
	const char *run;	     /* the operand: a run, a trace, or the socket of record */
	const char *perf;	     /* its statistics; NULL: the file beside it, "-": none */
	const char *nodes_file;	     /* names of nodes, or NULL */
	const char *map_file;	     /* import: places of nodes, or NULL */
	enum loom_form layout;	     /* of a file without a header; LOOM_UNKNOWN: find it */
	struct loom_controls chosen; /* dump: the shown records */
	uint64_t first_cycle, last_cycle;
	bool apply_ids; /* dump: use the ids of the document for JSON traces */
	/* import, export */
	const char *output;    /* directory of the trace; name of the run */
	const char *loom;      /* export: its loom, or NULL */
	const char *name;      /* of the run in the trace; NULL: as its files */
	uint64_t period_ps;    /* of a cycle; 0: from the statistics, else 1 ns */
	struct moment base;    /* clock of cycle 0 */
	enum loom_style style; /* if has_style */
	bool has_style, no_keep, no_chain, lanes;
	unsigned legacy; /* export: 1 for upstream's statistics */
	bool json, csv;
	/* check, stats: */
	struct loom_controls declared; /* filters of the producer, declared by the user */
	const char *same_as;	       /* check: another run to compare with, or NULL */
	bool chain, strict, all;
	enum loom_by by;
	enum loom_window window;
};

int loom_check(struct loom_options *o);
int loom_dump(struct loom_options *o);
int loom_stats(struct loom_options *o);
int loom_import(struct loom_options *o);
int loom_export(struct loom_options *o);
int loom_record(struct loom_options *o);

#endif
