/* SPDX-License-Identifier: MIT */
/*
 * run_stats_legacy: writes the statistics of a run in the form of simulators of upstream.
 *
 * In: counters of one core; out: RUN.stat for the last invocation. The form has no clock, controls
 * or counts of events, and the writer refuses options that need them. Specification:
 * loom.md 5.2, 6.
 */
#include <errno.h>
#include <inttypes.h>

#include "trace/loom/write/run_stats_write.h"

/* Writes a ratio with six digits, as upstream. */
static void put_ratio(FILE *out, const char *name, uint64_t part, uint64_t whole)
{
	fprintf(out, ",\n      \"%s\": %.6g", name, whole ? (double)part / (double)whole : 0.0);
}

static void put_node(FILE *out, const struct loom_row *r)
{
	uint64_t busy = r->active + r->stall_in + r->stall_out;

	fprintf(out,
		"\n    {\n      \"nodeIndex\": %" PRIu32 ",\n      \"activeCycles\": %" PRIu64
		",\n      \"stallCyclesIn\": %" PRIu64 ",\n      \"stallCyclesOut\": %" PRIu64
		",\n      \"tokensIn\": %" PRIu64 ",\n      \"tokensOut\": %" PRIu64
		",\n      \"configWrites\": %" PRIu64,
		r->node, r->active, r->stall_in, r->stall_out, r->tokens_in, r->tokens_out,
		r->config_writes);
	put_ratio(out, "utilization", r->active, busy);
	put_ratio(out, "inputStallRatio", r->stall_in, busy);
	put_ratio(out, "outputStallRatio", r->stall_out, busy);
	put_ratio(out, "throughputProxy", r->tokens_out, r->active);
	fputs("\n    }", out);
}

/* Writes the outcome of an invocation, which is unknown without an end. */
static void put_outcome(FILE *out, const struct loom_invocation *v)
{
	fprintf(out, "{\n  \"success\": %s,\n", v->done && !v->failed ? "true" : "false");
	if (v->failed || v->done)
		fprintf(out, "  \"termination\": \"%s\",\n",
			v->failed ? "device_error" : "completed");
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
	put_outcome(s->out, v);
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
		put_node(s->out, &row);
		sum.active += row.active;
		sum.stall_in += row.stall_in;
		sum.stall_out += row.stall_out;
		sum.tokens_in += row.tokens_in;
		sum.tokens_out += row.tokens_out;
		sum.config_writes += row.config_writes;
	}
	if (!nodes && v->config_writes) { /* node 0, as in the records */
		sum.config_writes = v->config_writes;
		put_node(s->out, &sum);
		nodes++;
	}
	fprintf(s->out,
		"%s],\n  \"summary\": {\n    \"nodeCount\": %" PRIu64
		",\n    \"totalActiveCycles\": %" PRIu64 ",\n    \"totalStallInCycles\": %" PRIu64
		",\n    \"totalStallOutCycles\": %" PRIu64 ",\n    \"totalTokensIn\": %" PRIu64
		",\n    \"totalTokensOut\": %" PRIu64 ",\n    \"totalConfigWrites\": %" PRIu64
		",\n    \"configOverheadRatio\": %.6g,\n    \"traceEventCount\": %" PRIu64
		"\n  }\n}\n",
		nodes ? "\n  " : "", nodes, sum.active, sum.stall_in, sum.stall_out, sum.tokens_in,
		sum.tokens_out, sum.config_writes,
		total ? (double)sum.config_writes / (double)total : 0.0, s->account->written);
	if (ferror(s->out))
		return errno ? -errno : -EIO;
	return 0;
}
