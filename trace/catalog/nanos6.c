/* SPDX-License-Identifier: MIT */
/* nanos6: the tasks of Nanos6 and the parts of its runtime (models.md 6). */
#include "trace/catalog/tables.h"

#define SUBSYSTEM   "subsystem"
#define THREAD_TYPE "thread type"
#define IDLE	    "idle"

static const struct catalog_event events[] = {
	PAIR(SUBSYSTEM, "6C[", "6C]", 3, "Task: Creating", "creating a task"),
	PAIR(SUBSYSTEM, "6U[", "6U]", 4, "Task: Submitting", "submitting a task"),
	PAIR(SUBSYSTEM, "6F[", "6F]", 5, "Task: Spawning function", "spawning a function"),
	PAIR(SUBSYSTEM, "6O[", "6O]", 6, "Task: Running task for",
	     "helping to run the body of a task for"),
	PAIR(SUBSYSTEM, "6Sa", "6SA", 7, "Scheduler: Adding ready tasks",
	     "adding tasks that are ready"),
	PAIR(SUBSYSTEM, "6Sp", "6SP", 8, "Scheduler: Processing ready tasks",
	     "processing tasks that are ready"),
	PAIR(SUBSYSTEM, "6S[", "6S]", 9, "Scheduler: Serving tasks",
	     "serving tasks to other workers"),
	PAIR(SUBSYSTEM, "6Dr", "6DR", 10, "Dependency: Registering",
	     "registering the dependencies of a task"),
	PAIR(SUBSYSTEM, "6Du", "6DU", 11, "Dependency: Unregistering",
	     "unregistering the dependencies of a task"),
	PAIR(SUBSYSTEM, "6Bw", "6BW", 12, "Blocking: Taskwait", "a taskwait"),
	PAIR(SUBSYSTEM, "6Bf", "6BF", 13, "Blocking: Wait for deadline", "waiting for a deadline"),
	PAIR(SUBSYSTEM, "6Bb", "6BB", 14, "Blocking: Blocking current task",
	     "blocking the current task"),
	PAIR(SUBSYSTEM, "6Bu", "6BU", 15, "Blocking: Unblocking remote task",
	     "unblocking the task of another thread"),
	PAIR(SUBSYSTEM, "6Ma", "6MA", 16, "Memory: Allocating", "allocating memory"),
	PAIR(SUBSYSTEM, "6Mf", "6MF", 17, "Memory: Freeing", "freeing memory"),
	PAIR(SUBSYSTEM, "6Wt", "6WT", 18, "Worker: Handling task", "handling a task"),
	PAIR(SUBSYSTEM, "6W[", "6W]", 19, "Worker: Looking for work", "looking for work"),
	PAIR(SUBSYSTEM, "6Ww", "6WW", 20, "Worker: Switching to another thread",
	     "switching to another worker"),
	PAIR(SUBSYSTEM, "6Wm", "6WM", 21, "Worker: Migrating CPU", "migrating to another CPU"),
	PAIR(SUBSYSTEM, "6Ws", "6WS", 22, "Worker: Suspending thread", "suspending itself"),
	PAIR(SUBSYSTEM, "6Wr", "6WR", 23, "Worker: Resuming another thread",
	     "resuming another worker"),
	PAIR(SUBSYSTEM, "6Wg", "6WG", 24, "Worker: Sponge mode",
	     "sponge mode: absorbing the noise of the system"),

	/* without effect */
	EVENT("6S@", "gives a task to itself"),
	EVENT("6Sr", "gets a task from the thread that serves"),
	EVENT("6Ss", "hands a task to another thread"),
	EVENT("6W*", "wakes another worker up"),
	EVENT("6t[", "enters the body of a task"),
	EVENT("6t]", "leaves the body of a task"),
	EVENT("6TC", "creates a task (obsolete)"),

	/* thread type */
	PAIR(THREAD_TYPE, "6Hl", "6HL", 1, "Leader", "its life as the leader"),
	PAIR(THREAD_TYPE, "6Hm", "6HM", 2, "Main", "its life as the main thread"),
	PAIR(THREAD_TYPE, "6Hw", "6HW", 3, "Worker", "its life as a worker"),
	PAIR(THREAD_TYPE, "6He", "6HE", 4, "External", "its life as an external thread"),

	/* idle state */
	SET(IDLE, "6Pp", 100, "Progressing", "is doing work (idle state: progressing)"),
	SET(IDLE, "6Pr", 101, "Resting", "has nothing to do (idle state: resting)"),
	SET(IDLE, "6Pa", 102, "Absorbing noise",
	    "is kept free for the noise of the system (idle state: absorbing)"),

	/* tasks */
	EVENT("6Yc+(u32 typeid, str label)", "creates the task type %{typeid} labelled %{label}"),
	EVENT("6Tc(u32 taskid, u32 typeid)", "creates the task %{taskid} of type %{typeid}"),
	PUSH(SUBSYSTEM, "6Tx(u32 taskid)", "6Te", 1, "Task: Running body",
	     "executes the task %{taskid}"),
	POP(SUBSYSTEM, "6Te(u32 taskid)", 1, "Task: Running body", "ends the task %{taskid}"),
	EVENT("6Tp(u32 taskid)", "pauses the task %{taskid}"),
	EVENT("6Tr(u32 taskid)", "resumes the task %{taskid}"),
};

static const struct catalog_label labels[] = {
	{SUBSYSTEM, 2, "Unknown subsystem"},
	{SUBSYSTEM, 60, "EV Scheduler: Recv task"},
	{SUBSYSTEM, 61, "EV Scheduler: Send task"},
	{SUBSYSTEM, 62, "EV Scheduler: Self-assign task"},
	{SUBSYSTEM, 63, "EV CPU: Becomes idle"},
	{SUBSYSTEM, 64, "EV CPU: Becomes active"},
	{SUBSYSTEM, 65, "EV Worker: Waking another thread"},
};

const struct catalog_model catalog_nanos6 = {
	.character = '6',
	.name = "nanos6",
	.version = "1.1.0",
	.when = WHEN_ACTIVE,
	.out_of_cpu = true,
	EVENTS(events),
	LABELS(labels),
};
