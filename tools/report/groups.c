/* SPDX-License-Identifier: MIT */
#include "tools/report/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/table.h"
#include "trace/base/array.h"
#include "trace/base/text.h"

struct sorting {
	const struct owner *owners;
	const int64_t *ranks;
	enum group_by by;
};

static int compare_numbers(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_processes(const struct owner *a, const struct owner *b)
{
	int order = strcmp(a->loom, b->loom);

	return order ? order : compare_numbers(a->pid, b->pid);
}

static int compare_keys(const struct sorting *s, uint32_t a, uint32_t b)
{
	const struct owner *x = &s->owners[a], *y = &s->owners[b];

	switch (s->by) {
	case BY_PROCESS:
		return compare_processes(x, y);
	case BY_COMM:
		return strcmp(x->name ? x->name : "", y->name ? y->name : "");
	case BY_CGROUP:
		return strcmp(x->cgroup ? x->cgroup : "", y->cgroup ? y->cgroup : "");
	case BY_RANK:
		return compare_numbers(s->ranks[a], s->ranks[b]);
	case BY_ALL:
	case BY_PRIORITY:
		return 0;
	default:
		return compare_numbers(a, b);
	}
}

static int compare(const void *pa, const void *pb, void *arg)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int order = compare_keys(arg, a, b);

	return order ? order : compare_numbers(a, b);
}

/* Gives all streams of a process the rank of one of them. `sorted` is by process. */
static void spread_ranks(const struct owner *owners, const uint32_t *sorted, size_t n,
			 int64_t *ranks)
{
	for (size_t i = 0, end; i < n; i = end) {
		int64_t rank = -1;

		for (end = i;
		     end < n && !compare_processes(&owners[sorted[i]], &owners[sorted[end]]); end++)
			if (owners[sorted[end]].known_rank > rank)
				rank = owners[sorted[end]].known_rank;
		for (size_t k = i; k < end; k++)
			ranks[sorted[k]] = rank;
	}
}

static char *label_of(const struct group *g, enum group_by by)
{
	switch (by) {
	case BY_RANK:
		return g->rank == CELL_UNKNOWN ? strdup("no rank")
					       : xasprintf("rank %lld", (long long)g->rank);
	case BY_COMM:
		return strdup(g->name ? g->name : "unknown");
	case BY_CGROUP:
		return strdup(g->name ? g->name : "cgroup unknown");
	case BY_ALL:
		return strdup("all threads");
	case BY_PRIORITY:
		return strdup("priority unknown");
	default:
		return g->name ? xasprintf("%s (%lld)", g->name,
					   (long long)(by == BY_PROCESS ? g->pid : g->tid))
			       : xasprintf("%lld", (long long)(by == BY_PROCESS ? g->pid : g->tid));
	}
}

/* Makes the group of the streams sorted[0] to sorted[n - 1]. */
static int add(struct groups *groups, const struct sorting *s, const uint32_t *sorted, size_t n)
{
	const struct owner *first = &s->owners[sorted[0]];
	struct group *g = ARRAY_ADD(groups->list, groups->n);
	const char *name = s->by == BY_CGROUP ? first->cgroup : first->name;

	if (!g)
		return -ENOMEM;
	*g = (struct group){.tid = CELL_UNKNOWN, .pid = CELL_UNKNOWN, .rank = s->ranks[sorted[0]]};
	for (size_t i = 0; i < n; i++) {
		const struct owner *owner = &s->owners[sorted[i]];

		groups->of[sorted[i]] = (uint32_t)(groups->n - 1);
		if (s->by == BY_PROCESS && owner->tid == owner->pid)
			name = owner->name;
		if (s->ranks[sorted[i]] != g->rank)
			g->rank = -1;
	}
	if (g->rank < 0)
		g->rank = CELL_UNKNOWN;
	if (s->by == BY_THREAD)
		g->tid = first->tid;
	if (s->by == BY_THREAD || s->by == BY_PROCESS)
		g->pid = first->pid;
	g->name = name && s->by != BY_RANK && s->by != BY_ALL && s->by != BY_PRIORITY ? strdup(name)
										      : NULL;
	g->label = label_of(g, s->by);
	return g->label ? 0 : -ENOMEM;
}

/* The group of a label, behind the first one, which is of the threads whose priority is not known.
 * Added if it is new. */
static int find_label(struct groups *groups, const char *label, uint32_t *found)
{
	struct group *g;

	for (size_t i = 0; i < groups->n; i++) {
		*found = (uint32_t)i;
		if (!strcmp(groups->list[i].label, label))
			return 0;
	}
	g = ARRAY_ADD(groups->list, groups->n);
	if (!g)
		return -ENOMEM;
	*g = (struct group){.tid = CELL_UNKNOWN, .pid = CELL_UNKNOWN, .rank = CELL_UNKNOWN};
	g->label = strdup(label);
	*found = (uint32_t)(groups->n - 1);
	return g->label ? 0 : -ENOMEM;
}

/* A group for each priority that a stream declares, so that their number is known before the walk.
 */
static int add_priorities(struct groups *groups, const struct source *source)
{
	uint32_t group;
	int err = thread_priorities_init(&groups->priorities, source);

	for (size_t i = 0; !err && i < source->trace.nstreams; i++)
		for (size_t k = 0; !err && k < source->owners[i].npriorities; k++)
			err = find_label(groups, source->owners[i].priorities[k].text, &group);
	return err;
}

int groups_step(struct groups *groups, uint32_t stream, const struct event *ev)
{
	const char *label;

	if (!thread_priorities_step(&groups->priorities, stream, ev))
		return 0;
	label = thread_priority_now(&groups->priorities, stream);
	groups->of[stream] = 0;
	return label ? find_label(groups, label, &groups->of[stream]) : 0;
}

int groups_init(struct groups *groups, const struct source *source, enum group_by by)
{
	size_t n = source->trace.nstreams;
	uint32_t *sorted = calloc(n + 1, sizeof(*sorted));
	int64_t *ranks = calloc(n + 1, sizeof(*ranks));
	struct sorting sorting = {source->owners, ranks, BY_PROCESS};
	int err = -ENOMEM;

	memset(groups, 0, sizeof(*groups));
	groups->of = calloc(n + 1, sizeof(*groups->of));
	if (!sorted || !ranks || !groups->of)
		goto out;
	for (size_t i = 0; i < n; i++)
		sorted[i] = (uint32_t)i;
	qsort_r(sorted, n, sizeof(*sorted), compare, &sorting);
	spread_ranks(source->owners, sorted, n, ranks);
	sorting.by = by;
	qsort_r(sorted, n, sizeof(*sorted), compare, &sorting);
	err = 0;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !compare_keys(&sorting, sorted[i], sorted[end]);)
			end++;
		err = add(groups, &sorting, sorted + i, end - i);
		if (err)
			break;
	}
	if (!err && by == BY_PRIORITY)
		err = add_priorities(groups, source);
out:
	free(sorted);
	free(ranks);
	return err;
}

void groups_free(struct groups *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		free(groups->list[i].label);
		free(groups->list[i].name);
	}
	free(groups->list);
	free(groups->of);
	thread_priorities_fini(&groups->priorities);
	memset(groups, 0, sizeof(*groups));
}
