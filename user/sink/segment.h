/* SPDX-License-Identifier: MIT */
/*
 * segment: one trace of a session, from its empty directory to its last stream.json.
 *
 * In: what all traces of the session have in common (the plan), and where the window of this one
 * begins; out: a directory that stands on its own. A session without rotation has one part, which
 * is the output directory itself; else part N is NNNN below that, and until it is used, `.next`.
 * Each has a writer, threads and a timeline of its own, so that one can be closed while the
 * next is being recorded.
 * Invariant: a part whose window was opened ends with part_finish(), which makes it a valid trace
 * or fails and says why.
 */
#ifndef USER_SINK_SEGMENT_H
#define USER_SINK_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/config/session_info.h"
#include "user/timeline/timeline.h"
#include "user/host/topology.h"

#define PART_NEXT ".next" /* the directory of a part that is not used yet */

struct account;
struct account_mark;
struct refusal;
struct snapshot_tasks;
struct threads;
struct writer;
struct writer_files;

/* The caller's; it outlives the parts. */
struct part_plan {
	struct facts facts;		  /* the first half */
	struct timeline_options timeline; /* but for t0 */
	const struct topology *topology;  /* is copied */
	struct calls *calls; /* of all parts, which each adds to at its end, one after the
				other; NULL: no probes */
	uint64_t max_bytes;  /* of one part; 0: none */
	const struct writer_files *files; /* NULL: the real ones */
	struct refusal *refusal;	  /* of the session; NULL: see writer.h */
	int fd;				  /* the output directory */
	const char *path;		  /* and its name, for messages */
};

/* How a part has ended. Strings must live until part_close(). */
struct part_end {
	const char *stopped_by, *trigger;
	int command_status; /* -1: none */
	bool aged;	    /* what was before `from` was seen, and is kept no more */
};

struct part_result {
	uint64_t window_ns, events, records, bytes, threads, repairs, late, lost;
};

struct part {
	const struct part_plan *plan;
	unsigned number; /* 0: the only one */
	char name[16];	 /* below the output directory; "" is that itself */
	int fd;		 /* of its own directory; -1: the plan's */
	struct facts facts;
	struct topology topology;
	struct writer *writer;
	struct threads *threads;
	struct timeline *timeline; /* NULL until part_begin() */
	uint64_t t0, t1;	   /* ns; t1 is 0 until part_stop() */
	struct account_mark *from, *to;
	struct part_result result; /* after part_finish() */
};

/* Makes directory, writer and threads. With `several` the directory is `.next`. For
 * part_close(). NULL after one message. */
struct part *part_open(const struct part_plan *plan, bool several);

/* The window opens at t0. 0 or -errno after one message. */
int part_begin(struct part *part, uint64_t t0) __attribute__((warn_unused_result));

/* The directory gets its name. 0 or -errno after one message. */
int part_settle(struct part *part, unsigned number) __attribute__((warn_unused_result));

/* The window closes at t1: records later than that write no event. */
void part_stop(struct part *part, uint64_t t1);

/*
 * All records have been given: closes every stream, waits for the disk, and fills in
 * part->result. part->from and ->to tell the account, `tasks` who was woken and did not run (NULL:
 * not known). 0 or -errno after one message.
 */
int part_finish(struct part *part, const struct account *account,
		const struct snapshot_tasks *tasks, const struct part_end *end)
	__attribute__((warn_unused_result));

/* Ends the writer and frees all. A directory that was never settled is removed. NULL is fine. */
void part_close(struct part *part);

/* Removes part `number` from the disk. 0 or -errno after one message. */
int part_remove(const struct part_plan *plan, unsigned number) __attribute__((warn_unused_result));

#endif
