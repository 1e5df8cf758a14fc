/* SPDX-License-Identifier: MIT */
/*
 * cutter: a part of a trace that is a valid trace.
 *
 * In: the events of all streams by clock, and what is wanted: a window of time, threads, CPUs,
 * models; out: new streams in which a thread that is in the middle of something where the part
 * begins is entered there (its state, its CPU, all that it has open), and closed where the
 * part ends. What others need of a part that is left out comes along: types and
 * tasks that were created there go into the stream of a thread of the same process.
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
	const bool *streams; /* which ones are wanted */
	const int32_t *cpus; /* indices; NULL: all */
	size_t ncpus;
	const bool *models; /* by character; NULL: all. ovni is always kept */

	/* found */
	uint64_t kept, added, dropped;
	uint64_t *written; /* events of each stream; 0: it was not made */

	/* inside */
	struct cut_thread *threads;
	struct cut_process *processes;
	size_t nprocesses;
	struct state_walk *names; /* to find the thread of an OAr */
	bool opened;		  /* the window */
};

/* Writes the streams, without `ovni.finished`: the caller describes them. Returns 0, or -errno
 * after one message. */
int cutter_run(struct cutter *cutter) __attribute__((warn_unused_result));
void cutter_fini(struct cutter *cutter);

#endif
