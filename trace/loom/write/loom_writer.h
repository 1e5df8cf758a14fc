/* SPDX-License-Identifier: MIT */
/*
 * loom_writer: records a run of a simulator.
 *
 * In: one record per activity of a node in a cycle, with cycles that do not decrease; out:
 * RUN.trace.bin (the records) and RUN.perf.json (counters, and the exact number of missing records
 * with the reason). loom_writer_event() copies the record into a buffer of fixed size, and writes a
 * full buffer only with LOOM_BLOCK.
 * Invariants: `ovni-loom check` finds no error in the output; the same calls give the same bytes;
 * seen = written + filtered + sampled_out + dropped; counters precede filters, sampling and drops,
 * so none of these changes a metric.
 * Needs only libc: `cc sim.c -lovni-loom`. One thread at a time may use a writer; writers of
 * different runs share no data.
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
 * Specification: loom.md 2, 5.4, 7, 8, 11, 13.
 */
#ifndef TRACE_LOOM_WRITE_LOOM_WRITER_H
#define TRACE_LOOM_WRITE_LOOM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/controls.h"
#include "trace/loom/loom_record.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum loom_mode {
	LOOM_FULL,    /* writes records and counters */
	LOOM_SUMMARY, /* writes counters alone: no trace file */
	LOOM_OFF,     /* counts and writes nothing */
};

enum loom_written { LOOM_AS_LTRC, LOOM_AS_PACKED38, LOOM_AS_NATURAL48 };

enum loom_statistics {
	LOOM_STATISTICS_OURS, /* RUN.perf.json, schema loom-perf */
	/*
	 * RUN.stat, as simulators of upstream write it: for one core, the last invocation, and
	 * style cycle. It cannot declare a clock, filters, sampling or drops: they are refused.
	 * Writes of configuration, which have no node in the records, are counted for the first
	 * node.
	 */
	LOOM_STATISTICS_LEGACY,
};

/* Handling of a record when the buffer is full. */
enum loom_on_full {
	LOOM_BLOCK,    /* write the buffer first: no record is dropped */
	LOOM_DROP_NEW, /* drop it, until the next loom_writer_flush() */
	LOOM_DROP_OLD, /* drop the oldest one: the end of the run is kept */
};

/* All zero, or NULL: all records, written whenever the buffer is full. */
struct loom_writer_options {
	enum loom_mode mode;
	enum loom_written as;  /* the layout of the trace file */
	enum loom_style style; /* duration of a record of a node (loom.md 4.3) */
	enum loom_on_full on_full;
	size_t buffer_records; /* 0: 65536 */
	/*
	 * Filters and sampling; NULL: all records. Starts and ends of invocations and configuration
	 * writes belong to the core and pass the filter of nodes. The caller keeps it until close.
	 */
	struct loom_controls *controls;
	/*
	 * Sorts the records of a cycle, so that their order does not depend on the order of calls:
	 * by epoch; configuration writes, starts, nodes, errors, ends; by core, node and lane.
	 */
	bool sort_cycles;
	/*
	 * If not 0, the counters of an invocation since its start are also written at multiples of
	 * so many cycles. They go to the file at once: memory does not follow the length of the
	 * run.
	 */
	uint64_t snapshot_cycles;
	enum loom_statistics statistics;
	uint64_t period_ps;   /* of a cycle; 0: 1000 */
	const char *producer; /* for the statistics; NULL: "ovni-loom writer" */
	/* private to ovni-loom: earlier losses of a run that is rewritten; else NULL */
	const struct loom_carried *carried;
};

/* Records: seen = written + filtered + sampled_out + dropped. */
struct loom_account {
	uint64_t seen, written, filtered, sampled_out, dropped;
	uint64_t refused; /* refused by a rule, and not in `seen` */
};

struct loom_writer; /* NULL for mode off: the functions below accept it and do nothing */

/*
 * Starts a run: creates RUN.trace.bin (in mode full) and the statistics. Replaces the files of an
 * earlier run of that name; mode summary removes its trace. RUN is a path; symbolic links at its
 * end are not followed. Settings of the user in OVNI_LOOM replace options (ovni-loom-writer(3)):
 * with a channel, the run goes to `ovni-loom record`, and there is no file. Returns 0 with the
 * writer in *w (NULL in mode off), or -errno with NULL: of a file that cannot be created, -EINVAL
 * for contradictory options, wrong settings or an empty name, -ECONNREFUSED, -ENOMEM.
 */
int loom_writer_open(struct loom_writer **w, const char *run,
		     const struct loom_writer_options *options) __attribute__((warn_unused_result));

/*
 * Records one event. Returns 0 for an accepted record: kept, or counted as filtered, sampled out or
 * dropped. A record that violates a rule is refused and counted, without another change: -ERANGE
 * for a decreasing cycle; -EPROTO outside its invocation, for a second start or end, for a start
 * after records of its nodes, or, with statistics of upstream, for another core than the first.
 * Also returns -ENOMEM, and with LOOM_BLOCK the error of writing.
 *
 * A core that starts an invocation must end it. Any other core belongs to the invocation until all
 * cores with a start have an end.
 */
int loom_writer_event(struct loom_writer *w, const struct loom_record *record);

/* Declares a node, which is in the statistics even without an event. Returns 0 or -ENOMEM. */
int loom_writer_node(struct loom_writer *w, uint16_t core, uint32_t node);

/*
 * Adds input and output tokens of a node, to counters only, in the invocation of its last event, or
 * of its first one to come. Returns 0, or -ENOENT for an unknown node.
 */
int loom_writer_tokens(struct loom_writer *w, uint16_t core, uint32_t node, uint64_t in,
		       uint64_t out);

/*
 * Ties an invocation to its host: the clock of the host's call, in ns of CLOCK_MONOTONIC (the clock
 * of ovni-bpf), or 0 for now. `ovni-loom import` puts the start of the invocation there. Call it
 * once for an invocation, before its end or after it. Returns 0; -EEXIST if it has a clock; -EINVAL
 * for a negative one; -ENOTSUP with statistics of upstream, which have no place for it; -ENOMEM.
 */
int loom_writer_anchor(struct loom_writer *w, uint32_t epoch_id, uint64_t invocation_id,
		       int64_t clock_ns);

/*
 * Writes the buffer; call it outside the hot path of the simulator. Returns 0 or -errno; records
 * that could not be written count as dropped.
 */
int loom_writer_flush(struct loom_writer *w) __attribute__((warn_unused_result));

/* The counts so far: buffered records are only in `seen`. */
struct loom_account loom_writer_account(const struct loom_writer *w);

/*
 * Ends the run: writes the buffer, the number of records in the header, and the statistics; frees
 * the writer in all cases. *account, if not NULL, gets the final counts. Returns 0, or -errno of
 * the first failure of the run.
 */
int loom_writer_close(struct loom_writer *w, struct loom_account *account)
	__attribute__((warn_unused_result));

/* The reason for an error of these functions, 0 or -errno, in English: "the cycle is lower than
 * that of the record before". Thread-safe; for -EINVAL the reason of the last loom_writer_open() of
 * the thread, until its next one. */
const char *loom_writer_strerror(int error);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
