/* SPDX-License-Identifier: MIT */
/*
 * cutter: a valid trace from a part of a trace.
 *
 * In: the events of all streams by clock, and a selection: a window of time, threads, CPUs, models;
 * out: new streams. A thread that lives where the part begins is entered there (its state, its CPU,
 * its open regions), and closed where the part ends.
 * Invariant: the creation of a type or a task is never lost with its thread or its clock: it goes
 * into the stream of another thread of the same process.
 * Specification: models.md; event-mapping.md, "The thread state machine".
 */
#ifndef TOOLS_CUT_CUTTER_H
#define TOOLS_CUT_CUTTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/trace_input.h"

struct cutter {
	/* set by the caller */
	const struct source *source;
	int out_fd;	     /* directory of the new trace */
	int64_t from, to;    /* clocks, both included */
	const bool *streams; /* true: selected */
	const int32_t *cpus; /* indices; NULL: all */
	size_t ncpus;
	const bool *models; /* by character; NULL: all. ovni is always kept */

	/* results */
	uint64_t kept, added, dropped;
	uint64_t *written; /* events of each stream; 0: it was not made */

	/* private */
	struct cut_thread *threads;
	struct cut_process *processes;
	size_t nprocesses;
	struct state_walk *names; /* to find the thread of an OAr */
	bool opened;		  /* the window */
};

/* Writes the streams, without their metadata, which the caller writes. Returns 0, or -errno
 * after one message. */
int cutter_run(struct cutter *cutter) __attribute__((warn_unused_result));
void cutter_fini(struct cutter *cutter);

#endif
