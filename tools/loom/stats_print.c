/* SPDX-License-Identifier: MIT */
/*
 * stats_print: prints the tables of the stats command. In: rows; out: text, CSV or JSON:
 *
 *   core epoch invocation  node  from        cycles  active  in-stall  out-stall  other   util   in
 * ... 0     1          0     5  both            14       4         7          3      0  0.286  0.5
 * ...
 *
 * `from`: statistics, records, or both if all common counters are equal; otherwise both rows are
 * shown and marked. Ratios are of the window in the head.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tools/loom/stats.h"
#include "trace/base/status.h"
#include "trace/loom/stats/agree.h"

static const char *const window_names[] = {
	[LOOM_OF_INVOCATION] = "invocation", [LOOM_OF_RUN] = "run", [LOOM_OF_BUSY] = "busy"};

static uint64_t counter(const struct stats_side *side, enum stats_counter c)
{
	return side->has >> c & 1 ? side->counters[c] : 0;
}

/* The cycles of the window of ratios. */
static uint64_t window(const struct stats *s, const struct stats_side *side)
{
	if (s->o->window == LOOM_OF_RUN)
		return s->total_cycles;
	if (s->o->window == LOOM_OF_INVOCATION)
		return side->total;
	return counter(side, STATS_ACTIVE_CYCLES) + counter(side, STATS_STALL_CYCLES_IN) +
	       counter(side, STATS_STALL_CYCLES_OUT);
}

/* Derives the metrics of a side; NaN for missing counters. */
static void derive(const struct stats *s, const struct stats_side *side, double out[STATS_NMETRICS])
{
	static const enum stats_counter needed[] = {
		[STATS_M_UTILIZATION] = STATS_ACTIVE_CYCLES,
		[STATS_M_INPUT_STALL] = STATS_STALL_CYCLES_IN,
		[STATS_M_OUTPUT_STALL] = STATS_STALL_CYCLES_OUT,
		[STATS_M_THROUGHPUT] = STATS_TOKENS_OUT,
		[STATS_M_CONFIG_OVERHEAD] = STATS_CONFIG_WRITES,
	};

	stats_derive(side->counters, window(s, side), out);
	for (int m = 0; m <= STATS_M_CONFIG_OVERHEAD; m++) {
		if (!(side->has >> needed[m] & 1))
			out[m] = (double)NAN;
	}
}

/* ---- text ---- */

/* A number, or "-". */
static const char *shown(char room[24], const struct stats_side *side, enum stats_counter c)
{
	if (!(side->has >> c & 1))
		return "-";
	snprintf(room, 24, "%" PRIu64, side->counters[c]);
	return room;
}

static const char *shown_ratio(char room[24], double v)
{
	if (isnan(v))
		return "-";
	snprintf(room, 24, "%.6g", v);
	return room;
}

/* total - active - stalls, which is negative in a wrong file. */
static const char *shown_other(char room[24], const struct stats_side *side)
{
	__int128 other = (__int128)side->total - counter(side, STATS_ACTIVE_CYCLES) -
			 counter(side, STATS_STALL_CYCLES_IN) -
			 counter(side, STATS_STALL_CYCLES_OUT);
	bool negative = other < 0;

	if (negative)
		other = -other;
	if (other > UINT64_MAX)
		return "<-2^64";
	snprintf(room, 24, "%s%" PRIu64, negative ? "-" : "", (uint64_t)other);
	return room;
}

static void print_ids(const struct stats_row *row, struct printer *out)
{
	char core[24] = "-", epoch[24] = "-", id[24] = "-", node[24] = "all";

	if (row->has_core)
		snprintf(core, sizeof(core), "%u", row->core);
	if (row->has_invocation) {
		snprintf(epoch, sizeof(epoch), "%" PRIu32, row->epoch);
		snprintf(id, sizeof(id), "%" PRIu64, row->invocation);
	}
	if (!row->whole_core)
		snprintf(node, sizeof(node), "%" PRIu32, row->node);
	printer_format(out, "%5s %5s %10s %6s ", core, epoch, id, node);
}

static void print_side(const struct stats *s, const struct stats_row *row,
		       const struct stats_side *side, const char *from, struct printer *out)
{
	char room[5][24], ratios[5][24];
	double m[STATS_NMETRICS];

	derive(s, side, m);
	print_ids(row, out);
	printer_format(out, "%-11s %10" PRIu64 " %8s %8s %9s %8s %9s %10s", from, side->total,
		       shown(room[0], side, STATS_ACTIVE_CYCLES),
		       shown(room[1], side, STATS_STALL_CYCLES_IN),
		       shown(room[2], side, STATS_STALL_CYCLES_OUT), shown_other(room[3], side),
		       shown(room[4], side, STATS_TOKENS_IN),
		       shown(ratios[0], side, STATS_TOKENS_OUT));
	for (int i = 0; i <= STATS_M_CONFIG_OVERHEAD; i++)
		printer_format(out, " %11s", shown_ratio(ratios[i], m[i]));
	if (row->module && row->module->name) {
		printer_text(out, "  ");
		printer_escaped(out, row->module->name, strlen(row->module->name));
	}
	printer_text(out, "\n");
}

static void print_row(const struct stats *s, const struct stats_row *row, struct printer *out)
{
	bool differs = stats_differs(row);

	if (row->statistics.given)
		print_side(s, row, &row->statistics,
			   !row->records.given ? "statistics"
			   : differs	       ? "statistics!"
					       : "both",
			   out);
	if (row->records.given && (!row->statistics.given || differs))
		print_side(s, row, &row->records, differs ? "records!" : "records", out);
}

static void print_account(const struct stats *s, struct printer *out)
{
	const struct stats_account *e = &s->perf.events;

	if (s->has_perf && e->given)
		printer_format(out,
			       "events: seen %" PRIu64 " written %" PRIu64 " filtered %" PRIu64
			       " sampled_out %" PRIu64 " dropped %" PRIu64 "\n",
			       e->seen.v, e->written.v, e->filtered.v, e->sampled_out.v,
			       e->dropped.v);
}

static void print_comparison(const struct stats *s, struct printer *out)
{
	bool ours = s->perf.form == STATS_LOOM;

	if (s->has_perf)
		printer_format(out,
			       "announced metrics: %" PRIu64 ", of which %" PRIu64
			       " do not follow from their counters (%s; tolerance %s)\n",
			       s->announced, s->wrong,
			       s->perf.form == STATS_LEGACY ? "this form: of the busy cycles"
			       : s->perf.form == STATS_GEM5 ? "this form: of the kernel cycles"
							    : "of the invocation",
			       ours ? "1e-6 relative" : "5e-6 relative, 5e-7 absolute");
	if (s->obstacle)
		printer_format(out, "records and statistics: not compared: %s\n", s->obstacle);
	else if (s->has_perf && s->records.readable)
		printer_format(out,
			       "records and statistics: %" PRIu64 " counters compared, %" PRIu64
			       " differ\n",
			       s->compared, s->differ);
	if (s->records.tally.refused > 0)
		printer_format(out,
			       "%" PRIu64
			       " records of nodes stand outside of an invocation or out of "
			       "order: not counted\n",
			       s->records.tally.refused);
}

void stats_print_text(const struct stats *s, struct printer *out)
{
	if (s->run.trace)
		printer_format(out, "trace: %s, %" PRIu64 " records, style %s\n",
			       loom_form_name(s->records.form), s->records.tally.records,
			       loom_style_names[s->records.tally.style]);
	if (s->has_perf)
		printer_format(out, "statistics: %s\n", stats_form_name(s->perf.form));
	print_account(s, out);
	if (s->has_total) {
		printer_format(out, "run: total_cycles %" PRIu64, s->total_cycles);
		if (s->has_perf && s->perf.config_cycles.given)
			printer_format(out, " config_cycles %" PRIu64, s->perf.config_cycles.v);
		if (s->has_config_writes)
			printer_format(out, " config_writes %" PRIu64 " config_overhead %.6g",
				       s->config_writes,
				       s->total_cycles
					       ? (double)s->config_writes / (double)s->total_cycles
					       : 0.0);
		printer_text(out, "\n");
	}
	printer_format(out, "ratios are of the window: %s\n\n", window_names[s->o->window]);
	printer_format(
		out,
		"%5s %5s %10s %6s %-11s %10s %8s %8s %9s %8s %9s %10s %11s %11s %11s %11s %11s\n",
		"core", "epoch", "invocation", "node", "from", "cycles", "active", "in-stall",
		"out-stall", "other", "tokens-in", "tokens-out", "utilization", "in-stall",
		"out-stall", "throughput", "config");
	for (size_t i = 0; i < s->nrows; i++)
		print_row(s, &s->rows[i], out);
	if (s->nrows == 0)
		printer_text(out, "(no counters)\n");
	printer_text(out, "\n");
	print_comparison(s, out);
}

/* ---- CSV: a line for each side of each row; unknown values are empty ---- */

/* Writes a name in quotes, with doubled quotes inside. */
static void csv_name(const char *name, struct printer *out)
{
	printer_text(out, "\"");
	while (name && *name) {
		size_t len = strcspn(name, "\"");

		printer_escaped(out, name, len);
		name += len;
		if (*name) {
			printer_text(out, "\"\"");
			name++;
		}
	}
	printer_text(out, "\"");
}

static void csv_side(const struct stats *s, const struct stats_row *row,
		     const struct stats_side *side, const char *from, struct printer *out)
{
	double m[STATS_NMETRICS];

	if (!side->given)
		return;
	derive(s, side, m);
	if (row->has_core)
		printer_format(out, "%u", row->core);
	printer_text(out, ",");
	if (row->has_invocation)
		printer_format(out, "%" PRIu32 ",%" PRIu64, row->epoch, row->invocation);
	else
		printer_text(out, ",");
	printer_text(out, ",");
	if (!row->whole_core)
		printer_format(out, "%" PRIu32, row->node);
	printer_text(out, ",");
	csv_name(row->module ? row->module->name : NULL, out);
	printer_format(out, ",%s,%" PRIu64, from, side->total);
	for (int c = STATS_ACTIVE_CYCLES; c <= STATS_CONFIG_WRITES; c++) {
		printer_text(out, ",");
		if (side->has >> c & 1)
			printer_format(out, "%" PRIu64, side->counters[c]);
	}
	for (int i = 0; i <= STATS_M_CONFIG_OVERHEAD; i++) {
		printer_text(out, ",");
		if (!isnan(m[i]))
			printer_format(out, "%.9g", m[i]);
	}
	printer_format(out, ",%s\n", stats_differs(row) ? "differs" : "");
}

void stats_print_csv(const struct stats *s, struct printer *out)
{
	printer_text(out, "core_id,epoch_id,invocation_id,hw_node_id,name,from,total_cycles");
	for (int c = STATS_ACTIVE_CYCLES; c <= STATS_CONFIG_WRITES; c++)
		printer_format(out, ",%s", stats_counter_names[c]);
	for (int i = 0; i <= STATS_M_CONFIG_OVERHEAD; i++)
		printer_format(out, ",%s", stats_metric_names[i]);
	printer_text(out, ",differs\n");
	for (size_t i = 0; i < s->nrows; i++) {
		csv_side(s, &s->rows[i], &s->rows[i].statistics, "statistics", out);
		csv_side(s, &s->rows[i], &s->rows[i].records, "records", out);
	}
}

/* ---- JSON ---- */

static void json_real(struct printer *out, const char *name, double v, bool first)
{
	if (isnan(v))
		printer_format(out, "%s\"%s\": null", first ? "" : ", ", name);
	else
		printer_format(out, "%s\"%s\": %.9g", first ? "" : ", ", name, v);
}

static void json_side(const struct stats *s, const struct stats_side *side, struct printer *out)
{
	double m[STATS_NMETRICS];

	if (!side->given) {
		printer_text(out, "null");
		return;
	}
	derive(s, side, m);
	printer_format(out, "{\"total_cycles\": %" PRIu64, side->total);
	for (int c = STATS_ACTIVE_CYCLES; c <= STATS_CONFIG_WRITES; c++) {
		if (side->has >> c & 1)
			printer_format(out, ", \"%s\": %" PRIu64, stats_counter_names[c],
				       side->counters[c]);
	}
	printer_text(out, ", \"metrics\": {");
	for (int i = 0; i <= STATS_M_CONFIG_OVERHEAD; i++)
		json_real(out, stats_metric_names[i], m[i], i == 0);
	printer_text(out, "}}");
}

static void json_announced(const struct stats *s, const struct stats_snapshot *from,
			   struct printer *out)
{
	double want[STATS_NMETRICS];
	bool first = true;

	stats_wanted(&s->perf, from, want);
	printer_text(out, "{");
	for (int m = 0; m < STATS_NMETRICS; m++) {
		if (!(from->has_metric >> m & 1))
			continue;
		json_real(out, stats_metric_names[m], from->metrics[m], first);
		first = false;
	}
	printer_text(out, "}, \"follows\": ");
	for (int m = 0; m < STATS_NMETRICS; m++) {
		if (stats_announces(&s->perf, from, (enum stats_metric)m) &&
		    !stats_agrees(&s->perf, from->metrics[m], want[m])) {
			printer_text(out, "false");
			return;
		}
	}
	printer_text(out, "true");
}

static void json_name(const struct stats_row *row, struct printer *out)
{
	if (row->module && row->module->name) {
		printer_text(out, ", \"name\": ");
		printer_json_string(out, row->module->name, strlen(row->module->name));
	}
	if (row->module && row->module->kind) {
		printer_text(out, ", \"kind\": ");
		printer_json_string(out, row->module->kind, strlen(row->module->kind));
	}
}

static void json_row(const struct stats *s, const struct stats_row *row, struct printer *out)
{
	if (row->has_core)
		printer_format(out, "\"core_id\": %u, ", row->core);
	if (row->has_invocation)
		printer_format(out, "\"epoch_id\": %" PRIu32 ", \"invocation_id\": %" PRIu64 ", ",
			       row->epoch, row->invocation);
	if (row->whole_core)
		printer_text(out, "\"hw_node_id\": null");
	else
		printer_format(out, "\"hw_node_id\": %" PRIu32, row->node);
	json_name(row, out);
	printer_text(out, ",\n     \"statistics\": ");
	json_side(s, &row->statistics, out);
	printer_text(out, ",\n     \"records\": ");
	json_side(s, &row->records, out);
	if (row->announced) {
		printer_text(out, ",\n     \"announced\": ");
		json_announced(s, row->announced, out);
	}
	printer_format(out, ",\n     \"differs\": %s}", stats_differs(row) ? "true" : "false");
}

static void json_events(const struct stats *s, struct printer *out)
{
	const struct stats_account *e = &s->perf.events;

	if (s->has_perf && e->given)
		printer_format(out,
			       ",\n  \"events\": {\"seen\": %" PRIu64 ", \"written\": %" PRIu64
			       ", \"filtered\": %" PRIu64 ", \"sampled_out\": %" PRIu64
			       ", \"dropped\": %" PRIu64 "}",
			       e->seen.v, e->written.v, e->filtered.v, e->sampled_out.v,
			       e->dropped.v);
}

void stats_print_json(const struct stats *s, struct printer *out)
{
	printer_text(out, "{\n  \"run\": ");
	printer_json_string(out, s->run.name, strlen(s->run.name));
	if (s->run.trace)
		printer_format(out,
			       ",\n  \"trace\": {\"form\": \"%s\", \"records\": %" PRIu64
			       ", \"record_style\": \"%s\", \"outside\": %" PRIu64 "}",
			       loom_form_name(s->records.form), s->records.tally.records,
			       loom_style_names[s->records.tally.style], s->records.tally.refused);
	if (s->has_perf)
		printer_format(out, ",\n  \"statistics\": {\"form\": \"%s\"}",
			       stats_form_name(s->perf.form));
	json_events(s, out);
	if (s->has_total)
		printer_format(out, ",\n  \"total_cycles\": %" PRIu64, s->total_cycles);
	if (s->has_config_writes)
		printer_format(out, ",\n  \"config_writes\": %" PRIu64, s->config_writes);
	if (s->has_total && s->has_config_writes) {
		printer_text(out, ",\n  ");
		json_real(out, "config_overhead",
			  s->total_cycles ? (double)s->config_writes / (double)s->total_cycles
					  : 0.0,
			  true);
	}
	printer_format(out,
		       ",\n  \"window\": \"%s\",\n  \"announced\": %" PRIu64 ", \"wrong\": %" PRIu64
		       ", \"compared\": %" PRIu64 ", \"differ\": %" PRIu64,
		       window_names[s->o->window], s->announced, s->wrong, s->compared, s->differ);
	if (s->obstacle)
		printer_format(out, ",\n  \"not_compared\": \"%s\"", s->obstacle);
	printer_text(out, ",\n  \"rows\": [");
	for (size_t i = 0; i < s->nrows; i++) {
		printer_format(out, "%s\n    {", i ? "," : "");
		json_row(s, &s->rows[i], out);
	}
	printer_text(out, "\n  ]\n}\n");
}
