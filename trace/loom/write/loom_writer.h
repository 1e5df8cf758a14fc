/* SPDX-License-Identifier: MIT */
/*
 * loom_writer: what a simulator calls to record a run.
 *
 * In: one record for what a node does in a cycle, cycles never falling; out: RUN.trace.bin (the
 * records) and RUN.perf.json (counters, and the exact account of what is not in the
 * records and why). loom_writer_event() copies the record into a buffer of fixed size and does
 * nothing else, unless it is told to write a full buffer by itself (LOOM_BLOCK).
 * Invariants: what is written breaks no rule that `ovni-loom check` calls an error; the same
 * calls give the same bytes; seen = written + filtered + sampled_out + dropped; counters are
 * taken before filters, sampling and drops, so none of these falsifies a metric.
 * Needs nothing but libc: `cc sim.c -lovni-loom`. A writer is used by one thread at a time; several
 * writers, of different runs, share nothing.
 *
 *	struct loom_writer_options options = {.mode = LOOM_FULL, .period_ps = 1250};
 *	struct loom_writer *w;
 *	struct loom_record r = {.epoch_id = 1, .invocation_id = 1};
 *
 *	if (loom_writer_open(&w, "run", &options))
 *		return 1;
 *	r.event_kind = LOOM_INVOCATION_START;
 *	loom_writer_event(w, &r);
 *	...
 *	return loom_writer_close(w, NULL) ? 1 : 0;
 *
 * Specification: loom.md 2, 5.4, 7, 8, 11.
 */
#ifndef TRACE_LOOM_WRITE_LOOM_WRITER_H
#define TRACE_LOOM_WRITE_LOOM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/controls.h"
#include "trace/loom/loom_record.h"
#include "trace/loom/style.h"

#ifdef __cplusplus
extern "C" {
#endif

enum loom_mode {
	LOOM_FULL,    /* records and counters */
	LOOM_SUMMARY, /* counters alone: no trace file */
	LOOM_OFF,     /* nothing is counted, nothing is written */
};

enum loom_written { LOOM_AS_LTRC, LOOM_AS_PACKED38, LOOM_AS_NATURAL48 };

enum loom_statistics {
	LOOM_STATISTICS_OURS, /* RUN.perf.json, schema loom-perf */
	/*
	 * RUN.stat, as upstream's simulators write it: of one core, the last invocation, and style
	 * cycle. It cannot declare a clock, filters, sampling or drops: they are refused. Writes of
	 * configuration, which records attribute to no node, stand at the first one.
	 */
	LOOM_STATISTICS_LEGACY,
};

/* What happens to a record when the buffer is full. */
enum loom_on_full {
	LOOM_BLOCK,    /* the buffer is written first: nothing is ever dropped */
	LOOM_DROP_NEW, /* it is dropped, until loom_writer_flush() has made room */
	LOOM_DROP_OLD, /* it takes the place of the oldest: the end of the run is kept */
};

/* All zero, and NULL, is: everything, written as it fills the buffer. */
struct loom_writer_options {
	enum loom_mode mode;
	enum loom_written as;  /* the layout of the trace file */
	enum loom_style style; /* what a record of a node covers (loom.md 4.3) */
	enum loom_on_full on_full;
	size_t buffer_records; /* 0: 65536 */
	/*
	 * Filters and sampling; NULL: everything. Starts and ends of invocations and configuration
	 * writes are of the core: a choice of nodes lets them through. The caller's, until close.
	 */
	struct loom_controls *controls;
	/*
	 * The records of a cycle are put in an order that does not depend on that of the calls: by
	 * epoch; configuration writes, starts, nodes, errors, ends; by core, node and lane.
	 */
	bool sort_cycles;
	/*
	 * 0, or: the counters of an invocation are also written whenever it passes a multiple of so
	 * many cycles, from its start up to there. They go to the file at once: memory does not
	 * follow the length of the run.
	 */
	uint64_t snapshot_cycles;
	enum loom_statistics statistics;
	uint64_t period_ps;   /* of a cycle; 0: 1000 */
	const char *producer; /* for the summary; NULL: "ovni-loom writer" */
	/* What a run that is written once more has lost before: of ovni-loom itself, else NULL. */
	const struct loom_carried *carried;
};

/* Records: seen = written + filtered + sampled_out + dropped. */
struct loom_account {
	uint64_t seen, written, filtered, sampled_out, dropped;
	uint64_t refused; /* not seen: they broke a rule */
};

struct loom_writer; /* NULL is one in mode off: every call below takes it and does nothing */

/*
 * Starts a run: makes RUN.trace.bin (in mode full) and the statistics. What an earlier run of that
 * name left is replaced: its trace, too, in mode summary. RUN is a path; links are not followed at
 * its end. Returns 0 with the writer in *w (NULL in mode off), or -errno with NULL: a file cannot
 * be made, -EINVAL options that contradict each other, no name, -ENOMEM.
 */
int loom_writer_open(struct loom_writer **w, const char *run,
		     const struct loom_writer_options *options) __attribute__((warn_unused_result));

/*
 * Records one event. Returns 0 when it was taken (kept, or counted as filtered, sampled out or
 * dropped). A record that would break the run is refused, counted as such, and changes nothing:
 * -ERANGE its cycle is before the one before it; -EPROTO it stands outside of its invocation,
 * is a second start or end of one, a start after records of its nodes, or with upstream's
 * statistics of another core than the first. -ENOMEM; with LOOM_BLOCK also what writing failed
 * with.
 *
 * A core that starts an invocation itself has to end it itself. One that does not belongs to it
 * until all cores that have started it have ended it.
 */
int loom_writer_event(struct loom_writer *w, const struct loom_record *record);

/* Says that there is this node: it is in the statistics, as idle, even if it never has an event. 0
 * or -ENOMEM. */
int loom_writer_node(struct loom_writer *w, uint16_t core, uint32_t node);

/* Adds tokens that a node took in and gave out: counters only, in the invocation of the node's last
 * event or, before it has had one, of its first. 0, or -ENOENT if nobody has named the node yet. */
int loom_writer_tokens(struct loom_writer *w, uint16_t core, uint32_t node, uint64_t in,
		       uint64_t out);

/* Writes what is buffered, outside of the simulator's hot path. 0 or -errno; after a failure
 * what could not be written is counted as dropped. */
int loom_writer_flush(struct loom_writer *w) __attribute__((warn_unused_result));

/* The account so far: records that wait in the buffer are in `seen` alone. */
struct loom_account loom_writer_account(const struct loom_writer *w);

/*
 * Ends the run: writes what is buffered, the number of records into the header, and the statistics.
 * The writer is freed in any case. *account, if not NULL, gets the final account. Returns 0, or
 * -errno of the first failure of the run.
 */
int loom_writer_close(struct loom_writer *w, struct loom_account *account)
	__attribute__((warn_unused_result));

#ifdef __cplusplus
}
#endif

#endif
