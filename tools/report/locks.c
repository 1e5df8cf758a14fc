/* SPDX-License-Identifier: MIT */
/*
 * report locks: the waits on futexes, by object, with the owners of locks.
 *
 *   object     process     waits     total   longest        at  at once  queued  owners
 *   pool_lock  app (1200)     80   1.204 s  90.12 ms  0.105021        3      40  main (1200) 98 %
 *   0x55d040   app (1200)     12  310.2 ms  31.02 ms  0.310442        1       0
 *
 * The totals of the rows of programs add up to the time asleep in futex, as report why has it,
 * those of locks of the kernel to the time asleep on such locks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/reports.h"
#include "trace/analysis/lock_waits.h"
#include "trace/base/text.h"

#define OWNERS_SHOWN 3

static const struct table_column columns[] = {
	{"object", "object", CELL_TEXT, 16},
	{"address", "address", CELL_TEXT, 14, SHOW_DATA},
	{"process", "process", CELL_TEXT, 12},
	{"pid", "pid", CELL_COUNT, 6, SHOW_DATA},
	{"waits", "waits", CELL_COUNT, 6},
	{"total", "total", CELL_DURATION, 10},
	{"longest", "longest", CELL_DURATION, 10},
	{"longest_at", "at", CELL_CLOCK, 10},
	{"threads", "threads", CELL_COUNT, 7},
	{"most", "at once", CELL_COUNT, 7},
	{"queued", "queued", CELL_COUNT, 6},
	{"owner", "owner", CELL_COUNT, 6, SHOW_DATA},
	{"owner_percent", "of total", CELL_PERCENT, 8, SHOW_DATA},
	{"owners", "owners", CELL_TEXT, 0, SHOW_IF_ANY},
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

static int init(struct report *report)
{
	struct locks *locks = report->more;
	int err = locks_init(locks, report->source, report->filter->first, report->filter->last);

	locks->streams = report->filter->streams;
	return err;
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;

	return locks_step(report->more, intervals, stream, ev);
}

/* The shares of an object together; the longest first, those without an owner last. */
static int by_object(const void *pa, const void *pb)
{
	const struct lock_share *a = pa, *b = pb;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if ((a->owner > 0) != (b->owner > 0))
		return a->owner > 0 ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->owner < b->owner ? -1 : 1;
}

/* "main (12) 93 %, worker (14) 5 %, none 2 %"; "" if no wait had an owner. For free(). */
static char *owners_text(struct report *report, const struct lock_object *object,
			 const struct lock_share *shares, size_t n)
{
	char *text = strdup("");

	if (!n || shares[0].owner <= 0)
		return text;
	for (size_t i = 0; text && i < n; i++) {
		char *name = NULL, *longer;

		if (i == OWNERS_SHOWN && n > OWNERS_SHOWN + 1) {
			longer = xasprintf("%s, %zu more", text, n - i);
			free(text);
			return longer;
		}
		if (shares[i].owner > 0)
			name = tid_names_of_tid(&report->names, object->stream, shares[i].owner);
		else
			name = strdup(shares[i].owner == LOCK_OWNER_NONE ? "none" : "not known");
		longer = name ? xasprintf("%s%s%s %.0f %%", text, i ? ", " : "", name,
					  object->waits.ns ? 100.0 * (double)shares[i].ns /
								     (double)object->waits.ns
							   : 0.0)
			      : NULL;
		free(name);
		free(text);
		text = longer;
	}
	return text;
}

/* "pool", or "0x55d0c0de4060" without a name. The first waiter may have had too many objects for
 * it.
 */
static char *futex_text(const struct report *report, const struct lock_object *object)
{
	const struct owner *owners = report->source->owners, *waiter = &owners[object->stream];

	for (size_t i = 0; i < report->source->trace.nstreams; i++) {
		const struct owner *owner = i ? &owners[i - (i <= object->stream)] : waiter;
		int at = -1;

		if (owner->pid == waiter->pid && !strcmp(owner->loom, waiter->loom))
			at = sleep_call_futex(owner, object->address, object->waits.max_at);
		if (at >= 0)
			return strdup(text_shown(owner->futexes[at].name));
	}
	return xasprintf("0x%" PRIx64, object->address);
}

static int add(struct report *report, const struct lock_object *object,
	       const struct lock_share *shares, size_t n)
{
	const struct owner *waiter = &report->source->owners[object->stream];
	bool owned = n && shares[0].owner > 0;
	union cell row[NCOLUMNS] = {{.text = NULL}};

	if (object->kernel) {
		row[0].text = xasprintf("kernel lock %" PRIx64,
					(uint64_t)(object->address & ~CALL_LOCK_OF_KERNEL));
		row[1].text = strdup("");
		row[2].text = strdup("");
		row[3].number = CELL_UNKNOWN;
	} else {
		row[0].text = futex_text(report, object);
		row[1].text = xasprintf("0x%" PRIx64, object->address);
		row[2].text =
			tid_names_of_tid(&report->names, object->stream, (int32_t)waiter->pid);
		row[3].number = waiter->pid;
	}
	row[4].number = (int64_t)object->waits.count;
	row[5].number = object->waits.ns;
	row[6].number = object->waits.max;
	row[7].number = report_clock(report->intervals, object->waits.max_at);
	row[8].number = object->threads;
	row[9].number = object->most;
	row[10].number = (int64_t)object->queued;
	row[11].number = owned ? shares[0].owner : CELL_UNKNOWN;
	row[12].number = owned ? table_percent(shares[0].ns, object->waits.ns) : CELL_UNKNOWN;
	row[13].text = owners_text(report, object, shares, n);
	return table_add(&report->table, row);
}

static int rows(struct report *report)
{
	struct locks *locks = report->more;
	int err = locks_finish(locks, report->intervals);
	size_t from = 0;

	if (err)
		return err;
	if (locks->nshares)
		qsort(locks->shares, locks->nshares, sizeof(*locks->shares), by_object);
	for (uint32_t i = 0; i < locks->nobjects; i++) {
		size_t n = 0;

		while (from + n < locks->nshares && locks->shares[from + n].object == i)
			n++;
		if (locks->objects[i].waits.count) {
			err = add(report, &locks->objects[i], &locks->shares[from], n);
			if (err)
				return err;
		}
		from += n;
	}
	return 0;
}

static void foot(const struct report *report)
{
	if (!((const struct locks *)report->more)->nobjects)
		printer_text(report->table.out, "The trace has no wait on a futex (ovni-bpf "
						"--why=lock records them, with owners).\n");
}

static void release(struct report *report)
{
	locks_fini(report->more);
}

const struct report_kind report_locks = {
	.name = "locks",
	.columns = columns,
	.ncolumns = NCOLUMNS,
	.order = "total",
	.names = true,
	.more = sizeof(struct locks),
	.init = init,
	.listener = {.event = event},
	.rows = rows,
	.foot = foot,
	.free = release,
};
