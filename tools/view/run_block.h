/* SPDX-License-Identifier: MIT */
/*
 * run_block: the runs of all CPUs that end in one piece of the trace, as columns.
 *
 * In: runs in the order of their ends; out: a block, which can be read without any other, with the
 * runs by CPU. A run is a stay of a thread on one CPU: a thread that moves while it runs has a run
 * for each CPU. Clocks are ns since the first event of the trace.
 * Specification: view.md 8.
 */
#ifndef TOOLS_VIEW_RUN_BLOCK_H
#define TOOLS_VIEW_RUN_BLOCK_H

#include "tools/view/actors.h"
#include "tools/view/levels.h"

#define RUN_BLOCK 65536 /* runs */

/* Ends of a run beside enum off_cpu. */
#define RUN_CUT	  13 /* the trace ends before the run */
#define RUN_MOVES 14 /* continues on another CPU at once */

enum run_wake {
	WAKE_NONE,	/* since when the thread was runnable is not known */
	WAKE_STAYED,	/* runnable since its last run */
	WAKE_INTERRUPT, /* from here on with a latency */
	WAKE_UNKNOWN,
	WAKE_LAST,   /* by the last waker of this thread in the block, by CPU and time */
	WAKE_BEFORE, /* by the one before */
	WAKE_ACTOR,
	WAKE_STAYED_SINCE, /* runnable for the latency, but not since its last run */
	WAKE_MOVED,	   /* the run continues one on another CPU */
	WAKE_CREATED	   /* runnable since its creator made it */
};

enum run_next { NEXT_IDLE, NEXT_UNKNOWN, NEXT_FOLLOWS, NEXT_ACTOR };

struct run {
	int64_t begin, end, latency; /* latency: where `wake` has one */
	uint32_t stream, cpu;	     /* cpu: row */
	int32_t waker, next;	     /* tids, as in struct interval; or the creator */
	uint32_t call;		     /* in which it then sleeps: its number + 1; 0: not known */
	uint8_t wake;		     /* WAKE_ACTOR stands for any thread */
	uint8_t end_kind;	     /* enum off_cpu, RUN_CUT or RUN_MOVES */
	bool explicit_stays;	     /* the stays before it are in a block of their own */
};

struct stay { /* of a thread that does not run */
	int64_t begin, end;
	uint32_t call; /* of a sleep: its number + 1; 0: not known */
	uint8_t use;   /* enum time_use */
};

/* The stays that a reader of the page concludes before a run that begins at `begin`: the run of the
 * thread before it ended at `left_at`, for the reason `left`, in the system call `call`. Returns
 * their number. */
unsigned run_stays(const struct run *run, int64_t begin, uint8_t left, int64_t left_at,
		   uint32_t call, struct stay stays[2]);

struct recent_wakers; /* of a thread */

struct run_block {
	struct run *runs; /* RUN_BLOCK */
	size_t n;
	uint32_t *order, *first; /* runs by CPU; index in it of the first run of each CPU */
	size_t ncpus;
	struct recent_wakers *wakers; /* of each stream */
	uint32_t number;
	uint64_t runs_written;
	struct columns columns;
	struct levels levels;
};

/* Returns 0, or -ENOMEM after one message. */
int run_block_init(struct run_block *block, size_t nstreams) __attribute__((warn_unused_result));
void run_block_fini(struct run_block *block);

/* Writes the runs as a section, and forgets them. `ncpus`: number of CPU rows. Returns 0, or
 * -ENOMEM after one message. */
int run_block_flush(struct run_block *block, size_t ncpus, struct actors *actors,
		    struct page_file *page) __attribute__((warn_unused_result));

#endif
