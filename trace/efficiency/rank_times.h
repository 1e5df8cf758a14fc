/* SPDX-License-Identifier: MIT */
/*
 * rank_times: the time of each rank of a parallel program: useful, in MPI, idle, and on a CPU or
 * not.
 *
 *   rank 0, master  ███████████████████▒▒▒▒▒▒   █ useful   ▒ in MPI   · idle
 *   rank 0, worker  SSSSS████████··SSSSIIIIII   S serial   I outside of regions while the master
 *                        └ region ┘                        is in MPI
 *
 * In: a walk over a trace (intervals.h), event by event; out: for each rank, and each phase of it,
 * the sums of efficiency.md 1. An execution unit is the master thread of a rank or a thread that
 * ran a part of one of its parallel regions (PMu). Invariant: useful + mpi + idle + serial +
 * imbalance + scheduling of a rank are its team times its window, and the four parts of useful are
 * its useful time, in ns. Memory follows ranks, their threads, and phases. Specification:
 * efficiency.md 1, 3.
 */
#ifndef TRACE_EFFICIENCY_RANK_TIMES_H
#define TRACE_EFFICIENCY_RANK_TIMES_H

#include "trace/analysis/culprits.h"
#include "trace/analysis/thread_times.h"
#include "trace/efficiency/collectives.h"
#include "trace/messages/messages.h"

#define NO_UNIT	   UINT32_MAX
#define NO_PHASE   UINT32_MAX
#define PHASES_MAX 10000

/* ns of one or more threads, by their state. */
struct place_times {
	int64_t run, wait, sleep, unknown;
};

static inline int64_t place_sum(const struct place_times *t)
{
	return clock_sum(clock_sum(t->run, t->wait), clock_sum(t->sleep, t->unknown));
}

enum unit_place { PLACE_NONE, PLACE_USEFUL, PLACE_MPI };

/* A thread of the process of a rank, in one phase. */
struct unit_times {
	struct place_times useful, mpi;
	int64_t outside_mpi, outside_serial; /* parts of mpi, outside of regions: by the master */
};

/* A rank in one phase, as it is summed up in the walk. */
struct rank_sums {
	int64_t window;
	int64_t outside_mpi, outside_serial; /* the master outside of regions: in MPI, or not */
	int64_t least;		/* sum over regions: the time of the least idle thread */
	int64_t beyond;		/* sum over regions: the region without that time; */
	int64_t members_beyond; /* the same, times the number of threads of the team so far */
	int64_t imbalance;	/* sum over regions and these threads: idle beyond the least */
};

/* One phase of all ranks. */
struct phase_times {
	int64_t value; /* of the mark; the number of the collective or the slice, from 0 */
	int64_t begin; /* clock of its first begin */
	struct rank_sums *ranks;
	struct unit_times *units;
};

/* Figures of a rank in a phase, ns. */
struct rank_figures {
	int64_t team; /* execution units */
	int64_t window;
	struct place_times useful, mpi;
	int64_t idle, serial, imbalance, scheduling; /* I, S, L, D */
	int64_t useful_most, run_most;		     /* of one unit */
};

enum phase_kind { PHASES_NONE, PHASES_MARK, PHASES_COLLECTIVES, PHASES_SLICES };

struct efficiency_settings {
	int64_t first, last; /* clocks: only the time between them counts */
	bool part;	     /* they were given */
	bool recording;	     /* --window recording */
	bool partial;	     /* --partial: not all ranks of the job need to be there */
	bool talp;	     /* --model talp */
	enum phase_kind phases;
	int32_t mark;  /* type, of PHASES_MARK */
	int64_t every; /* ns, of PHASES_SLICES */
};

/* A process during the walk. Arrays of two: in the whole window, and in the present phase. */
struct rank_walk {
	uint32_t first, n;    /* its threads are rank_times.list[first] ... */
	int64_t rank, nranks; /* -1: none */
	int64_t app_id;
	uint32_t node;	   /* number of its loom */
	uint32_t master;   /* unit: the thread that called MPI_Init, or the main thread */
	bool open;	   /* its window is */
	bool has_mpi;	   /* it calls MPI; */
	bool has_init;	   /* its first call is MPI_Init */
	bool began, ended; /* the window: by MPI_Init and MPI_Finalize, or with the main thread */
	bool seen_fork;
	bool left_out;	  /* of another program than the recorded command */
	bool several_mpi; /* threads called MPI */
	bool nested;	  /* regions in regions, or of another thread */
	bool left;	  /* a thread ended within a region */
	bool kernel;	  /* states by KCO and KCI */
	uint32_t workers_in_mpi;
	uint32_t region;    /* depth */
	int64_t since;	    /* clock up to which window and outside are summed up */
	int64_t begin, end; /* clocks of the window, once they are known */
	int64_t region_since[2];
	uint64_t calls; /* of MPI, in the window */
	uint32_t phase; /* or NO_PHASE */
	int64_t *marks; /* values of open marks */
	uint32_t nmarks, marks_room;
};

/* The communicator of a collective. */
enum unit_comm { UNIT_COMM_NONE, UNIT_COMM_UNKNOWN, UNIT_COMM_OTHER, UNIT_COMM_WORLD };

struct unit_walk {
	uint32_t stream, rank; /* number in `ranks` */
	enum unit_place place;
	uint32_t mpi_depth;
	enum unit_comm comm; /* of the present call of MPI */
	uint64_t regions;    /* of OpenMP: a bit for each open one, 1: it works */
	uint32_t depth, microtasks;
	bool member;		 /* is an execution unit */
	int64_t busy[2];	 /* ns useful or in MPI, in the open region */
	struct place_times base; /* of the thread, when it was summed up last, */
	int64_t since;		 /* at this clock */
	int64_t useful, own;	 /* useful time, and without waits, up to the last collective */
};

struct rank_times {
	const struct source *source;
	const struct efficiency_settings *settings;
	struct thread_times times;
	struct culprits culprits;
	struct rank_walk *ranks; /* processes that may be ranks */
	size_t nranks;
	uint32_t *kept; /* after the walk: those that are, by rank; numbers in `ranks` */
	size_t nkept;
	uint32_t nnodes;
	struct unit_walk *list; /* all threads of their processes */
	size_t nunits;
	uint32_t *unit_of;	     /* of each stream: in list, or NO_UNIT */
	int64_t *parents;	     /* of each stream: pid of the parent process, 0: not known */
	bool *kernel;		     /* of each stream: a thread of the kernel */
	bool mpi, forks, microtasks; /* ranks have calls of MPI, parallel regions, parts of them */
	bool openmp;		     /* the trace has events of the model */
	bool declared_mpi;	     /* and may have those of this one */
	struct phase_times whole, *phases;
	size_t nphases;
	struct hash phase_of; /* of values of marks */
	int64_t next_slice;   /* clock; 0: no window has begun */
	struct collectives collectives;
	struct messages messages;  /* with `communicators`: for those of collectives */
	bool communicators;	   /* the trace has them */
	uint64_t dropped;	   /* calls that the recorder left out */
	bool no_switches, sampled; /* by the metadata of the session */
	bool repairs;		   /* or unknown times */
};

/* Reads the metadata. The ranks are the processes with an MPI rank, or all processes if none has
 * one. If a command and other programs were recorded (-a -- COMMAND), ranks of the command exclude
 * the others. Returns 0, or -errno after one message; rank_times_fini() must follow in both cases.
 */
int rank_times_init(struct rank_times *t, const struct source *source,
		    const struct efficiency_settings *settings) __attribute__((warn_unused_result));

/* One event of a walk, after its effect (interval_listener.event). Returns 0, -ENOMEM, or -E2BIG
 * after one message: too many phases. */
int rank_times_step(struct rank_times *t, const struct intervals *intervals, uint32_t stream,
		    const struct event *ev) __attribute__((warn_unused_result));

/* For interval_listener.prefetch. */
void rank_times_prefetch(const struct rank_times *t, uint32_t stream, bool soon);

/* After the walk: ends the open windows, and keeps the processes that are ranks. Returns 0 or
 * -ENOMEM. */
int rank_times_finish(struct rank_times *t, const struct intervals *intervals)
	__attribute__((warn_unused_result));

/* The figures of a kept rank in a phase. `teams`: its workers count; false: the master thread
 * alone. */
void rank_times_figures(const struct rank_times *t, const struct phase_times *phase, size_t rank,
			bool teams, struct rank_figures *figures);

void rank_times_fini(struct rank_times *t);

#endif
