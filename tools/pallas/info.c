/* SPDX-License-Identifier: MIT */
/*
 * info: prints the parts of an archive: configuration, names, threads, grammar.
 *
 * In: main.pallas, archive.pallas and thread.pallas, but no data file; out: text.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tools/pallas/pallas_command.h"
#include "trace/base/text.h"

static void show_parent(const char *key, uint32_t ref)
{
	if (ref != PALLAS_NONE)
		printf(" %s=%u", key, ref);
}

static void show_definitions(const struct pallas_trace *trace, const struct pallas_archive *a)
{
	const struct pallas_definitions *d = a ? &a->part.defs : &trace->part.defs;
	const struct pallas_part *part = a ? &a->part : &trace->part;
	const char *name;

	for (size_t i = 0; i < d->nstrings; i++)
		printf("  string %u '%s'\n", d->strings[i].ref, text_shown(d->strings[i].text));
	for (size_t i = 0; i < d->nregions; i++) {
		name = pallas_region(trace, a, d->regions[i].ref);
		printf("  region %u '%s'\n", d->regions[i].ref, text_shown(name));
	}
	for (size_t i = 0; i < d->nattributes; i++) {
		name = pallas_string(trace, a, d->attributes[i].name);
		printf("  attribute %u '%s' type=%u\n", d->attributes[i].ref, text_shown(name),
		       d->attributes[i].type);
	}
	for (size_t i = 0; i < d->ngroups; i++) {
		const struct pallas_group *g = &d->groups[i];

		name = pallas_string(trace, a, g->name);
		printf("  group %u '%s' type=%u paradigm=%u members=", g->ref, text_shown(name),
		       g->type, g->paradigm);
		for (uint32_t k = 0; k < g->nmembers; k++)
			printf("%s%u", k ? "," : "", get_u32(g->members + 4 * (size_t)k));
		printf("\n");
	}
	for (size_t i = 0; i < d->ncomms; i++) {
		name = pallas_string(trace, a, d->comms[i].name);
		printf("  communicator %u '%s' group=%u", d->comms[i].ref, text_shown(name),
		       d->comms[i].group);
		show_parent("parent", d->comms[i].parent);
		printf("\n");
	}
	for (size_t i = 0; i < part->ngroups && !a; i++) {
		printf("  location group %u '%s'", part->groups[i].id,
		       text_shown(pallas_group_name(trace, part->groups[i].id)));
		show_parent("parent", part->groups[i].parent);
		printf("\n");
	}
	for (size_t i = 0; i < part->nmetadata; i++)
		printf("  metadata %s: %s\n", text_shown(part->metadata[i].key),
		       text_shown(part->metadata[i].value));
}

static const char *loop_finding(uint32_t v)
{
	static const char *const names[] = {"None", "Basic", "BasicTruncated"};

	return v < sizeof(names) / sizeof(names[0]) ? names[v] : "unknown";
}

static int show_threads(struct pallas_trace *trace)
{
	printf("\n%8s %8s %-24s %20s %20s %14s %10s %10s %10s %6s\n", "archive", "thread", "name",
	       "first (ns)", "last (ns)", "events", "entries", "sequences", "loops", "depth");
	for (size_t i = 0; i < trace->nthreads; i++) {
		struct pallas_thread *t = &trace->threads[i];
		const struct thread_grammar *g = &t->grammar;
		char first[24], last[24];
		int err = pallas_thread_take(trace, t);

		if (err < 0)
			return err;
		if (err)
			continue;
		snprintf(first, sizeof(first), "%" PRIu64, g->first_time);
		snprintf(last, sizeof(last), "%" PRIu64,
			 g->first_time + g->sequences[g->root].durations.max);
		printf("%8u %8u %-24s %20s %20s %14" PRIu64 " %10zu %10zu %10zu %6u\n",
		       t->archive->id, t->id, text_shown(pallas_thread_name(trace, t)),
		       g->total_events ? first : "-", g->total_events ? last : "-", g->total_events,
		       g->nevents, g->nsequences, g->nloops, g->depth);
		pallas_thread_unload(trace, t);
	}
	return 0;
}

static int show(struct pallas_trace *trace, const struct pallas_options *o)
{
	printf("%s/%s: ABI version %u, %zu archives, %zu threads\n", text_shown(trace->path),
	       text_shown(trace->main), trace->version, trace->narchives, trace->nthreads);
	printf("compression %s (level %" PRIu64 "), encoding %s, loop finding %s (length %" PRIu64
	       ")\n",
	       pallas_compression_names[trace->compression], trace->zstd_level,
	       pallas_encoding_names[trace->encoding], loop_finding(trace->loop_finding),
	       trace->max_loop);
	if (o->definitions) {
		printf("\nmain file:\n");
		show_definitions(trace, NULL);
	}
	for (size_t i = 0; i < trace->narchives; i++) {
		const struct pallas_archive *a = &trace->archives[i];

		printf("\narchive %u '%s': %u threads\n", a->id,
		       text_shown(pallas_group_name(trace, a->id)), a->nthreads);
		if (o->definitions)
			show_definitions(trace, a);
	}
	return show_threads(trace);
}

static void show_event(const struct pallas_event *e)
{
	const struct pallas_record_spec *spec = pallas_record_spec(e->record);

	printf("E%u record %u (%s) payload ", e->id, e->record, spec ? spec->name : "UNKNOWN");
	for (unsigned i = 0; i < e->payload_size; i++)
		printf("%02x", e->payload[i]);
	printf("%s attributes %" PRIu64 " bytes occurrences %" PRIu64 "\n",
	       e->payload_size ? "" : "-", e->attributes_size, e->times.n);
}

static void show_sequence(const struct thread_grammar *g, const struct pallas_sequence *s)
{
	printf("S%u %s [", s->id, s->type == SEQUENCE_BLOCK ? "BLOCK" : "LOOP");
	for (uint64_t i = 0; i < s->ntokens; i++) {
		uint32_t token = pallas_sequence_token(s, i), place = token_id(token), id;

		if (token_type(token) == TOKEN_EVENT)
			id = g->events[place].id;
		else if (token_type(token) == TOKEN_SEQUENCE)
			id = g->sequences[place].id;
		else
			id = g->loops[place].id;
		printf("%s%c%u", i ? " " : "", " ESL"[token_type(token)], id);
	}
	printf("]\n");
}

/* Prints the tables of a thread, by logical id. */
static void show_grammar(const struct pallas_thread *t)
{
	const struct thread_grammar *g = &t->grammar;
	size_t dead = 0;

	printf("archive %u thread %u root S%u first_timestamp %" PRIu64 "\n", t->archive->id, t->id,
	       g->root_id, g->first_time);
	for (size_t i = 0; i < g->event_map.n; i++) {
		if (g->event_map.places[i] != PALLAS_NONE)
			show_event(&g->events[g->event_map.places[i]]);
	}
	for (size_t i = 0; i < g->sequence_map.n; i++) {
		if (g->sequence_map.places[i] != PALLAS_NONE)
			show_sequence(g, &g->sequences[g->sequence_map.places[i]]);
	}
	for (size_t i = 0; i < g->loop_map.n; i++) {
		const struct pallas_loop *l;

		if (g->loop_map.places[i] == PALLAS_NONE) {
			dead++;
			continue;
		}
		l = &g->loops[g->loop_map.places[i]];
		printf("L%u S%u x %u occurrences %" PRIu64 "\n", l->id,
		       g->sequences[l->sequence].id, l->iterations, l->occurrences);
	}
	if (dead)
		printf("(%zu dead loop slots)\n", dead);
}

int pallas_info(struct pallas_trace *trace, const struct pallas_options *o)
{
	int err;

	if (!o->grammar)
		return show(trace, o);
	for (size_t i = 0; i < trace->nthreads; i++) {
		err = pallas_thread_take(trace, &trace->threads[i]);
		if (err < 0)
			return err;
		if (err)
			continue;
		show_grammar(&trace->threads[i]);
		pallas_thread_unload(trace, &trace->threads[i]);
	}
	return 0;
}
