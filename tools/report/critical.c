/* SPDX-License-Identifier: MIT */
/*
 * report critical: why a thread reached a moment no sooner, from the first clock to the last one.
 *
 *        from        to       time  percent  thread         state     reason  by
 *    0.000000  0.002050   2.050 ms     1.94  chain (1204)   running
 *    0.005100  0.095120  90.020 ms    85.30  holder (1207)  asleep    sleeping  interrupt
 *    0.095150  0.095180  30.100 us     0.03  stage1 (1208)  runnable  woken     holder (1207)
 *
 * critical --sum: the same time by thread, state, reason and other thread. --owners: the owner of
 * the lock on which a thread sleeps is followed.
 *
 * In: a walk of the trace, and the one thread that the filter selects; out: the segments of its
 * path (critical_path.h), which add up to the window in ns. For people, neighbouring segments
 * shorter than a thousandth of the path are one row. Specification: why.md, part D.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/analysis/critical_path.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define SHORT_PART 1000 /* of the path: shorter segments share a row */

struct critical {
	struct critical_path path;
	uint32_t stream; /* the thread at the end of the path */
	int64_t from, to;
	char *thread;
};

static int init(struct report *report)
{
	struct critical *critical = report->more;
	int err = critical_path_init(&critical->path, report->source, report->filter->first,
				     report->filter->last);

	critical->path.owners = report->owners;
	return err;
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct critical *critical = ((struct report *)arg)->more;

	return critical_path_step(&critical->path, intervals, stream, ev);
}

static void release(struct report *report)
{
	struct critical *critical = report->more;

	free(critical->thread);
	critical_path_fini(&critical->path);
}

/* ---- the thread and the window ---- */

/* The selected thread; of several of one process, its main thread. */
static int choose_thread(const struct report *report, uint32_t *stream)
{
	const struct owner *owners = report->source->owners, *first = NULL, *leader = NULL;
	size_t selected = 0, processes = 1;

	for (uint32_t i = 0; i < report->source->trace.nstreams; i++) {
		if (!report->filter->streams[i] || !owners[i].thread)
			continue;
		selected++;
		if (!first)
			first = &owners[i];
		if (owners[i].pid != first->pid || strcmp(owners[i].loom, first->loom) != 0)
			processes++;
		if (owners[i].tid == owners[i].pid)
			leader = &owners[i];
	}
	if (selected == 1)
		leader = first;
	if (processes > 1)
		leader = NULL;
	if (leader) {
		*stream = (uint32_t)(leader - owners);
		return 0;
	}
	if (report->filter->none)
		return -EINVAL; /* after a warning */
	if (report->damaged)
		return -EINVAL; /* after a message */
	if (!selected)
		log_error("%s has no such thread", report->source->trace.path);
	else
		log_error(
			"a critical path ends in one thread, and %zu are selected: choose one with "
			"--tid TID, or a process with --pid PID (ovni-info lists them)",
			selected);
	return -EINVAL;
}

/* From the begin of the window, or of the trace, to its end, or that of the thread. */
static int choose_window(struct report *report)
{
	struct critical *critical = report->more;
	int64_t from = report->filter->first, to, born;

	critical->thread = tid_names_of_stream(&report->names, critical->stream);
	if (!critical->thread)
		return -ENOMEM;
	if (!critical_path_life(&critical->path, critical->stream, &born, &to)) {
		if (!report->damaged)
			log_error("%s: %s has no time in the window", report->source->trace.path,
				  critical->thread);
		return -EINVAL;
	}
	critical->from = from > report->intervals->first ? from : report->intervals->first;
	critical->to = to;
	return 0;
}

static int find(struct report *report)
{
	struct critical *critical = report->more;
	int err = critical_path_finish(&critical->path, report->intervals);

	if (err)
		return err;
	err = choose_thread(report, &critical->stream);
	if (err)
		return err;
	err = choose_window(report);
	if (err)
		return err;
	return critical_path_find(&critical->path, &report->intervals->walk, critical->stream,
				  critical->from, critical->to);
}

/* ---- words ---- */

static const char *state_of(const struct critical_segment *segment)
{
	if (segment->kind == CRITICAL_WAKING)
		return "wake-up";
	return segment->kind == CRITICAL_ABSENT ? "not recorded" : time_use_state(segment->use);
}

static const char *reason_of(const struct critical_segment *segment)
{
	static const char *const waits[] = {[MPI_WAIT_SENDER] = "late sender",
					    [MPI_WAIT_RECEIVER] = "late receiver",
					    [MPI_WAIT_LAST] = "last in collective"};

	if (segment->mpi)
		return waits[segment->mpi];
	return segment->kind == CRITICAL_STATE ? time_use_reason(segment->use) : "";
}

static char *by_of(const struct report *report, const struct critical_segment *segment)
{
	if (segment->mpi)
		return tid_names_of_stream(&report->names, segment->other);
	return segment->by ? tid_names_of_tid(&report->names, segment->stream, segment->by)
			   : strdup("");
}

/* ---- the segments ---- */

static const struct table_column columns[] = {
	{"from", "from", CELL_CLOCK, 10},	  {"to", "to", CELL_CLOCK, 10},
	{"time", "time", CELL_DURATION, 10},	  {"percent", "percent", CELL_PERCENT, 7},
	{"thread", "thread", CELL_TEXT, 16},	  {"tid", "tid", CELL_COUNT, 6, SHOW_DATA},
	{"pid", "pid", CELL_COUNT, 6, SHOW_DATA}, {"state", "state", CELL_TEXT, 8},
	{"reason", "reason", CELL_TEXT, 9},	  {"by", "by", CELL_TEXT, 16},
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

/* A row of the segments a..b; for more than one, without a thread. */
static int add_row(struct report *report, const struct critical_segment *a,
		   const struct critical_segment *b)
{
	const struct critical *critical = report->more;
	const struct owner *owner = &report->source->owners[a->stream];
	int64_t ns = clock_distance(a->from, b->to);
	union cell row[NCOLUMNS] = {{.text = NULL}};

	row[0].number = report_clock(report->intervals, a->from);
	row[1].number = report_clock(report->intervals, b->to);
	row[2].number = ns;
	row[3].number = table_percent(ns, clock_distance(critical->from, critical->to));
	row[5].number = owner->tid;
	row[6].number = owner->pid;
	if (a == b) {
		row[4].text = tid_names_of_stream(&report->names, a->stream);
		row[7].text = strdup(state_of(a));
		row[8].text = strdup(reason_of(a));
		row[9].text = by_of(report, a);
	} else {
		row[4].text = xasprintf("%td short segments", b - a + 1);
		row[7].text = strdup("");
		row[8].text = strdup("");
		row[9].text = strdup("");
	}
	return table_add(&report->table, row);
}

static int rows(struct report *report)
{
	struct critical *critical = report->more;
	const struct critical_path *path = &critical->path;
	int64_t least = 0;
	int err = find(report);

	if (err)
		return err;
	if (report->table.format == TABLE_TEXT)
		least = clock_distance(critical->from, critical->to) / SHORT_PART;
	for (size_t i = 0, end; i < path->nsegments; i = end) {
		for (end = i; end < path->nsegments; end++)
			if (clock_distance(path->segments[end].from, path->segments[end].to) >=
			    least)
				break;
		if (end == i)
			end++;
		err = add_row(report, &path->segments[i], &path->segments[end - 1]);
		if (err)
			return err;
	}
	return 0;
}

static void foot(const struct report *report)
{
	const struct critical *critical = report->more;
	const struct critical_path *path = &critical->path;
	int64_t sums[TIME_CLASSES] = {0}, waking = 0, absent = 0;
	char text[DURATION_TEXT];
	size_t hops = 0, calls = 0;

	for (size_t i = 0; i < path->nsegments; i++) {
		const struct critical_segment *segment = &path->segments[i];
		int64_t ns = clock_distance(segment->from, segment->to);

		hops += segment->hop && !segment->mpi;
		calls += segment->mpi != 0;
		if (segment->kind == CRITICAL_WAKING)
			waking = clock_sum(waking, ns);
		else if (segment->kind == CRITICAL_ABSENT)
			absent = clock_sum(absent, ns);
		else
			sums[time_use_class(segment->use)] =
				clock_sum(sums[time_use_class(segment->use)], ns);
	}
	printer_format(report->table.out,
		       "\nThe path to %s has %s in %zu %s, with %zu %s to a waker or creator",
		       critical->thread,
		       duration_words(text, clock_distance(critical->from, critical->to)),
		       path->nsegments, plural(path->nsegments, "segment", "segments"), hops,
		       plural(hops, "hop", "hops"));
	if (path->mpi.any)
		printer_format(report->table.out, ", and %zu in calls of MPI", calls);
	printer_format(report->table.out, ":\n");
	printer_format(report->table.out, "%s running", duration_words(text, sums[CLASS_RUNNING]));
	printer_format(report->table.out, ", %s runnable",
		       duration_words(text, sums[CLASS_RUNNABLE]));
	if (sums[CLASS_THROTTLED])
		printer_format(report->table.out, ", %s throttled",
			       duration_words(text, sums[CLASS_THROTTLED]));
	printer_format(report->table.out, ", %s asleep", duration_words(text, sums[CLASS_ASLEEP]));
	printer_format(report->table.out, ", %s in wake-ups", duration_words(text, waking));
	printer_format(report->table.out, ", %s unknown",
		       duration_words(text, sums[CLASS_UNKNOWN]));
	if (absent)
		printer_format(report->table.out, ", %s not recorded",
			       duration_words(text, absent));
	printer_format(report->table.out, ".\n");
	if (path->mpi.any && !path->mpi.whole)
		printer_format(
			report->table.out,
			"Collectives are not followed: not all ranks are there, or they do not "
			"call the same ones.\n");
	if (path->owners)
		printer_format(report->table.out,
			       "%zu %s on locks replaced with the paths of the owners.\n",
			       path->nowners, plural(path->nowners, "sleep", "sleeps"));
}

const struct report_kind report_critical = {
	.name = "critical",
	.columns = columns,
	.ncolumns = NCOLUMNS,
	.names = true,
	.all_looms = true,
	.more = sizeof(struct critical),
	.init = init,
	.listener = {.event = event},
	.rows = rows,
	.foot = foot,
	.free = release,
};

/* ---- --sum ---- */

static const struct table_column sum_columns[] = {
	{"thread", "thread", CELL_TEXT, 16},	  {"tid", "tid", CELL_COUNT, 6, SHOW_DATA},
	{"pid", "pid", CELL_COUNT, 6, SHOW_DATA}, {"state", "state", CELL_TEXT, 8},
	{"reason", "reason", CELL_TEXT, 9},	  {"by", "by", CELL_TEXT, 16},
	{"times", "times", CELL_COUNT, 6},	  {"time", "time", CELL_DURATION, 10},
	{"percent", "percent", CELL_PERCENT, 7},  {"max", "max", CELL_DURATION, 10},
	{"max_at", "max at", CELL_CLOCK, 10},
};
#define NSUMS (sizeof(sum_columns) / sizeof(sum_columns[0]))

/* By thread, state, reason, other thread, and time. */
static int compare(const void *pa, const void *pb)
{
	const struct critical_segment *a = pa, *b = pb;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->use != b->use)
		return a->use < b->use ? -1 : 1;
	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	if (a->mpi != b->mpi)
		return a->mpi < b->mpi ? -1 : 1;
	if (a->mpi && a->other != b->other)
		return a->other < b->other ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static bool same(const struct critical_segment *a, const struct critical_segment *b)
{
	return a->stream == b->stream && a->kind == b->kind && a->use == b->use && a->by == b->by &&
	       a->mpi == b->mpi && (!a->mpi || a->other == b->other);
}

static int add_sum(struct report *report, const struct critical_segment *segments, size_t n)
{
	const struct critical *critical = report->more;
	const struct owner *owner = &report->source->owners[segments->stream];
	union cell row[NSUMS] = {{.text = NULL}};
	int64_t ns = 0, most = 0, at = segments->from;

	for (size_t i = 0; i < n; i++) {
		int64_t one = clock_distance(segments[i].from, segments[i].to);

		ns = clock_sum(ns, one);
		if (one > most) {
			most = one;
			at = segments[i].from;
		}
	}
	row[0].text = tid_names_of_stream(&report->names, segments->stream);
	row[1].number = owner->tid;
	row[2].number = owner->pid;
	row[3].text = strdup(state_of(segments));
	row[4].text = strdup(reason_of(segments));
	row[5].text = by_of(report, segments);
	row[6].number = (int64_t)n;
	row[7].number = ns;
	row[8].number = table_percent(ns, clock_distance(critical->from, critical->to));
	row[9].number = most;
	row[10].number = report_clock(report->intervals, at);
	return table_add(&report->table, row);
}

static int sum_rows(struct report *report)
{
	struct critical *critical = report->more;
	struct critical_path *path = &critical->path;
	int err = find(report);

	if (err || !path->nsegments)
		return err;
	qsort(path->segments, path->nsegments, sizeof(*path->segments), compare);
	for (size_t i = 0, end; i < path->nsegments; i = end) {
		for (end = i + 1; end < path->nsegments; end++)
			if (!same(&path->segments[i], &path->segments[end]))
				break;
		err = add_sum(report, &path->segments[i], end - i);
		if (err)
			return err;
	}
	return 0;
}

const struct report_kind report_critical_sum = {
	.name = "critical",
	.columns = sum_columns,
	.ncolumns = NSUMS,
	.order = "time",
	.names = true,
	.all_looms = true,
	.more = sizeof(struct critical),
	.init = init,
	.listener = {.event = event},
	.rows = sum_rows,
	.foot = foot,
	.free = release,
};
