/* SPDX-License-Identifier: MIT */
/*
 * groups: the threads of a trace, one by one or together (--by).
 *
 * In: the owners of the streams; out: a number for the group of each stream, and what each group is
 * called. A process has the rank that one of its streams tells.
 */
#ifndef TOOLS_REPORT_GROUPS_H
#define TOOLS_REPORT_GROUPS_H

#include "trace/ovni/trace.h"

enum group_by { BY_REPORT, BY_THREAD, BY_PROCESS, BY_COMM, BY_CGROUP, BY_RANK, BY_ALL };

struct group {	     /* numbers are CELL_UNKNOWN where the threads differ, or have none */
	char *label; /* "worker (1204)", "rank 3" */
	char *name;  /* of the thread, or of the leader of the process; NULL: not known */
	int64_t tid, pid, rank;
};

struct groups {
	struct group *list;
	size_t n;
	uint32_t *of; /* of each stream */
};

/* Returns 0, or -ENOMEM. groups_free() must follow in both cases. */
int groups_init(struct groups *groups, const struct source *source, enum group_by by)
	__attribute__((warn_unused_result));
void groups_free(struct groups *groups);

#endif
