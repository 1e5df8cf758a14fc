/* SPDX-License-Identifier: MIT */
/*
 * findings_walk: the findings of ovni-report, computed in a thread of their own beside the walk
 * that makes the page: their data would evict each other from the caches of one CPU.
 *
 * In: an open trace; out: findings (findings.h) of streams that share the mapped files. The walk of
 * the page passes on the order of the events, and takes the findings' part of the runs: periods,
 * times on CPUs and the lives of threads. Messages about damage come from the walk of the page
 * alone. Without a second thread the walk follows that of the page.
 */
#ifndef TOOLS_VIEW_FINDINGS_WALK_H
#define TOOLS_VIEW_FINDINGS_WALK_H

#include <pthread.h>
#include <semaphore.h>

#include "trace/analysis/findings.h"
#include "trace/ovni/player.h"

struct findings_walk {
	struct source source; /* of the trace; the streams are its own */
	struct findings *findings;
	int64_t first, last;
	pthread_t thread;
	struct play_order *order; /* of the events, by the walk of the page; NULL: not needed */
	sem_t ready, page_walked;
	bool began, running;
	bool usable;	 /* findings_begin() succeeded */
	bool runs_ended; /* the part of the runs; else the walk of the page failed */
	int err;
};

/* Begins to read the findings of the part between two clocks; `source`, open, and `findings` must
 * stay until findings_walk_fini(). */
void findings_walk_begin(struct findings_walk *walk, const struct source *source,
			 struct findings *findings, int64_t first, int64_t last);

/* Before the walk of the page: the findings of which it takes findings_runs. NULL: there are none,
 * or findings_walk_end() will tell why. */
struct findings *findings_walk_ready(struct findings_walk *walk);

/* After the walk of the page and findings_end_runs(): waits for the end. Returns 0, also of a
 * damaged trace, with the findings of the part before the damage; or -errno after one message. */
int findings_walk_end(struct findings_walk *walk) __attribute__((warn_unused_result));

/* Also of a walk that was not begun, or not waited for. */
void findings_walk_fini(struct findings_walk *walk);

#endif
