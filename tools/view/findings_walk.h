/* SPDX-License-Identifier: MIT */
/*
 * findings_walk: the findings of ovni-report, computed in a thread of their own beside the walk
 * that makes the page: their data would evict each other from the caches of one CPU.
 *
 * In: an open trace; out: findings (findings.h) of streams that share
 * the mapped files. Messages about damage
 * come from the walk of the page alone. Without a thread the walk takes place at once.
 */
#ifndef TOOLS_VIEW_FINDINGS_WALK_H
#define TOOLS_VIEW_FINDINGS_WALK_H

#include <pthread.h>

#include "trace/analysis/findings.h"

struct findings_walk {
	struct source source; /* of the trace; the streams are its own */
	struct findings *findings;
	int64_t first, last;
	pthread_t thread;
	bool running;
	int err;
};

/* Begins to read the findings of the part between two clocks; `source`, open, and `findings` must
 * stay until findings_walk_fini(). */
void findings_walk_begin(struct findings_walk *walk, const struct source *source,
			 struct findings *findings, int64_t first, int64_t last);

/* Waits for the end. Returns 0, also of a damaged trace, with the findings of the part before the
 * damage; or -errno after one message. */
int findings_walk_end(struct findings_walk *walk) __attribute__((warn_unused_result));

/* Also of a walk that was not begun, or not waited for. */
void findings_walk_fini(struct findings_walk *walk);

#endif
