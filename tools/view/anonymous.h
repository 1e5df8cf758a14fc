/* SPDX-License-Identifier: MIT */
/*
 * anonymous: a trace without the names of programs, threads, machines and files, for a page that is
 * passed on (ovni-view --anonymous).
 *
 * In: an open source, and after the walks all that they have made; out: the same with neutral names
 * in the place of these: "process 3", "thread 17", "node 1", by the order in the trace, so that
 * they are the same in each page of it. Numbers (tids, pids, CPUs, descriptors), system calls, and
 * names of the models (MPI, OpenMP) stay, and so does the name of ovni-bpf. Findings do not change:
 * their walk has the names.
 */
#ifndef TOOLS_VIEW_ANONYMOUS_H
#define TOOLS_VIEW_ANONYMOUS_H

#include "tools/view/collect.h"
#include "trace/analysis/findings.h"

/* Before the walks, which make texts of system calls: forgets the names of descriptors and futexes.
 */
void anonymous_calls(struct source *source);

/* Before the names are written. Returns 0, or -ENOMEM after one message. */
int anonymous_names(struct source *source, struct collect *collect, struct findings *findings)
	__attribute__((warn_unused_result));

#endif
