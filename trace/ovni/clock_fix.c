/* SPDX-License-Identifier: MIT */
/*
 * clock_fix: reads the table of clock offsets, one row per host (see clock_fix.h).
 *
 * A row may have four more columns, of two measurements: begin, end, offset_end, bound.
 */
#include "trace/ovni/clock_fix.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/ovni/job_file.h"

#define BLANKS " \t\v\f\r\n"

/* The hosts of which the clock was measured once: their number, and the first of them. */
struct once {
	unsigned hosts;
	char first[64];
};

/* ---- measurements of a clock ---- */

bool clock_point_follows(const struct clock_point *earlier, const struct clock_point *point)
{
	__int128 length = (__int128)point->clock - earlier->clock;
	__int128 drift = (__int128)point->offset - earlier->offset;

	return length > 0 && length <= INT64_MAX &&
	       (drift < 0 ? -drift : drift) * 1000000 <= length * CLOCK_DRIFT_MOST;
}

static struct clock_point first_point(const struct clock_fix *fix)
{
	return (struct clock_point){.clock = fix->begin, .offset = fix->offset};
}

static struct clock_point last_point(const struct clock_fix *fix)
{
	return (struct clock_point){.clock = fix->begin + fix->length,
				    .offset = fix->offset + fix->drift};
}

bool clock_fix_between(const struct clock_fix *fix, int64_t clock, int64_t *fixed)
{
	size_t low = 0, high = fix->npoints; /* low: the points up to `clock` */
	struct clock_point from, to;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (fix->points[middle].clock <= clock)
			low = middle + 1;
		else
			high = middle;
	}
	from = low ? fix->points[low - 1] : first_point(fix);
	to = low < fix->npoints ? fix->points[low] : last_point(fix);
	return clock_fix(&(struct clock_fix){.offset = from.offset,
					     .drift = to.offset - from.offset,
					     .begin = from.clock,
					     .length = to.clock - from.clock},
			 clock, fixed);
}

/* ---- the table ---- */

/* Columns 6 to 9 of a row: the first and the last measurement. Returns 1 if there is only one, and
 * so no drift; 0, also for any other number of columns; or -EINVAL after a message. */
static int parse_drift(const char *columns, struct clock_row *row, const char *path, unsigned line)
{
	struct clock_fix *fix = &row->fix;
	long long begin, end, offset_end, bound;
	int used = 0;

	errno = 0;
	if (sscanf(columns, " %lld %lld %lld %lld%n", &begin, &end, &offset_end, &bound, &used) !=
		    4 ||
	    errno || columns[used + (int)strspn(columns + used, BLANKS)])
		return 0;
	row->bound = bound < 0 ? CLOCK_BOUND_UNKNOWN : bound;
	/* the host to whose clock all others are compared has no drift */
	if (begin >= end)
		return fix->offset || offset_end;
	if (!clock_point_follows(&(struct clock_point){.clock = begin, .offset = fix->offset},
				 &(struct clock_point){.clock = end, .offset = offset_end})) {
		log_error("%s: line %u: the clock drifts by more than %d ppm between the two "
			  "measurements: one of them is wrong",
			  path, line, CLOCK_DRIFT_MOST);
		return -EINVAL;
	}
	fix->drift = offset_end - fix->offset;
	fix->begin = begin;
	fix->length = end - begin;
	return 0;
}

static int parse_row(struct clock_table *table, const char *text, const char *path, unsigned line,
		     bool drift, struct once *once)
{
	struct clock_row row = {.line = line, .bound = CLOCK_BOUND_UNKNOWN}, *added;
	int host = 0, host_end = 0, end = 0, err;
	double median;

	/* mean and deviation are required but not used */
	(void)sscanf(text, "%*d %n%*s%n %lf %*f %*f%n", &host, &host_end, &median, &end);
	if (!end) {
		log_error("%s: line %u: not a row of rank, host and three numbers", path, line);
		return -EINVAL;
	}
	if (!isfinite(median) || fabs(median) >= 9e18) {
		log_error("%s: line %u: the offset is out of range: it is in nanoseconds", path,
			  line);
		return -EINVAL;
	}
	row.fix.offset = (int64_t)median;
	err = drift ? parse_drift(text + end, &row, path, line) : 0;
	if (err < 0)
		return err;
	if (err > 0 && !once->hosts++)
		snprintf(once->first, sizeof(once->first), "%.*s", host_end - host, text + host);
	added = ARRAY_ADD(table->rows, table->n);
	if (!added)
		return log_no_memory("while reading %s", path);
	row.host = strndup(text + host, (size_t)(host_end - host));
	*added = row;
	return row.host ? 0 : log_no_memory("while reading %s", path);
}

/* By host, then by line. */
static int compare_rows(const void *x, const void *y)
{
	const struct clock_row *a = x, *b = y;
	int order = strcmp(a->host, b->host);

	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int sort_rows(struct clock_table *table, const char *path)
{
	if (table->n)
		qsort(table->rows, table->n, sizeof(*table->rows), compare_rows);
	for (size_t i = 1; i < table->n; i++) {
		if (strcmp(table->rows[i - 1].host, table->rows[i].host) != 0)
			continue;
		if (table->rows[i].line)
			log_error("%s: line %u: the host '%s' is listed twice", path,
				  table->rows[i].line, table->rows[i].host);
		else
			log_error("%s: two files are of the host '%s'", path, table->rows[i].host);
		return -EINVAL;
	}
	return 0;
}

int clock_table_parse(struct clock_table *table, FILE *file, const char *path, bool drift)
{
	char *text = NULL;
	size_t room = 0;
	unsigned line = 0;
	struct once once = {0};
	int err;

	while ((errno = 0, getline(&text, &room, file)) > 0) {
		if (++line == 1 || text[0] == '\n' || !text[0])
			continue;
		if (!text[strspn(text, BLANKS)])
			break;
		err = parse_row(table, text, path, line, drift, &once);
		if (err)
			goto out;
	}
	err = -errno;
	if (err) {
		log_error("cannot read the clock offsets '%s': %s", path, strerror(-err));
		goto out;
	}
	if (!table->n) {
		log_error(line ? "%s: no row after the line of titles"
			       : "%s: the file is empty: a table of clock offsets begins with a "
				 "line of titles",
			  path);
		err = -EINVAL;
	}
	if (!err)
		err = sort_rows(table, path);
	if (err)
		goto out;
	if (once.hosts == 1)
		log_warn("%s: drift not corrected: %s, whose clock was measured once (ovni-sync "
			 "--append, also after the job)",
			 path, once.first);
	else if (once.hosts)
		log_warn("%s: drift not corrected: %s and %u more, whose clocks were measured once "
			 "(ovni-sync --append, also after the job)",
			 path, once.first, once.hosts - 1);
out:
	free(text);
	return err;
}

/* The host of a loom is its name up to the first dot. */
static int compare_host(const void *loom, const void *row)
{
	const char *name = loom, *host = ((const struct clock_row *)row)->host;
	size_t length = strcspn(name, ".");
	int order = strncmp(name, host, length);

	return order ? order : -(host[length] != '\0');
}

static struct clock_row *find(const struct clock_table *table, const char *loom)
{
	return table->n ? bsearch(loom, table->rows, table->n, sizeof(*table->rows), compare_host)
			: NULL;
}

/* Each point follows the one before, and the last measurement of the row the last of them. */
static int check_points(const struct clock_fix *fix, const char *node)
{
	struct clock_point last = first_point(fix);

	for (size_t i = 0; i <= fix->npoints; i++) {
		struct clock_point point = i < fix->npoints ? fix->points[i] : last_point(fix);

		if (!clock_point_follows(&last, &point)) {
			log_error(JOB_NODES
				  "/%s.json: clock_points: measurement %zu and the one before it, "
				  "with those of " CLOCK_OFFSETS_FILE
				  " as the first and the last, are not in order, or drift by more "
				  "than %d ppm: remove clock_points for a linear correction",
				  node, i + 2, CLOCK_DRIFT_MOST);
			return -EINVAL;
		}
		last = point;
	}
	return 0;
}

static int by_clock(const void *a, const void *b)
{
	const struct clock_point *x = a, *y = b;

	return (x->clock > y->clock) - (x->clock < y->clock);
}

/* Drops points of steps that ran at the same time: two points near each other have an error of the
 * drift above CLOCK_DRIFT_MOST. */
static void thin_points(struct clock_fix *fix)
{
	struct clock_point before = first_point(fix), last = last_point(fix);
	size_t n = 0;

	qsort(fix->points, fix->npoints, sizeof(*fix->points), by_clock);
	for (size_t i = 0; i < fix->npoints; i++)
		if (clock_point_follows(&before, &fix->points[i]) &&
		    clock_point_follows(&fix->points[i], &last))
			fix->points[n++] = before = fix->points[i];
	fix->npoints = n;
}

/* Several steps of a job have points of one host. */
static int add_points(struct clock_fix *fix, const struct job_node *node)
{
	size_t before = fix->npoints, n = before + node->npoints;
	struct clock_point *points = reallocarray(fix->points, n, sizeof(*points));

	if (!points)
		return log_no_memory("for the measurements of the clocks");
	memcpy(points + before, node->points, node->npoints * sizeof(*points));
	fix->points = points;
	fix->npoints = n;
	if (node->app > 1)
		thin_points(fix);
	return check_points(fix, node->name);
}

/* Takes the points of the nodes of a job. */
static int take_points(struct clock_table *table, int dir_fd)
{
	struct job job;
	int err = job_read(&job, dir_fd);

	for (size_t i = 0; !err && i < job.nnodes; i++) {
		const struct job_node *node = &job.nodes[i];
		struct clock_row *row = node->npoints ? find(table, node->name) : NULL;

		if (row && row->fix.length)
			err = add_points(&row->fix, node);
	}
	job_free(&job);
	return err;
}

int clock_table_load(struct clock_table *table, int dir_fd, const char *path, bool optional,
		     bool drift)
{
	int err, fd = input_open(dir_fd, path, INPUT_TEXT_MAX, NULL);
	FILE *file = NULL;

	*table = (struct clock_table){0};
	if (fd == -ENOENT && optional)
		return 0;
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		err = fd < 0 ? fd : -errno;
		log_error("cannot read the clock offsets '%s': %s", path,
			  input_why(err, INPUT_TEXT_MAX));
		goto out;
	}
	err = clock_table_parse(table, file, path, drift);
	if (!err && optional && drift)
		err = take_points(table, dir_fd);
out:
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return err;
}

/* Whether a row is of the host of a loom; the rows are not sorted yet. */
static bool has_host(const struct clock_table *table, const char *loom)
{
	for (size_t i = 0; i < table->n; i++)
		if (!compare_host(loom, &table->rows[i]))
			return true;
	return false;
}

int clock_table_realtime(struct clock_table *table, int dir_fd)
{
	__int128 first = 0; /* CLOCK_REALTIME of the first node when its clock is 0 */
	struct job job;
	int err = job_read(&job, dir_fd);

	*table = (struct clock_table){0};
	for (size_t i = 0; !err && i < job.nnodes; i++) {
		const struct job_node *node = &job.nodes[i];
		__int128 origin = (__int128)node->begin.realtime - node->begin.clock;
		struct clock_row *row;

		if (!node->begin.is || (node->app > 1 && has_host(table, node->name)))
			continue;
		first = table->n ? first : origin;
		if (origin - first > INT64_MAX || origin - first < -INT64_MAX) {
			log_error(JOB_NODES "/%s.json: begin: its clocks are out of range",
				  node->name);
			err = -EINVAL;
			break;
		}
		row = ARRAY_ADD(table->rows, table->n);
		if (row) {
			*row = (struct clock_row){
				.host = strndup(node->name, strcspn(node->name, ".")),
				.fix = {.offset = (int64_t)(origin - first)},
				.bound = CLOCK_BOUND_UNKNOWN,
				.used = true};
		}
		if (!row || !row->host)
			err = log_no_memory("for the clocks of the nodes");
	}
	job_free(&job);
	return err ?: sort_rows(table, JOB_NODES "/*.json");
}

void clock_table_fini(struct clock_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		free(table->rows[i].host);
		free(table->rows[i].fix.points);
	}
	free(table->rows);
	*table = (struct clock_table){0};
}

const struct clock_row *clock_table_find(struct clock_table *table, const char *loom)
{
	struct clock_row *row = find(table, loom);

	if (row)
		row->used = true;
	return row;
}

int64_t clock_table_bound(const struct clock_table *table)
{
	int64_t most = 0, second = 0, sum;

	for (size_t i = 0; i < table->n; i++) {
		int64_t bound = table->rows[i].bound;

		if (bound == CLOCK_BOUND_UNKNOWN)
			return CLOCK_BOUND_UNKNOWN;
		if (bound > most) {
			second = most;
			most = bound;
		} else if (bound > second) {
			second = bound;
		}
	}
	return __builtin_add_overflow(most, second, &sum) ? INT64_MAX : sum;
}

int clock_table_check(const struct clock_table *table, const char *path)
{
	const struct clock_row *first = NULL;

	for (size_t i = 0; i < table->n; i++)
		if (!table->rows[i].used && (!first || table->rows[i].line < first->line))
			first = &table->rows[i];
	if (!first)
		return 0;
	log_error("%s: line %u: no loom of the trace is on the host '%s'", path, first->line,
		  first->host);
	return -EINVAL;
}

void clock_table_warn_missing(size_t machines)
{
	if (machines > 1)
		log_warn("%zu looms without a table of clock offsets: treating their clocks as "
			 "equal (ovni-sync writes the table)",
			 machines);
}
