/* SPDX-License-Identifier: MIT */
/*
 * trace: finds the streams in a trace directory.
 *
 * In: a path; out: the streams below it, sorted by path, byte for byte. A stream is a directory
 * with a regular stream.json, at any depth, the top one included. Invariant: only the path itself
 * may go through symbolic links. Below it no link is followed: a link to a directory is refused, a
 * link in place of stream.json is refused. A directory of several traces, as --rotate and --last
 * leave them, is refused: there, the same loom.NAME has several places. A trace whose removal was
 * interrupted (TRACE_REMOVED) is refused, too; below another directory it is skipped.
 * Specification: emulator.md 3.1.
 */
#ifndef TRACE_OVNI_TRACE_H
#define TRACE_OVNI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/json.h"
#include "trace/ovni/clock_fix.h"
#include "trace/ovni/stream.h"
#include "trace/ovni/whole.h"

/* A trace that is being removed gets a name that begins so, in the same directory. */
#define TRACE_REMOVED ".ovni-bpf.removed."

struct trace {
	char *path;	/* of the caller, without slashes at its end */
	int fd;		/* of the directory */
	char **streams; /* relative paths, sorted by strcmp() */
	size_t nstreams;
	struct clock_table clocks; /* after source_correct_clocks(); fixes are valid with it */
	struct clock_fix *fixes;   /* of the clock of each stream; NULL: none */
	int64_t clock_bound;	   /* of them, between any two nodes; CLOCK_BOUND_UNKNOWN; ns */
	/* private: stream.json of each stream, after source_open(), and their bytes */
	struct trace_text *texts;
	struct pool *text_bytes;
};

/* Walks `path`. Returns 0, or -errno after one message (-EINVAL: it holds several traces).
 * trace_close() must follow a success. */
int trace_open(struct trace *trace, const char *path) __attribute__((warn_unused_result));
/* Like trace_open(), but reads several traces as one, as the reference does. */
int trace_open_any(struct trace *trace, const char *path) __attribute__((warn_unused_result));
void trace_close(struct trace *trace);

/* True for the name of a directory that a recorder was removing. */
bool trace_is_removed(const char *name);

/*
 * Reads the stream.json of stream i, and checks that it is a JSON object of version 3. After
 * source_open() it is read from memory, unless the files are large. The caller frees it with
 * json_free(). Returns NULL after one message.
 */
struct json *trace_metadata(const struct trace *trace, size_t i);

/* Frees the text that source_open() keeps of the metadata, when a program has read most of them:
 * trace_metadata() reads the files from then on. No other thread may read them meanwhile. */
void trace_drop_metadata(const struct trace *trace);

/* A clock of stream i, of its metadata for instance, corrected where the trace has fixes; clamped.
 */
static inline int64_t trace_clock(const struct trace *trace, size_t i, int64_t clock)
{
	int64_t fixed;

	if (__builtin_expect(!trace->fixes, 1))
		return clock;
	if (clock_fix(&trace->fixes[i], clock, &fixed))
		return fixed;
	return clock < 0 ? INT64_MIN : INT64_MAX;
}

/* ---- a trace for the tools: its open streams with their owners ---- */

#define OWNER_FDS_MAX 4096 /* names of descriptors that are read of a stream */

/* The file of a descriptor on which a thread slept, and the clocks between which it is known. */
struct fd_name {
	int64_t from, to;
	int32_t fd;
	char *name; /* untrusted bytes */
};

#define OWNER_FUTEXES_MAX 4096

/* The name of a futex on which a thread slept, from a clock on. */
struct futex_name {
	uint64_t address;
	int64_t from;
	char *name; /* untrusted bytes */
};

#define OWNER_PRIORITIES_MAX 512

/* A value of the marks titled "Priority" (trace/catalog/priorities.h). */
struct priority_label {
	int64_t value;
	char *text; /* untrusted bytes */
};

/* The thread of a stream, from its metadata; missing values are 0, NULL or -1 (rank). */
struct owner {
	char *loom;	     /* never NULL: "" if it is missing */
	char *name;	     /* bpf.name; NULL in traces of other programs */
	char *cgroup;	     /* bpf.cgroup; NULL: not known */
	char *machine;	     /* bpf.session.machine, or bpf.machine (ovni-merge); NULL: none */
	struct fd_name *fds; /* bpf.fds: nfds of them */
	size_t nfds;
	struct futex_name *futexes; /* bpf.futexes: nfutexes of them */
	size_t nfutexes;
	struct priority_label *priorities; /* npriorities of them */
	size_t npriorities;
	int32_t priority_type; /* of their marks */
	int64_t pid, tid, app_id, rank;
	int64_t known_rank; /* rank, or bpf.rank, where not all processes of the loom have one */
	int64_t nranks;	    /* bpf.nranks, or ovni.nranks; -1: missing */
	int64_t parent;	    /* bpf.parent: pid */
	uint64_t repairs;   /* bpf.repairs */
	bool thread;	    /* ovni.part is "thread" */
	bool finished;	    /* ovni.finished is 1 */
	bool irq;	    /* bpf.session.irq: the time of interrupts is recorded */
	bool locks;	    /* bpf.session.locks, or bpf.locks: owners of locks are recorded */
	bool recorded;	    /* by ovni-bpf: it has bpf.events */
	bool kernel_thread; /* bpf.kernel_thread */
	bool requires_mpi;  /* ovni.require.mpi */
	bool counters;	    /* bpf.counters: a VWC has the values of a run (--counters) */
	/* Its metadata have: ovni.loom_cpus or bpf.session; ovni.mark; bpf.names. Of a large job
	 * most have none, and need not be read again for them. */
	bool has_host, has_marks, has_names;
	bool accelerator; /* a part of a Loom run: its CPU is no CPU of a machine (loom.md 9.1) */
};

#define TRACE_NO_STREAMS "%s: no stream is in this directory: it is not a trace"

struct source {
	struct trace trace;
	struct stream *streams;	   /* trace.nstreams, open */
	struct owner *owners;	   /* of each stream */
	struct whole whole;	   /* whether it is whole, by its metadata */
	struct stream_span *spans; /* of each stream; NULL: all are open */
	bool by_loom;		   /* see source_open_looms() */
	bool is_loom;		   /* it is one loom of another source: */
	int64_t first, last;	   /* corrected clocks of the other one */
	struct play_order *order;  /* of the events, by another walk; NULL: by their clocks */
};

/* A stream of a part of a trace. */
struct stream_span {
	bool closed;	     /* its events are not read: it reads as one without events */
	int64_t first, last; /* clocks of its events, by its metadata */
};

/*
 * Opens a trace and all its streams. Returns 0, or -errno after one message (-ENOENT: it has no
 * streams); source_close() must follow in both cases.
 */
int source_open(struct source *source, const char *path) __attribute__((warn_unused_result));
void source_close(struct source *source);

/* Stores in `wanted`, of each stream, whether its events are needed. `source` has the owners, and
 * no open stream. Returns 0, or -errno after one message. */
typedef int (*source_choose_fn)(void *arg, const struct source *source, bool *wanted);

/* The same, but opens only the streams that `choose` wants, and those whose metadata do not have
 * the clocks of their first and last event. NULL: all. */
int source_open_part(struct source *source, const char *path, source_choose_fn choose, void *arg)
	__attribute__((warn_unused_result));

/*
 * The same, but opens no stream (source->by_loom): source_open_loom() opens those of one loom. Only
 * where this is less: a trace of one loom, one with an accelerator, and one that lacks clocks in
 * its metadata are opened as by source_open().
 */
int source_open_looms(struct source *source, const char *path) __attribute__((warn_unused_result));

/*
 * `loom` becomes the part of `source` that is the loom of stream `from`, the first one of it, with
 * its streams open. Returns how many there are, or -errno after one message; source_close_loom()
 * must follow in both cases. It has no `whole`: that is in `source`.
 */
ssize_t source_open_loom(struct source *loom, struct source *source, size_t from)
	__attribute__((warn_unused_result));
void source_close_loom(struct source *loom);

/*
 * Reads the table of clock offsets of the trace, if it has one, so that a walk of its intervals,
 * the clocks of its owners, source_start() and trace_clock() have corrected clocks. The streams
 * keep theirs. Warns of several machines without a table. Returns 0, or -errno after a message.
 */
int source_correct_clocks(struct source *source) __attribute__((warn_unused_result));

/* Extends the clocks from *first to *last to those of all streams that are not open. */
void source_extend(const struct source *source, int64_t *first, int64_t *last);

/* Stores the lowest clock of all events in *clock, ns, also of those in streams that are not open.
 * Returns false if there is no event. */
bool source_start(const struct source *source, int64_t *clock);

/* True if a loom of this name (NULL: none) is a part of a Loom run, not a machine (loom.md 9.1). */
bool loom_is_accelerator(const char *loom);

/* Reads the owner in a stream.json. Returns 0 or -ENOMEM. The caller frees with
 * owner_fini(). */
int owner_init(struct owner *owner, const struct json *meta) __attribute__((warn_unused_result));
void owner_fini(struct owner *owner);

#endif
