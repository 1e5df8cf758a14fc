/* SPDX-License-Identifier: MIT */
/*
 * report efficiency: where the time of a parallel program went, as factors between 0 and 1.
 *
 *   True parallel efficiency           0.063
 *     Parallel efficiency              0.765
 *       Load balance                   0.807   in nodes 0.934, between nodes 0.865
 *       Communication efficiency       0.948   transfer* 0.999, serialisation* 0.949
 *     On-CPU efficiency                0.083   true load balance 0.700
 *       OS efficiency                  0.083   31.400 s waited for a CPU
 *
 * In: a trace, in one pass (trace/efficiency/metrics.h); out: text, one JSON object with the same
 * numbers, or rows of ranks or phases as CSV. Specification: efficiency.md 4.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/efficiency/efficiency_print.h"
#include "trace/analysis/function_calls.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define PROBE_NS                                                                                   \
	2000 /* a call of a probed function costs at most about that (docs/overhead.md)            \
	      */

/* ---- names ---- */

char *wait_share_most(const struct efficiency_report *r, enum wait_class class)
{
	const struct wait_share *share = &r->e.waits[class];
	const struct rank_times *t = &r->e.times;
	uint32_t unit;
	char *name, *text;

	if (share->most == CULPRIT_IDLE)
		return strdup("");
	if (CULPRIT_IS_TID(share->most)) {
		name = tid_names_of_tid(&r->report->names, share->victim,
					CULPRIT_TID_OF(share->most));
		text = name ? xasprintf("first taker: %s", name) : NULL;
		free(name);
		return text;
	}
	unit = t->unit_of[share->most];
	name = tid_names_of_stream(&r->report->names, (uint32_t)share->most);
	if (class != WAIT_FOR_RANK || unit == NO_UNIT || !name)
		return name;
	text = xasprintf("rank %" PRId64 ", %s", t->ranks[t->list[unit].rank].rank, name);
	free(name);
	return text;
}

static char *phase_label(const struct efficiency_report *r, const struct phase_times *phase)
{
	const struct function mark = {r->report->efficiency.mark, phase->value};
	char *label = NULL, *title = NULL;

	if (r->report->efficiency.phases == PHASES_COLLECTIVES)
		return xasprintf("%" PRId64, phase->value + 1);
	if (r->report->efficiency.phases == PHASES_SLICES)
		return xasprintf("%" PRId64, phase->value);
	function_names(r->report->source, &mark, &label, &title);
	free(title);
	return label;
}

/* ---- notes ---- */

struct notes {
	char *list[12];
	size_t n;
	bool no_memory;
};

static void add_note(struct notes *notes, char *text)
{
	notes->no_memory |= !text;
	if (text && notes->n + 1 < sizeof(notes->list) / sizeof(*notes->list))
		notes->list[notes->n++] = text;
	else
		free(text);
}

/* The probes of many calls cost time, which counts as MPI. */
static void note_probes(const struct efficiency_report *r, struct notes *notes)
{
	uint64_t most = 0;

	for (size_t i = 0; i < r->e.times.nkept; i++)
		most = rank_at(r, i)->calls > most ? rank_at(r, i)->calls : most;
	if (most * PROBE_NS > (uint64_t)r->e.whole.elapsed / 100)
		add_note(notes,
			 xasprintf("A rank made %" PRIu64 " calls of MPI: their probes cost up "
				   "to %.1f %% of its time, which counts as MPI.",
				   most,
				   100.0 * (double)most * PROBE_NS / (double)r->e.whole.elapsed));
}

static void note_ranks(const struct efficiency_report *r, struct notes *notes)
{
	const struct rank_times *t = &r->e.times;
	bool several = false;
	size_t apps = 0; /* ranks are sorted by application */

	for (size_t i = 0; i < t->nkept; i++) {
		several |= rank_at(r, i)->several_mpi;
		apps += !i || rank_at(r, i)->app_id != rank_at(r, i - 1)->app_id;
	}
	if (apps > 1)
		add_note(notes, xasprintf("The ranks are those of %zu applications, which count "
					  "together (ovni-cut --loom takes one out).",
					  apps));
	if (several)
		add_note(notes,
			 strdup("Several threads of a rank call MPI: their calls count as MPI."));
	if (!t->mpi && t->nkept && rank_at(r, 0)->rank >= 0)
		add_note(notes,
			 strdup("Calls of MPI are not recorded: their time counts as useful or "
				"serial."));
	if (t->settings->recording)
		add_note(notes,
			 strdup("The windows are those of the recording where it lacks MPI_Init "
				"or MPI_Finalize."));
	if (t->nnodes > 1 && t->source->trace.fixes && t->source->trace.clock_bound >= 0)
		add_note(notes,
			 xasprintf(
				 "The clocks of the nodes are corrected, and agree within %.3f us.",
				 (double)t->source->trace.clock_bound / 1e3));
	else if (t->nnodes > 1 && t->source->trace.fixes)
		add_note(notes, strdup("The clocks of the nodes are corrected; how well, "
				       "clock-offsets.txt does not say."));
	else if (t->nnodes > 1)
		add_note(notes,
			 strdup("The clocks of the nodes are not corrected: only figures with a "
				"star need them."));
}

char **efficiency_notes(const struct efficiency_report *r)
{
	const struct metric_set *whole = &r->e.whole;
	double all = (double)whole->units * (double)whole->elapsed, outside = all;
	struct notes notes = {.n = 0};
	char **list;

	if (!*r->e.refused[REFUSED_ALL]) {
		const struct rank_figures *s = &whole->sum;

		outside -= (double)place_sum(&s->useful) + (double)place_sum(&s->mpi) +
			   (double)s->idle + (double)s->serial + (double)s->imbalance +
			   (double)s->scheduling;
		if (outside > all / 1000)
			add_note(&notes,
				 xasprintf("Some ranks begin later or end earlier than others: "
					   "%.3f of the time is outside of their windows.",
					   outside / all));
		note_probes(r, &notes);
		note_ranks(r, &notes);
		if (!whole->list[METRIC_MPI_ON_CPU].reason &&
		    whole->list[METRIC_MPI_ON_CPU].value > 0.9)
			add_note(&notes,
				 strdup("MPI is on a CPU for most of its time: its waits poll."));
		if (!whole->list[METRIC_OS].reason &&
		    r->e.waits[WAIT_FOR_UNKNOWN].ns > s->useful.wait / 100)
			add_note(&notes,
				 strdup("Threads that are not recorded had CPUs: only the first "
					"thread after a switch is known (ovni-bpf -a records "
					"all)."));
	}
	list = calloc(notes.n + 1, sizeof(*list));
	for (size_t i = 0; i < notes.n; i++) {
		if (list && !notes.no_memory)
			list[i] = notes.list[i];
		else
			free(notes.list[i]);
	}
	if (notes.no_memory) {
		free(list);
		list = NULL;
	}
	return list;
}

/* ---- the report ---- */

static int compare_useful(const void *pa, const void *pb, void *arg)
{
	const int64_t *useful = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (useful[a] != useful[b])
		return useful[a] < useful[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int order_ranks(struct efficiency_report *r)
{
	size_t n = r->e.times.nkept;
	int64_t *useful = calloc(n + 1, sizeof(*useful));

	r->order = calloc(n + 1, sizeof(*r->order));
	for (size_t i = 0; i < n && useful && r->order; i++) {
		struct rank_figures f;

		rank_times_figures(&r->e.times, &r->e.times.whole, i, r->e.teams, &f);
		useful[i] = place_sum(&f.useful);
		r->order[i] = (uint32_t)i;
	}
	if (useful && r->order)
		qsort_r(r->order, n, sizeof(*r->order), compare_useful, useful);
	free(useful);
	return r->order ? 0 : -ENOMEM;
}

static int compute_phases(struct efficiency_report *r)
{
	struct rank_times *t = &r->e.times;

	r->phases = calloc(t->nphases + 1, sizeof(*r->phases));
	r->labels = calloc(t->nphases + 1, sizeof(*r->labels));
	r->numbers = calloc(t->nphases + 1, sizeof(*r->numbers));
	if (!r->phases || !r->labels || !r->numbers)
		return -ENOMEM;
	for (size_t i = 0; i < t->nphases; i++) {
		struct metric_set set;

		efficiency_phase(&r->e, &t->phases[i], &set);
		if (!set.elapsed)
			continue; /* after the last collective, in no time */
		r->numbers[r->nphases] = i;
		r->phases[r->nphases] = set;
		r->labels[r->nphases] = phase_label(r, &t->phases[i]);
		if (!r->labels[r->nphases++])
			return -ENOMEM;
	}
	return 0;
}

static int print(struct report *report, const char *path)
{
	struct efficiency_report r = {.report = report, .path = path};
	struct efficiency_settings *settings = &report->efficiency;
	int err, printed;

	settings->part = report->filter->from.given || report->filter->to.given;
	settings->first = report->filter->from.given ? report->filter->first : INT64_MIN;
	settings->last = report->filter->to.given ? report->filter->last : INT64_MAX;
	err = efficiency_read(&r.e, report->source, settings);
	if (!r.e.nodes)
		goto out; /* nothing was read */
	printed = order_ranks(&r);
	if (!printed)
		printed = compute_phases(&r);
	if (printed) {
		err = printed;
		goto out;
	}
	report_output(report);
	if (report->table.format == TABLE_JSON)
		printed = efficiency_json(&r);
	else if (report->table.format == TABLE_CSV)
		printed = efficiency_csv(&r);
	else
		printed = efficiency_text(&r);
	err = printed ? printed : err;
out:
	for (size_t i = 0; i < r.nphases; i++)
		free(r.labels[i]);
	free(r.labels);
	free(r.phases);
	free(r.numbers);
	free(r.order);
	efficiency_fini(&r.e);
	return err;
}

const struct report_kind report_efficiency = {
	.name = "efficiency",
	.names = true,
	.print = print,
};
