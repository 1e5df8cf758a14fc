/* SPDX-License-Identifier: MIT */
/* nosv: the tasks of nOS-V and the parts of its runtime (models.md 5). */
#include "trace/catalog/tables.h"

#define SUBSYSTEM "subsystem"
#define IDLE	  "idle"

static const struct catalog_event events[] = {
	PAIR(SUBSYSTEM, "VSh", "VSf", 6, "Scheduler: Hungry", "waiting for work (hungry)"),
	PAIR(SUBSYSTEM, "VS[", "VS]", 7, "Scheduler: Serving",
	     "serving tasks to others (waits for its turn)"),
	PAIR(SUBSYSTEM, "VSN", "VSn", 7, "Scheduler: Serving",
	     "serving tasks to others (only if it can at once)"),
	PAIR(SUBSYSTEM, "VU[", "VU]", 8, "Scheduler: Submitting",
	     "submitting a task to the scheduler"),
	PAIR(SUBSYSTEM, "VMa", "VMA", 9, "Memory: Allocating", "allocating memory"),
	PAIR(SUBSYSTEM, "VMf", "VMF", 10, "Memory: Freeing", "freeing memory"),
	PAIR(SUBSYSTEM, "VAr", "VAR", 12, "API: Create", "nosv_create()"),
	PAIR(SUBSYSTEM, "VAd", "VAD", 13, "API: Destroy", "nosv_destroy()"),
	PAIR(SUBSYSTEM, "VAs", "VAS", 14, "API: Submit", "nosv_submit()"),
	PAIR(SUBSYSTEM, "VAp", "VAP", 15, "API: Pause", "nosv_pause()"),
	PAIR(SUBSYSTEM, "VAy", "VAY", 16, "API: Yield", "nosv_yield()"),
	PAIR(SUBSYSTEM, "VAw", "VAW", 17, "API: Waitfor", "nosv_waitfor()"),
	PAIR(SUBSYSTEM, "VAc", "VAC", 18, "API: Scheduling point", "nosv_schedpoint()"),
	PAIR(SUBSYSTEM, "VAa", "VAA", 19, "API: Attach", "nosv_attach()"),
	PAIR(SUBSYSTEM, "VAe", "VAE", 20, "API: Detach", "nosv_detach()"),
	PAIR(SUBSYSTEM, "VAl", "VAL", 21, "API: Mutex lock", "nosv_mutex_lock()"),
	PAIR(SUBSYSTEM, "VAt", "VAT", 22, "API: Mutex trylock", "nosv_mutex_trylock()"),
	PAIR(SUBSYSTEM, "VAu", "VAU", 23, "API: Mutex unlock", "nosv_mutex_unlock()"),
	PAIR(SUBSYSTEM, "VAb", "VAB", 24, "API: Barrier wait", "nosv_barrier_wait()"),
	PAIR(SUBSYSTEM, "VAo", "VAO", 25, "API: Cond wait", "nosv_cond_wait()"),
	PAIR(SUBSYSTEM, "VAg", "VAG", 26, "API: Cond signal", "nosv_cond_signal()"),
	PAIR(SUBSYSTEM, "VAk", "VAK", 27, "API: Cond broadcast", "nosv_cond_broadcast()"),
	PAIR(SUBSYSTEM, "VAj", "VAJ", 28, "API: Join", "nosv_join()"),
	PAIR(SUBSYSTEM, "VAm", "VAM", 29, "API: Join all", "nosv_join_all()"),
	PAIR(SUBSYSTEM, "VAi", "VAI", 30, "API: Wait", "nosv_wait()"),
	PAIR(SUBSYSTEM, "VAn", "VAN", 31, "API: Wait all", "nosv_wait_all()"),
	PAIR(SUBSYSTEM, "VHw", "VHW", 32, "Thread: Worker", "its life as a worker"),
	PAIR(SUBSYSTEM, "VHd", "VHD", 33, "Thread: Delegate", "its life as a delegate"),

	/* without effect */
	EVENT("VS@", "gives a task to itself"),
	EVENT("VSr", "gets a task from the thread that serves"),
	EVENT("VSs", "hands a task to another thread"),
	EVENT("VHa", "begins to attach itself to the runtime"),
	EVENT("VHA", "has detached itself from the runtime"),

	/* idle state */
	SET(IDLE, "VPp", 100, "Progressing", "is doing work (idle state: progressing)"),
	SET(IDLE, "VPr", 101, "Resting", "has nothing to do (idle state: resting)"),
	SET(IDLE, "VPa", 102, "Absorbing noise",
	    "is kept free for the noise of the system (idle state: absorbing)"),

	/* tasks: a normal task has the body 0 */
	EVENT("VYc+(u32 typeid, str label)", "creates the task type %{typeid} labelled %{label}"),
	EVENT("VTc(u32 taskid, u32 typeid)", "creates the task %{taskid} of type %{typeid}"),
	EVENT("VTC(u32 taskid, u32 typeid)",
	      "creates the parallel task %{taskid} of type %{typeid}"),
	PUSH(SUBSYSTEM, "VTx(u32 taskid, u32 bodyid)", "VTe", 11, "Task: In body",
	     "executes the body %{bodyid} of task %{taskid}"),
	POP(SUBSYSTEM, "VTe(u32 taskid, u32 bodyid)", 11, "Task: In body",
	    "ends the body %{bodyid} of task %{taskid}"),
	EVENT("VTp(u32 taskid, u32 bodyid)", "pauses the body %{bodyid} of task %{taskid}"),
	EVENT("VTr(u32 taskid, u32 bodyid)", "resumes the body %{bodyid} of task %{taskid}"),

	/* hardware counters */
	EVENT("VWC+(i64 values...)", "reads the hardware counters: %{values}"),
};

static const struct catalog_label labels[] = {
	{SUBSYSTEM, 2, "Unknown subsystem"},
	{SUBSYSTEM, 34, "EV Scheduler: Recv task"},
	{SUBSYSTEM, 35, "EV Scheduler: Send task"},
	{SUBSYSTEM, 36, "EV Scheduler: Self-assign task"},
};

const struct catalog_model catalog_nosv = {
	.character = 'V',
	.name = "nosv",
	.version = "2.7.0",
	.when = WHEN_ACTIVE,
	.repeats = true,
	EVENTS(events),
	LABELS(labels),
};
