/* SPDX-License-Identifier: MIT */
/*
 * archive_rules: checks the rules that the reference tools need.
 *
 * In: an open archive; out: a line for each violation, with its rule. The reader itself refuses
 * violations of R11, R13, R14, R16 and R17, and pallas_open() those of R4. R19 is an order of
 * writes that is not visible in the files. Further checks: exact summaries of every sub-array,
 * attribute lists inside their buffers, and the number of occurrences of loops. Specification:
 * pallas.md 8, 12, 16.
 */
#ifndef TRACE_PALLAS_READ_ARCHIVE_RULES_H
#define TRACE_PALLAS_READ_ARCHIVE_RULES_H

#include <stdio.h>

#include "trace/pallas/read/archive.h"

/*
 * Writes violations to `out`. Returns their number, or -errno after one message about an unreadable
 * file.
 */
int pallas_check(struct pallas_trace *trace, FILE *out);

#endif
