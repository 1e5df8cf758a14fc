/* SPDX-License-Identifier: MIT */
/* efficiency_json: the report as one JSON object; ovni-report(1) describes it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/report/efficiency/efficiency_print.h"

static double rounded(double value)
{
	return (double)ratio_of(value) / 1e6;
}

static void put_null(struct json *node, const char *key)
{
	json_put_real(node, key, NAN);
}

/* The factors, null where there is none, and the reasons. */
static void put_metrics(struct json *node, const struct metric_set *set)
{
	struct json *metrics = json_put_object(node, "metrics");
	struct json *reasons = json_put_object(node, "unavailable");
	struct json *bounds = json_put_object(node, "bounds");

	for (enum metric metric = 0; metric < METRICS; metric++) {
		const struct metric_value *value = &set->list[metric];

		if (value->reason) {
			put_null(metrics, metric_names[metric]);
			json_put_string(reasons, metric_names[metric], value->reason);
		} else if (value->bound) {
			struct json *bound = json_put_array(bounds, metric_names[metric]);

			put_null(metrics, metric_names[metric]);
			json_put_real(bound, NULL, rounded(value->value));
			json_put_real(bound, NULL, rounded(value->high));
			json_put_string(reasons, metric_names[metric],
					"more than 1 % of the useful time is unknown");
		} else {
			json_put_real(metrics, metric_names[metric], rounded(value->value));
		}
	}
}

static void put_times(struct json *node, const struct efficiency_report *r,
		      const struct rank_figures *f)
{
	bool useful = !*r->e.refused[REFUSED_USEFUL] && !*r->e.refused[REFUSED_ALL];
	const struct {
		const char *name;
		int64_t ns;
		bool known;
	} times[] = {
		{"useful", place_sum(&f->useful), useful},
		{"useful_run", f->useful.run, useful},
		{"useful_wait", f->useful.wait, useful},
		{"useful_sleep", f->useful.sleep, useful},
		{"useful_interrupted", 0, false}, /* not recorded */
		{"useful_unknown", f->useful.unknown, useful},
		{"mpi", place_sum(&f->mpi), r->e.times.mpi},
		{"mpi_run", f->mpi.run, r->e.times.mpi},
		{"mpi_wait", f->mpi.wait, r->e.times.mpi},
		{"idle_in_mpi", f->idle, useful},
		{"serial", f->serial, useful},
		{"imbalance", f->imbalance, useful},
		{"scheduling", f->scheduling, useful},
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		if (times[i].known)
			json_put_int(node, times[i].name, times[i].ns);
		else
			put_null(node, times[i].name);
	}
}

static void put_ranks(struct json *doc, const struct efficiency_report *r,
		      const struct phase_times *phase)
{
	struct json *list = json_put_array(doc, "ranks");

	for (size_t i = 0; i < r->e.times.nkept; i++) {
		const struct owner *owner = rank_owner(r, i);
		struct json *node = json_put_object(list, NULL);
		struct rank_figures f;

		rank_times_figures(&r->e.times, phase, i, r->e.teams, &f);
		if (rank_at(r, i)->rank >= 0)
			json_put_int(node, "rank", rank_at(r, i)->rank);
		else
			put_null(node, "rank");
		json_put_string(node, "node", owner->loom);
		json_put_int(node, "pid", owner->pid);
		json_put_int(node, "team", f.team);
		json_put_int(node, "window", f.window);
		put_times(json_put_object(node, "times"), r, &f);
	}
}

static void put_culprits(struct json *doc, const struct efficiency_report *r)
{
	struct json *list = json_put_array(doc, "culprits");

	for (enum wait_class class = 0; class < WAIT_CLASSES; class ++) {
		char *most = wait_share_most(r, class);
		struct json *node = json_put_object(list, NULL);

		json_put_string(node, "class", wait_class_names[class]);
		json_put_int(node, "ns", r->e.waits[class].ns);
		json_put_string(node, "most", most ? most : "");
		json_put_int(node, "most_ns", r->e.waits[class].most_ns);
		free(most);
	}
}

static void put_phases(struct json *doc, const struct efficiency_report *r)
{
	struct json *list = json_put_array(doc, "phases");

	for (size_t i = 0; i < r->nphases; i++) {
		const struct phase_times *phase = phase_at(r, i);
		struct json *node = json_put_object(list, NULL);

		json_put_string(node, "phase", r->labels[i]);
		json_put_i64(node, "value", phase->value);
		json_put_i64(node, "begin", phase->begin);
		json_put_int(node, "elapsed", r->phases[i].elapsed);
		put_times(json_put_object(node, "times"), r, &r->phases[i].sum);
		put_metrics(node, &r->phases[i]);
		put_ranks(node, r, phase);
	}
}

int efficiency_json(const struct efficiency_report *r)
{
	struct json *doc = json_new_object(), *list;
	const struct metric_set *whole = &r->e.whole;
	char **notes = efficiency_notes(r), *text = NULL;

	json_put_int(doc, "version", 1);
	json_put_string(doc, "trace", r->path);
	json_put_string(doc, "model", r->e.times.settings->talp ? "talp" : "product");
	json_put_int(doc, "nodes", r->e.times.nnodes);
	json_put_int(doc, "nranks", (int64_t)r->e.times.nkept);
	json_put_int(doc, "units", whole->units);
	json_put_int(doc, "window", whole->elapsed);
	put_times(json_put_object(doc, "times"), r, &whole->sum);
	put_metrics(doc, whole);
	if (whole->list[METRIC_OS].reason)
		put_null(doc, "culprits");
	else
		put_culprits(doc, r);
	put_ranks(doc, r, &r->e.times.whole);
	json_put_int(doc, "helpers.threads", (int64_t)r->e.helpers);
	json_put_int(doc, "helpers.run", r->e.helpers_run);
	put_phases(doc, r);
	list = json_put_array(doc, "notes");
	for (char **note = notes; note && *note; note++) {
		json_put_string(list, NULL, *note);
		free(*note);
	}
	text = notes ? json_text(doc) : NULL;
	if (text)
		printer_text(r->report->table.out, text);
	free(notes);
	json_free(doc);
	free(text);
	return text ? 0 : -ENOMEM;
}
