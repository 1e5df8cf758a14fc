/* SPDX-License-Identifier: MIT */
/*
 * job_table: the nodes of a parallel job, a line for each: ovni-job and ovni-info print it.
 *
 *   node  ranks  threads  events  lost  offset            drift       bound   state
 *   n1    0-1    35       25752   0     0                 -           0       complete
 *   n2    2-3    31       4878    0     -1000.000000000s  +0.012 ppm  4.1 us  complete
 *
 * In: the files of the job, and the table of clock offsets; out: text. What is not known is "-".
 * Specification: job.md 4.7.
 */
#ifndef TOOLS_LIB_JOB_TABLE_H
#define TOOLS_LIB_JOB_TABLE_H

#include <stdint.h>

#include "trace/ovni/clock_fix.h"
#include "trace/ovni/job_file.h"

struct printer;

/* Prints the table, each line after `indent`. */
void job_table_print(struct printer *out, const char *indent, const struct job *job,
		     struct clock_table *clocks);

/* The drift of a node in parts per 10^9; false: not measured. */
bool job_table_drift(const struct clock_row *row, double *ppb);

#endif
