/* SPDX-License-Identifier: MIT */
/*
 * critical_path: the chain of runs, waits and sleeps that made a thread reach a moment no sooner.
 *
 *   thread   ▒ waits  █ runs  · sleeps
 *   main     ████························▒██      the path, backward from the end:
 *   worker       ▒███▒▒████··················      main runs, main waits for a CPU,
 *   writer       ·····················█████        writer (its waker) runs, ...
 *
 * In: a walk over a trace (intervals.h), event by event; out: for a thread and a span of time, the
 * segments of its path. Where a thread was woken, the path goes on with the waker; where it was
 * woken by an interrupt, by a thread without a stream, or by an unknown one, with its own sleep; or
 * (owners) with the path of the thread that owned the lock on which it slept. In a call of MPI that
 * waited for a message, or for the last rank of a collective, it goes on with the thread that sent
 * it, or was that rank, from there on.
 * Invariant: the segments are adjacent and add up to the span, in ns. Memory: 24 bytes for each
 * change of a thread's state in the window. Specification: why.md, part D.
 */
#ifndef TRACE_ANALYSIS_CRITICAL_PATH_H
#define TRACE_ANALYSIS_CRITICAL_PATH_H

#include "trace/analysis/thread_times.h"
#include "trace/messages/mpi_edges.h"

enum critical_kind {
	CRITICAL_STATE,	 /* the thread was in `use` */
	CRITICAL_WAKING, /* from the end of the waker's run to the clock of the wake-up */
	CRITICAL_ABSENT, /* the thread was not recorded: before its first event, or after its end */
};

struct critical_segment {
	int64_t from, to;
	uint32_t stream;
	/* tid of the waker, the creator, or the thread that took the CPU first; -2 an interrupt,
	 * 0 unknown, or none */
	int32_t by;
	enum critical_kind kind;
	enum time_use use; /* of CRITICAL_STATE */
	bool hop;	   /* the path comes here from `by` */
	enum mpi_wait mpi; /* it comes from the stream `other`, by a call of MPI; else 0 */
	uint32_t other;
};

struct critical_stay { /* of a thread */
	int64_t from, to;
	int32_t by;   /* as in a segment; asleep: the owner of the lock, 0: none */
	uint16_t use; /* enum time_use */
	bool woken;   /* `by` woke or made the thread at `from` */
};

struct critical_thread {
	struct critical_stay *stays; /* in the order of time */
	size_t n;
	/* of the last event that names another thread: */
	int64_t at;
	int32_t by;
	bool woken;
	/* of a search: */
	size_t next;	 /* stays before this one may hold the present clock */
	size_t run;	 /* the last one that runs is before this one */
	size_t edge;	 /* edges from this one on end after the present clock */
	int64_t visited; /* clock at which the path was last in this thread */
};

struct critical_path {
	struct thread_times times;
	struct critical_thread *threads; /* of each stream */
	struct mpi_edges mpi;
	struct critical_segment *segments;
	size_t nsegments;
	int32_t owner;	/* of the lock, in the present event; 0: none */
	bool owners;	/* follow the owners of locks */
	size_t nowners; /* sleeps that the path of an owner replaces */
	bool no_memory;
};

/* Only the time between the clocks `first` and `last` is kept. Returns 0, or -ENOMEM after one
 * message; critical_path_fini() must follow in both cases. */
int critical_path_init(struct critical_path *path, const struct source *source, int64_t first,
		       int64_t last) __attribute__((warn_unused_result));

/* One event of a walk, after its effect (interval_listener.event). Returns 0 or -ENOMEM. */
int critical_path_step(struct critical_path *path, const struct intervals *intervals,
		       uint32_t stream, const struct event *ev) __attribute__((warn_unused_result));

/* After the walk, once: ends the open stays. Returns 0 or -ENOMEM. */
int critical_path_finish(struct critical_path *path, const struct intervals *intervals)
	__attribute__((warn_unused_result));

/* The clocks between which the thread was alive and recorded. Returns false if it never was. */
bool critical_path_life(const struct critical_path *path, uint32_t stream, int64_t *from,
			int64_t *to);

/* Stores in path->segments, in the order of time, how the thread came from the clock `from` to the
 * clock `to`. `walk` knows the threads of tids. May be called again. Returns 0 or -ENOMEM. */
int critical_path_find(struct critical_path *path, const struct state_walk *walk, uint32_t stream,
		       int64_t from, int64_t to) __attribute__((warn_unused_result));

void critical_path_fini(struct critical_path *path);

#endif
