/* SPDX-License-Identifier: MIT */
/* run_stats_write: writes the statistics of a run (see run_stats_write.h). */
#include "trace/loom/write/run_stats_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/text.h"
#include "trace/loom/stats/run_stats.h"

static void put_string(FILE *out, const char *text)
{
	size_t len = strlen(text), size = 4 * len + 1;
	char *safe = malloc(size);

	/* in valid UTF-8 without control characters, only two characters need an escape */
	if (safe)
		text_escape(safe, size, text, len);
	fputc('"', out);
	for (const char *c = safe ? safe : ""; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		fputc(*c, out);
	}
	fputc('"', out);
	free(safe);
}

static void put_ratio(FILE *out, uint64_t part, uint64_t whole)
{
	fprintf(out, "%.9g", stats_ratio(part, whole));
}

static void put_kind(FILE *out, uint8_t kind)
{
	char room[8];

	fprintf(out, "\"%s\"", loom_kind_name(kind, room));
}

/* These open, continue and close a list; null means "all". */
static void list_next(FILE *out, bool *any)
{
	fputs(*any ? ", " : "[", out);
	*any = true;
}

static void list_end(FILE *out, bool chosen, bool any)
{
	fputs(!chosen ? "null,\n" : any ? "],\n" : "[],\n", out);
}

static void put_controls(FILE *out, const struct loom_writer_options *o)
{
	static const char *const policies[] = {
		[LOOM_BLOCK] = "block", [LOOM_DROP_NEW] = "drop-new", [LOOM_DROP_OLD] = "drop-old"};
	static const struct loom_controls everything;
	static const struct loom_carried nothing;
	const struct loom_controls *c = o->controls ? o->controls : &everything;
	const struct loom_carried *before = o->carried ? o->carried : &nothing;
	bool any = false, samples = loom_controls_samples(c);
	uint64_t keep = samples ? c->keep : 1, of = samples ? c->of : 1;

	keep *= before->of ? before->keep : 1;
	of *= before->of ? before->of : 1;

	fputs("  \"controls\": {\n    \"kinds\": ", out);
	for (unsigned kind = 0; c->by_kind && kind < 256; kind++) {
		if (!(c->kinds[kind / 8] >> kind % 8 & 1))
			continue;
		list_next(out, &any);
		put_kind(out, (uint8_t)kind);
	}
	list_end(out, c->by_kind, any);
	any = false;
	fputs("    \"cores\": ", out);
	for (unsigned core = 0; c->by_core && core < LOOM_CORES; core++) {
		if (!(c->cores[core / 8] >> core % 8 & 1))
			continue;
		list_next(out, &any);
		fprintf(out, "%u", core);
	}
	list_end(out, c->by_core, any);
	any = false;
	fputs("    \"nodes\": ", out);
	for (size_t i = 0; c->by_node && i < c->nnodes; i++) {
		list_next(out, &any);
		if (c->nodes[i].any_core)
			fprintf(out, "%" PRIu32, c->nodes[i].node);
		else
			fprintf(out, "\"%u:%" PRIu32 "\"", c->nodes[i].core, c->nodes[i].node);
	}
	list_end(out, c->by_node, any);
	fprintf(out, "    \"sampling\": { \"keep\": %" PRIu64 ", \"of\": %" PRIu64 " },\n", keep,
		of);
	fprintf(out, "    \"buffer\": { \"policy\": \"%s\", \"records\": %zu }\n  },\n",
		policies[o->on_full], o->buffer_records);
}

/* Writes the counts that are not 0, by kind or by core, of the run and of earlier losses. */
static void put_counts(FILE *out, const char *key, const uint64_t *counts, const uint64_t *before,
		       unsigned n)
{
	bool any = false;
	char room[8];

	fprintf(out, ",\n    \"%s\": {", key);
	for (unsigned i = 0; i < n; i++) {
		uint64_t count = counts[i] + (before ? before[i] : 0);

		if (!count)
			continue;
		fputs(any ? ", " : " ", out);
		any = true;
		if (n == LOOM_CORES)
			fprintf(out, "\"%u\": %" PRIu64, i, count);
		else
			fprintf(out, "\"%s\": %" PRIu64, loom_kind_name((uint8_t)i, room), count);
	}
	fputs(any ? " }" : "}", out);
}

static void put_account(FILE *out, const struct run_stats_writer *s)
{
	static const struct loom_carried nothing;
	const struct loom_carried *before = s->options->carried ? s->options->carried : &nothing;
	const struct loom_account *a = s->account;

	fprintf(out,
		"  \"events\": {\n    \"seen\": %" PRIu64 ", \"written\": %" PRIu64
		", \"filtered\": %" PRIu64 ", \"sampled_out\": %" PRIu64 ", \"dropped\": %" PRIu64,
		a->seen + before->filtered + before->sampled_out + before->dropped, a->written,
		a->filtered + before->filtered, a->sampled_out + before->sampled_out,
		a->dropped + before->dropped);
	/* without a complete breakdown, write none */
	if (s->dropped_by_kind && (!before->dropped || before->dropped_by_kind))
		put_counts(out, "dropped_by_kind", s->dropped_by_kind, before->dropped_by_kind,
			   256);
	if (s->dropped_by_core && (!before->dropped || before->dropped_by_core))
		put_counts(out, "dropped_by_core", s->dropped_by_core, before->dropped_by_core,
			   LOOM_CORES);
	fputs("\n  },\n", out);
}

static void put_invocations(FILE *out, const struct loom_invocation *v, size_t n)
{
	fputs("  \"invocations\": [", out);
	for (size_t i = 0; i < n; i++) {
		const char *status = v[i].failed ? "error" : "cut";

		if (v[i].done)
			status = "done";
		fprintf(out,
			"%s\n    { \"core_id\": %" PRIu32 ", \"epoch_id\": %" PRIu32
			", \"invocation_id\": %" PRIu64 ",\n      \"start_cycle\": %" PRIu64
			", \"end_cycle\": %" PRIu64 ", \"status\": \"%s\"",
			i ? "," : "", v[i].core, v[i].epoch, v[i].id, v[i].start, v[i].end, status);
		if (v[i].host_clock_ns)
			fprintf(out, ",\n      \"host_clock_ns\": %" PRIu64, v[i].host_clock_ns);
		fputs(" }", out);
	}
	fputs(n ? "\n  ]\n" : "]\n", out);
}

static void put_row(FILE *out, const struct loom_row *r, const struct loom_invocation *v)
{
	uint64_t total = v->end - v->start;

	fprintf(out,
		"\n    { \"cycle\": %" PRIu64 ", \"epoch_id\": %" PRIu32
		", \"invocation_id\": %" PRIu64 ", \"core_id\": %" PRIu32,
		v->end, v->epoch, v->id, v->core);
	if (!r->whole_core)
		fprintf(out, ", \"hw_node_id\": %" PRIu32, r->node);
	fprintf(out,
		",\n      \"total_cycles\": %" PRIu64 ", \"active_cycles\": %" PRIu64
		", \"stall_cycles_in\": %" PRIu64 ", \"stall_cycles_out\": %" PRIu64
		",\n      \"tokens_in\": %" PRIu64 ", \"tokens_out\": %" PRIu64
		", \"config_writes\": %" PRIu64 ",\n      \"metrics\": { \"utilization\": ",
		total, r->active, r->stall_in, r->stall_out, r->tokens_in, r->tokens_out,
		r->config_writes);
	put_ratio(out, r->active, total);
	fputs(", \"input_stall_ratio\": ", out);
	put_ratio(out, r->stall_in, total);
	fputs(",\n                   \"output_stall_ratio\": ", out);
	put_ratio(out, r->stall_out, total);
	fputs(", \"throughput\": ", out);
	if (r->active)
		put_ratio(out, r->tokens_out, r->active);
	else
		fputs("null", out);
	fputs(", \"config_overhead\": ", out);
	put_ratio(out, r->config_writes, total);
	fputs(" } }", out);
}

void run_stats_write_begin(struct run_stats_writer *s)
{
	const struct loom_writer_options *o = s->options;
	FILE *out = s->out;

	fputs("{\n  \"schema\": \"loom-perf\", \"version\": 1, \"producer\": ", out);
	put_string(out, o->producer ? o->producer : "ovni-loom writer");
	fprintf(out,
		", \"mode\": \"%s\",\n  \"clock\": { \"period_ps\": %" PRIu64
		" },\n  \"record_style\": \"%s\",\n",
		o->mode == LOOM_FULL ? "full" : "summary", o->period_ps ? o->period_ps : 1000,
		loom_style_names[o->style]);
	put_controls(out, o);
	fputs("  \"snapshots\": [", out);
}

void run_stats_write_row(void *arg, const struct loom_invocation *v, const struct loom_row *row)
{
	struct run_stats_writer *s = arg;

	if (s->any)
		fputc(',', s->out);
	s->any = true;
	put_row(s->out, row, v);
}

/* Writes the carried rows of an invocation, or of the only one. */
static void put_carried(struct run_stats_writer *s, const struct loom_carried *carried,
			const struct loom_invocation *only)
{
	for (size_t i = 0; i < carried->nrows; i++)
		run_stats_write_row(s, carried->rows[i].has_ids ? &carried->rows[i].v : only,
				    &carried->rows[i].row);
}

/* Writes the part of the document after the snapshots. */
static int put_end(struct run_stats_writer *s, uint64_t first, uint64_t end,
		   const struct loom_invocation *invocations, size_t n)
{
	fputs(s->any ? "\n  ],\n" : "],\n", s->out);
	fprintf(s->out,
		"  \"window\": { \"first_cycle\": %" PRIu64 ", \"end_cycle\": %" PRIu64
		", \"total_cycles\": %" PRIu64 " },\n",
		first, end, end - first);
	put_account(s->out, s);
	put_invocations(s->out, invocations, n);
	fputs("}\n", s->out);
	if (ferror(s->out))
		return errno ? -errno : -EIO;
	return 0;
}

int run_stats_write_end(struct run_stats_writer *s)
{
	const struct loom_carried *carried = s->options->carried;
	const struct loom_invocation *invocations;
	const struct loom_row *rows;
	uint64_t first, end;
	size_t n, ninvocations;

	invocations = loom_counters_invocations(s->counters, &ninvocations);
	rows = loom_counters_rows(s->counters, &n);
	if (carried && carried->nrows && (carried->rows[0].has_ids || ninvocations == 1))
		put_carried(s, carried, invocations);
	else
		for (size_t i = 0; i < n; i++)
			run_stats_write_row(s, &invocations[rows[i].invocation], &rows[i]);
	loom_counters_window(s->counters, &first, &end);
	if (carried && carried->ninvocations)
		return put_end(s, first, end, carried->invocations, carried->ninvocations);
	return put_end(s, first, end, invocations, ninvocations);
}

int run_stats_write_cut(FILE *out, bool any, const struct loom_account *account, uint64_t first,
			uint64_t end)
{
	static const struct loom_writer_options everything;
	struct run_stats_writer s = {
		.out = out, .options = &everything, .account = account, .any = any};

	return put_end(&s, first, end, NULL, 0);
}

/*
 * ---- the form of upstream's simulators ----
 *
 * RUN.stat has the last invocation of one core. It has no clock, controls or counts of events, and
 * the writer refuses options that need them.
 */

/* The counters of a node, in upstream's names. */
static const struct {
	const char *of_node, *of_all;
	size_t at;
} legacy_counters[] = {
	{"activeCycles", "totalActiveCycles", offsetof(struct loom_row, active)},
	{"stallCyclesIn", "totalStallInCycles", offsetof(struct loom_row, stall_in)},
	{"stallCyclesOut", "totalStallOutCycles", offsetof(struct loom_row, stall_out)},
	{"tokensIn", "totalTokensIn", offsetof(struct loom_row, tokens_in)},
	{"tokensOut", "totalTokensOut", offsetof(struct loom_row, tokens_out)},
	{"configWrites", "totalConfigWrites", offsetof(struct loom_row, config_writes)},
};
#define LEGACY_COUNTERS (sizeof(legacy_counters) / sizeof(legacy_counters[0]))

static uint64_t *legacy_counter(struct loom_row *r, size_t i)
{
	return (uint64_t *)((char *)r + legacy_counters[i].at);
}

/* Writes a ratio with six digits, as upstream. */
static void put_legacy_ratio(FILE *out, const char *name, uint64_t part, uint64_t whole)
{
	fprintf(out, ",\n      \"%s\": %.6g", name, stats_ratio(part, whole));
}

static void put_legacy_node(FILE *out, struct loom_row *r, struct loom_row *sum)
{
	uint64_t busy = r->active + r->stall_in + r->stall_out;

	fprintf(out, "\n    {\n      \"nodeIndex\": %" PRIu32, r->node);
	for (size_t i = 0; i < LEGACY_COUNTERS; i++) {
		fprintf(out, ",\n      \"%s\": %" PRIu64, legacy_counters[i].of_node,
			*legacy_counter(r, i));
		*legacy_counter(sum, i) += *legacy_counter(r, i);
	}
	put_legacy_ratio(out, "utilization", r->active, busy);
	put_legacy_ratio(out, "inputStallRatio", r->stall_in, busy);
	put_legacy_ratio(out, "outputStallRatio", r->stall_out, busy);
	put_legacy_ratio(out, "throughputProxy", r->tokens_out, r->active);
	fputs("\n    }", out);
}

/* The next row of the invocation: of the carried counters, or of the records. */
static const struct loom_row *next_row(const struct run_stats_writer *s,
				       const struct loom_invocation *v, size_t *i)
{
	const struct loom_carried *carried = s->options->carried;
	const struct loom_invocation *list;
	const struct loom_row *rows;
	size_t n;

	list = loom_counters_invocations(s->counters, &n);
	if (carried && carried->nrows && (carried->rows[0].has_ids || n == 1)) {
		while (*i < carried->nrows) {
			const struct loom_carried_row *c = &carried->rows[(*i)++];

			/* the final one, after periodic snapshots */
			if (!c->row.whole_core &&
			    (!c->has_ids || (c->v.core == v->core && c->v.epoch == v->epoch &&
					     c->v.id == v->id && c->v.end == v->end)))
				return &c->row;
		}
		return NULL;
	}
	rows = loom_counters_rows(s->counters, &n);
	while (*i < n) {
		const struct loom_row *row = &rows[(*i)++];

		if (!row->whole_core && &list[row->invocation] == v)
			return row;
	}
	return NULL;
}

int run_stats_write_legacy(const struct run_stats_writer *s)
{
	static const struct loom_invocation none;
	const struct loom_invocation *v = loom_counters_last(s->counters);
	const struct loom_row *next;
	struct loom_row sum = {.active = 0};
	uint64_t total, config, nodes = 0;
	bool attributed = false; /* to nodes: configuration writes */
	size_t i = 0;

	if (!v)
		v = &none;
	total = v->end - (v->first < v->start ? v->first : v->start);
	config = total - (v->end - v->start);
	/* without an end, the outcome is unknown */
	fprintf(s->out, "{\n  \"success\": %s,\n", v->done && !v->failed ? "true" : "false");
	if (v->failed || v->done)
		fprintf(s->out, "  \"termination\": \"%s\",\n",
			v->failed ? "device_error" : "completed");
	fprintf(s->out,
		"  \"totalCycles\": %" PRIu64 ",\n  \"configCycles\": %" PRIu64
		",\n  \"executionCycles\": %" PRIu64 ",\n  \"nodePerf\": [",
		total, config, total - config);
	while ((next = next_row(s, v, &i)) != NULL)
		attributed = attributed || next->config_writes;
	i = 0;
	while ((next = next_row(s, v, &i)) != NULL) {
		struct loom_row row = *next;

		/* configuration records have no node: the first node counts them */
		if (!attributed)
			row.config_writes = nodes ? 0 : v->config_writes;
		if (nodes++)
			fputc(',', s->out);
		put_legacy_node(s->out, &row, &sum);
	}
	if (!nodes && v->config_writes) { /* node 0, as in the records */
		struct loom_row row = {.config_writes = v->config_writes};

		put_legacy_node(s->out, &row, &sum);
		nodes++;
	}
	fprintf(s->out, "%s],\n  \"summary\": {\n    \"nodeCount\": %" PRIu64, nodes ? "\n  " : "",
		nodes);
	for (i = 0; i < LEGACY_COUNTERS; i++)
		fprintf(s->out, ",\n    \"%s\": %" PRIu64, legacy_counters[i].of_all,
			*legacy_counter(&sum, i));
	fprintf(s->out,
		",\n    \"configOverheadRatio\": %.6g,\n    \"traceEventCount\": %" PRIu64
		"\n  }\n}\n",
		stats_ratio(sum.config_writes, total), s->account->written);
	if (ferror(s->out))
		return errno ? -errno : -EIO;
	return 0;
}
