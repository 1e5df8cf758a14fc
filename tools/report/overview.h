/* SPDX-License-Identifier: MIT */
/*
 * overview: what the files of the overview share.
 *
 * overview.c reads the trace and prints the screen, finding_text.c makes sentences and commands of
 * findings, overview_json.c prints everything as JSON.
 */
#ifndef TOOLS_REPORT_OVERVIEW_H
#define TOOLS_REPORT_OVERVIEW_H

#include "tools/report/reports.h"
#include "trace/analysis/findings.h"

struct overview {
	struct report *report;
	const char *path;
	struct findings findings;
	struct json *session; /* a copy of the metadata of the stream that has it; NULL: none */
	uint64_t repairs;
	int64_t duration;
	bool others;	   /* threads that are not recorded may have run on a CPU */
	bool idle_unknown; /* of a CPU: idle time is part of `others` */
};

static inline double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static inline const struct owner *overview_owner(const struct overview *o, uint32_t stream)
{
	return &o->report->source->owners[stream];
}

static inline bool finding_has(const struct finding *finding, enum finding_number number)
{
	return finding->has >> number & 1;
}

/* ---- finding_text.c ---- */

/* The finding as a sentence; for free(). NULL without memory. */
char *finding_text(const struct overview *o, const struct finding *finding);
/* The command that shows more about a finding; for free(). NULL without memory. */
char *finding_command(const struct overview *o, const struct finding *finding);
/* A path as a shell takes it. */
char *shell_word(const char *word);

/* ---- overview.c ---- */

/* The arguments of the recorder; for free(). NULL without memory. */
char *overview_command(const struct overview *o);
/* One line; for free(). NULL without memory. */
char *overview_notes(const struct overview *o);
/* ns that the hypervisor took from a CPU, or CELL_UNKNOWN. */
int64_t overview_steal(const struct overview *o, const struct cpu_time *cpu);
/* All streams, those that ran or waited most first; NULL without memory. */
uint32_t *overview_order(const struct overview *o);

/* ---- overview_json.c ---- */

/* 0 or -ENOMEM. */
int overview_print_json(const struct overview *o, struct printer *out);

#endif
