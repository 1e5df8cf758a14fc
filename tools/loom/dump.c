/* SPDX-License-Identifier: MIT */
/*
 * dump: the dump command. In: a run; out: its records as text, one per line:
 *
 *   4 @168 5.0 epoch=1 inv=0 core=0 node=2 ROUTE_USE lane=0 flags=0x0000 arg0=0 arg1=0
 *
 * That is: number, offset in the file, cycle and position in it, ids, kind, payload. Records of
 * JSON traces have a phase and no offset, and the names of their document. The end of the output
 * has the numbers of records that filters and sampling, or the producer, left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/loom/run/loom_command.h"
#include "tools/lib/printer.h"
#include "trace/base/digits.h"
#include "trace/base/status.h"
#include "trace/base/log.h"
#include "trace/loom/stats/run_stats.h"
#include "trace/loom/run_files.h"

#define LINE_MAX_BYTES 320

/* Writes a text and a number after it. */
static char *put(char *at, const char *text, uint64_t v)
{
	return digits_put_u64(stpcpy(at, text), v);
}

static void print_record(struct printer *out, const struct run_reader *r,
			 const struct loom_record *e)
{
	static const char *const phases[] = {"", " evaluate", " commit"};
	char *at = printer_room(out, LINE_MAX_BYTES), room[8];

	if (!at)
		return;
	at = put(at, "", r->index);
	if (r->form != LOOM_JSON)
		at = put(at, " @", r->offset);
	at = put(at, " ", e->cycle);
	at = put(at, ".", r->sequence);
	at = stpcpy(at, phases[e->phase]);
	at = put(at, " epoch=", e->epoch_id);
	at = put(at, " inv=", e->invocation_id);
	at = put(at, " core=", e->core_id);
	at = put(at, " node=", e->hw_node_id);
	*at++ = ' ';
	at = stpcpy(at, r->form == LOOM_JSON && (e->event_kind < LOOM_KINDS ||
						 e->event_kind == LOOM_KIND_UNNAMED)
				? loom_kind_json_name(e->event_kind)
				: loom_kind_name(e->event_kind, room));
	at = put(at, " lane=", e->lane);
	at = stpcpy(at, " flags=0x");
	for (int shift = 12; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[e->flags >> shift & 15];
	at = put(at, " arg0=", e->arg0);
	at = put(at, " arg1=", e->arg1);
	*at++ = '\n';
	printer_upto(out, at);
}

static void print_name(struct printer *out, const char *text)
{
	printer_text(out, " ");
	if (text)
		printer_escaped(out, text, strlen(text));
	else
		printer_text(out, "-");
}

static void print_modules(struct printer *out, const struct loom_modules *modules)
{
	if (modules->n > 0)
		printer_text(out, "modules\n");
	for (size_t i = 0; i < modules->n; i++) {
		const struct loom_module *m = &modules->list[i];

		printer_format(out, "  %" PRIu32, m->hw_node_id);
		print_name(out, m->kind);
		print_name(out, m->name);
		print_name(out, m->component_name);
		printer_format(out, " %" PRId64 "\n", m->boundary_ordinal);
	}
}

/* Numbers of records, by decision. */
struct counts {
	uint64_t seen, of[LOOM_SAMPLED_OUT + 1];
};

static int show(struct loom_options *o, struct run_reader *r, struct printer *out, struct counts *n)
{
	struct loom_record e;
	int got = 0;

	while (!out->error && (got = run_reader_next(r, &e)) > 0) {
		int decision = LOOM_FILTERED;

		n->seen++;
		if (e.cycle >= o->first_cycle && e.cycle <= o->last_cycle)
			decision = loom_controls_decide(&o->chosen, &e);
		if (decision < 0)
			return decision;
		n->of[decision]++;
		if (decision == LOOM_PASSES)
			print_record(out, r, &e);
	}
	return got;
}

/* Counts the records of a JSON trace, which does not have their number. */
static int count_records(const struct loom_options *o, const struct run_files *run, uint64_t *count)
{
	struct run_reader_options how = {.layout = o->layout, .as_stored = true};
	struct loom_violations unsaid = {.report = loom_violation_ignore};
	struct run_reader r;
	struct loom_record e;
	int got = run_reader_open(&r, run->trace_at, run->trace, &how, &unsaid);

	while (!got && (got = run_reader_next(&r, &e)) > 0)
		got = 0;
	*count = r.count;
	run_reader_close(&r);
	return got;
}

static bool leaves_out(const struct loom_options *o)
{
	return loom_controls_filter(&o->chosen) || loom_controls_samples(&o->chosen) ||
	       o->first_cycle > 0 || o->last_cycle < UINT64_MAX;
}

/* Prints the losses that the statistics declare. Returns 1 if records were dropped. */
static int print_declared(const struct run_stats *p, struct printer *out)
{
	const struct stats_account *e = &p->events;
	bool first = true;
	char room[8];

	if (!run_stats_leaves_out(p))
		return 0;
	printer_format(out,
		       "declared seen %" PRIu64 " written %" PRIu64 " filtered %" PRIu64
		       " sampled_out %" PRIu64 " dropped %" PRIu64,
		       e->seen.v, e->written.v, e->filtered.v, e->sampled_out.v, e->dropped.v);
	for (int k = 0; k < 256; k++) {
		if (e->of_kind[k] == 0)
			continue;
		printer_format(out, "%s%s %" PRIu64, first ? " (" : ", ",
			       loom_kind_name((uint8_t)k, room), e->of_kind[k]);
		first = false;
	}
	printer_text(out, first ? "\n" : ")\n");
	return e->dropped.v > 0;
}

static int print_run(struct loom_options *o, const struct run_files *run, struct run_reader *r,
		     struct printer *out)
{
	struct counts n = {0};
	uint64_t count;
	int err;

	if (r->form == LOOM_JSON) {
		err = count_records(o, run, &count);
		if (err < 0)
			return err;
	} else {
		size_t size = r->form == LOOM_NATURAL48 ? LOOM_NATURAL_SIZE : LOOM_PACKED_SIZE;

		count = (r->size - (r->form == LOOM_LTRC ? LOOM_HEADER_SIZE : 0)) / size;
	}
	printer_format(out, "layout %s%s\nrecords %" PRIu64 "\n", loom_form_name(r->form),
		       r->form == LOOM_JSON && !o->apply_ids ? " (ids as stored)" : "", count);
	err = show(o, r, out, &n);
	if (err < 0)
		return err;
	print_modules(out, &r->modules);
	if (leaves_out(o))
		printer_format(out,
			       "seen %" PRIu64 " written %" PRIu64 " filtered %" PRIu64
			       " sampled_out %" PRIu64 " dropped 0\n",
			       n.seen, n.of[LOOM_PASSES], n.of[LOOM_FILTERED],
			       n.of[LOOM_SAMPLED_OUT]);
	return 0;
}

/* Prints the losses in the statistics of the run, if it has any. Returns 1 if records were dropped,
 * or may have been. */
static int declared_losses(const struct run_files *run, struct printer *out)
{
	struct loom_violations unsaid = {.report = loom_violation_ignore};
	struct run_stats perf;
	int lost;

	if (!run->perf)
		return 0;
	if (run_stats_load(&perf, run->perf_at, run->perf, &unsaid) == 0) {
		lost = print_declared(&perf, out);
	} else {
		log_warn("%s: unreadable statistics: the number of dropped records is unknown (see "
			 "'ovni-loom check')",
			 run->perf);
		lost = 1;
	}
	run_stats_free(&perf);
	return lost;
}

int loom_dump(struct loom_options *o)
{
	struct run_reader_options how = {.layout = o->layout, .as_stored = !o->apply_ids};
	struct loom_violations findings = {0};
	struct run_reader r = {0};
	struct run_files run;
	struct printer out;
	int err, lost = 0;

	printer_open(&out, STDOUT_FILENO);
	err = run_files_find(&run, o->run, o->perf);
	if (err)
		goto out;
	if (!run.trace) {
		log_error("%s: no trace, only statistics: see 'ovni-loom stats'", o->run);
		err = -ENOENT;
		goto out;
	}
	err = run_reader_open(&r, run.trace_at, run.trace, &how, &findings);
	if (err == -EBADMSG && r.form != LOOM_UNKNOWN)
		printer_format(&out, "layout %s\nrecords 0\n", loom_form_name(r.form));
	if (err)
		goto out;
	err = print_run(o, &run, &r, &out);
	if (err)
		goto out;
	lost = declared_losses(&run, &out);
out:
	if (err == -ENOMEM)
		log_no_memory("while reading %s", o->run);
	if (printer_close(&out) < 0 || r.is_damaged || err)
		err = -EIO;
	run_reader_close(&r);
	run_files_free(&run);
	if (err)
		return STATUS_FAILED;
	return lost ? STATUS_LOST : STATUS_COMPLETE;
}
