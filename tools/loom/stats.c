/* SPDX-License-Identifier: MIT */
/*
 * stats: compares the metrics of a run from its statistics and from its records.
 *
 * In: a run; out: a row for each node and each core in each invocation, or for sums of these, with
 * the counters of both sides, as text, CSV or JSON:
 *
 *   core epoch invocation  node  from        cycles  active  in-stall  out-stall  other   util   in
 * ... 0     1          0     5  both            14       4         7          3      0  0.286  0.5
 * ...
 *
 * `from`: statistics, records, or both if all common counters are equal; otherwise both rows are
 * shown and marked. Ratios are of the window in the head. Invariant: metrics are derived from the
 * counters in the row; metrics in a file are only compared.
 * Specification: loom.md 6 (metrics, windows, tolerance), 5.1 (cores).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/printer.h"
#include "tools/loom/run/run_records.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/status.h"
#include "trace/loom/stats/agree.h"

#define BIT(c) (1u << STATS_##c)

struct stats_side {
	bool given;
	uint64_t has; /* a bit for each counter */
	uint64_t counters[STATS_NCOUNTERS];
	uint64_t total; /* cycles of the window */
};

struct stats_row {
	bool whole_core;
	bool has_core, has_invocation;
	uint64_t differ; /* number of different counters of both sides */
	uint16_t core;
	uint32_t epoch, node;
	uint64_t invocation;
	uint64_t order;				/* of the row, the last key to sort by */
	const struct loom_module *module;	/* NULL: no name */
	const struct stats_snapshot *announced; /* NULL for sums, and without statistics */
	struct stats_side statistics, records;
};

struct stats {
	const struct loom_options *o;
	struct run_files run;
	struct run_stats perf;
	bool has_perf;
	struct run_records records;
	struct loom_modules names; /* of the trace, the statistics, --names */
	const char *obstacle;	   /* why the sides cannot be compared, or NULL */
	struct stats_row *rows;
	size_t nrows;
	uint64_t total_cycles, config_writes; /* of the run */
	bool has_total, has_config_writes;
	uint64_t announced, wrong; /* number of metrics in the file, and of wrong ones */
	uint64_t compared, differ; /* number of counters of both sides, and of different ones */
};

/* ---- rows ---- */

static struct stats_row *new_row(struct stats *s)
{
	struct stats_row *row = ARRAY_ADD(s->rows, s->nrows);

	if (row)
		*row = (struct stats_row){.order = s->nrows - 1};
	return row;
}

static void set_ids(struct stats_row *to, uint16_t core, uint32_t epoch, uint64_t invocation)
{
	to->has_core = to->has_invocation = true;
	to->core = core;
	to->epoch = epoch;
	to->invocation = invocation;
}

static void fill_records(const struct stats *s, struct stats_row *to, const struct loom_row *row,
			 const struct loom_invocation *v)
{
	const uint64_t *of_kind = s->records.tally.of_kind;
	struct stats_side *side = &to->records;

	set_ids(to, (uint16_t)v->core, v->epoch, v->id);
	to->whole_core = row->whole_core;
	to->node = row->node;
	side->given = true;
	side->total = v->end - v->start;
	/* without recorded stalls, their number is unknown */
	side->has = BIT(ACTIVE_CYCLES);
	if (of_kind[LOOM_NODE_STALL_IN] > 0)
		side->has |= BIT(STALL_CYCLES_IN);
	if (of_kind[LOOM_NODE_STALL_OUT] > 0)
		side->has |= BIT(STALL_CYCLES_OUT);
	side->counters[STATS_ACTIVE_CYCLES] = row->active;
	side->counters[STATS_STALL_CYCLES_IN] = row->stall_in;
	side->counters[STATS_STALL_CYCLES_OUT] = row->stall_out;
	if (row->whole_core && of_kind[LOOM_CONFIG_WRITE] > 0) {
		side->has |= BIT(CONFIG_WRITES);
		side->counters[STATS_CONFIG_WRITES] = row->config_writes;
	}
}

static void fill_statistics(struct stats *s, struct stats_row *to,
			    const struct stats_snapshot *from)
{
	const struct loom_invocation *last = loom_tally_last(&s->records.tally);
	struct stats_side *side = &to->statistics;

	if (s->perf.form == STATS_LOOM)
		set_ids(to, from->core_id, from->epoch_id, from->invocation_id);
	else if (last && !s->obstacle)
		set_ids(to, (uint16_t)last->core, last->epoch, last->id);
	to->whole_core = from->scope == STATS_CORE;
	to->node = from->hw_node_id;
	to->announced = from;
	side->given = true;
	side->total = stats_window(&s->perf, from).v;
	side->has = from->has_counter;
	memcpy(side->counters, from->counters, sizeof(side->counters));
}

/* Makes rows of the statistics with the counters of their records, then rows of records alone. */
static int collect(struct stats *s)
{
	const struct loom_tally *t = &s->records.tally;
	size_t nrows, ninvocations;
	const struct loom_row *rows = loom_counters_rows(t->counters, &nrows);
	const struct loom_invocation *list = loom_counters_invocations(t->counters, &ninvocations);
	bool *taken = calloc(nrows + 1, sizeof(*taken));
	int err = taken ? 0 : -ENOMEM;

	if (err)
		return err;
	for (size_t i = 0; s->has_perf && i < s->perf.nsnapshots; i++) {
		const struct stats_snapshot *from = &s->perf.snapshots[i];
		const struct loom_row *row = NULL;
		struct stats_row *to;

		if (!from->is_last)
			continue;
		to = new_row(s);
		if (!to) {
			err = -ENOMEM;
			goto out;
		}
		fill_statistics(s, to, from);
		row = s->obstacle ? NULL : loom_agree_row(t, &s->perf, from);
		if (row) {
			fill_records(s, to, row, &list[row->invocation]);
			taken[row - rows] = true;
		}
	}
	for (size_t i = 0; i < nrows; i++) {
		struct stats_row *to;

		if (taken[i])
			continue;
		to = new_row(s);
		if (!to) {
			err = -ENOMEM;
			goto out;
		}
		fill_records(s, to, &rows[i], &list[rows[i].invocation]);
	}
out:
	free(taken);
	return err;
}

static int by_ids(const void *a, const void *b)
{
	const struct stats_row *x = a, *y = b;

#define ORDER(member)                                                                              \
	do {                                                                                       \
		if (x->member != y->member)                                                        \
			return x->member < y->member ? -1 : 1;                                     \
	} while (0)
	ORDER(has_core);
	if (!x->has_core)
		return x->order < y->order ? -1 : 1;
	ORDER(epoch);
	ORDER(invocation);
	ORDER(core);
	if (x->whole_core != y->whole_core)
		return x->whole_core ? -1 : 1;
	ORDER(node);
	ORDER(order);
#undef ORDER
	return 0;
}

/* ---- sums ---- */

static void add_side(struct stats_side *to, const struct stats_side *from)
{
	if (!from->given)
		return;
	to->has = to->given ? to->has & from->has : from->has;
	to->given = true;
	to->total += from->total;
	for (int c = 0; c < STATS_NCOUNTERS; c++)
		to->counters[c] += from->counters[c];
}

static int by_node(const void *a, const void *b)
{
	const struct stats_row *x = a, *y = b;

	if (x->has_core != y->has_core)
		return x->has_core ? 1 : -1;
	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Keeps only the rows of cores, or only the rows of nodes. */
static void keep(struct stats *s, bool whole_cores)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nrows; i++) {
		if (s->rows[i].whole_core == whole_cores)
			s->rows[n++] = s->rows[i];
	}
	s->nrows = n;
}

/* Adds up the rows of each node, or core, in all invocations. */
static void sum_up(struct stats *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nrows; i++)
		s->rows[i].has_invocation = false;
	if (s->nrows > 1)
		qsort(s->rows, s->nrows, sizeof(*s->rows), by_node);
	for (size_t i = 0; i < s->nrows; i++) {
		struct stats_row *to = n ? &s->rows[n - 1] : NULL;
		const struct stats_row *from = &s->rows[i];

		/* rows without a core may belong to different cores */
		if (to && from->has_core && to->has_core && to->core == from->core &&
		    to->node == from->node) {
			add_side(&to->statistics, &from->statistics);
			add_side(&to->records, &from->records);
			to->announced = NULL;
		} else {
			s->rows[n++] = *from;
		}
	}
	s->nrows = n;
}

static void group(struct stats *s)
{
	if (s->nrows > 1)
		qsort(s->rows, s->nrows, sizeof(*s->rows), by_ids);
	if (s->o->by == LOOM_BY_ALL)
		return;
	keep(s, s->o->by != LOOM_BY_NODE);
	if (s->o->by != LOOM_BY_INVOCATION)
		sum_up(s);
}

/* ---- the run ---- */

/* Finds the cycles and configuration writes of the run, in the statistics if they have them. */
static void find_run(struct stats *s)
{
	const struct run_stats *p = &s->perf;
	uint64_t first, end;

	loom_counters_window(s->records.tally.counters, &first, &end);
	s->has_total = true;
	if (s->has_perf && p->form == STATS_LOOM && p->window_cycles.given)
		s->total_cycles = p->window_cycles.v;
	else if (s->has_perf && p->total_cycles.given)
		s->total_cycles = p->total_cycles.v;
	else if (s->records.tally.records > 0)
		s->total_cycles = end - first;
	else
		s->has_total = false;
	s->has_config_writes = s->has_perf && run_stats_config_writes(p, &s->config_writes);
	if (!s->has_config_writes && s->records.readable) {
		s->config_writes = s->records.tally.of_kind[LOOM_CONFIG_WRITE];
		s->has_config_writes = true;
	}
}

/* Counts the common counters of both sides; returns the number of different ones. */
static uint64_t compare_row(const struct stats_row *row, uint64_t *compared)
{
	const struct stats_side *x = &row->statistics, *y = &row->records;
	uint64_t different;

	if (!x->given || !y->given)
		return 0;
	different = x->total != y->total;
	++*compared;
	for (int c = 0; c < STATS_NCOUNTERS; c++) {
		if (!(x->has >> c & y->has >> c & 1))
			continue;
		different += x->counters[c] != y->counters[c];
		++*compared;
	}
	return different;
}

static void compare(struct stats *s)
{
	double want[STATS_NMETRICS];

	for (size_t i = 0; i < s->nrows; i++) {
		s->rows[i].differ = compare_row(&s->rows[i], &s->compared);
		s->differ += s->rows[i].differ;
	}
	for (size_t i = 0; s->has_perf && i < s->perf.nsnapshots; i++) {
		const struct stats_snapshot *from = &s->perf.snapshots[i];

		stats_wanted(&s->perf, from, want);
		for (int m = 0; m < STATS_NMETRICS; m++) {
			if (!stats_announces(&s->perf, from, (enum stats_metric)m))
				continue;
			s->announced++;
			s->wrong += !stats_agrees(&s->perf, from->metrics[m], want[m]);
		}
	}
	if (s->has_perf && s->perf.has_config_overhead) {
		s->announced++;
		s->wrong += !stats_agrees(&s->perf, s->perf.config_overhead,
					  stats_ratio(s->config_writes, s->perf.total_cycles.v));
	}
}

/* Names the rows: from the file of the user, then the trace, then the statistics. */
static int name_rows(struct stats *s)
{
	const struct loom_modules *lists[] = {&s->records.modules, &s->perf.modules};
	int err = s->o->nodes_file ? loom_modules_load(&s->names, AT_FDCWD, s->o->nodes_file) : 0;

	if (err)
		return err;
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < lists[k]->n; i++) {
			err = loom_modules_add(&s->names, &lists[k]->list[i]);
			if (err)
				return err;
		}
	}
	for (size_t i = 0; i < s->nrows; i++) {
		if (!s->rows[i].whole_core)
			s->rows[i].module =
				loom_modules_find(&s->names, s->rows[i].core, s->rows[i].node);
	}
	return 0;
}

/* ---- output ---- */

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
	const char *from = row->records.given ? "both" : "statistics";

	if (row->records.given && row->differ)
		from = "statistics!";
	if (row->statistics.given)
		print_side(s, row, &row->statistics, from, out);
	if (row->records.given && (!row->statistics.given || row->differ))
		print_side(s, row, &row->records, row->differ ? "records!" : "records", out);
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
	const char *window = "of the invocation";

	if (s->perf.form == STATS_LEGACY)
		window = "this form: of the busy cycles";
	if (s->perf.form == STATS_GEM5)
		window = "this form: of the kernel cycles";
	if (s->has_perf)
		printer_format(out,
			       "announced metrics: %" PRIu64 ", of which %" PRIu64
			       " do not follow from their counters (%s; tolerance %s)\n",
			       s->announced, s->wrong, window,
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

static void print_text(const struct stats *s, struct printer *out)
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
				       stats_ratio(s->config_writes, s->total_cycles));
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
	printer_format(out, ",%s\n", row->differ ? "differs" : "");
}

static void print_csv(const struct stats *s, struct printer *out)
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

static void put_json_name(const struct stats_row *row, struct printer *out)
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
	put_json_name(row, out);
	printer_text(out, ",\n     \"statistics\": ");
	json_side(s, &row->statistics, out);
	printer_text(out, ",\n     \"records\": ");
	json_side(s, &row->records, out);
	if (row->announced) {
		printer_text(out, ",\n     \"announced\": ");
		json_announced(s, row->announced, out);
	}
	printer_format(out, ",\n     \"differs\": %s}", row->differ ? "true" : "false");
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

static void print_json(const struct stats *s, struct printer *out)
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
		json_real(out, "config_overhead", stats_ratio(s->config_writes, s->total_cycles),
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

/* ---- the command ---- */

/* Logs errors only: the check command reports violations of the order. */
static void report(void *arg, const struct loom_violation *f)
{
	if (f->rule <= LOOM_S5 || f->rule == LOOM_O10 || f->rule == LOOM_P1 || f->rule == LOOM_P2)
		loom_violation_log(arg, f);
}

static int read_run(struct stats *s, struct loom_violations *findings)
{
	struct loom_agree_options how = {.leaves_out = loom_controls_filter(&s->o->declared)};
	const struct run_stats *perf;
	int err = 0;

	if (s->run.perf) {
		err = run_stats_load(&s->perf, s->run.perf_at, s->run.perf, findings);
		s->has_perf = !err;
		if (err == -EBADMSG && s->run.trace)
			err = 0; /* continue with the records */
	}
	if (err)
		return err;
	perf = s->has_perf ? &s->perf : NULL;
	err = run_records_read(&s->records, s->o, &s->run, perf, run_records_style(s->o, perf),
			       false, findings);
	how.without_start = s->records.without_start;
	if (err)
		return err;
	if (perf && s->records.readable) {
		s->obstacle = loom_agree_obstacle(&s->records.tally, perf, &how);
		if (!s->obstacle)
			err = run_records_try_edge(&s->records, s->o, &s->run, perf);
		err = err < 0 ? err : 0;
	}
	return err;
}

int loom_stats(struct loom_options *o)
{
	struct loom_violations findings = {.report = report};
	struct stats s = {.o = o};
	struct printer out;
	int err, status = STATUS_COMPLETE;

	printer_open(&out, STDOUT_FILENO);
	o->chain = !o->no_chain;
	err = run_files_find(&s.run, o->run, o->perf);
	if (err)
		goto out;
	err = read_run(&s, &findings);
	if (err)
		goto out;
	err = collect(&s);
	if (err)
		goto out;
	group(&s);
	err = name_rows(&s);
	if (err)
		goto out;
	find_run(&s);
	compare(&s);
	if (o->json)
		print_json(&s, &out);
	else if (o->csv)
		print_csv(&s, &out);
	else
		print_text(&s, &out);
out:
	if (err == -ENOMEM)
		log_no_memory("while reading %s", o->run);
	if (printer_close(&out) < 0 || s.records.damaged || findings.of_rule[LOOM_P1] ||
	    findings.of_rule[LOOM_P2])
		err = err ? err : -EIO;
	if (s.has_perf && s.perf.events.dropped.v > 0)
		status = STATUS_LOST;
	free(s.rows);
	loom_modules_free(&s.names);
	run_records_fini(&s.records);
	run_stats_free(&s.perf);
	run_files_free(&s.run);
	return err ? STATUS_FAILED : status;
}
