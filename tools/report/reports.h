/* SPDX-License-Identifier: MIT */
/*
 * reports: the reports of ovni-report, one file each.
 *
 * In: the walk of intervals.h; out: rows of a table. A report lists its columns, listens to the
 * walk, and adds its rows at the end, or prints each row at once (`stream`).
 */
#ifndef TOOLS_REPORT_REPORTS_H
#define TOOLS_REPORT_REPORTS_H

#include "trace/states/tid_names.h"
#include "tools/lib/filter.h"
#include "tools/lib/terminal.h"
#include "tools/report/groups.h"
#include "trace/states/intervals.h"
#include "tools/lib/table.h"
#include "trace/efficiency/rank_times.h"

enum flame_form { FLAME_FOLDED, FLAME_SVG, FLAME_HTML };
enum flame_time { FLAME_WALL, FLAME_CPU, FLAME_RUNNABLE, FLAME_THROTTLED, FLAME_ASLEEP };

struct report {
	const struct report_kind *kind;
	const struct source *source;
	struct filter *filter;
	struct tid_names names;
	struct groups groups; /* if the kind has `by` */
	enum group_by by;     /* of the command line; BY_REPORT: not given */
	struct table table;
	const struct intervals *intervals; /* after the walk */
	bool damaged;			   /* that ended early, after one message */
	void *data; /* the report's own, zeroed, kind->size bytes for each stream */
	void *more; /* the report's own, kind->more bytes, zeroed */
	struct terminal terminal;
	bool pager; /* may be used */
	enum flame_form flame_form;
	enum flame_time flame_time;
	struct efficiency_settings efficiency;
	bool every_rank; /* efficiency: -n 0 */
	bool owners;	 /* critical --owners */
	size_t most;	 /* rows to print, 0: all, or as many as the report chooses */
};

struct report_kind {
	const char *name;
	const struct table_column *columns;
	size_t ncolumns;
	const char *order; /* default column to sort by; NULL: in the order of the rows */
	bool stream;	   /* prints each row at once */
	bool names;	   /* needs the names of threads */
	enum group_by by;  /* rows are of these groups, unless --by names others; BY_REPORT: no */
	bool only_threads; /* --by cannot name others */
	bool by_loom;	/* rows of groups of threads are those of one loom: one after the other */
	bool all_looms; /* needs the events of looms of which the filter selects no thread */
	size_t size, more;
	/* Adds the rows from another source than a walk of the trace `path`; or NULL. Returns 0,
	 * -ENOMEM, or -errno after one message. */
	int (*read)(struct report *report, const char *path);
	int (*init)(struct report *report); /* before the walk; 0, or -errno after one message */
	/* Walks the trace and prints everything itself, with names but without a table; or NULL.
	 * Returns as `read`. */
	int (*print)(struct report *report, const char *path);
	struct interval_listener listener;  /* its arg is the struct report */
	int (*rows)(struct report *report); /* after the walk; 0 or -ENOMEM */
	/* Prints lines below the table for people, or NULL. */
	void (*foot)(const struct report *report);
	void (*free)(struct report *report);
};

extern const struct report_kind report_latency, report_preempt, report_wake, report_timehist,
	report_cpu, report_func, report_counters, report_overview, report_timeline, report_why,
	report_flame, report_critical, report_latency_histogram, report_wake_period, report_func_by,
	report_critical_sum, report_blocked, report_locks, report_efficiency, report_stacks,
	report_messages, report_perf, report_perf_functions, report_io;

/* To be called before the first output: starts the pager on a terminal. */
static inline void report_output(struct report *report)
{
	if (report->pager)
		terminal_page(&report->terminal);
	report->pager = false;
}

/* Whether the filter accepts this stream at this clock. */
static inline bool report_wants(const struct report *report, uint32_t stream, int64_t clock)
{
	return report->filter->streams[stream] && clock >= report->filter->first &&
	       clock <= report->filter->last;
}

/* A clock as the tables show it: ns since the first event. */
static inline int64_t report_clock(const struct intervals *intervals, int64_t clock)
{
	return clock == CELL_UNKNOWN ? clock : clock_distance(intervals->first, clock);
}

#endif
