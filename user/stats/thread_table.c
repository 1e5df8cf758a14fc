/* SPDX-License-Identifier: MIT */
/* thread_table: see thread_table.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/stats/thread_table.h"
#include "user/timeline/state_times.h"
#include "trace/base/text.h"

#define ROWS 20

static void show_time(char *out, size_t size, uint64_t ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if ((double)ns >= units[i].ns || i == 2) {
			snprintf(out, size, "%.3f %s", (double)ns / units[i].ns, units[i].name);
			return;
		}
	}
}

static int by_active(const void *a, const void *b)
{
	const struct thread_stats *x = a, *y = b;

	if (x->times.active_ns != y->times.active_ns)
		return x->times.active_ns > y->times.active_ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void show_thread(const struct thread_stats *f)
{
	const struct thread_times *c = &f->times;
	char name[4 * RECORD_COMM_SIZE + 1], active[32], waits[32], asleep[32];

	text_escape(name, sizeof(name), f->comm, strnlen(f->comm, sizeof(f->comm)));
	show_time(active, sizeof(active), c->active_ns);
	show_time(waits, sizeof(waits), c->runnable_ns);
	show_time(asleep, sizeof(asleep), thread_times_blocked(c));
	fprintf(stderr,
		"%-16s %8" PRIu32 " %11s %11s %11s %10" PRIu64 " %10" PRIu64 " %9" PRIu64
		" %7" PRIu64 "\n",
		name, f->tid, active, waits, asleep, (uint64_t)c->switches_voluntary,
		(uint64_t)c->switches_preempted, (uint64_t)c->wakeups, (uint64_t)c->migrations);
}

void table_show(struct time_stats *times)
{
	size_t n = times->nthreads;

	if (n)
		qsort(times->threads, n, sizeof(*times->threads), by_active);
	fprintf(stderr, "%-16s %8s %11s %11s %11s %10s %10s %9s %7s\n", "thread", "tid", "active",
		"waiting", "asleep", "switches", "preempted", "wake-ups", "moves");
	for (size_t i = 0; i < n && i < ROWS; i++)
		show_thread(&times->threads[i]);
	if (n > ROWS)
		fprintf(stderr, "... and %zu more\n", n - ROWS);
}
