/* SPDX-License-Identifier: MIT */
/*
 * overview: what the files of the overview share.
 *
 * overview.c reads the trace and prints the screen, overview_json.c prints everything as JSON.
 */
#ifndef TOOLS_REPORT_OVERVIEW_H
#define TOOLS_REPORT_OVERVIEW_H

#include "tools/findings/overview_facts.h"
#include "tools/report/reports.h"

/* 0 or -ENOMEM. */
int overview_print_json(const struct overview *o, struct printer *out);

#endif
