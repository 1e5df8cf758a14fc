/* SPDX-License-Identifier: MIT */
/* run_hints: data about a trace from its statistics (see run_hints.h). */
#include "tools/loom/run/run_hints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/log.h"

/* Logs only violations that make the file unreadable; ovni-loom check reports the others. */
static void report(void *arg, const struct loom_violation *finding)
{
	(void)arg;
	if (finding->rule == LOOM_P1)
		log_error("%s: %s (rule P1): --perf - does without the statistics", finding->file,
			  finding->text);
}

int run_hints_load(struct run_hints *h, const char *path)
{
	struct loom_violations findings = {.report = report};
	int err;

	*h = (struct run_hints){.period_ps = 0};
	if (!path)
		return 0;
	err = run_stats_load(&h->perf, AT_FDCWD, path, &findings);
	if (err)
		return err;
	h->period_ps = h->perf.period_ps.v; /* 0: missing */
	h->dropped = h->perf.events.dropped.v;
	h->style = h->perf.style;
	h->has_style = h->perf.has_style;
	return 0;
}

void run_hints_free(struct run_hints *h)
{
	run_stats_free(&h->perf);
}

static int by_number(const void *a, const void *b)
{
	const uint16_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Rows of one core: [start, end) of the list, with increasing nodes. */
struct rising {
	size_t start, end;
};

static int by_node(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* True if every node with records is in the rows of its core. */
static bool covers(const struct run_survey *s, const struct rising *rows, const uint32_t *list)
{
	for (size_t i = 0; i < s->nnodes; i++) {
		const struct run_survey_node *node = &s->nodes[i];
		const struct rising *r = &rows[node->core];

		if (node->evidence && !bsearch(&node->node, list + r->start, r->end - r->start,
					       sizeof(*list), by_node))
			return false;
	}
	return true;
}

/* Adds rows without a core: list[0 .. n), in the order of the file. */
static int unnamed(struct run_survey *s, const uint32_t *list, size_t n, bool *doubtful)
{
	size_t starts = 0, ncores = 0, k = 0;
	uint16_t *cores = calloc(s->ncores + 1, sizeof(*cores));
	struct rising *rows = calloc(s->ncores + 1, sizeof(*rows));
	int err = cores && rows ? 0 : -ENOMEM;

	if (err)
		goto out;
	for (size_t i = 0; i < s->ncores; i++) {
		if (s->cores[i].used)
			cores[ncores++] = s->cores[i].id;
	}
	qsort(cores, ncores, sizeof(*cores), by_number);
	for (size_t i = 0; i < n; i++)
		starts += i == 0 || list[i] <= list[i - 1];
	*doubtful = n > 0 && starts != ncores;
	for (size_t i = 0, end; !*doubtful && i < n; i = end, k++) {
		for (end = i + 1; end < n && list[end] > list[end - 1]; end++)
			;
		rows[s->core_of[cores[k]]] = (struct rising){i, end};
	}
	if (!*doubtful && ncores > 1)
		*doubtful = !covers(s, rows, list);
	for (size_t i = 0; !*doubtful && i < ncores; i++) {
		const struct rising *r = &rows[s->core_of[cores[i]]];

		for (size_t at = r->start; at < r->end; at++) {
			err = run_survey_add_node(s, cores[i], list[at]);
			if (err)
				goto out;
		}
	}
out:
	free(cores);
	free(rows);
	return err;
}

/* True if the file declares that records were left out. */
static bool leaves_out(const struct run_stats *p)
{
	const struct stats_account *e = &p->events;

	if (!e->given)
		return run_stats_leaves_out(p);
	return e->filtered.v > 0 || e->sampled_out.v > 0 || e->dropped.v > 0;
}

int run_hints_nodes(const struct run_hints *h, struct run_survey *s, bool *doubtful)
{
	const struct run_stats *p = &h->perf;
	uint32_t *list;
	size_t n = 0;
	int err = 0;

	*doubtful = false;
	if (p->nsnapshots == 0 || leaves_out(p))
		return 0;
	list = malloc(p->nsnapshots * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < p->nsnapshots; i++) {
		const struct stats_snapshot *row = &p->snapshots[i];

		if (row->scope != STATS_NODE)
			continue;
		if (row->has_core)
			err = run_survey_add_node(s, row->core_id, row->hw_node_id);
		else
			list[n++] = row->hw_node_id;
		if (err)
			goto out;
	}
	err = n ? unnamed(s, list, n, doubtful) : 0;
out:
	free(list);
	return err;
}
