/* SPDX-License-Identifier: MIT */
/* job_table: see job_table.h. */
#include "tools/lib/job_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/lib/printer.h"
#include "trace/base/text.h"

#define COLUMNS 9
#define CELL	256

bool job_table_drift(const struct clock_row *row, double *ppb)
{
	*ppb = row->fix.length ? (double)row->fix.drift * 1e9 / (double)row->fix.length : 0;
	return row->fix.length;
}

static void fill_clocks(char cells[COLUMNS][CELL], const struct clock_row *row)
{
	double ppb;

	for (int i = 5; i < 8; i++)
		snprintf(cells[i], CELL, "-");
	if (!row)
		return;
	snprintf(cells[5], CELL, row->fix.offset ? "%.9f s" : "0", (double)row->fix.offset / 1e9);
	if (job_table_drift(row, &ppb))
		snprintf(cells[6], CELL, "%+.3f ppm", ppb / 1e3);
	if (row->bound != CLOCK_BOUND_UNKNOWN)
		snprintf(cells[7], CELL, row->bound ? "%.1f us" : "0", (double)row->bound / 1e3);
}

static void fill(char cells[COLUMNS][CELL], const struct job_node *node, struct clock_table *clocks)
{
	char ranks[CELL];

	text_escape(cells[0], CELL, node->name, strlen(node->name));
	job_ranks_text(node->ranks, node->nranks, ranks, sizeof(ranks));
	snprintf(cells[1], CELL, "%s", *ranks ? ranks : "-");
	snprintf(cells[2], CELL, "%" PRIu64, node->threads);
	snprintf(cells[3], CELL, "%" PRIu64, node->events);
	snprintf(cells[4], CELL, "%" PRIu64, node->lost);
	fill_clocks(cells, clock_table_find(clocks, node->name));
	text_escape(cells[8], CELL, node->state, strlen(node->state));
	if (node->why) {
		size_t at = strlen(cells[8]);

		at += (size_t)snprintf(cells[8] + at, CELL - at, ": ");
		text_escape(cells[8] + at, CELL - at, node->why, strlen(node->why));
	}
}

static void print(struct printer *out, const char *indent, char cells[COLUMNS][CELL],
		  const int widths[COLUMNS])
{
	printer_text(out, indent);
	for (int i = 0; i < COLUMNS; i++)
		printer_format(out, "%-*s%s", i + 1 < COLUMNS ? widths[i] : 0, cells[i],
			       i + 1 < COLUMNS ? "  " : "\n");
}

void job_table_print(struct printer *out, const char *indent, const struct job *job,
		     struct clock_table *clocks)
{
	char head[COLUMNS][CELL] = {"node",   "ranks", "threads", "events", "lost",
				    "offset", "drift", "bound",	  "state"},
	     cells[COLUMNS][CELL];
	int widths[COLUMNS];

	for (int i = 0; i < COLUMNS; i++)
		widths[i] = (int)strlen(head[i]);
	for (size_t node = 0; node < job->nnodes; node++) {
		fill(cells, &job->nodes[node], clocks);
		for (int i = 0; i < COLUMNS; i++)
			if ((int)strlen(cells[i]) > widths[i])
				widths[i] = (int)strlen(cells[i]);
	}
	print(out, indent, head, widths);
	for (size_t node = 0; node < job->nnodes; node++) {
		fill(cells, &job->nodes[node], clocks);
		print(out, indent, cells, widths);
	}
}
