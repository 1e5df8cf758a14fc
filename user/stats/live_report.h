/* SPDX-License-Identifier: MIT */
/*
 * live_report: prints the progress of a session in one line, and a report at its end.
 *
 *   ovni-bpf: 3.2 s  512403 events/s  12.3 MB  14 threads  0 lost  fullest ring 3 %
 *
 *   ovni-bpf: recorded ovni: 3.210 s, 14 threads, 1644814 events, 22.1 MB, 512403 events/s
 *   ovni-bpf: recorded dir=ovni seconds=3.210 cpus=2 threads=14 events=1644814 ... lost=0
 *
 * The output goes to standard error. The live line is shown only on a terminal, at most five times
 * a second, and is cut to its width. The last line is for scripts: words without blanks; keys are
 * never renamed, new ones come at the end.
 */
#ifndef USER_STATS_LIVE_REPORT_H
#define USER_STATS_LIVE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/sink/segment.h"

struct finalizer_report;
struct cost;
struct event_counts;
struct stats_run;
struct time_stats;

struct summary_now {
	uint64_t now_ns; /* CLOCK_MONOTONIC */
	uint64_t events, bytes, threads, lost;
	double fullest; /* ring, as a part of its size */
};

struct summary_live {
	uint64_t start_ns, next_ns; /* of the session; when the line is due again */
	uint64_t last_ns, last_events;
	bool on;
};

/* Begins a live line, if standard error is a terminal and `wanted`. */
void summary_live_begin(struct summary_live *live, uint64_t now_ns, bool wanted);
/* Shows the line, which is due again at live->next_ns. */
void summary_live_show(struct summary_live *live, const struct summary_now *now);

/* One of several traces is complete. */
void summary_part(const char *dir, const struct finalizer_report *news);

struct summary_end {
	const char *dir, *kept; /* kept: the path of the earlier trace, or NULL */
	const char *stopped_by;
	struct segment_result sum; /* of all traces */
	uint32_t kinds;		   /* of events with a program; the others are off */
	bool streams;		   /* were written (--mode full) */
	bool keeps;		   /* only the newest events, in memory (--last) */
	bool verbose;		   /* also print the event counts of each CPU */
	unsigned ncpus, parts;
	const struct event_counts *counts;
	const struct stats_run *run; /* sums of the times; NULL: not known */
	const struct cost *cost;     /* of the recorder */
	bool command; /* there was one; its status is that of wait(), -1: it still runs */
	int command_status;
	int status; /* ours */
};

/* The end of the command in mode off. */
void summary_off(int command_status);

void summary_report(const struct summary_end *end);

/*
 * The threads that ran longest (--mode summary); all numbers of all threads are in stats.json.
 * Sorts the threads.
 *
 *   thread            tid      active    waiting     asleep   switches  preempted  wake-ups  moves
 *   worker-3         4711     1.204 s   12.10 ms    0.800 s       1203         31      1200      4
 */
void summary_table(struct time_stats *times);

/* "22.1 MB" into `out`, for people: three digits and a unit. */
void summary_bytes(char *out, size_t size, uint64_t bytes);

#endif
