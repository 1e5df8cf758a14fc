/* SPDX-License-Identifier: MIT */
/*
 * levels: rows with many runs, as shares of equal pieces of their time, so that a browser draws
 * them with as much work as they have pixels.
 *
 *   runs of a row  ▌▐ ▌▌  ▐█ ▌▐▌ █▌▐   pieces │ 62 % asleep, 38 % running │ ...
 *
 * In: the runs of one block of the page (run_block.h); out: a section with a level for each thread
 * that has LEVEL_LEAST of them, and for each such CPU. A level begins where the run before it in
 * the page ended, and ends with the last run of the row in the block: what is in no level is drawn
 * from the runs. A share is 1 to LEVEL_WHOLE, never 0 for a time above 0. Memory follows threads
 * and CPUs. Specification: view.md 8.
 */
#ifndef TOOLS_VIEW_LEVELS_H
#define TOOLS_VIEW_LEVELS_H

#include "trace/analysis/thread_times.h"
#include "tools/view/columns.h"

#define LEVEL_LEAST   64  /* runs of a row in a block */
#define LEVEL_PIECES  256 /* at most */
#define LEVEL_THREADS 4	  /* runs for each piece, of a thread; */
#define LEVEL_CPUS    8	  /* and of a CPU */
#define LEVEL_WHOLE   127 /* the share of a use that has all of a piece */

struct run;

struct level_row {   /* the last run of a thread or CPU in the page */
	int64_t end; /* -1: there was none */
	uint8_t left;
};

struct levels {
	struct level_row *threads, *cpus;
	size_t nthreads, ncpus;
	uint32_t *first, *order; /* runs by thread */
	struct columns columns;
	/* the open piece of a thread, and the pieces of a CPU */
	int64_t at, width;
	int64_t ns[TIME_USES];
	int64_t busy[LEVEL_PIECES], best[LEVEL_PIECES];
	uint32_t owner[LEVEL_PIECES];
};

/* Returns 0, or -ENOMEM after one message. */
int levels_init(struct levels *levels, size_t nthreads) __attribute__((warn_unused_result));
void levels_fini(struct levels *levels);

/* Adds the section of a block of `n` runs: those of CPU c are by_cpu[first[c]] to
 * by_cpu[first[c + 1] - 1]. Returns 0, or -ENOMEM after one message. */
int levels_add(struct levels *levels, const struct run *runs, size_t n, const uint32_t *by_cpu,
	       const uint32_t *first, size_t ncpus, struct page_file *page)
	__attribute__((warn_unused_result));

#endif
