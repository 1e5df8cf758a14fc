/* SPDX-License-Identifier: MIT */
/*
 * selection: the threads, the regions and the window of time that a command looks at.
 *
 * In: --thread, --region, --from and --to; out: excluded threads, wanted events, times. Invariant:
 * no file of an excluded thread is opened, and no data file of a thread outside the window.
 */
#ifndef TOOLS_PALLAS_SELECTION_H
#define TOOLS_PALLAS_SELECTION_H

#include "tools/lib/filter.h"
#include "trace/pallas/read/expand.h"

struct selection {
	const char *thread; /* id, or glob of names; NULL: all */
	const char *region; /* name or glob; NULL: all */
	struct moment from, to;

	/* selection_start(): */
	uint64_t first, last; /* times of the archive in ns, both included */
	bool window;	      /* --from or --to is given */
};

/* Excludes threads and computes the window. Returns 0, or -errno after one message, as for a thread
 * or a region that the archive does not have. */
int selection_start(struct selection *s, struct pallas_trace *trace)
	__attribute__((warn_unused_result));

bool selection_region(const struct selection *s, const char *name); /* NULL: no name */

/* True if the loaded thread has events in the window, as thread.pallas says. */
bool selection_overlaps(const struct selection *s, const struct pallas_thread *thread);

/* A flag for each event of a loaded thread: ENTER and LEAVE of a region, of the selected ones alone
 * if `selected`. The caller frees it; NULL after one message. */
bool *selection_calls(const struct selection *s, const struct pallas_trace *trace,
		      const struct pallas_thread *thread, bool selected);

/* Says how much of the archive was read, if options selected a part of it. */
void selection_report(const struct selection *s, const struct pallas_trace *trace);

#endif
