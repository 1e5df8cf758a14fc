/* SPDX-License-Identifier: MIT */
/*
 * report counters: use of the time of each thread, as the recorder counted it.
 *
 *   thread          pid      life    active   waiting    asleep  unknown  switches  preempted ...
 *   all 3 threads     -  30.021 s   9.120 s   1.204 s  19.697 s     0 ns      9120        310 ...
 *   worker (1204)  1200  10.002 s   3.904 s  21.40 ms   6.076 s     0 ns      5310         12 ...
 *
 * In: stats.json of a recording, of mode summary or full; out: a row of each thread, and of all.
 * The counts come from before filters and losses, so they may cover more than the streams.
 * Specification: loom.md 12; ovni-stats(5).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/report/reports.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stats_file.h"

static const struct table_column columns[] = {
	{"thread", "thread", CELL_TEXT, 16},	       {"pid", "pid", CELL_COUNT, 6},
	{"life", "life", CELL_DURATION, 10},	       {"active", "active", CELL_DURATION, 10},
	{"runnable", "waiting", CELL_DURATION, 10},    {"blocked", "asleep", CELL_DURATION, 10},
	{"unknown", "unknown", CELL_DURATION, 10},     {"switches", "switches", CELL_COUNT, 6},
	{"preempted", "preempted", CELL_COUNT, 6},     {"wakeups", "wake-ups", CELL_COUNT, 6},
	{"migrations", "moves", CELL_COUNT, 6},	       {"calls", "calls", CELL_COUNT, 6},
	{"throttled", "throttled", CELL_DURATION, 10},
};

/* The columns after the name and the pid. */
static const enum stats_key counters[] = {
	STATS_TOTAL_NS,		  STATS_ACTIVE_NS,
	STATS_RUNNABLE_NS,	  STATS_BLOCKED_NS,
	STATS_UNKNOWN_NS,	  STATS_SWITCHES_VOLUNTARY,
	STATS_SWITCHES_PREEMPTED, STATS_WAKEUPS,
	STATS_MIGRATIONS,	  STATS_CALLS,
	STATS_THROTTLED_NS,
};
#define NCOUNTERS (sizeof(counters) / sizeof(counters[0]))
_Static_assert(NCOUNTERS + 2 == sizeof(columns) / sizeof(columns[0]), "a counter for each column");

/* Takes the ownership of `name`. */
static int add(struct report *report, const struct stats_line *line, char *name, int64_t pid)
{
	union cell row[NCOUNTERS + 2] = {{.text = name}, {.number = pid}};

	for (size_t i = 0; i < NCOUNTERS; i++) {
		uint64_t value = line->values[counters[i]];

		row[i + 2].number = stats_has(line, counters[i]) && value <= INT64_MAX
					    ? (int64_t)value
					    : CELL_UNKNOWN;
	}
	return table_add(&report->table, row);
}

static int add_line(struct report *report, const struct stats_line *line)
{
	const struct filter *filter = report->filter;
	char *name;
	int n;

	if (line->values[STATS_INTERVAL])
		return 0;
	if (line->scope == STATS_RUN && !filter->ntids && !filter->npids && !filter->ncomms) {
		n = asprintf(&name, "all %llu thread%s",
			     (unsigned long long)line->values[STATS_THREADS],
			     plural(line->values[STATS_THREADS], "", "s"));
		return add(report, line, n < 0 ? NULL : name, CELL_UNKNOWN);
	}
	if (line->scope != STATS_THREAD ||
	    !filter_ids(filter, (int64_t)line->values[STATS_PID],
			(int64_t)line->values[STATS_TID]) ||
	    !filter_name(filter, line->comm))
		return 0;
	n = asprintf(&name, "%s (%llu)", line->comm, (unsigned long long)line->values[STATS_TID]);
	return add(report, line, n < 0 ? NULL : name, (int64_t)line->values[STATS_PID]);
}

/* The path of the file, for free(): `path` itself, or the one in a trace; *at is for input_open().
 * NULL after one message. */
static char *find(const char *path, int *at)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	const char *name = NULL;
	char *file;

	if (dir >= 0) {
		name = stats_find(dir);
		close(dir);
	}
	if (dir >= 0 && !name) {
		log_error("%s: no " STATS_FILE
			  " in this directory: recordings of ovni-bpf have one; a recording "
			  "of several traces has one for all, beside them",
			  path);
		return NULL;
	}
	*at = name ? INPUT_BESIDE : AT_FDCWD;
	file = name ? xasprintf("%s/%s", path, name) : strdup(path);
	if (!file)
		log_lack("while reading %s", path);
	return file;
}

static int read_file(struct report *report, const char *path)
{
	struct recorded_stats stats;
	int at, err;
	char *file = find(path, &at);

	if (!file)
		return -ENOENT;
	err = recorded_stats_load(&stats, at, file);
	if (err)
		goto out;
	for (size_t i = 0; i < stats.nlines; i++) {
		err = add_line(report, &stats.lines[i]);
		if (err)
			goto out;
	}
out:
	recorded_stats_free(&stats);
	free(file);
	return err;
}

const struct report_kind report_counters = {
	.name = "counters",
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.order = "active",
	.read = read_file,
};
