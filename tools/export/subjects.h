/* SPDX-License-Identifier: MIT */
/*
 * subjects: the looms, CPUs, processes and threads of a trace, and the names of its marks.
 *
 * In: the metadata of all streams, read once; out: numbers and names that another format accepts.
 * Names are printable UTF-8. Numbers of threads and processes are those of the trace if Linux can
 * have such a number, else free ones above NUMBER_MOST, and the name then has the original one.
 * Specification: perfetto.md 4, event-mapping.md "Metadata".
 */
#ifndef TOOLS_EXPORT_SUBJECTS_H
#define TOOLS_EXPORT_SUBJECTS_H

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/states/mark_labels.h"
#include "trace/states/state_walk.h"

#define NUMBER_MOST 4194303 /* the highest thread id of Linux */
#define NO_SUBJECT  UINT32_MAX

struct subject_loom {
	const char *name;
	char *shown; /* name, printable */
	char *kernel, *machine;
	uint64_t lost;	  /* by its recorders */
	uint32_t number;  /* 0 for the first one */
	bool accelerator; /* of a Loom run: its threads run on no CPU */
};

struct subject_cpu {
	uint32_t loom;
	int32_t index;	 /* in the trace */
	int32_t number;	 /* of the operating system */
	bool idle_known; /* without a thread of the trace it is idle */
};

struct subject_process {
	uint32_t loom;
	int64_t pid;
	int32_t number, parent; /* parent 0: not known */
	uint32_t leader;	/* stream of the thread with this id, or NO_SUBJECT */
	uint32_t threads;	/* streams */
	char **command;		/* printable */
	size_t ncommand;
};

struct subject_rename {
	int64_t clock;
	char *name; /* printable */
};

struct subject_thread { /* of a stream */
	uint32_t loom, process;
	int32_t number;
	uint32_t same;			/* ring of the streams of its loom with this thread id */
	char *name;			/* printable */
	bool kernel;			/* a kernel thread */
	bool exits;			/* its end was seen */
	struct subject_rename *renames; /* by clock, without the first name */
	size_t nrenames;
};

struct subjects {
	const struct source *source;
	struct state_walk walk; /* for state_walk_find() alone */
	struct subject_loom *looms;
	struct subject_cpu *cpus;
	struct subject_process *processes;
	struct subject_thread *threads; /* of each stream */
	size_t nlooms, ncpus, nprocesses;
	struct mark_labels labels;
	struct hash by_cpu, by_process;
	int64_t t0, t1; /* the window: of the sessions, and of the events */
};

/* Returns 0, or -errno after one message; subjects_fini() must follow in both cases. */
int subjects_init(struct subjects *subjects, const struct source *source)
	__attribute__((warn_unused_result));
void subjects_fini(struct subjects *subjects);

/* The CPU of an index in a loom, added if it is new; NO_SUBJECT without memory. */
uint32_t subjects_cpu(struct subjects *subjects, uint32_t loom, int32_t index);

#endif
