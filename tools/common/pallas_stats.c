/* SPDX-License-Identifier: MIT */
/*
 * pallas_stats: durations and repetitions, from the grammar and the stored summaries alone.
 *
 * No data file is opened: the numbers are those that thread.pallas holds for each vector, and
 * the time taken is that of reading it.
 * Specification: Pallas specification 14.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tools/common/pallas_tool.h"
#include "trace/pallas/archive.h"

#define NAME_BYTES 512

static void tsv_thread(const struct pallas_trace *trace, const struct pallas_thread *t)
{
	const struct pallas_grammar *g = &t->grammar;
	char name[NAME_BYTES];

	for (size_t i = 0; i < g->sequence_map.n; i++) {
		uint32_t place = g->sequence_map.places[i];
		const struct pallas_sequence *s;

		if (place == PALLAS_NONE || g->sequences[place].ntokens == 0)
			continue;
		s = &g->sequences[place];
		printf("%u\t%u\tS%u\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		       "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
		       t->archive->id, t->id, s->id,
		       pallas_sequence_name(trace, t, place, name, sizeof(name)),
		       s->type == SEQUENCE_BLOCK ? "BLOCK" : "LOOP", s->durations.n,
		       s->durations.min, s->durations.max, s->durations.mean, s->exclusive.min,
		       s->exclusive.max, s->exclusive.mean);
	}
}

static void show_thread(const struct pallas_trace *trace, const struct pallas_thread *t)
{
	const struct pallas_grammar *g = &t->grammar;
	char name[NAME_BYTES];

	printf("thread %u of archive %u '%s': %" PRIu64 " events, %" PRIu64 " ns\n", t->id,
	       t->archive->id, pallas_thread_name(trace, t), g->total_events,
	       g->sequences[g->root].durations.max);
	printf("%10s %-5s %12s %14s %14s %14s %18s %18s  %s\n", "sequence", "type", "count",
	       "min (ns)", "mean (ns)", "max (ns)", "total (ns)", "exclusive (ns)", "name");
	for (size_t i = 0; i < g->sequence_map.n; i++) {
		uint32_t place = g->sequence_map.places[i];
		const struct pallas_sequence *s;
		uint64_t low, high, low_excl, high_excl;

		if (place == PALLAS_NONE || g->sequences[place].ntokens == 0)
			continue;
		s = &g->sequences[place];
		pallas_vector_total(&s->durations, &low, &high);
		pallas_vector_total(&s->exclusive, &low_excl, &high_excl);
		printf("%10u %-5s %12" PRIu64 " %14" PRIu64 " %14" PRIu64 " %14" PRIu64
		       " %18" PRIu64 " %18" PRIu64 "  %s",
		       s->id, s->type == SEQUENCE_BLOCK ? "block" : "loop", s->durations.n,
		       s->durations.min, s->durations.mean, s->durations.max, low, low_excl,
		       pallas_sequence_name(trace, t, place, name, sizeof(name)));
		if (high > low || high_excl > low_excl)
			printf(" (totals at most +%" PRIu64 ", +%" PRIu64 ")", high - low,
			       high_excl - low_excl);
		printf("\n");
	}
}

int pallas_stats(const struct pallas_options *o)
{
	struct pallas_trace trace;
	int err = pallas_open(&trace, o->from, o->memory);

	if (err)
		return 1;
	if (o->tsv)
		printf("#archive\tthread\tsequence\tname\ttype\tcount\tmin\tmax\tmean\texcl_min\t"
		       "excl_max\texcl_mean\n");
	for (size_t i = 0; !err && i < trace.nthreads; i++) {
		err = pallas_thread_load(&trace, &trace.threads[i]);
		if (err)
			break;
		if (o->tsv)
			tsv_thread(&trace, &trace.threads[i]);
		else
			show_thread(&trace, &trace.threads[i]);
		pallas_thread_unload(&trace, &trace.threads[i]);
	}
	pallas_close(&trace);
	return pallas_flush(stdout) || err ? 1 : 0;
}
