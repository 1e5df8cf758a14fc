/* SPDX-License-Identifier: MIT */
/* tables: the events of all models (see catalog.h). */
#include "trace/catalog/catalog.h"

/* An event that enters a value of a stack, which the event `leave` leaves. */
#define PUSH(chan, event, leave, number, pcf, text)                                                \
	{                                                                                          \
		.signature = event, .english = text, .leaves = leave, .action = ACTION_PUSH,       \
		.channel = chan, .value = number, .label = pcf                                     \
	}

/* An event that leaves a value of a stack. */
#define POP(chan, event, number, pcf, text)                                                        \
	{                                                                                          \
		.signature = event, .english = text, .action = ACTION_POP, .channel = chan,        \
		.value = number, .label = pcf                                                      \
	}

/* Two events: one enters a value of a stack, the other leaves it. */
#define PAIR(chan, enter, leave, number, pcf, what)                                                \
	PUSH(chan, enter, leave, number, pcf, "begins " what),                                     \
		POP(chan, leave, number, pcf, "ends " what)

/* An event that sets a single channel. */
#define SET(chan, event, number, pcf, text)                                                        \
	{                                                                                          \
		.signature = event, .english = text, .action = ACTION_SET, .channel = chan,        \
		.value = number, .label = pcf                                                      \
	}

/* Any other event. */
#define EVENT(event, text)                                                                         \
	{                                                                                          \
		.signature = event, .english = text                                                \
	}

#define EVENTS(table) .events = table, .nevents = sizeof(table) / sizeof((table)[0])
#define LABELS(table) .labels = table, .nlabels = sizeof(table) / sizeof((table)[0])

/* channels */
#define FLUSH	    "flush"
#define FUNCTION    "function"
#define IDLE	    "idle"
#define LABEL	    "label"
#define MARK	    "mark"
#define SUBSYSTEM   "subsystem"
#define TASK	    "task"
#define THREAD_TYPE "thread type"

/* ---- nanos6: the tasks of Nanos6 and the parts of its runtime (models.md 6) ---- */

static const struct catalog_event nanos6_events[] = {
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

static const struct catalog_label nanos6_labels[] = {
	{SUBSYSTEM, 2, "Unknown subsystem"},
	{SUBSYSTEM, 60, "EV Scheduler: Recv task"},
	{SUBSYSTEM, 61, "EV Scheduler: Send task"},
	{SUBSYSTEM, 62, "EV Scheduler: Self-assign task"},
	{SUBSYSTEM, 63, "EV CPU: Becomes idle"},
	{SUBSYSTEM, 64, "EV CPU: Becomes active"},
	{SUBSYSTEM, 65, "EV Worker: Waking another thread"},
};

/* ---- nodes: the parts of the NODES runtime (models.md 8) ---- */

static const struct catalog_event nodes_events[] = {
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

/* ---- kernel: on and off the CPU, beside the states of a runtime (models.md 2) ---- */

static const struct catalog_event kernel_events[] = {
	PUSH("context switch", "KCO([u16 why, i32 next])", "KCI", 3,
	     "Context switch: Out of the CPU",
	     "leaves the CPU[: %{why}][, which goes to thread %{next}]"),
	POP("context switch", "KCI([i32 cpu])", 3, "Context switch: Out of the CPU",
	    "is back on the CPU[ %{cpu}]"),
};

/* ---- mpi: the functions of MPI (models.md 10) ---- */

static const struct catalog_event mpi_events[] = {
	PAIR(FUNCTION, "MUi", "MUI", 1, "MPI_Init", "MPI_Init"),
	PAIR(FUNCTION, "MUt", "MUT", 2, "MPI_Init_thread", "MPI_Init_thread"),
	PAIR(FUNCTION, "MUf", "MUF", 3, "MPI_Finalize", "MPI_Finalize"),
	PAIR(FUNCTION, "MW[", "MW]", 4, "MPI_Wait", "MPI_Wait"),
	PAIR(FUNCTION, "MWa", "MWA", 5, "MPI_Waitall", "MPI_Waitall"),
	PAIR(FUNCTION, "MWy", "MWY", 6, "MPI_Waitany", "MPI_Waitany"),
	PAIR(FUNCTION, "MWs", "MWS", 7, "MPI_Waitsome", "MPI_Waitsome"),
	PAIR(FUNCTION, "MT[", "MT]", 8, "MPI_Test", "MPI_Test"),
	PAIR(FUNCTION, "MTa", "MTA", 9, "MPI_Testall", "MPI_Testall"),
	PAIR(FUNCTION, "MTy", "MTY", 10, "MPI_Testany", "MPI_Testany"),
	PAIR(FUNCTION, "MTs", "MTS", 11, "MPI_Testsome", "MPI_Testsome"),
	PAIR(FUNCTION, "MR[", "MR]", 12, "MPI_Recv", "MPI_Recv"),
	PAIR(FUNCTION, "MS[", "MS]", 13, "MPI_Send", "MPI_Send"),
	PAIR(FUNCTION, "MSb", "MSB", 14, "MPI_Bsend", "MPI_Bsend"),
	PAIR(FUNCTION, "MSr", "MSR", 15, "MPI_Rsend", "MPI_Rsend"),
	PAIR(FUNCTION, "MSs", "MSS", 16, "MPI_Ssend", "MPI_Ssend"),
	PAIR(FUNCTION, "MRs", "MRS", 17, "MPI_Sendrecv", "MPI_Sendrecv"),
	PAIR(FUNCTION, "MRo", "MRO", 18, "MPI_Sendrecv_replace", "MPI_Sendrecv_replace"),
	PAIR(FUNCTION, "Mr[", "Mr]", 19, "MPI_Irecv", "MPI_Irecv"),
	PAIR(FUNCTION, "Ms[", "Ms]", 20, "MPI_Isend", "MPI_Isend"),
	PAIR(FUNCTION, "Msb", "MsB", 21, "MPI_Ibsend", "MPI_Ibsend"),
	PAIR(FUNCTION, "Msr", "MsR", 22, "MPI_Irsend", "MPI_Irsend"),
	PAIR(FUNCTION, "Mss", "MsS", 23, "MPI_Issend", "MPI_Issend"),
	PAIR(FUNCTION, "Mrs", "MrS", 24, "MPI_Isendrecv", "MPI_Isendrecv"),
	PAIR(FUNCTION, "Mro", "MrO", 25, "MPI_Isendrecv_replace", "MPI_Isendrecv_replace"),
	PAIR(FUNCTION, "MAg", "MAG", 26, "MPI_Allgather", "MPI_Allgather"),
	PAIR(FUNCTION, "MAr", "MAR", 27, "MPI_Allreduce", "MPI_Allreduce"),
	PAIR(FUNCTION, "MAa", "MAA", 28, "MPI_Alltoall", "MPI_Alltoall"),
	PAIR(FUNCTION, "MCb", "MCB", 29, "MPI_Barrier", "MPI_Barrier"),
	PAIR(FUNCTION, "MDb", "MDB", 30, "MPI_Bcast", "MPI_Bcast"),
	PAIR(FUNCTION, "MDg", "MDG", 31, "MPI_Gather", "MPI_Gather"),
	PAIR(FUNCTION, "ME[", "ME]", 32, "MPI_Reduce", "MPI_Reduce"),
	PAIR(FUNCTION, "MEs", "MES", 33, "MPI_Reduce_scatter", "MPI_Reduce_scatter"),
	PAIR(FUNCTION, "MEb", "MEB", 34, "MPI_Reduce_scatter_block", "MPI_Reduce_scatter_block"),
	PAIR(FUNCTION, "MDs", "MDS", 35, "MPI_Scatter", "MPI_Scatter"),
	PAIR(FUNCTION, "MCs", "MCS", 36, "MPI_Scan", "MPI_Scan"),
	PAIR(FUNCTION, "MCe", "MCE", 37, "MPI_Exscan", "MPI_Exscan"),
	PAIR(FUNCTION, "Mag", "MaG", 38, "MPI_Iallgather", "MPI_Iallgather"),
	PAIR(FUNCTION, "Mar", "MaR", 39, "MPI_Iallreduce", "MPI_Iallreduce"),
	PAIR(FUNCTION, "Maa", "MaA", 40, "MPI_Ialltoall", "MPI_Ialltoall"),
	PAIR(FUNCTION, "Mcb", "McB", 41, "MPI_Ibarrier", "MPI_Ibarrier"),
	PAIR(FUNCTION, "Mdb", "MdB", 42, "MPI_Ibcast", "MPI_Ibcast"),
	PAIR(FUNCTION, "Mdg", "MdG", 43, "MPI_Igather", "MPI_Igather"),
	PAIR(FUNCTION, "Me[", "Me]", 44, "MPI_Ireduce", "MPI_Ireduce"),
	PAIR(FUNCTION, "Mes", "MeS", 45, "MPI_Ireduce_scatter", "MPI_Ireduce_scatter"),
	PAIR(FUNCTION, "Meb", "MeB", 46, "MPI_Ireduce_scatter_block", "MPI_Ireduce_scatter_block"),
	PAIR(FUNCTION, "Mds", "MdS", 47, "MPI_Iscatter", "MPI_Iscatter"),
	PAIR(FUNCTION, "Mcs", "McS", 48, "MPI_Iscan", "MPI_Iscan"),
	PAIR(FUNCTION, "Mce", "McE", 49, "MPI_Iexscan", "MPI_Iexscan"),
};

/* ---- ovni: states of threads, their CPUs, marks (models.md 1) ---- */

static const struct catalog_event ovni_events[] = {
	/* thread states; the recorder adds the arguments in brackets (event-mapping.md) */
	EVENT("OHx(i32 cpu[, i32 creator, u64 tag])",
	      "begins to execute on CPU %{cpu}[, created by thread %{creator}][, with tag %{tag}]"),
	EVENT("OHe", "ends its execution"),
	EVENT("OHp([u16 why, i32 next])", "pauses[: %{why}][, the CPU goes to thread %{next}]"),
	EVENT("OHr", "resumes on its CPU"),
	EVENT("OHc", "cools down: is about to pause"),
	EVENT("OHw([i32 waker])", "warms up: is about to run[, woken by thread %{waker}]"),
	EVENT("OHC([i32 cpu, u64 tag])", "creates a thread[ on CPU %{cpu}][, with tag %{tag}]"),

	/* affinity */
	EVENT("OAs(i32 cpu)", "moves itself to CPU %{cpu}"),
	EVENT("OAr(i32 cpu, i32 tid)", "moves thread %{tid} to CPU %{cpu}"),

	/* flushes of the buffer of the runtime library */
	{.signature = "OF[",
	 .english = "begins writing its events to disk",
	 .leaves = "OF]",
	 .action = ACTION_SET,
	 .channel = FLUSH,
	 .value = 1,
	 .label = "Flushing"},
	{.signature = "OF]",
	 .english = "ends writing its events to disk",
	 .action = ACTION_CLEAR,
	 .channel = FLUSH},

	/* marks: the program chooses type and value */
	PUSH(MARK, "OM[(i64 value, i32 type)", "OM]", 0, NULL,
	     "enters the mark %{value} of type %{type}"),
	POP(MARK, "OM](i64 value, i32 type)", 0, NULL, "leaves the mark %{value} of type %{type}"),
	{.signature = "OM=(i64 value, i32 type)",
	 .english = "sets the mark of type %{type} to %{value}",
	 .action = ACTION_SET,
	 .channel = MARK},

	/* without effect */
	EVENT("OU[", "begins a region of events to sort"),
	EVENT("OU]", "ends a region of events to sort"),
	EVENT("OU.", "marks a region of events to sort"),
	EVENT("OB.", "is one of a burst of events, to measure their cost"),
	EVENT("OCn(i32 cpus)", "declares %{cpus} CPUs (obsolete)"),
};

/* ---- openmp: the constructs of an OpenMP runtime (models.md 7) ---- */

static const struct catalog_event openmp_events[] = {
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

static const struct catalog_label openmp_labels[] = {
	{SUBSYSTEM, 4, "Barrier: Spin wait"},
};

/* ---- tampi: the parts of the task-aware MPI library (models.md 9) ---- */

static const struct catalog_event tampi_events[] = {
	PAIR(SUBSYSTEM, "TCi", "TCI", 1, "Communication: Issuing a non-blocking operation",
	     "issuing a non-blocking operation"),
	PAIR(SUBSYSTEM, "TGc", "TGC", 2, "Global array: Checking pending requests",
	     "checking the pending requests of the global array"),
	PAIR(SUBSYSTEM, "TLi", "TLI", 3, "Library code: Interface function",
	     "an interface function of the library"),
	PAIR(SUBSYSTEM, "TLp", "TLP", 4, "Library code: Polling function",
	     "a polling function of the library"),
	PAIR(SUBSYSTEM, "TQa", "TQA", 5, "Queue: Adding to a queue",
	     "adding tickets or requests to a queue"),
	PAIR(SUBSYSTEM, "TQt", "TQT", 6, "Queue: Transfering to global array",
	     "moving tickets or requests from the queues to the global array"),
	PAIR(SUBSYSTEM, "TRc", "TRC", 7, "Request: Processing a completed request",
	     "processing a request that is complete"),
	PAIR(SUBSYSTEM, "TRt", "TRT", 8, "Request: Testing a request", "testing a request"),
	PAIR(SUBSYSTEM, "TRa", "TRA", 9, "Request: Testing all requests",
	     "testing all of several requests"),
	PAIR(SUBSYSTEM, "TRs", "TRS", 10, "Request: Testing some requests",
	     "testing some of several requests"),
	PAIR(SUBSYSTEM, "TTc", "TTC", 11, "Ticket: Creating a ticket",
	     "creating a ticket for requests and a task"),
	PAIR(SUBSYSTEM, "TTw", "TTW", 12, "Ticket: Waiting a ticket",
	     "waiting until a ticket is complete"),
};

/* ---- nosv: the tasks of nOS-V and the parts of its runtime (models.md 5) ---- */

static const struct catalog_event nosv_events[] = {
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

static const struct catalog_label nosv_labels[] = {
	{SUBSYSTEM, 2, "Unknown subsystem"},
	{SUBSYSTEM, 34, "EV Scheduler: Recv task"},
	{SUBSYSTEM, 35, "EV Scheduler: Send task"},
	{SUBSYSTEM, 36, "EV Scheduler: Self-assign task"},
};

/* ---- all models ---- */

const struct catalog_model catalog_models[] = {
	{'6', "nanos6", "1.1.0", WHEN_ACTIVE, .out_of_cpu = true, EVENTS(nanos6_events),
	 LABELS(nanos6_labels)},
	{'D', "nodes", "1.0.0", WHEN_RUNNING, .out_of_cpu = true, EVENTS(nodes_events)},
	{'K', "kernel", "1.0.0", WHEN_ANY, .out_of_cpu = true, EVENTS(kernel_events)},
	{'M', "mpi", "1.0.0", WHEN_RUNNING, .out_of_cpu = true, EVENTS(mpi_events)},
	{'O', "ovni", "1.1.0", WHEN_ANY, .repeats = true, EVENTS(ovni_events)},
	{'P', "openmp", "1.2.1", WHEN_RUNNING, .out_of_cpu = true, .repeats = true,
	 EVENTS(openmp_events), LABELS(openmp_labels)},
	{'T', "tampi", "1.0.0", WHEN_RUNNING, .out_of_cpu = true, EVENTS(tampi_events)},
	{'V', "nosv", "2.7.0", WHEN_ACTIVE, .repeats = true, EVENTS(nosv_events),
	 LABELS(nosv_labels)},
	{0},
};
