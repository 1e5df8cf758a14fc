/* SPDX-License-Identifier: MIT */
/*
 * segment: one trace of a session, from its empty directory to its last stream.json.
 *
 * In: the settings common to all traces of the session (the plan), and the start of its own window;
 * out: a directory that is a complete trace. Without rotation the only segment is the output
 * directory itself; else segment N is its subdirectory NNNN, and `.next` before it is used. Each
 * segment has its own writer, threads and timeline, so that one can be closed while the next is
 * recorded.
 * Invariants: a segment whose window was opened ends with segment_finish(), which makes it
 * a valid trace, or fails and says why; its directory is locked until then.
 */
#ifndef USER_SINK_SEGMENT_H
#define USER_SINK_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/config/session_info.h"
#include "user/timeline/timeline.h"
#include "user/host/topology.h"

#define SEGMENT_NEXT ".next" /* directory of the segment that is not used yet */

struct event_counts;
struct event_counts_mark;
struct disk_error;
struct snapshot_tasks;
struct threads;
struct writer;
struct writer_files;

/* Owned by the caller; must outlive the segments. */
struct segment_plan {
	struct session_info info;	  /* the members known before recording */
	struct timeline_options timeline; /* t0 is set by segment_begin() */
	const struct topology *topology;  /* copied */
	struct calls *calls;		  /* sums over all segments; a segment adds its
					     sums at its end; NULL: no probes */
	uint64_t max_bytes;		  /* of one segment; 0: no limit */
	const struct writer_files *files; /* NULL: the real ones */
	struct disk_error *disk_error;	  /* of the session; NULL: see writer.h */
	int fd;				  /* the output directory */
	const char *path;		  /* its name, for messages */
};

/* The end of a segment. Strings must live until segment_close(). */
struct segment_end {
	const char *stopped_by, *trigger;
	int command_status; /* exit status of the command; -1: none */
	bool aged;	    /* records before `from` were seen and have been discarded */
};

struct segment_result {
	uint64_t window_ns, events, records, bytes, threads, repairs, late, lost;
};

struct segment {
	const struct segment_plan *plan;
	unsigned number; /* 0: the only segment */
	char name[16];	 /* below the output directory; "": that directory itself */
	int fd;		 /* its own directory; -1: the directory of the plan */
	struct session_info info;
	struct topology topology;
	struct writer *writer;
	struct threads *threads;
	struct timeline *timeline; /* NULL until segment_begin() */
	uint64_t t0, t1;	   /* ns; t1 is 0 until segment_stop() */
	struct event_counts_mark *from, *to;
	struct segment_result result; /* after segment_finish() */
};

/* Makes directory, writer and threads; with `several` the directory is `.next`. NULL after one
 * message. Freed by segment_close(). */
struct segment *segment_open(const struct segment_plan *plan, bool several);

/* Opens the window at t0 (ns). 0 or -errno after one message. */
int segment_begin(struct segment *segment, uint64_t t0) __attribute__((warn_unused_result));

/* Gives the tasks of the iterator to a timeline. NULL: none. 0 or -errno after one message. */
int segment_add_tasks(struct timeline *timeline, const struct snapshot_tasks *tasks)
	__attribute__((warn_unused_result));

/* Renames the directory to its number. 0 or -errno after one message. */
int segment_name(struct segment *segment, unsigned number) __attribute__((warn_unused_result));

/* Closes the window at t1 (ns): later records make no event. */
void segment_stop(struct segment *segment, uint64_t t1);

/*
 * Called after the last record: closes every stream, waits for the disk, and fills in
 * segment->result. segment->from and ->to bound its event counts; `tasks` has the threads that were
 * woken and did not run (NULL: unknown). 0 or -errno after one message.
 */
int segment_finish(struct segment *segment, const struct event_counts *counts,
		   const struct snapshot_tasks *tasks, const struct segment_end *end)
	__attribute__((warn_unused_result));

/* Ends the writer and frees everything; removes a directory that never got a number. NULL is
 * fine. */
void segment_close(struct segment *segment);

/* Removes segment `number` from the disk. 0 or -errno after one message. */
int segment_remove(const struct segment_plan *plan, unsigned number)
	__attribute__((warn_unused_result));

#endif
