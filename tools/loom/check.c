/* SPDX-License-Identifier: MIT */
/*
 * check: the check command. In: a run; out: violations of the rules of loom.md 8, and a verdict:
 *
 *   findings
 *     error O4 run.trace.bin record 23 @890: core=0 epoch=1 inv=0: record 23 follows ...
 *   verdict invalid
 *
 * Status 1 if there is an error (with --strict: or a warning).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/loom/run/run_records.h"
#include "tools/lib/printer.h"
#include "trace/base/status.h"
#include "trace/base/log.h"
#include "trace/loom/stats/agree.h"

#define SHOWN_OF_A_RULE 20 /* violations per rule; further ones are counted */

#define LLU(v) ((unsigned long long)(v))

struct session {
	const struct loom_options *o;
	struct printer out;
	struct loom_violations findings;
	struct run_files run;
	struct run_stats perf;
	bool has_perf;
	struct run_records records;
	const char *not_checked; /* why P6 was not checked, or NULL */
	bool is_edge;		 /* the style was found by trying, not given */
	const char *verdict;
};

/* ---- findings ---- */

static void report_text(struct session *s, const struct loom_violation *f)
{
	if (s->findings.counts[0] + s->findings.counts[1] + s->findings.counts[2] == 1)
		printer_text(&s->out, "findings\n");
	printer_format(&s->out, "  %s %s", loom_severity_name(f->severity), loom_rules[f->rule].id);
	if (f->file) {
		printer_text(&s->out, " ");
		printer_escaped(&s->out, basename(f->file), strlen(basename(f->file)));
	}
	if (f->record != LOOM_NOWHERE)
		printer_format(&s->out, " record %" PRIu64, f->record);
	if (f->offset != LOOM_NOWHERE)
		printer_format(&s->out, " @%" PRIu64, f->offset);
	printer_text(&s->out, ": ");
	printer_escaped(&s->out, f->text, strlen(f->text));
	printer_text(&s->out, "\n");
}

static void report_json(struct session *s, const struct loom_violation *f, bool first)
{
	printer_format(&s->out, "%s\n    {\"severity\": \"%s\", \"rule\": \"%s\", \"file\": ",
		       first ? "" : ",", loom_severity_name(f->severity), loom_rules[f->rule].id);
	if (f->file)
		printer_json_string(&s->out, basename(f->file), strlen(basename(f->file)));
	else
		printer_text(&s->out, "null");
	if (f->record != LOOM_NOWHERE)
		printer_format(&s->out, ", \"record\": %" PRIu64, f->record);
	if (f->offset != LOOM_NOWHERE)
		printer_format(&s->out, ", \"offset\": %" PRIu64, f->offset);
	printer_text(&s->out, ", \"text\": ");
	printer_json_string(&s->out, f->text, strlen(f->text));
	printer_text(&s->out, "}");
}

static uint64_t total(const struct loom_violations *f)
{
	return f->counts[LOOM_NOTICE] + f->counts[LOOM_WARNING] + f->counts[LOOM_ERROR];
}

static void report(void *arg, const struct loom_violation *f)
{
	struct session *s = arg;

	if (!s->o->all && s->findings.of_rule[f->rule] > SHOWN_OF_A_RULE)
		return;
	if (s->o->json)
		report_json(s, f, total(&s->findings) == 1);
	else
		report_text(s, f);
}

/* ---- O7 ---- */

static bool same_record(const struct loom_record *a, const struct loom_record *b)
{
	return a->cycle == b->cycle && a->invocation_id == b->invocation_id &&
	       a->epoch_id == b->epoch_id && a->hw_node_id == b->hw_node_id && a->arg0 == b->arg0 &&
	       a->arg1 == b->arg1 && a->core_id == b->core_id && a->flags == b->flags &&
	       a->event_kind == b->event_kind && a->lane == b->lane;
}

static int compare(struct session *s, struct run_reader *a, struct run_reader *b)
{
	struct loom_record x, y;
	int more = 1, other = 1;

	while (true) {
		struct loom_place place;

		more = run_reader_next(a, &x);
		other = run_reader_next(b, &y);
		if (more <= 0 || other <= 0)
			break;
		if (same_record(&x, &y))
			continue;
		place = run_reader_place(a);
		loom_violation_add(&s->findings, LOOM_O7, &place,
				   "record %llu differs from that of %s (cycle %llu core %u node "
				   "%u there), the first that does",
				   LLU(place.record), basename(b->path), LLU(y.cycle), y.core_id,
				   y.hw_node_id);
		return 0;
	}
	if (more < 0 || other < 0)
		return more < 0 ? more : other;
	if (more || other) {
		struct loom_place place = {a->path, LOOM_NOWHERE, LOOM_NOWHERE};

		loom_violation_add(&s->findings, LOOM_O7, &place,
				   "%s has more records: the first %llu are equal",
				   basename((more ? a : b)->path), LLU((more ? b : a)->count));
	}
	return 0;
}

static int check_same(struct session *s)
{
	struct run_reader_options how = {.layout = s->o->layout, .as_stored = true};
	struct loom_violations unsaid = {.report = loom_violation_ignore};
	struct run_reader a = {0}, b = {0};
	struct run_files other = {0};
	int err = run_files_find(&other, s->o->same_as, "-");

	if (err)
		goto out;
	if (!other.trace || !s->run.trace) {
		log_error("%s: no trace to compare", other.trace ? s->o->run : s->o->same_as);
		err = -ENOENT;
		goto out;
	}
	err = run_reader_open(&a, s->run.trace_at, s->run.trace, &how, &unsaid);
	if (err == -EBADMSG) {
		err = 0; /* the check itself reports it */
		goto out;
	}
	if (err)
		goto out;
	err = run_reader_open(&b, other.trace_at, other.trace, &how, &unsaid);
	if (err == -EBADMSG)
		log_error("%s: no trace that can be read: see 'ovni-loom check %s'", other.trace,
			  other.trace);
	if (err)
		goto out;
	err = compare(s, &a, &b);
out:
	run_reader_close(&a);
	run_reader_close(&b);
	run_files_free(&other);
	return err;
}

/* ---- all of it ---- */

static int load_perf(struct session *s)
{
	int err;

	if (!s->run.perf)
		return 0;
	err = run_stats_load(&s->perf, s->run.perf_at, s->run.perf, &s->findings);
	s->has_perf = !err;
	return err == -EBADMSG ? 0 : err;
}

static int check_agreement(struct session *s)
{
	struct loom_agree_options how = {
		.leaves_out = loom_controls_filter(&s->o->declared),
		.is_json = s->records.form == LOOM_JSON,
		.without_start = s->records.without_start,
		.last_config_writes = s->records.last_config_writes,
	};
	int err;

	if (!s->has_perf || !s->records.readable)
		return 0;
	s->not_checked = loom_agree_obstacle(&s->records.tally, &s->perf, &how);
	if (!s->not_checked) {
		err = run_records_try_edge(&s->records, s->o, &s->run, &s->perf);
		if (err < 0)
			return err;
		s->is_edge = err;
	}
	loom_agree(&s->records.tally, &s->perf, &how, &s->findings);
	return 0;
}

static int check(struct session *s)
{
	const struct run_stats *perf;
	int err = load_perf(s);

	if (err)
		return err;
	perf = s->has_perf ? &s->perf : NULL;
	err = run_records_read(&s->records, s->o, &s->run, perf, run_records_style(s->o, perf),
			       true, &s->findings);
	if (err)
		return err;
	if (s->has_perf) {
		err = run_stats_check(&s->perf, &s->findings);
		if (err)
			log_no_memory("while checking %s", s->run.perf);
	}
	if (err)
		return err;
	err = check_agreement(s);
	if (err)
		return err;
	if (s->o->same_as)
		err = check_same(s);
	return err;
}

static void print_end_text(struct session *s)
{
	struct printer *out = &s->out;

	if (total(&s->findings) == 0)
		printer_text(out, "findings\n  none\n");
	for (int rule = 0; rule < LOOM_RULES && !s->o->all; rule++) {
		if (s->findings.of_rule[rule] > SHOWN_OF_A_RULE)
			printer_format(out, "  ... and %" PRIu64 " more of %s (--all shows them)\n",
				       s->findings.of_rule[rule] - SHOWN_OF_A_RULE,
				       loom_rules[rule].id);
	}
	if (s->not_checked)
		printer_format(out, "not checked: P6 (%s)\n", s->not_checked);
	if (s->is_edge)
		printer_text(out, "record style: edge (as the statistics count)\n");
	printer_format(out, "verdict %s\n", s->verdict);
}

static void print_end_json(struct session *s)
{
	struct printer *out = &s->out;

	printer_format(out,
		       "%s],\n  \"errors\": %" PRIu64 ", \"warnings\": %" PRIu64
		       ", \"notices\": %" PRIu64 ",\n",
		       total(&s->findings) ? "\n  " : "", s->findings.counts[LOOM_ERROR],
		       s->findings.counts[LOOM_WARNING], s->findings.counts[LOOM_NOTICE]);
	printer_text(out, "  \"run\": ");
	printer_json_string(out, s->run.name, strlen(s->run.name));
	if (s->run.trace)
		printer_format(out, ",\n  \"trace\": {\"form\": \"%s\", \"records\": %" PRIu64 "}",
			       loom_form_name(s->records.form), s->records.tally.records);
	if (s->has_perf)
		printer_format(out, ",\n  \"statistics\": {\"form\": \"%s\"}",
			       stats_form_name(s->perf.form));
	if (s->records.readable)
		printer_format(out, ",\n  \"record_style\": \"%s\"",
			       loom_style_names[s->records.tally.style]);
	if (s->not_checked)
		printer_format(out, ",\n  \"not_checked\": [{\"rule\": \"P6\", \"why\": \"%s\"}]",
			       s->not_checked);
	printer_format(out, ",\n  \"verdict\": \"%s\"\n}\n", s->verdict);
}

int loom_check(struct loom_options *o)
{
	struct session s = {.o = o};
	bool bad;
	int err;

	s.findings = (struct loom_violations){.report = report, .arg = &s};
	printer_open(&s.out, STDOUT_FILENO);
	err = run_files_find(&s.run, o->run, o->perf);
	if (err)
		goto out;
	if (o->json)
		printer_text(&s.out, "{\n  \"findings\": [");
	err = check(&s);
	if (log_lacks_memory())
		err = -ENOMEM; /* the findings may only be consequences */
	s.verdict = err ? "undecided" : loom_verdict(&s.findings);
	if (o->json)
		print_end_json(&s);
	else
		print_end_text(&s);
out:
	bad = s.findings.counts[LOOM_ERROR] || (o->strict && s.findings.counts[LOOM_WARNING]);
	if (printer_close(&s.out) < 0)
		err = -EIO;
	run_records_fini(&s.records);
	run_stats_free(&s.perf);
	run_files_free(&s.run);
	return err || bad ? STATUS_FAILED : STATUS_COMPLETE;
}
