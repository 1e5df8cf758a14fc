/* SPDX-License-Identifier: MIT */
/*
 * segment: one trace of a session, from its empty directory to its last stream.json.
 *
 * In: what all traces of the session have in common (the plan), and where the window of this one
 * begins; out: a directory that stands on its own. A session without rotation has one part, which
 * is the output directory itself; else part N is NNNN below that, and until it is used, `.next`.
 * Each has a writer, threads and a timeline of its own, so that one can be closed while the
 * next is being recorded.
 * Invariant: a part whose window was opened ends with segment_finish(), which makes it a valid
 * trace or fails and says why.
 */
#ifndef USER_SINK_SEGMENT_H
#define USER_SINK_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/config/session_info.h"
#include "user/timeline/timeline.h"
#include "user/host/topology.h"

#define SEGMENT_NEXT ".next" /* the directory of a part that is not used yet */

struct account;
struct account_mark;
struct disk_error;
struct snapshot_tasks;
struct threads;
struct writer;
struct writer_files;

/* The caller's; it outlives the parts. */
struct segment_plan {
	struct facts facts;		  /* the first half */
	struct timeline_options timeline; /* but for t0 */
	const struct topology *topology;  /* is copied */
	struct calls *calls; /* of all parts, which each adds to at its end, one after the
				other; NULL: no probes */
	uint64_t max_bytes;  /* of one part; 0: none */
	const struct writer_files *files; /* NULL: the real ones */
	struct disk_error *disk_error;	  /* of the session; NULL: see writer.h */
	int fd;				  /* the output directory */
	const char *path;		  /* and its name, for messages */
};

/* How a part has ended. Strings must live until segment_close(). */
struct segment_end {
	const char *stopped_by, *trigger;
	int command_status; /* -1: none */
	bool aged;	    /* what was before `from` was seen, and is kept no more */
};

struct segment_result {
	uint64_t window_ns, events, records, bytes, threads, repairs, late, lost;
};

struct segment {
	const struct segment_plan *plan;
	unsigned number; /* 0: the only one */
	char name[16];	 /* below the output directory; "" is that itself */
	int fd;		 /* of its own directory; -1: the plan's */
	struct facts facts;
	struct topology topology;
	struct writer *writer;
	struct threads *threads;
	struct timeline *timeline; /* NULL until segment_begin() */
	uint64_t t0, t1;	   /* ns; t1 is 0 until segment_stop() */
	struct account_mark *from, *to;
	struct segment_result result; /* after segment_finish() */
};

/* Makes directory, writer and threads. With `several` the directory is `.next`. For
 * segment_close(). NULL after one message. */
struct segment *segment_open(const struct segment_plan *plan, bool several);

/* The window opens at t0. 0 or -errno after one message. */
int segment_begin(struct segment *segment, uint64_t t0) __attribute__((warn_unused_result));

/* The directory gets its name. 0 or -errno after one message. */
int segment_name(struct segment *segment, unsigned number) __attribute__((warn_unused_result));

/* The window closes at t1: records later than that write no event. */
void segment_stop(struct segment *segment, uint64_t t1);

/*
 * All records have been given: closes every stream, waits for the disk, and fills in
 * segment->result. segment->from and ->to tell the account, `tasks` who was woken and did not run
 * (NULL: not known). 0 or -errno after one message.
 */
int segment_finish(struct segment *segment, const struct account *account,
		   const struct snapshot_tasks *tasks, const struct segment_end *end)
	__attribute__((warn_unused_result));

/* Ends the writer and frees all. A directory that was never settled is removed. NULL is fine. */
void segment_close(struct segment *segment);

/* Removes part `number` from the disk. 0 or -errno after one message. */
int segment_remove(const struct segment_plan *plan, unsigned number)
	__attribute__((warn_unused_result));

#endif
