/* SPDX-License-Identifier: MIT */
/*
 * report io: the sleeps for I/O by device, with their requests (ovni-bpf --why=io).
 *
 *   thread        device       sleeps  reads  writes  ...  asleep    at device  longest
 *   reader (812)  vda (254:0)     300    200     100  ...  20.10 ms  21.33 ms   601.1 us
 *
 * In: the request of each sleep, in the event after it; out: sums by thread and device. A sleep
 * that another thread ended has no request, and stands in a row without a device. A request is
 * given to the device a little before the thread sleeps, so its time there may exceed the sleep.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define NO_DEVICE UINT32_MAX

struct device {
	uint32_t loom; /* number of the first stream of it */
	uint32_t major, minor;
	char *name; /* NULL: not known */
};

struct row {
	uint32_t group, device;
	uint64_t sleeps, reads, writes, bytes_read, bytes_written;
	int64_t asleep, at_device, max, max_at;
};

struct thread {
	bool io; /* it left its CPU for I/O */
	uint32_t us;
};

struct io {
	uint32_t *looms; /* of each stream: its first stream */
	struct device *devices;
	size_t ndevices;
	struct row *rows;
	size_t nrows;
	struct hash row_of, device_of;
	bool recorded;
};

static const struct table_column columns[] = {
	{"thread", "thread", CELL_TEXT, 16},
	{"tid", "tid", CELL_COUNT, 6, SHOW_DATA},
	{"pid", "pid", CELL_COUNT, 6, SHOW_DATA},
	{"name", "name", CELL_TEXT, 16, SHOW_DATA},
	{"rank", "rank", CELL_COUNT, 4, SHOW_IF_ANY},
	{"device", "device", CELL_TEXT, 12},
	{"sleeps", "sleeps", CELL_COUNT, 6},
	{"reads", "reads", CELL_COUNT, 6},
	{"writes", "writes", CELL_COUNT, 6},
	{"bytes_read", "bytes read", CELL_COUNT, 10},
	{"bytes_written", "bytes written", CELL_COUNT, 13},
	{"asleep", "asleep", CELL_DURATION, 10},
	{"at_device", "at device", CELL_DURATION, 10},
	{"max", "longest", CELL_DURATION, 10},
	{"max_at", "at", CELL_CLOCK, 10},
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

/* ---- names ---- */

static struct hash_key device_key(uint32_t loom, uint32_t major, uint32_t minor)
{
	return (struct hash_key){.a = (uint64_t)major << 32 | minor, .b = loom};
}

/* The number of a device, which is added if it is new; -1 without memory. */
static int64_t device_number(struct io *io, uint32_t loom, uint32_t major, uint32_t minor)
{
	uint32_t *at = hash_at(&io->device_of, device_key(loom, major, minor));
	struct device *device;

	if (!at)
		return -1;
	if (*at != HASH_NONE)
		return *at;
	device = ARRAY_ADD(io->devices, io->ndevices);
	if (!device)
		return -1;
	*device = (struct device){.loom = loom, .major = major, .minor = minor};
	*at = (uint32_t)(device - io->devices);
	return *at;
}

static int read_names(struct io *io, uint32_t loom, const struct json *devices)
{
	for (const struct json *node = json_first(devices); node; node = json_next(node)) {
		const char *name = json_string(node);
		unsigned major, minor;
		int64_t number;

		if (!name || sscanf(json_name(node), "%4u:%7u", &major, &minor) != 2)
			continue;
		number = device_number(io, loom, major, minor);
		if (number < 0)
			return -ENOMEM;
		free(io->devices[number].name);
		io->devices[number].name = strdup(text_shown(name));
		if (!io->devices[number].name)
			return -ENOMEM;
	}
	return 0;
}

static int init(struct report *report)
{
	struct io *io = report->more;
	const struct source *source = report->source;
	struct hash first_of = {0};
	int err = 0;

	io->looms = calloc(source->trace.nstreams + 1, sizeof(*io->looms));
	for (uint32_t i = 0; io->looms && i < source->trace.nstreams && !err; i++) {
		const char *loom = source->owners[i].loom;
		uint32_t *first = hash_at(&first_of, hash_key_of(loom, strlen(loom)));
		struct json *meta = first ? trace_metadata(&source->trace, i) : NULL;

		if (!meta) {
			err = first ? -EINVAL : -ENOMEM;
			break;
		}
		if (*first == HASH_NONE)
			*first = i;
		io->looms[i] = *first;
		io->recorded |= json_bool(json_get(meta, "bpf.session.io"));
		err = read_names(io, *first, json_get(meta, "bpf.session.devices"));
		json_free(meta);
	}
	hash_free(&first_of);
	if (!io->looms || err)
		return err ? err : -ENOMEM;
	if (io->recorded)
		return 0;
	log_error("%s has no requests of I/O sleeps: ovni-bpf --why=io records them",
		  source->trace.path);
	return -ENODATA;
}

/* ---- the walk ---- */

static struct row *row_of(struct io *io, uint32_t group, uint32_t device)
{
	uint32_t *at = hash_at(&io->row_of, (struct hash_key){.a = group, .b = device});
	struct row *row;

	if (!at)
		return NULL;
	if (*at != HASH_NONE)
		return &io->rows[*at];
	row = ARRAY_ADD(io->rows, io->nrows);
	if (!row)
		return NULL;
	*at = (uint32_t)(row - io->rows);
	*row = (struct row){.group = group, .device = device, .max = -1};
	return row;
}

static void add(struct row *row, const struct block_request *request, uint32_t us, int64_t asleep,
		int64_t began)
{
	row->sleeps++;
	row->asleep = clock_sum(row->asleep, asleep);
	if (asleep > row->max) {
		row->max = asleep;
		row->max_at = began;
	}
	if (!request)
		return;
	row->at_device = clock_sum(row->at_device, us * 1000ll);
	row->reads += !request->write;
	row->writes += request->write;
	*(request->write ? &row->bytes_written : &row->bytes_read) += request->sectors * 512;
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;
	struct io *io = report->more;
	struct thread *t = (struct thread *)report->data + stream;
	const struct interval *run = &intervals->threads[stream].interval;
	struct block_request request;
	int64_t device = NO_DEVICE;
	struct row *row;
	bool found;

	if (ev->model != 'O' || ev->category != 'H')
		return 0;
	if (ev->value == 'w')
		t->us = sleep_device_us(ev);
	if (ev->value != 'r')
		return 0;
	found = interval_request(ev, &request);
	if ((found || t->io) && run->sleep != INTERVAL_UNKNOWN && run->delay != INTERVAL_UNKNOWN &&
	    report_wants(report, stream, ev->clock)) {
		if (found)
			device = device_number(io, io->looms[stream], request.major, request.minor);
		row = device < 0 ? NULL : row_of(io, report->groups.of[stream], (uint32_t)device);
		if (!row)
			return -ENOMEM;
		add(row, found ? &request : NULL, t->us, run->sleep,
		    clock_distance(clock_sum(run->delay, run->sleep), ev->clock));
	}
	*t = (struct thread){0};
	return 0;
}

static int end(void *arg, const struct intervals *intervals, const struct interval *interval)
{
	struct report *report = arg;

	(void)intervals;
	((struct thread *)report->data)[interval->stream].io = interval->why == OFF_CPU_IO;
	return 0;
}

/* ---- rows ---- */

static char *device_text(const struct io *io, uint32_t number)
{
	const struct device *d;

	if (number == NO_DEVICE)
		return strdup("");
	d = &io->devices[number];
	return d->name ? xasprintf("%s (%u:%u)", d->name, d->major, d->minor)
		       : xasprintf("%u:%u", d->major, d->minor);
}

static int rows(struct report *report)
{
	const struct io *io = report->more;

	for (size_t i = 0; i < io->nrows; i++) {
		const struct row *r = &io->rows[i];
		const struct group *g = &report->groups.list[r->group];
		bool known = r->device != NO_DEVICE;
		union cell row[NCOLUMNS] = {
			{.text = NULL},
			{.number = g->tid},
			{.number = g->pid},
			{.text = NULL},
			{.number = g->rank},
			{.text = NULL},
			{.number = (int64_t)r->sleeps},
			{.number = known ? (int64_t)r->reads : CELL_UNKNOWN},
			{.number = known ? (int64_t)r->writes : CELL_UNKNOWN},
			{.number = known ? (int64_t)r->bytes_read : CELL_UNKNOWN},
			{.number = known ? (int64_t)r->bytes_written : CELL_UNKNOWN},
			{.number = r->asleep},
			{.number = known ? r->at_device : CELL_UNKNOWN},
			{.number = r->max},
			{.number = report_clock(report->intervals, r->max_at)},
		};

		/* outside of the initializer, where the analyzer misses that the table owns them */
		row[0].text = strdup(g->label);
		row[3].text = strdup(g->name ? g->name : "");
		row[5].text = device_text(io, r->device);
		if (table_add(&report->table, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void release(struct report *report)
{
	struct io *io = report->more;

	for (size_t i = 0; i < io->ndevices; i++)
		free(io->devices[i].name);
	free(io->devices);
	free(io->looms);
	free(io->rows);
	hash_free(&io->row_of);
	hash_free(&io->device_of);
}

const struct report_kind report_io = {
	.name = "io",
	.columns = columns,
	.ncolumns = NCOLUMNS,
	.order = "asleep",
	.by = BY_THREAD,
	.size = sizeof(struct thread),
	.more = sizeof(struct io),
	.init = init,
	.listener = {.event = event, .end = end},
	.rows = rows,
	.free = release,
};
