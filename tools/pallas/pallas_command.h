/* SPDX-License-Identifier: MIT */
/*
 * pallas_command: declares the commands of ovni-pallas, one file each (print.c, info.c, ...).
 *
 * In: the options of the command line; out: the exit status of the program: 0 complete, 1 failed,
 * 3 complete but events were lost, or threads were left out.
 */
#ifndef TOOLS_PALLAS_PALLAS_COMMAND_H
#define TOOLS_PALLAS_PALLAS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/pallas/selection.h"
#include "trace/pallas/read/archive.h"

/*
 * Metadata of an exported archive. PALLAS_KEY_MAP has a line for each region and string:
 *
 *   R 3 4f4d5b 01000000000000000000000 4f4d5d ...   region 3: enter and leave, with the start of
 *   S 7 4f4877 - .                                  string 7: a single event;     the payload
 *   S 9 565963 01000000 +                           the same, a jumbo event
 *
 * MCV and payload are hexadecimal, "-" is empty. The payload of an event is the bytes in its line,
 * then the values in the attribute list of the occurrence. Times in the archive are clocks minus
 * PALLAS_KEY_CLOCK.
 *
 * PALLAS_KEY_SUMMARY has the durations of all calls of a thread, inline or not, if blocks stayed
 * inline, which are in no sequence: a line for each region (ns),
 *
 *   REGION CALLS INLINED MIN MAX SUM EXCL_MIN EXCL_MAX EXCL_SUM
 *
 * PALLAS_KEY_OUTER has a line "REGION SUM" for each recursive region: the sum without the calls
 * that are inside a call of the same region.
 */
#define PALLAS_KEY_MAP	      "ovni.map"	/* main file */
#define PALLAS_KEY_CLOCK      "ovni.clock"	/* main file: ns, decimal */
#define PALLAS_KEY_TOOL	      "ovni.tool"	/* main file: name and version of the converter */
#define PALLAS_KEY_INCOMPLETE "ovni.incomplete" /* main file: why the trace is not whole */
#define PALLAS_KEY_LOOM	      "ovni.loom"	/* archive: name of the loom */
#define PALLAS_KEY_PID	      "ovni.pid"	/* archive */
#define PALLAS_KEY_PATH	      "ovni.path.%u"	/* archive: of the stream of a location */
#define PALLAS_KEY_STREAM     "ovni.stream.%u"	/* archive: its stream.json */
#define PALLAS_KEY_SUMMARY    "ovni.summary.%u" /* archive: of a location */
#define PALLAS_KEY_OUTER      "ovni.outer.%u"	/* archive: of a location */

struct pallas_options {
	const char *from, *to; /* the first and second operand */
	uint64_t memory;       /* limit in bytes */
	bool threads;	       /* one thread after the other */
	bool tsv;	       /* tab-separated, in ns */
	bool attributes, grammar, loops, definitions, sequences, tree, histogram;
	uint64_t slowest; /* the number of calls; 0: none */
	int level;	  /* of zstd; -1: no compression */
	bool masking, blocks, calls;
	struct selection selection;
};

/* These return 0, or another value after one message; main() flushes standard output. */
int pallas_print(struct pallas_trace *trace, const struct pallas_options *o);
int pallas_info(struct pallas_trace *trace, const struct pallas_options *o);
int pallas_stats(struct pallas_trace *trace, const struct pallas_options *o);

/* Prints the structure of a loaded thread. Returns 0, or -errno after one message. */
int pallas_tree(const struct pallas_trace *trace, const struct pallas_thread *t);

int pallas_export(const struct pallas_options *o);
int pallas_import(const struct pallas_options *o);
int pallas_recode(const struct pallas_options *o);

#endif
