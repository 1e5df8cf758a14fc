/* SPDX-License-Identifier: MIT */
#include "tools/loom/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/status.h"
#include "trace/base/log.h"
#include "trace/loom/stats/agree.h"

#define BIT(c) (1u << STATS_##c)

/* ---- rows ---- */

static struct stats_row *new_row(struct stats *s)
{
	if (s->nrows == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		struct stats_row *rows = reallocarray(s->rows, room, sizeof(*rows));

		if (!rows)
			return NULL;
		s->rows = rows;
		s->room = room;
	}
	memset(&s->rows[s->nrows], 0, sizeof(*s->rows));
	s->rows[s->nrows].order = s->nrows;
	return &s->rows[s->nrows++];
}

static void fill_records(const struct stats *s, struct stats_row *to, const struct loom_row *row,
			 const struct loom_invocation *v)
{
	const uint64_t *of_kind = s->records.tally.of_kind;
	struct stats_side *side = &to->records;

	to->has_ids = to->has_core = to->has_invocation = true;
	to->core = (uint16_t)v->core;
	to->epoch = v->epoch;
	to->invocation = v->id;
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
	struct stats_side *side = &to->statistics;

	const struct loom_invocation *last = loom_tally_last(&s->records.tally);

	if (s->perf.form != STATS_LOOM && last && !s->obstacle) {
		to->has_ids = to->has_core = to->has_invocation = true;
		to->core = (uint16_t)last->core;
		to->epoch = last->epoch;
		to->invocation = last->id;
	}
	if (s->perf.form == STATS_LOOM) {
		to->has_ids = to->has_core = to->has_invocation = true;
		to->core = from->core_id;
		to->epoch = from->epoch_id;
		to->invocation = from->invocation_id;
	}
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
	ORDER(has_ids);
	if (!x->has_ids)
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

/* Adds up the rows of each node, or core, in all invocations. */
static void sum_up(struct stats *s, bool nodes)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nrows; i++) {
		if (s->rows[i].whole_core == nodes)
			continue;
		s->rows[n] = s->rows[i];
		s->rows[n].has_invocation = false;
		if (!nodes)
			s->rows[n].node = 0;
		n++;
	}
	s->nrows = n;
	if (n > 1)
		qsort(s->rows, n, sizeof(*s->rows), by_node);
	n = 0;
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
	size_t n = 0;

	if (s->nrows > 1)
		qsort(s->rows, s->nrows, sizeof(*s->rows), by_ids);
	switch (s->o->by) {
	case LOOM_BY_ALL:
		return;
	case LOOM_BY_NODE:
	case LOOM_BY_CORE:
		sum_up(s, s->o->by == LOOM_BY_NODE);
		return;
	case LOOM_BY_INVOCATION:
		for (size_t i = 0; i < s->nrows; i++) {
			if (s->rows[i].whole_core)
				s->rows[n++] = s->rows[i];
		}
		s->nrows = n;
		return;
	}
}

/* ---- the run ---- */

/* Finds the cycles and configuration writes of the run, in the statistics if they have them. */
static void find_run(struct stats *s)
{
	const struct run_stats *p = &s->perf;
	uint64_t first, end;

	loom_counters_window(s->records.tally.counters, &first, &end);
	if (s->has_perf && p->form == STATS_LOOM && p->window_cycles.given) {
		s->total_cycles = p->window_cycles.v;
		s->has_total = true;
	} else if (s->has_perf && p->total_cycles.given) {
		s->total_cycles = p->total_cycles.v;
		s->has_total = true;
	} else if (s->records.tally.records > 0) {
		s->total_cycles = end - first;
		s->has_total = true;
	}
	if (s->has_perf && p->sums[STATS_CONFIG_WRITES].given) {
		s->config_writes = p->sums[STATS_CONFIG_WRITES].v;
		s->has_config_writes = true;
	}
	for (size_t i = 0; s->has_perf && p->form == STATS_LOOM && i < p->nsnapshots; i++) {
		if (p->snapshots[i].scope != STATS_CORE || !p->snapshots[i].is_last)
			continue;
		s->config_writes += p->snapshots[i].counters[STATS_CONFIG_WRITES];
		s->has_config_writes = true;
	}
	if (!s->has_config_writes && s->records.readable) {
		s->config_writes = s->records.tally.of_kind[LOOM_CONFIG_WRITE];
		s->has_config_writes = true;
	}
}

bool stats_comparable(const struct stats_row *row, enum stats_counter c)
{
	return row->statistics.given && row->records.given &&
	       (row->statistics.has >> c & row->records.has >> c & 1);
}

bool stats_differs(const struct stats_row *row)
{
	for (int c = 0; c < STATS_NCOUNTERS; c++) {
		if (stats_comparable(row, (enum stats_counter)c) &&
		    row->statistics.counters[c] != row->records.counters[c])
			return true;
	}
	return row->statistics.given && row->records.given &&
	       row->statistics.total != row->records.total;
}

static void compare(struct stats *s)
{
	double want[STATS_NMETRICS];

	for (size_t i = 0; i < s->nrows; i++) {
		for (int c = 0; c < STATS_NCOUNTERS; c++) {
			if (!stats_comparable(&s->rows[i], (enum stats_counter)c))
				continue;
			s->compared++;
			s->differ +=
				s->rows[i].statistics.counters[c] != s->rows[i].records.counters[c];
		}
		if (s->rows[i].statistics.given && s->rows[i].records.given) {
			s->compared++;
			s->differ += s->rows[i].statistics.total != s->rows[i].records.total;
		}
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
		double overhead = s->perf.total_cycles.v ? (double)s->config_writes /
								   (double)s->perf.total_cycles.v
							 : 0;

		s->announced++;
		s->wrong += !stats_agrees(&s->perf, s->perf.config_overhead, overhead);
	}
}

/* Names the rows: from the file of the user, then the trace, then the statistics. */
static int name_rows(struct stats *s)
{
	int err = 0;

	if (s->o->nodes_file)
		err = loom_modules_load(&s->names, AT_FDCWD, s->o->nodes_file);
	if (err)
		goto out;
	for (size_t i = 0; i < s->records.modules.n; i++) {
		err = loom_modules_add(&s->names, &s->records.modules.list[i]);
		if (err)
			goto out;
	}
	if (err)
		goto out;
	for (size_t i = 0; i < s->perf.modules.n; i++) {
		err = loom_modules_add(&s->names, &s->perf.modules.list[i]);
		if (err)
			goto out;
	}
out:
	if (err)
		return err;
	for (size_t i = 0; i < s->nrows; i++) {
		if (!s->rows[i].whole_core)
			s->rows[i].module =
				loom_modules_find(&s->names, s->rows[i].core, s->rows[i].node);
	}
	return 0;
}

/* Logs errors only: the check command reports violations of the order. */
static void report(void *arg, const struct loom_violation *f)
{
	if (f->rule <= LOOM_S5 || f->rule == LOOM_O10 || f->rule == LOOM_P1 || f->rule == LOOM_P2)
		loom_violation_log(arg, f);
}

static int read_run(struct stats *s, struct loom_violations *findings)
{
	struct loom_agree_options how = {.leaves_out = loom_declares(s->o)};
	const struct run_stats *perf;
	int err = 0;

	if (s->run.perf) {
		err = run_stats_load(&s->perf, AT_FDCWD, s->run.perf, findings);
		s->has_perf = !err;
		if (err == -EBADMSG && s->run.trace)
			err = 0; /* go on with the records */
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

	if (printer_open(&out, STDOUT_FILENO) < 0) {
		log_no_memory("while starting");
		return STATUS_FAILED;
	}
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
		stats_print_json(&s, &out);
	else if (o->csv)
		stats_print_csv(&s, &out);
	else
		stats_print_text(&s, &out);
out:
	if (err == -ENOMEM)
		log_no_memory("while reading %s", o->run);
	if (printer_close(&out) < 0 || s.records.damaged || findings.of_rule[LOOM_P1])
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
