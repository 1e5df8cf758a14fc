/* SPDX-License-Identifier: MIT */
/*
 * metadata: the content of each stream.json.
 *
 * In: the description of one stream, and for the first stream of a process and of the session
 * theirs too; out: a JSON document. Pure: no file, no shared state but that to which the
 * description points to. Called in the writer's thread.
 * Invariant: `ovni.finished` is there only if the description says so.
 * Specification: event-mapping.md "Metadata", emulator.md 4.1, models.md 1.4.
 */
#ifndef USER_TIMELINE_METADATA_H
#define USER_TIMELINE_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "bpf/state.h"
#include "trace/catalog/priorities.h"
#include "user/host/cpu_sets.h"
#include "user/timeline/timeline.h"

struct actions;
struct counters;
struct calls;
struct fd_names;
struct lock_names;
struct session_info;
struct sleep_stacks;
struct json;
struct names;
struct process_info;

#define DESCRIBE_RENAMES_MAX 64 /* changes of a name that are kept; the rest is counted */

#define MARK_LOST      92 /* types of marks: "Events lost", */
#define MARK_INTERRUPT 91 /* and "Interrupt", whose values are enum irq_kind + 1 */

struct rename {
	uint64_t clock; /* from here on it is called */
	char name[RECORD_COMM_SIZE];
};

/* Of the session. Members after `closed` are read only if that is set. */
struct session {
	const struct session_info *info;
	uint64_t t0;
	bool closed;
	uint64_t t1;
	struct timeline_counts counts;
	struct timeline_cpu *cpus; /* ncpus of them */
	size_t ncpus;
	uint64_t streams; /* of the trace */
	struct names *names;
	const struct calls *calls;	   /* of the probes; NULL: none */
	const struct sleep_stacks *stacks; /* NULL: none are recorded */
};

/* The values that a stream has of marks of priorities and of sets of CPUs: a bit for each. */
struct priority_marks {
	uint64_t priorities[PRIORITY_MAX / 64 + 1];
	uint64_t sets[CPU_SETS_NUMBERS / 64 + 1];
};

struct description {
	uint32_t pid, tid, app_id;
	const char *loom;
	bool finished;
	bool kernel_model;	       /* the stream has events of the model kernel */
	bool marks;		       /* the stream has marks of the type MARK_LOST */
	const struct actions *actions; /* of the probes; NULL: none */
	const uint64_t *declared;      /* bits of the declarations that it has; NULL: none */
	bool kthread;
	bool exited; /* exit_code is known */
	uint32_t exit_code;
	uint64_t events, repairs;
	uint64_t bytes;		    /* of stream.obs; with `finished`, as the next two */
	uint64_t first, last;	    /* clocks of its first and its last event */
	const struct rename *names; /* all it was called, in order; the last one holds */
	uint32_t nnames, nnames_more;
	const char *cgroup;	    /* NULL: not known */
	const struct fd_names *fds; /* NULL: none */
	const struct lock_names *locks;
	const struct priority_marks *priorities; /* NULL: none */
	const struct counters *counters;	 /* NULL: none */
	const struct cpu_sets *cpu_sets;	 /* with priorities */
	uint64_t irqs[IRQ_KINDS / 64];		 /* kinds that the stream has marks of: bits */
	const char *irq_names;			 /* for irq_name(); NULL: not known */

	/* The first stream of a process, else NULL. */
	const unsigned *cpus; /* kernel numbers by index, ncpus of them */
	unsigned ncpus;
	uint32_t parent_pid;		 /* 0: not known */
	const struct process_info *info; /* NULL: not known */
	const struct process_info *own;	 /* of the recorder */
	int32_t rank, nranks;		 /* for ovni.rank; -1: not to be written */

	/* The first stream of the session, else NULL. */
	const struct session *session;
};

/* The document, for the caller to free; NULL, or a document without a text, without memory. */
struct json *describe_stream(const struct description *d);

#endif
