/* SPDX-License-Identifier: MIT */
/*
 * filter: a selection of events by code, thread, process, loom and time.
 *
 * In: options of the command line, then events; out: whether an event is selected. Options of one
 * kind are alternatives; options of different kinds must all hold.
 */
#ifndef TOOLS_LIB_FILTER_H
#define TOOLS_LIB_FILTER_H

#include "tools/lib/event_map.h"
#include "trace/ovni/trace_input.h"
#include "tools/lib/usage.h"

struct filter {
	const char **patterns; /* of the MCV */
	const char **looms;
	int64_t *tids, *pids;
	size_t npatterns, nlooms, ntids, npids;
	struct moment from, to;

	/* filter_start(): */
	struct event_map *seen; /* 1: no, 2: yes */
	bool *streams;		/* of the source */
	int64_t first, last;	/* clocks, both included */
};

#define FILTER_OPTIONS(group)                                                                      \
	{"mcv",                                                                                    \
	 0x100,                                                                                    \
	 "PATTERN",                                                                                \
	 0,                                                                                        \
	 "Only events whose three characters match: ? is any one, "                                \
	 "* any rest ('OH*')",                                                                     \
	 group},                                                                                   \
		{"tid", 0x101, "TID", 0, "Only events of threads with this id", group},            \
		{"pid", 0x102, "PID", 0, "Only events of processes with this id", group},          \
		{"loom", 0x103, "LOOM", 0, "Only events of this loom", group},                     \
		{"from",                                                                           \
		 0x104,                                                                            \
		 "TIME",                                                                           \
		 0,                                                                                \
		 "Only events from this clock on, in ns; +TIME counts from the "                   \
		 "first event of the trace and takes ns, us, ms, s",                               \
		 group},                                                                           \
	{                                                                                          \
		"to", 0x105, "TIME", 0, "Only events up to this clock, which is included", group   \
	}

/* To be called from the argp parser of the tool. */
error_t filter_option(struct filter *filter, int key, char *arg, struct argp_state *state);

/* Selects the streams; *active: the filter excludes something. Returns 0 or -ENOMEM after one
 * message. */
int filter_start(struct filter *filter, const struct source *source, bool *active)
	__attribute__((warn_unused_result));
void filter_free(struct filter *filter);

bool filter_mcv(struct filter *filter, uint32_t mcv);

/* Whether the ids of a thread are selected; works without filter_start(). */
bool filter_ids(const struct filter *filter, int64_t pid, int64_t tid);

/* Whether the event is selected. */
static inline bool filter_event(struct filter *filter, uint32_t stream, const struct event *ev)
{
	return filter->streams[stream] && ev->clock >= filter->first && ev->clock <= filter->last &&
	       (!filter->npatterns || filter_mcv(filter, event_mcv(ev)));
}

#endif
