/* SPDX-License-Identifier: MIT */
/* efficiency_text: the report for people, and the tables of ranks and phases, also as CSV. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/efficiency/efficiency_print.h"
#include "trace/base/text.h"

#define LABEL	    35 /* columns of the tree */
#define RANKS_SHOWN 16 /* more are shown as the ENDS least and most useful, and the median */
#define ENDS	    4

/* ---- the tree ---- */

static void put_value(struct printer *out, const struct metric_value *value)
{
	if (value->reason)
		printer_format(out, "not available: %s", text_shown(value->reason));
	else if (value->bound)
		printer_format(out, "%.3f to %.3f", value->value, value->high);
	else
		printer_format(out, "%.3f", value->value);
}

/* One line; more words may follow it. */
static void put_metric(struct printer *out, int depth, const char *label,
		       const struct metric_value *value)
{
	printer_format(out, "%*s%-*s", 2 * depth, "", LABEL - 2 * depth, label);
	put_value(out, value);
}

/* More factors behind a line: the first of the two has the reason for both. */
static void put_two(struct printer *out, const struct metric_set *set, const char *first,
		    enum metric a, const char *second, enum metric b)
{
	if (set->list[a].reason || set->list[b].reason)
		return;
	printer_format(out, "     %s %.3f, %s %.3f", first, set->list[a].value, second,
		       set->list[b].value);
}

static void put_balance(struct printer *out, const struct metric_set *set, int depth, bool hybrid)
{
	put_metric(out, depth, "Load balance", &set->list[hybrid ? METRIC_MPI_LB : METRIC_LB]);
	put_two(out, set, "in nodes", METRIC_LB_IN, "between", METRIC_LB_OUT);
	printer_text(out, "\n");
	put_metric(out, depth, "Communication efficiency",
		   &set->list[hybrid ? METRIC_MPI_COMM : METRIC_COMM]);
	put_two(out, set, "transfer*", METRIC_TRANSFER_STAR, "serialisation*", METRIC_SERIAL_STAR);
	printer_text(out, "\n");
}

static void put_hybrid(struct printer *out, const struct metric_set *set)
{
	put_metric(out, 2, "MPI parallel efficiency", &set->list[METRIC_MPI_PE]);
	printer_text(out, "\n");
	put_balance(out, set, 3, true);
	put_metric(out, 2, "OpenMP parallel efficiency", &set->list[METRIC_OMP_PE]);
	printer_text(out, "\n");
	put_metric(out, 3, "Serial parts", &set->list[METRIC_OMP_SERIAL]);
	printer_text(out, "\n");
	put_metric(out, 3, "Load balance", &set->list[METRIC_OMP_LB]);
	printer_text(out, "\n");
	put_metric(out, 3, "Scheduling", &set->list[METRIC_OMP_SCHEDULING]);
	printer_text(out, "\n");
}

static void put_os(const struct efficiency_report *r, struct printer *out)
{
	const struct metric_set *set = &r->e.whole;
	char text[DURATION_TEXT];

	put_metric(out, 1, "On-CPU efficiency", &set->list[METRIC_ON_CPU]);
	if (!set->list[METRIC_TRUE_LB].reason)
		printer_format(out, "     true load balance %.3f", set->list[METRIC_TRUE_LB].value);
	printer_text(out, "\n");
	put_metric(out, 2, "OS efficiency", &set->list[METRIC_OS]);
	if (!set->list[METRIC_OS].reason)
		printer_format(out, "     %s waited for a CPU",
			       duration_words(text, set->sum.useful.wait));
	if (!set->list[METRIC_OS_LOSS].reason)
		printer_format(out, "; OS loss* %.3f of the time", set->list[METRIC_OS_LOSS].value);
	printer_text(out, "\n");
	put_metric(out, 2, "Blocking efficiency", &set->list[METRIC_BLOCKING]);
	printer_text(out, "\n");
}

/* Factors that stand alone: those behind a line have their reason here. */
static void put_others(struct printer *out, const struct metric_set *set)
{
	static const struct {
		const char *label;
		enum metric metric;
		bool always; /* with its value, too */
	} others[] = {
		{"OpenMP", METRIC_OMP_PE, false},
		{"Load balance in, between nodes", METRIC_LB_IN, false},
		{"True load balance", METRIC_TRUE_LB, false},
		{"MPI time on a CPU", METRIC_MPI_ON_CPU, true},
		{"MPI time waiting for a CPU", METRIC_MPI_RUNNABLE, true},
		{"MPI time waiting for the last*", METRIC_WAIT_LAST, true},
		{"Transfer*, serialisation*", METRIC_TRANSFER_STAR, false},
		{"OS loss*", METRIC_OS_LOSS, false},
		{"Interrupts", METRIC_INTERRUPTS, false},
		{"Serialisation, transfer", METRIC_TRANSFER, false},
		{"IPC, frequency", METRIC_IPC, false},
		{"Computation scaling", METRIC_SCALING, false},
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const struct metric_value *value = &set->list[others[i].metric];

		if (!others[i].always && !value->reason)
			continue;
		put_metric(out, 0, others[i].label, value);
		printer_text(out, "\n");
	}
	if (!set->list[METRIC_TRANSFER_STAR].reason)
		printer_text(out, "* an estimate: all calls of MPI are collectives of all ranks\n");
}

static void put_tree(const struct efficiency_report *r, struct printer *out)
{
	const struct metric_set *set = &r->e.whole;
	bool hybrid = r->e.times.forks;

	if (*r->e.refused[REFUSED_ALL]) {
		put_metric(out, 0, "Parallel efficiency", &set->list[METRIC_PE]);
		printer_text(out, "\n");
		return;
	}
	put_metric(out, 0, "True parallel efficiency", &set->list[METRIC_TRUE_PE]);
	printer_text(out, "\n");
	put_metric(out, 1, "Parallel efficiency", &set->list[METRIC_PE]);
	if (hybrid)
		put_two(out, set, "load balance of threads", METRIC_LB, "communication",
			METRIC_COMM);
	printer_text(out, "\n");
	if (hybrid) {
		put_hybrid(out, set);
	} else {
		put_balance(out, set, 2, false);
	}
	put_os(r, out);
	put_others(out, set);
}

/* ---- tables ---- */

static const struct table_column culprit_columns[] = {
	{"class", "who had the CPU", CELL_TEXT, 16},
	{"share", "share", CELL_RATIO, 6},
	{"time", "time", CELL_DURATION, 10},
	{"most", "most of it", CELL_TEXT, 0},
};

static int put_culprits(const struct efficiency_report *r, struct printer *out)
{
	struct table table;
	int64_t sum = 0;
	int err = 0;

	for (enum wait_class class = 0; class < WAIT_CLASSES; class ++)
		sum = clock_sum(sum, r->e.waits[class].ns);
	if (r->e.whole.list[METRIC_OS].reason || !sum)
		return 0;
	table_init(&table, culprit_columns, sizeof(culprit_columns) / sizeof(*culprit_columns),
		   TABLE_TEXT, out);
	table.bold = r->report->table.bold;
	for (enum wait_class class = 0; class < WAIT_CLASSES && !err; class ++) {
		int64_t ns = r->e.waits[class].ns;
		union cell row[] = {
			{.text = NULL},
			{.number = ratio_of((double)ns / (double)sum)},
			{.number = ns},
			{.text = NULL},
		};

		if (!ns)
			continue;
		row[0].text = strdup(wait_class_names[class]);
		row[3].text = wait_share_most(r, class);
		err = table_add(&table, row);
	}
	table_sort(&table, 2, false);
	printer_text(out, "\n");
	if (!err)
		table_print(&table, 0);
	table_fini(&table);
	return err;
}

static const struct table_column rank_columns[] = {
	{"rank", "rank", CELL_COUNT, 4},
	{"node", "node", CELL_TEXT, 4},
	{"pid", "pid", CELL_COUNT, 6, SHOW_DATA},
	{"team", "threads", CELL_COUNT, 7, SHOW_IF_ANY},
	{"window", "window", CELL_DURATION, 9, SHOW_DATA},
	{"useful", "useful", CELL_DURATION, 9},
	{"on_cpu", "on CPU", CELL_RATIO, 6, SHOW_PEOPLE},
	{"waited", "waited", CELL_RATIO, 6, SHOW_PEOPLE},
	{"asleep", "asleep", CELL_RATIO, 6, SHOW_PEOPLE},
	{"useful_run", "", CELL_DURATION, 9, SHOW_DATA},
	{"useful_wait", "", CELL_DURATION, 9, SHOW_DATA},
	{"useful_sleep", "", CELL_DURATION, 9, SHOW_DATA},
	{"useful_unknown", "unknown", CELL_DURATION, 9, SHOW_IF_ANY},
	{"mpi", "MPI", CELL_DURATION, 9},
	{"mpi_on_cpu", "MPI on CPU", CELL_RATIO, 10, SHOW_PEOPLE},
	{"mpi_run", "", CELL_DURATION, 9, SHOW_DATA},
	{"mpi_wait", "", CELL_DURATION, 9, SHOW_DATA},
	{"idle_in_mpi", "", CELL_DURATION, 9, SHOW_DATA},
	{"serial", "serial", CELL_DURATION, 9, SHOW_IF_ANY},
	{"imbalance", "imbalance", CELL_DURATION, 9, SHOW_IF_ANY},
	{"scheduling", "runtime", CELL_DURATION, 9, SHOW_IF_ANY},
};
#define RANK_COLUMNS (sizeof(rank_columns) / sizeof(*rank_columns))

static int64_t ratio(int64_t part, int64_t whole)
{
	return whole > 0 ? ratio_of((double)part / (double)whole) : CELL_UNKNOWN;
}

static int add_rank(const struct efficiency_report *r, struct table *table, size_t rank)
{
	bool useful = !*r->e.refused[REFUSED_USEFUL], states = useful && !*r->e.refused[REFUSED_OS];
	struct rank_figures f;
	union cell row[RANK_COLUMNS] = {{.text = NULL}};
	int64_t sum;
	size_t i = 0;

	rank_times_figures(&r->e.times, &r->e.times.whole, rank, r->e.teams, &f);
	sum = place_sum(&f.useful);
#define PUT(known, ns) (row[i++].number = (known) ? (ns) : CELL_UNKNOWN)
	PUT(rank_at(r, rank)->rank >= 0, rank_at(r, rank)->rank);
	row[i++].text = strdup(rank_owner(r, rank)->loom);
	PUT(true, rank_owner(r, rank)->pid);
	PUT(true, table->format == TABLE_TEXT && !r->e.times.forks ? 0 : f.team);
	PUT(true, f.window);
	PUT(useful, sum);
	PUT(states, ratio(f.useful.run, sum));
	PUT(states, ratio(f.useful.wait, sum));
	PUT(states, ratio(f.useful.sleep, sum));
	PUT(states, f.useful.run);
	PUT(states, f.useful.wait);
	PUT(states, f.useful.sleep);
	PUT(states, f.useful.unknown);
	PUT(r->e.times.mpi, place_sum(&f.mpi));
	PUT(states && r->e.times.mpi, ratio(f.mpi.run, place_sum(&f.mpi)));
	PUT(states && r->e.times.mpi, f.mpi.run);
	PUT(states && r->e.times.mpi, f.mpi.wait);
	PUT(useful, f.idle);
	PUT(useful, f.serial);
	PUT(useful, f.imbalance);
	PUT(useful, f.scheduling);
#undef PUT
	return table_add(table, row);
}

static int put_ranks(const struct efficiency_report *r, enum table_format format)
{
	size_t n = r->e.times.nkept;
	bool all = n <= RANKS_SHOWN || r->report->every_rank || format != TABLE_TEXT;
	struct table table;
	int err = 0;

	table_init(&table, rank_columns, RANK_COLUMNS, format, r->report->table.out);
	table.bold = r->report->table.bold;
	for (size_t i = 0; i < n && !err; i++)
		if (all || i < ENDS || i >= n - ENDS || i == n / 2)
			err = add_rank(r, &table, all ? i : r->order[i]);
	if (!err)
		table_print(&table, 0);
	if (!err && !all)
		printer_format(r->report->table.out,
			       "the %d least and most useful of %zu ranks, and the median (-n 0 "
			       "prints all)\n",
			       ENDS, n);
	table_fini(&table);
	return err;
}

static const struct table_column phase_columns[] = {
	{"phase", "phase", CELL_TEXT, 8},
	{"begin", "from", CELL_CLOCK, 10},
	{"elapsed", "time", CELL_DURATION, 9},
	{"true_parallel_efficiency", "true PE", CELL_RATIO, 7},
	{"parallel_efficiency", "PE", CELL_RATIO, 6},
	{"load_balance", "LB", CELL_RATIO, 6},
	{"communication_efficiency", "CommE", CELL_RATIO, 6},
	{"mpi_parallel_efficiency", "", CELL_RATIO, 6, SHOW_DATA},
	{"mpi_load_balance", "", CELL_RATIO, 6, SHOW_DATA},
	{"mpi_communication_efficiency", "", CELL_RATIO, 6, SHOW_DATA},
	{"openmp_parallel_efficiency", "OpenMP", CELL_RATIO, 6},
	{"openmp_serial_efficiency", "", CELL_RATIO, 6, SHOW_DATA},
	{"openmp_load_balance", "", CELL_RATIO, 6, SHOW_DATA},
	{"openmp_scheduling_efficiency", "", CELL_RATIO, 6, SHOW_DATA},
	{"on_cpu_efficiency", "on CPU", CELL_RATIO, 6},
	{"os_efficiency", "OS", CELL_RATIO, 6},
	{"blocking_efficiency", "blocking", CELL_RATIO, 8},
	{"true_load_balance", "true LB", CELL_RATIO, 7},
};
#define PHASE_COLUMNS (sizeof(phase_columns) / sizeof(*phase_columns))

/* The columns after the third are factors with their names in JSON. */
static int64_t factor(const struct metric_set *set, const char *name)
{
	for (enum metric metric = 0; metric < METRICS; metric++) {
		const struct metric_value *value = &set->list[metric];

		if (!strcmp(metric_names[metric], name))
			return value->reason || value->bound ? CELL_UNKNOWN
							     : ratio_of(value->value);
	}
	return CELL_UNKNOWN;
}

static int put_phases(const struct efficiency_report *r, enum table_format format)
{
	int64_t start = 0;
	struct table table;
	int err = 0;

	source_start(r->report->source, &start);
	table_init(&table, phase_columns, PHASE_COLUMNS, format, r->report->table.out);
	table.bold = r->report->table.bold;
	for (size_t i = 0; i < r->nphases && !err; i++) {
		union cell row[PHASE_COLUMNS] = {{.text = strdup(r->labels[i])}};

		row[1].number = clock_distance(start, phase_at(r, i)->begin);
		row[2].number = r->phases[i].elapsed;
		for (size_t column = 3; column < PHASE_COLUMNS; column++)
			row[column].number = factor(&r->phases[i], phase_columns[column].name);
		err = table_add(&table, row);
	}
	if (!err)
		table_print(&table, 0);
	table_fini(&table);
	return err;
}

int efficiency_csv(struct efficiency_report *r)
{
	return r->report->efficiency.phases ? put_phases(r, TABLE_CSV) : put_ranks(r, TABLE_CSV);
}

/* ---- the screen ---- */

static void put_head(const struct efficiency_report *r, struct printer *out)
{
	const struct rank_times *t = &r->e.times;
	const struct metric_set *set = &r->e.whole;
	char text[DURATION_TEXT];

	printer_format(out, "%s: %" PRIu32 " %s, %zu %s, %" PRId64 " %s; %s %s\n\n",
		       text_shown(r->path), t->nnodes, plural(t->nnodes, "node", "nodes"), t->nkept,
		       t->mpi ? plural(t->nkept, "rank", "ranks")
			      : plural(t->nkept, "process", "processes"),
		       set->units, plural((uint64_t)set->units, "thread", "threads"),
		       duration_words(text, set->elapsed),
		       t->settings->recording ? "of the recording"
		       : t->mpi		      ? "from MPI_Init to MPI_Finalize"
					      : "of the main thread");
}

int efficiency_text(struct efficiency_report *r)
{
	struct printer *out = r->report->table.out;
	char **notes = efficiency_notes(r), text[DURATION_TEXT];
	int err;

	if (!notes)
		return -ENOMEM;
	put_head(r, out);
	put_tree(r, out);
	err = put_culprits(r, out);
	if (!err && r->e.times.nkept && !*r->e.refused[REFUSED_ALL]) {
		printer_text(out, "\n");
		err = put_ranks(r, TABLE_TEXT);
	}
	if (!err && r->nphases && !*r->e.refused[REFUSED_ALL]) {
		printer_text(out, "\n");
		err = put_phases(r, TABLE_TEXT);
	}
	if (!err && r->e.helpers)
		printer_format(
			out, "\n%" PRIu64 " %s of the ranks %s no part of the work: %s on a CPU\n",
			r->e.helpers, plural(r->e.helpers, "thread", "threads"),
			plural(r->e.helpers, "has", "have"),
			duration_words(text, r->e.helpers_run));
	if (!err && *notes)
		printer_text(out, "\n");
	for (char **note = notes; *note; note++) {
		printer_format(out, "%s\n", *note);
		free(*note);
	}
	free(notes);
	return err;
}
