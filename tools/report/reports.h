/* SPDX-License-Identifier: MIT */
/*
 * reports: what ovni-report can tell, one file each (report_NAME.c).
 *
 * In: the walk of intervals.h; out: rows of a table. A report lists its columns, listens, and adds
 * its rows when the walk is over, or, if it streams, prints them as they come.
 */
#ifndef TOOLS_REPORT_REPORTS_H
#define TOOLS_REPORT_REPORTS_H

#include "trace/states/tid_names.h"
#include "tools/lib/filter.h"
#include "trace/states/intervals.h"
#include "tools/lib/table.h"

struct report {
	const struct report_kind *kind;
	const struct source *source;
	struct filter *filter;
	struct called called;
	struct table table;
	const struct runs *runs; /* when the walk is over */
	void *data;		 /* the report's own, zeroed, kind->size bytes for each stream */
	void *more;		 /* the report's own, kind->more bytes, zeroed */
};

struct report_kind {
	const char *name, *help;
	const struct table_column *columns;
	size_t ncolumns;
	const char *order; /* the column to sort by if none is given; NULL: as it comes */
	bool stream;	   /* prints rows as they come */
	bool whose;	   /* needs names */
	size_t size, more;
	/* Makes the rows of something else than a walk of the trace `path`, or NULL. 0, -ENOMEM, or
	 * -errno after one message. */
	int (*read)(struct report *report, const char *path);
	struct runs_listener listener;	    /* its arg is the struct report */
	int (*rows)(struct report *report); /* when the walk is over; 0 or -ENOMEM */
	void (*free)(struct report *report);
};

extern const struct report_kind report_latency, report_preempt, report_wake, report_timehist,
	report_cpu, report_func, report_counters;

/* Whether a run of this stream, at this time, is asked for. */
static inline bool report_wants(const struct report *report, uint32_t who, int64_t clock)
{
	return report->filter->streams[who] && clock >= report->filter->first &&
	       clock <= report->filter->last;
}

/* A clock as the tables show it: since the first event. */
static inline int64_t report_clock(const struct runs *runs, int64_t clock)
{
	return clock == CELL_UNKNOWN ? clock : clock_distance(runs->first, clock);
}

#endif
