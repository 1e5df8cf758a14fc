/* SPDX-License-Identifier: MIT */
/*
 * filter: a selection of events by code, thread, process, rank, loom and time.
 *
 * In: options of the command line, then events; out: whether an event is selected. Options of one
 * kind are alternatives; options of different kinds must all hold.
 */
#ifndef TOOLS_LIB_FILTER_H
#define TOOLS_LIB_FILTER_H

#include "tools/lib/event_map.h"
#include "trace/ovni/trace.h"
#include "trace/base/cli.h"

/* A clock in ns, the time since the first event of the trace, or the local time of day of the
 * recording: "1204", "+1.5s", "03:12:05.250". */
struct moment {
	bool given, relative, daytime;
	int64_t ns; /* daytime: since midnight */
};

struct filter {
	const char **patterns; /* of the MCV */
	const char **looms;
	int64_t *tids, *pids;
	const char **comms; /* globs of thread names */
	const char *ranks;  /* of MPI: a list of cli_ranks(); NULL: all */
	size_t npatterns, nlooms, ntids, npids, ncomms;
	struct moment from, to;

	/* filter_start(): */
	struct event_map *seen; /* 1: no, 2: yes */
	bool *streams;		/* of the source */
	bool none;		/* no stream is selected, and a warning says so */
	int64_t first, last;	/* clocks, both included */
};

/* The parser of an option (trace/base/cli.h) with a moment. The number may have a unit: s, ms, us
 * or ns. A time of day has hours, minutes and seconds, and may have a fraction. */
int moment_option(const struct cli_option *option, const char *text, void *to);
/* The clock of the moment in a trace whose first event has the clock `start`; clamped. `trace` is
 * read for a time of day only (NULL: there is none). Returns 0, or -errno after one message. */
int moment_clock(const struct moment *moment, const struct trace *trace, int64_t start,
		 int64_t *clock) __attribute__((warn_unused_result));
/* Parsers of options whose value is a struct filter. */
int filter_add_pattern(const struct cli_option *option, const char *text, void *to);
int filter_add_tid(const struct cli_option *option, const char *text, void *to);
int filter_add_pid(const struct cli_option *option, const char *text, void *to);
int filter_add_loom(const struct cli_option *option, const char *text, void *to);
int filter_add_comm(const struct cli_option *option, const char *text, void *to);

/* Whether it selects threads by an option; else all of them. */
bool filter_has_threads(const struct filter *filter);

/* Selects the streams of a source that has its owners. Returns 0, or -ENOMEM after one message. */
int filter_choose(struct filter *filter, const struct source *source)
	__attribute__((warn_unused_result));
/* The same, if that was not called, and warns if there are none; *active: the filter excludes
 * something. Returns 0 or -errno after one message, as for a part that ends before it begins. */
int filter_start(struct filter *filter, const struct source *source, bool *active)
	__attribute__((warn_unused_result));
/* Warns if the part of the trace has none of its events, which are from `first` to `last`. */
void filter_check_part(const struct filter *filter, const struct source *source, int64_t first,
		       int64_t last);
void filter_free(struct filter *filter);

bool filter_mcv(struct filter *filter, uint32_t mcv);

/* Whether the ids of a thread are selected; works without filter_start(). */
bool filter_ids(const struct filter *filter, int64_t pid, int64_t tid);
/* The same for the name of a thread, NULL: not known. */
bool filter_name(const struct filter *filter, const char *name);

/* Whether the event is selected. */
static inline bool filter_event(struct filter *filter, uint32_t stream, const struct event *ev)
{
	return filter->streams[stream] && ev->clock >= filter->first && ev->clock <= filter->last &&
	       (!filter->npatterns || filter_mcv(filter, event_mcv(ev)));
}

#endif
