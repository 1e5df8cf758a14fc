/* SPDX-License-Identifier: MIT */
/*
 * efficiency_print: what the files of the report efficiency share: one set of numbers, printed as
 * text (efficiency_text.c) or as JSON (efficiency_json.c).
 */
#ifndef TOOLS_REPORT_EFFICIENCY_EFFICIENCY_PRINT_H
#define TOOLS_REPORT_EFFICIENCY_EFFICIENCY_PRINT_H

#include "tools/report/reports.h"
#include "trace/efficiency/metrics.h"

struct efficiency_report {
	struct report *report;
	const char *path;
	struct efficiency e;
	/* The phases with time: their factors, labels, and numbers in e.times. */
	struct metric_set *phases;
	char **labels;
	size_t *numbers, nphases;
	uint32_t *order; /* of the ranks, the least useful first */
};

static inline const struct rank_walk *rank_at(const struct efficiency_report *r, size_t rank)
{
	return &r->e.times.ranks[r->e.times.kept[rank]];
}

/* The owner of the master thread of a rank. */
static inline const struct owner *rank_owner(const struct efficiency_report *r, size_t rank)
{
	const struct rank_times *t = &r->e.times;

	return &t->source->owners[t->list[rank_at(r, rank)->master].stream];
}

static inline const struct phase_times *phase_at(const struct efficiency_report *r, size_t phase)
{
	return &r->e.times.phases[r->numbers[phase]];
}

/* A share in the unit of CELL_RATIO and with the same 6 decimals as in JSON. */
static inline int64_t ratio_of(double value)
{
	return (int64_t)(value * 1e6 + (value < 0 ? -0.5 : 0.5));
}

/* Notes on what limits the numbers: a sentence each, for free(); NULL at the end. NULL without
 * memory. */
char **efficiency_notes(const struct efficiency_report *r);

/* The name of the party with the most time of a class: "stress (4711)"; "" for none; for free(). */
char *wait_share_most(const struct efficiency_report *r, enum wait_class class);

/* 0 or -ENOMEM. */
int efficiency_text(struct efficiency_report *r);
int efficiency_json(const struct efficiency_report *r);
/* Rows of ranks, or of phases. */
int efficiency_csv(struct efficiency_report *r);

#endif
