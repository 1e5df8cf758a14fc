/* SPDX-License-Identifier: MIT */
/*
 * live_report: prints the progress of a session in one line, and a report at its end.
 *
 *   ovni-bpf: 3.2 s  512403 events/s  12.3 MB  14 threads  0 lost  fullest ring 3 %
 *
 *   ovni-bpf: ovni: 3.210 s on 2 CPUs, 14 threads, 1644814 events (512403/s), 22.1 MB
 *   ovni-bpf: recorded dir=ovni seconds=3.210 cpus=2 threads=14 events=1644814 ... lost=0
 *
 * The output goes to standard error. The live line is shown only on a terminal, at most five times
 * a second, and is cut to its width. The table of event counts is printed with -v, and where it
 * says something that nobody asked for. The last line is for scripts, and nothing follows it: words
 * without blanks; keys are never renamed, new ones come at the end.
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
	bool verbose;		   /* print the event counts, of each CPU, too */
	bool filters;  /* events are filtered on purpose: a target, --comm, -C, --events, ... */
	bool overview; /* an overview follows: leave out its facts */
	unsigned ncpus, parts;
	const struct event_counts *counts;
	/* The longest time for which no buffer was read until one was full; of it, the time for
	 * which the recorder waited for a CPU; and the stolen time of all CPUs. ns; 0: none, or
	 * not known. */
	uint64_t unread_ns, without_cpu_ns, stolen_ns;
	uint64_t user_stacks_unknown; /* stacks whose frames of user code are not known */
	bool stacks_copied;	      /* USER_STACKS_AT_SWITCH */
	const struct stats_run *run;  /* sums of the times; NULL: not known */
	const struct cost *cost;      /* of the recorder */
	bool command; /* there was one; its status is from wait(), -1: it still runs */
	int command_status;
	const char *trace; /* the newest one that is complete; NULL: none */
	bool emulated;	   /* it has files for Paraver */
	bool page;	   /* DIR.html has been made of it */
	int status;	   /* ours */
	int killed_by;	   /* the signal that ends us instead; 0: none */
};

/* The end of the command in mode off. */
void summary_off(int command_status);

/* The report, from the losses to the line about the trace. */
void summary_report(const struct summary_end *end);
/* Shares of time and cost: in the report, unless an overview follows. */
void summary_times(const struct summary_end *end);
/* The end of the command. */
void summary_command(const struct summary_end *end);
/* Prints the next commands to try, on a terminal. */
void summary_next(const struct summary_end *end);
/* The line for scripts, after everything else. */
void summary_last(const struct summary_end *end);

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
