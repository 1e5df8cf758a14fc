/* SPDX-License-Identifier: MIT */
/*
 * whole: is a trace whole, and if not, why: all reasons.
 *
 * In: the metadata and the events of each stream, in any order; out: one sentence, which all
 * programs print, and the exit status. The recorder has written down what belongs to the trace:
 *
 *   of a stream    bpf.events, bpf.bytes, bpf.first, bpf.last
 *   of a trace     bpf.stacks_bytes, in one of its streams
 *   of a session   bpf.session.streams, .counts.events, .lost, .t0, .t1, .stats
 *   by a tool      bpf.recovered, bpf.incomplete
 *   of a job       job.json, node/NODE.json beside the looms
 *
 * A recorded stream has bpf.events. A trace without one, of another program, is whole if its
 * streams are finished: there is no evidence of more. Older recordings lack some numbers, and are
 * judged by those that they have. Invariant: no allocation per stream; numbers of a hostile trace
 * only saturate. Specification: event-mapping.md "Is a trace whole?".
 */
#ifndef TRACE_OVNI_WHOLE_H
#define TRACE_OVNI_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/json.h"
#include "trace/base/status.h"
#include "trace/ovni/stream.h"

#define WHOLE_KEY "bpf.incomplete" /* why the trace from which this one was made is not whole */

/* One kind of damage, and the streams that have it. */
struct whole_fault {
	uint64_t streams; /* that have it */
	char first[128];  /* path of one of them */
};

struct whole {
	uint64_t streams, recorded; /* recorded: by ovni-bpf */
	uint64_t unfinished, recovered;
	struct whole_fault missing, changed; /* events are missing; others than were written */
	uint64_t events_missing;	     /* in these streams */

	uint64_t sessions, closed; /* closed: with the end of its window */
	uint64_t open;		   /* without the end of its window */
	uint64_t unended;	   /* without a number that the recorder writes at its end */
	uint64_t with_streams;	   /* that count their streams */
	uint64_t lost, records;	   /* lost by recorders; dropped by producers of Loom runs */
	uint64_t with_lost;	   /* sessions that count their losses */
	uint64_t session_streams;  /* sums over the sessions */
	uint64_t session_events;   /* and of the streams: */
	uint64_t events;	   /* bpf.events */
	bool parts;		   /* cut or merged: its sessions may be those of more streams */
	bool no_stats;		   /* stats.json is missing */
	bool stacks_differ;	   /* the file `stacks` has not as many bytes as were written: */
	bool no_stacks;		   /* it is missing */
	uint64_t stacks_bytes;	   /* bytes that it has, */
	uint64_t stacks_written;   /* and that were written */

	uint64_t t0, t1;      /* of all windows; valid if a session is closed */
	uint64_t first, last; /* clocks of recorded streams, where they are known */
	bool has_clocks;
	char made_from[256]; /* WHOLE_KEY */
	char job[512];	     /* why the job of the trace is not whole (job_file.h) */
};

/* Takes the files of a job. whole_take() does with the first stream: for a trace without streams.
 */
void whole_take_job(struct whole *whole, int dirfd);

/*
 * Takes a stream: its path below the directory `dirfd` of the trace, its metadata, and the open
 * stream or NULL, which is rewound. Events are counted if the size of the file does not say how
 * many there are, or with `thorough`. A stream that cannot be read to its end is reported by its
 * readers.
 */
void whole_take(struct whole *whole, int dirfd, const char *path, const struct json *meta,
		struct stream *stream, bool thorough);

/* False: something is missing, or nothing is there. */
bool whole_is(const struct whole *whole);
/* False: the trace is whole as far as one can see, but has no count of its losses. */
bool whole_is_verified(const struct whole *whole);
/* The reasons, joined by semicolons: "" for none. `text` is also the result. */
#define WHOLE_TEXT 1024
const char *whole_text(const struct whole *whole, char text[WHOLE_TEXT]);
/* STATUS_COMPLETE, or STATUS_LOST after one warning with all reasons. */
enum status whole_report(const struct whole *whole, const char *path);

/* "2 repairs of switches that the kernel did not report", for all programs; with losses a repair
 * may have that cause, too. `text` is also the result. */
const char *whole_repairs(uint64_t repairs, bool losses, char text[WHOLE_TEXT]);

/*
 * For a tool that writes a trace. whole_describe() corrects the numbers of a recorded stream that
 * was written to `path` below `trace_fd`, from the file; 0, or -errno without a message.
 * whole_mark() adds the reasons of a trace that this one is made from; one stream has them.
 * whole_leave_files(): the stream has no stats.json and no file `stacks` beside its loom any more.
 * whole_count_stacks(): the file `stacks` of the trace `trace_fd` is written, so the metadata of
 * one of its streams say how large it is.
 */
int whole_describe(struct json *meta, int trace_fd, const char *path)
	__attribute__((warn_unused_result));
void whole_mark(struct json *meta, const struct whole *from);
void whole_leave_files(struct json *meta);
void whole_count_stacks(struct json *meta, int trace_fd);

#endif
