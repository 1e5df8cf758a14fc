/* SPDX-License-Identifier: MIT */
/* thread_table: see thread_table.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/stats/summary_read.h"
#include "user/stats/thread_table.h"
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
	const struct thread_figures *x = *(const struct thread_figures *const *)a;
	const struct thread_figures *y = *(const struct thread_figures *const *)b;

	if (x->counters.active_ns != y->counters.active_ns)
		return x->counters.active_ns > y->counters.active_ns ? -1 : 1;
	return x->counters.tid < y->counters.tid ? -1 : x->counters.tid > y->counters.tid;
}

static void show_thread(const struct thread_figures *f)
{
	const struct thread_counters *c = &f->counters;
	char name[4 * RECORD_COMM_SIZE + 1], active[32], waits[32], asleep[32];

	text_escape(name, sizeof(name), f->comm, strnlen(f->comm, sizeof(f->comm)));
	show_time(active, sizeof(active), c->active_ns);
	show_time(waits, sizeof(waits), c->runnable_ns);
	show_time(asleep, sizeof(asleep), counters_blocked(c));
	fprintf(stderr,
		"%-16s %8" PRIu32 " %11s %11s %11s %10" PRIu64 " %10" PRIu64 " %9" PRIu64
		" %7" PRIu64 "\n",
		name, c->tid, active, waits, asleep, (uint64_t)c->switches_voluntary,
		(uint64_t)c->switches_preempted, (uint64_t)c->wakeups, (uint64_t)c->migrations);
}

void table_show(const struct counters *counters)
{
	const struct counters_list *lists[] = {&counters->dead, &counters->alive};
	size_t n = counters->dead.n + counters->alive.n, at = 0;
	const struct thread_figures **sorted = calloc(n + 1, sizeof(*sorted));

	if (!sorted)
		return;
	for (unsigned l = 0; l < 2; l++)
		for (size_t i = 0; i < lists[l]->n; i++)
			sorted[at++] = &lists[l]->figures[i];
	qsort(sorted, n, sizeof(*sorted), by_active);
	fprintf(stderr, "%-16s %8s %11s %11s %11s %10s %10s %9s %7s\n", "thread", "tid", "active",
		"waiting", "asleep", "switches", "preempted", "wake-ups", "moves");
	for (size_t i = 0; i < n && i < ROWS; i++)
		show_thread(sorted[i]);
	if (n > ROWS)
		fprintf(stderr, "... and %zu more\n", n - ROWS);
	free(sorted);
}
