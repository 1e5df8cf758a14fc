/* SPDX-License-Identifier: MIT */
/* summary_write: the statistics of a run as text (see summary_write.h). */
#include "trace/loom/summary_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/text.h"

static void put_string(FILE *out, const char *text)
{
	size_t len = strlen(text), size = 4 * len + 1;
	char *safe = malloc(size);

	/* valid UTF-8 without control characters: two characters are left to be escaped */
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
	fprintf(out, "%.9g", whole ? (double)part / (double)whole : 0.0);
}

static void put_kind(FILE *out, uint8_t kind)
{
	char room[8];

	fprintf(out, "\"%s\"", loom_kind_name(kind, room));
}

/* Opens, continues and closes a list of which null stands for "everything". */
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
	const struct loom_controls *c = o->controls ? o->controls : &everything;
	bool any = false, samples = loom_controls_samples(c);

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
	for (unsigned core = 0; c->by_core && core < 65536; core++) {
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
	fprintf(out, "    \"sampling\": { \"keep\": %" PRIu32 ", \"of\": %" PRIu32 " },\n",
		samples ? c->keep : 1, samples ? c->of : 1);
	fprintf(out, "    \"buffer\": { \"policy\": \"%s\", \"records\": %zu }\n  },\n",
		policies[o->on_full], o->buffer_records);
}

static void put_account(FILE *out, const struct loom_summary *s)
{
	const struct loom_account *a = s->account;
	const char *comma = "";

	fprintf(out,
		"  \"events\": {\n    \"seen\": %" PRIu64 ", \"written\": %" PRIu64
		", \"filtered\": %" PRIu64 ", \"sampled_out\": %" PRIu64 ", \"dropped\": %" PRIu64
		",\n    \"dropped_by_kind\": {",
		a->seen, a->written, a->filtered, a->sampled_out, a->dropped);
	for (unsigned kind = 0; kind < 256; kind++) {
		if (!s->dropped_by_kind[kind])
			continue;
		fputs(*comma ? ", " : " ", out);
		put_kind(out, (uint8_t)kind);
		fprintf(out, ": %" PRIu64, s->dropped_by_kind[kind]);
		comma = " ";
	}
	fprintf(out, "%s},\n    \"dropped_by_core\": {", comma);
	comma = "";
	for (size_t i = 0; i < s->ncores; i++) {
		if (!s->cores[i].dropped)
			continue;
		fprintf(out, "%s\"%" PRIu32 "\": %" PRIu64, *comma ? ", " : " ", s->cores[i].core,
			s->cores[i].dropped);
		comma = " ";
	}
	fprintf(out, "%s}\n  },\n", comma);
}

static void put_invocations(FILE *out, const struct loom_counters *counters)
{
	size_t n;
	const struct loom_invocation *v = loom_counters_invocations(counters, &n);

	fputs("  \"invocations\": [", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out,
			"%s\n    { \"core_id\": %" PRIu32 ", \"epoch_id\": %" PRIu32
			", \"invocation_id\": %" PRIu64 ",\n      \"start_cycle\": %" PRIu64
			", \"end_cycle\": %" PRIu64 ", \"status\": \"%s\" }",
			i ? "," : "", v[i].core, v[i].epoch, v[i].id, v[i].start, v[i].end,
			v[i].done     ? "done"
			: v[i].failed ? "error"
				      : "cut");
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

void loom_summary_begin(struct loom_summary *s)
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

void loom_summary_row(void *arg, const struct loom_invocation *v, const struct loom_row *row)
{
	struct loom_summary *s = arg;

	if (s->any)
		fputc(',', s->out);
	s->any = true;
	put_row(s->out, row, v);
}

int loom_summary_end(struct loom_summary *s)
{
	const struct loom_invocation *invocations;
	const struct loom_row *rows;
	uint64_t first, end;
	size_t n;

	invocations = loom_counters_invocations(s->counters, &n);
	rows = loom_counters_rows(s->counters, &n);
	for (size_t i = 0; i < n; i++)
		loom_summary_row(s, &invocations[rows[i].invocation], &rows[i]);
	fputs(s->any ? "\n  ],\n" : "],\n", s->out);
	loom_counters_window(s->counters, &first, &end);
	fprintf(s->out,
		"  \"window\": { \"first_cycle\": %" PRIu64 ", \"end_cycle\": %" PRIu64
		", \"total_cycles\": %" PRIu64 " },\n",
		first, end, end - first);
	put_account(s->out, s);
	put_invocations(s->out, s->counters);
	fputs("}\n", s->out);
	if (ferror(s->out))
		return errno ? -errno : -EIO;
	return 0;
}
