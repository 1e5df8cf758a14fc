/* SPDX-License-Identifier: MIT */
/* nodes: the parts of the NODES runtime (models.md 8). */
#include "trace/catalog/tables.h"

#define SUBSYSTEM "subsystem"

static const struct catalog_event events[] = {
	PAIR(SUBSYSTEM, "DR[", "DR]", 1, "Dependencies: Registering task accesses",
	     "registering the accesses of a task"),
	PAIR(SUBSYSTEM, "DU[", "DU]", 2, "Dependencies: Unregistering task accesses",
	     "unregistering the accesses of a task"),
	PAIR(SUBSYSTEM, "DW[", "DW]", 3, "If0: Waiting for an If0 task", "waiting for an if0 task"),
	PAIR(SUBSYSTEM, "DI[", "DI]", 4, "If0: Executing an If0 task inline",
	     "executing an if0 task inline"),
	PAIR(SUBSYSTEM, "DT[", "DT]", 5, "Taskwait: Taskwait", "a taskwait"),
	PAIR(SUBSYSTEM, "DC[", "DC]", 6, "Add Task: Creating a task", "creating a task"),
	PAIR(SUBSYSTEM, "DS[", "DS]", 7, "Add Task: Submitting a task", "submitting a task"),
	PAIR(SUBSYSTEM, "DP[", "DP]", 8, "Spawn Function: Spawning a function",
	     "spawning a function"),
};

const struct catalog_model catalog_nodes = {
	.character = 'D',
	.name = "nodes",
	.version = "1.0.0",
	.when = WHEN_RUNNING,
	.out_of_cpu = true,
	EVENTS(events),
};
