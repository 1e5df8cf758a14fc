/* SPDX-License-Identifier: MIT */
/*
 * groups: the threads of a trace, one row for each or for a group of them (--by).
 *
 * In: the owners of the streams; out: the number of the group of each stream, and the name of each
 * group. The rank of a process is in the metadata of one of its streams.
 */
#ifndef TOOLS_REPORT_GROUPS_H
#define TOOLS_REPORT_GROUPS_H

#include "trace/ovni/trace.h"
#include "trace/states/thread_priority.h"

enum group_by {
	BY_REPORT,
	BY_THREAD,
	BY_PROCESS,
	BY_COMM,
	BY_CGROUP,
	BY_RANK,
	BY_ALL,
	BY_PRIORITY, /* the group of a stream changes in the walk: groups_step() */
};

struct group {	     /* a number is CELL_UNKNOWN if the threads differ, or lack it */
	char *label; /* "worker (1204)", "rank 3" */
	char *name;  /* of the thread, or of the leader of the process; NULL: not known */
	int64_t tid, pid, rank;
};

struct groups {
	struct group *list;
	size_t n;
	uint32_t *of;			     /* of each stream */
	struct thread_priorities priorities; /* BY_PRIORITY */
};

/* Returns 0, or -ENOMEM. groups_free() must follow in both cases. */
int groups_init(struct groups *groups, const struct source *source, enum group_by by)
	__attribute__((warn_unused_result));
/* One event of the walk, for BY_PRIORITY. Returns 0, or -ENOMEM. */
int groups_step(struct groups *groups, uint32_t stream, const struct event *ev)
	__attribute__((warn_unused_result));
void groups_free(struct groups *groups);

#endif
