/* SPDX-License-Identifier: MIT */
/* openmp: the constructs of an OpenMP runtime (models.md 7). */
#include "trace/catalog/tables.h"

#define SUBSYSTEM "subsystem"
#define LABEL	  "label"
#define TASK	  "task"

static const struct catalog_event events[] = {
	PAIR(SUBSYSTEM, "PBf", "PBF", 1, "Barrier: Fork", "the barrier of a fork"),
	PAIR(SUBSYSTEM, "PBj", "PBJ", 2, "Barrier: Join", "the barrier of a join"),
	PAIR(SUBSYSTEM, "PBb", "PBB", 3, "Barrier: Plain", "a plain barrier"),
	PAIR(SUBSYSTEM, "PBt", "PBT", 5, "Barrier: Task", "a barrier that runs tasks"),
	PAIR(SUBSYSTEM, "PIa", "PIA", 6, "Critical: Acquiring",
	     "acquiring the lock of a critical section"),
	PAIR(SUBSYSTEM, "PIr", "PIR", 7, "Critical: Releasing",
	     "releasing the lock of a critical section"),
	PAIR(SUBSYSTEM, "PI[", "PI]", 8, "Critical: Section", "a critical section"),
	PAIR(SUBSYSTEM, "PWd", "PWD", 9, "Work-distribution: Distribute", "a distribute construct"),
	PAIR(SUBSYSTEM, "PWc", "PWC", 10, "Work-distribution: Dynamic for chunk",
	     "a chunk of a dynamic for"),
	PAIR(SUBSYSTEM, "PWy", "PWY", 11, "Work-distribution: Dynamic for initialization",
	     "the initialization of a dynamic for"),
	PAIR(SUBSYSTEM, "PWs", "PWS", 12, "Work-distribution: Static for chunk", "a static for"),
	PAIR(SUBSYSTEM, "PWe", "PWE", 13, "Work-distribution: Section", "a section"),
	PAIR(SUBSYSTEM, "PWi", "PWI", 14, "Work-distribution: Single", "a single construct"),
	PAIR(SUBSYSTEM, "PTa", "PTA", 15, "Task: Allocation", "allocating a task"),
	PAIR(SUBSYSTEM, "PTc", "PTC", 16, "Task: Check deps",
	     "checking the dependencies of a task"),
	PAIR(SUBSYSTEM, "PTd", "PTD", 17, "Task: Duplicating", "duplicating a task"),
	PAIR(SUBSYSTEM, "PTr", "PTR", 18, "Task: Releasing deps",
	     "releasing the dependencies of a task"),
	PAIR(SUBSYSTEM, "PT[", "PT]", 19, "Task: Running task", "running a task"),
	PAIR(SUBSYSTEM, "PTi", "PTI", 20, "Task: Running task if0", "running a task at once (if0)"),
	PAIR(SUBSYSTEM, "PTs", "PTS", 21, "Task: Scheduling", "scheduling a task"),
	PAIR(SUBSYSTEM, "PTg", "PTG", 22, "Task: Taskgroup", "a taskgroup"),
	PAIR(SUBSYSTEM, "PTt", "PTT", 23, "Task: Taskwait", "a taskwait"),
	PAIR(SUBSYSTEM, "PTw", "PTW", 24, "Task: Taskwait deps", "a taskwait with dependencies"),
	PAIR(SUBSYSTEM, "PTy", "PTY", 25, "Task: Taskyield", "a taskyield"),
	PAIR(SUBSYSTEM, "PA[", "PA]", 26, "Runtime: Attached", "being attached to the runtime"),
	PAIR(SUBSYSTEM, "PCf", "PCF", 27, "Runtime: Fork call", "a fork call"),
	PAIR(SUBSYSTEM, "PCi", "PCI", 28, "Runtime: Initialization",
	     "the initialization of the runtime"),
	PAIR(SUBSYSTEM, "PMi", "PMI", 29, "Runtime: Internal microtask",
	     "a microtask of the runtime"),
	PAIR(SUBSYSTEM, "PMu", "PMU", 30, "Runtime: User microtask", "a microtask of the program"),
	PAIR(SUBSYSTEM, "PH[", "PH]", 31, "Runtime: Worker main loop", "the main loop of a worker"),

	/* without effect */
	EVENT("PBs", "begins to spin in a barrier"),
	EVENT("PBS", "ends to spin in a barrier"),

	/* tasks and worksharings: the pushed value is in the arguments */
	EVENT("POc+(u32 typeid, str label)", "creates the type %{typeid} labelled %{label}"),
	EVENT("PPc(u32 taskid, u32 typeid)", "creates the task %{taskid} of type %{typeid}"),
	PUSH(TASK, "PPx(u32 taskid)", "PPe", 0, NULL, "executes the task %{taskid}"),
	POP(TASK, "PPe(u32 taskid)", 0, NULL, "ends the task %{taskid}"),
	PUSH(LABEL, "PQx(u32 typeid)", "PQe", 0, NULL, "begins a worksharing of type %{typeid}"),
	POP(LABEL, "PQe(u32 typeid)", 0, NULL, "ends a worksharing of type %{typeid}"),
};

static const struct catalog_label labels[] = {
	{SUBSYSTEM, 4, "Barrier: Spin wait"},
};

const struct catalog_model catalog_openmp = {
	.character = 'P',
	.name = "openmp",
	.version = "1.2.1",
	.when = WHEN_RUNNING,
	.out_of_cpu = true,
	.repeats = true,
	EVENTS(events),
	LABELS(labels),
};
