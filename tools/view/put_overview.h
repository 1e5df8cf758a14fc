/* SPDX-License-Identifier: MIT */
/*
 * put_overview: the overview of ovni-report for the page: its CPUs, busiest threads and findings.
 *
 * In: the facts of overview_facts.h, after the walk; out: the objects "overview" and "findings" of
 * the first section. Each finding has the row and the part of the time in which it can be seen.
 * Names are escaped as all tools do. Specification: view.md 8.
 */
#ifndef TOOLS_VIEW_PUT_OVERVIEW_H
#define TOOLS_VIEW_PUT_OVERVIEW_H

#include "tools/findings/overview_facts.h"
#include "tools/view/actors.h"

/* Returns 0, or -ENOMEM without a message. */
int put_overview(struct json *root, const struct overview *overview, struct actors *actors,
		 bool anonymous) __attribute__((warn_unused_result));

#endif
