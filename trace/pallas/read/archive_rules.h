/* SPDX-License-Identifier: MIT */
/*
 * archive_rules: does an archive obey the rules that the reference tools need?
 *
 * In: an opened archive; out: a line for each violation, with its rule. R11, R13, R14, R16 and R17
 * are what the reader itself refuses; R4 shows at opening. R19 is an order in time that leaves no
 * trace in the files. Beyond the rules: exact summaries of every sub-array, attribute
 * lists inside their buffers, and loop occurrences as the expansion has them.
 * Specification: pallas.md 8, 12, 16.
 */
#ifndef TRACE_PALLAS_READ_ARCHIVE_RULES_H
#define TRACE_PALLAS_READ_ARCHIVE_RULES_H

#include <stdio.h>

#include "trace/pallas/read/archive.h"

/* Writes violations to `out`. Returns their number, or a negative errno after one message when a
 * file cannot be read at all. */
int pallas_check(struct pallas_trace *trace, FILE *out);

#endif
