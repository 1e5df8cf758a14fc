/* SPDX-License-Identifier: MIT */
/*
 * ovni-check: faults of a trace, and whether it is complete.
 *
 *   error: loom.n1/proc.5/thread.7: event OHr at byte 1204, clock 81: is no legal change ...
 *   CPU 0 of n1: 100 % of 10.002 s = 71.20 threads + 28.80 idle + 0.00 other + 0.00 unknown
 *   invalid: 1 error, 0 warnings
 *
 * In: a trace; out: diagnostics with their severities, and the verdict. The verdict is that of the
 * emulator, run without output; since it stops at the first fault, a survey of each stream then
 * reports the others. --repair makes the trace of a crashed program valid again.
 * Specification: emulator.md, models.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/emulation.h"
#include "trace/states/cpu_time.h"
#include "tools/check/stats_check.h"
#include "tools/check/diagnostics.h"
#include "tools/check/repair.h"
#include "tools/check/survey.h"
#include "tools/lib/table.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

struct options {
	struct emu_options emu;
	const char *path, *out;
	bool strict, json, quiet, repair, in_place;
};

struct check {
	const struct options *options;
	struct diagnostics diagnostics;
	struct survey survey;
	struct cpu_times cpu_times;
	struct stats_check stats;
	bool accepted;	   /* by the emulator */
	bool clean;	   /* by its lint, too */
	bool contradicted; /* stats.json, by the streams */
};

#define TO(member) offsetof(struct options, member)

static bool repairs(const void *settings)
{
	return ((const struct options *)settings)->repair;
}

static bool repairs_a_copy(const void *settings)
{
	const struct options *options = settings;

	return options->repair && !options->in_place;
}

static const struct cli_option cli_options[] = {
	{"strict", 0, NULL, cli_flag, TO(strict),
	 "report regions that are open at the end as errors"},
	{"json", 'j', NULL, cli_flag, TO(json), "print one JSON object"},
	{"quiet", 'q', NULL, cli_flag, TO(quiet), "print only errors, warnings and the verdict"},
	{"all-models", 'a', NULL, cli_flag, TO(emu.all_models),
	 "enable all models, required or not"},
	{"breakdown", 'b', NULL, cli_flag, TO(emu.breakdown),
	 "also check the events of the breakdown views"},
	{"offsets", 'c', "FILE", cli_text, TO(emu.offsets), "clock offsets between the hosts"},
	{"repair", 0, NULL, cli_flag, TO(repair),
	 "write a valid copy of the trace of a crashed program"},
	{"output", 'o', "DIR", cli_text, TO(out),
	 "with --repair: directory of the copy (TRACE.repaired)", .holds = repairs_a_copy,
	 .rule = "needs --repair, and excludes --in-place"},
	{"in-place", 0, NULL, cli_flag, TO(in_place), "with --repair: repair the trace itself",
	 .holds = repairs, .rule = "needs --repair"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-check",
	.operands = "TRACE",
	.about = "Check whether an ovni trace is valid and complete, and list its faults.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # verdict, faults, and the time of each CPU\n"
		 "  ovni-check trace\n\n"
		 "  # regions must be closed at the end, too\n"
		 "  ovni-check --strict trace\n\n"
		 "  # check the statistics of a recording in summary mode\n"
		 "  ovni-check ovni.stats.json\n\n"
		 "  # write trace.repaired after a crash\n"
		 "  ovni-check --repair trace",
};

/* Runs the emulator; its messages become diagnostics. Returns whether it accepts the trace. */
static bool emulate(const struct options *options, bool lint, struct diagnostics *diagnostics)
{
	struct emu_options emu = options->emu;
	bool accepted;

	emu.trace = options->path;
	emu.no_output = emu.quiet = true;
	emu.lint = lint;
	emu.jobs = 1;
	diagnostics_capture(diagnostics, SEVERITY_ERROR);
	accepted = emulator_run(&emu) == 0;
	diagnostics_release();
	return accepted;
}

/* The severity of faults that the emulator does not report. */
static enum severity fault_severity(const struct check *c)
{
	return c->accepted ? SEVERITY_WARNING : SEVERITY_ERROR;
}

/* The verdict: first with lint and, if that refuses the trace, without. */
static void judge(struct check *c)
{
	struct diagnostics lint = {0};
	enum severity highest;

	c->accepted = c->clean = emulate(c->options, true, &lint);
	if (!c->clean)
		c->accepted = emulate(c->options, false, &c->diagnostics);
	highest = c->options->strict ? SEVERITY_ERROR : fault_severity(c);
	for (size_t i = 0; i < lint.n; i++) {
		enum severity severity = lint.list[i].severity;

		diagnostics_add(&c->diagnostics, severity < highest ? highest : severity, "%s",
				lint.list[i].text);
	}
	c->diagnostics.nomem |= lint.nomem;
	diagnostics_free(&lint);
}

static int on_span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		   int64_t from, int64_t to)
{
	struct check *c = arg;

	(void)intervals;
	return cpu_times_add(&c->cpu_times, stream, cpu, from, to);
}

static int on_event(void *arg, const struct intervals *intervals, uint32_t stream,
		    const struct event *ev)
{
	struct check *c = arg;

	(void)intervals;
	stats_check_event(&c->stats, stream, ev);
	return 0;
}

static void report_cpu_times(struct check *c)
{
	for (size_t i = 0; i < c->cpu_times.ncpus; i++) {
		const struct cpu_time *cpu = &c->cpu_times.cpus[i];
		char window[32], overlap[32];
		double percent = cpu->window ? (double)cpu->window / 100 : 1;

		table_duration(window, cpu->window);
		table_duration(overlap, cpu->overlap);
		diagnostics_add(&c->diagnostics, SEVERITY_NOTE,
				"CPU %d of %s: 100 %% of %s = %.2f threads + %.2f idle%s + %.2f "
				"other + %.2f unknown",
				cpu->cpu, cpu->loom, window,
				(double)(cpu->threads - cpu->overlap) / percent,
				(double)cpu->idle / percent,
				cpu->in_session ? "" : " or not recorded",
				(double)cpu->other / percent, (double)cpu->unknown / percent);
		if (cpu->overlap)
			diagnostics_add(
				&c->diagnostics, fault_severity(c),
				"CPU %d of %s: its threads ran %s longer than the window lasts",
				cpu->cpu, cpu->loom, overlap);
	}
}

/* Adds up the times of CPUs and threads. */
static int walk(struct check *c, struct source *source, struct intervals *intervals)
{
	const struct interval_listener listener = {.span = on_span, .event = on_event};
	int err;

	err = source_open(source, c->options->path);
	if (err)
		return err;
	err = stats_check_begin(&c->stats, source);
	if (err)
		return err;
	err = intervals_walk(intervals, source, &listener, c);
	if (err)
		return err;
	return cpu_times_finish(&c->cpu_times, intervals);
}

/* Compares times with the window and with stats.json; impossible for a trace whose streams cannot
 * be walked. Returns 0 or -ENOMEM. */
static int check_times(struct check *c)
{
	struct source source = {0};
	struct intervals intervals = {0};
	int err;

	diagnostics_capture(&c->diagnostics, fault_severity(c));
	err = walk(c, &source, &intervals);
	diagnostics_release();
	if (err)
		goto out;
	report_cpu_times(c);
	c->contradicted = !stats_check_compare(
		&c->stats, &c->survey, c->options->strict ? SEVERITY_ERROR : SEVERITY_WARNING);
out:
	intervals_fini(&intervals);
	source_close(&source);
	return err == -ENOMEM ? err : 0;
}

static bool incomplete(const struct survey *s)
{
	return s->missing || s->lost || s->recovered;
}

static const char *completeness(const struct check *c)
{
	const struct survey *s = &c->survey;

	if (s->recovered)
		return "incomplete: it was closed after a crash";
	if (s->lost)
		return "incomplete: the recorder lost events";
	if (s->missing)
		return "incomplete: events are missing";
	if (s->unfinished)
		return "incomplete: streams were not finished";
	if (!s->verifiable)
		return "completeness cannot be verified: the trace has no count of its events";
	return "complete";
}

static void report_survey(struct check *c)
{
	const struct survey *s = &c->survey;

	if (s->lost)
		diagnostics_add(&c->diagnostics, SEVERITY_WARNING,
				"the recorder lost %llu event%s, by its own count",
				(unsigned long long)s->lost, plural(s->lost, "", "s"));
	if (s->recovered)
		diagnostics_add(&c->diagnostics, SEVERITY_WARNING,
				"a repair closed %llu stream%s: later events are missing",
				(unsigned long long)s->recovered, plural(s->recovered, "", "s"));
	if (s->repairs)
		diagnostics_add(&c->diagnostics, SEVERITY_NOTE,
				"%llu switch%s without a record: concluded from other records",
				(unsigned long long)s->repairs, plural(s->repairs, "", "es"));
}

static void print_json(const struct check *c, int status, struct printer *out)
{
	const struct diagnostics *d = &c->diagnostics;

	printer_text(out, "{\"trace\":");
	printer_json_string(out, c->options->path, strlen(c->options->path));
	printer_format(out, ",\n \"valid\":%s,\"status\":%d,\"completeness\":",
		       status == STATUS_FAILED ? "false" : "true", status);
	printer_json_string(out, completeness(c), strlen(completeness(c)));
	printer_format(out,
		       ",\n \"streams\":%llu,\"events\":%llu,\"errors\":%zu,\"warnings\":%zu,"
		       "\n \"lost\":%llu,\"missing\":%llu,\n \"findings\":",
		       (unsigned long long)c->survey.streams, (unsigned long long)c->survey.events,
		       d->counts[SEVERITY_ERROR], d->counts[SEVERITY_WARNING],
		       (unsigned long long)c->survey.lost, (unsigned long long)c->survey.missing);
	diagnostics_print_json(d, out);
	printer_text(out, ",\n \"cpus\":[");
	for (size_t i = 0; i < c->cpu_times.ncpus; i++) {
		const struct cpu_time *cpu = &c->cpu_times.cpus[i];

		printer_format(out, "%s\n  {\"loom\":", i ? "," : "");
		printer_json_string(out, cpu->loom, strlen(cpu->loom));
		printer_format(out,
			       ",\"cpu\":%d,\"window\":%lld,\"threads\":%lld,\"idle\":%lld,"
			       "\"other\":%lld,\"unknown\":%lld,\"twice\":%lld}",
			       cpu->cpu, (long long)cpu->window,
			       (long long)(cpu->threads - cpu->overlap), (long long)cpu->idle,
			       (long long)cpu->other, (long long)cpu->unknown,
			       (long long)cpu->overlap);
	}
	printer_text(out, c->cpu_times.ncpus ? "\n ]}\n" : "]}\n");
}

static void print_text(const struct check *c, int status, struct printer *out)
{
	static const char *const verdicts[] = {"valid", "invalid", NULL, "valid, but incomplete"};
	const struct diagnostics *d = &c->diagnostics;
	const struct survey *s = &c->survey;
	size_t errors = d->counts[SEVERITY_ERROR], warnings = d->counts[SEVERITY_WARNING];

	diagnostics_print(d, out, !c->options->quiet);
	printer_format(out, "%s: %llu stream%s, %llu event%s, %zu error%s, %zu warning%s; %s\n",
		       verdicts[status], (unsigned long long)s->streams,
		       plural(s->streams, "", "s"), (unsigned long long)s->events,
		       plural(s->events, "", "s"), errors, plural(errors, "", "s"), warnings,
		       plural(warnings, "", "s"), completeness(c));
}

static int print(const struct check *c, int status)
{
	struct printer out;

	if (printer_open(&out, STDOUT_FILENO) < 0)
		return log_no_memory("while printing the result");
	if (c->options->json)
		print_json(c, status, &out);
	else
		print_text(c, status, &out);
	return printer_close(&out);
}

/* Checks the streams one by one, then the times. */
static int check_streams(struct check *c)
{
	struct trace trace = {.fd = -1};
	bool accepted = c->accepted && (c->clean || !c->options->strict);
	const char *stats;
	int err;

	diagnostics_capture(&c->diagnostics, SEVERITY_ERROR);
	err = trace_open(&trace, c->options->path);
	diagnostics_release();
	if (err) { /* reported */
		err = accepted ? err : 0;
		goto out;
	}
	err = survey_run(&c->survey, &trace, &c->diagnostics, fault_severity(c));
	report_survey(c);
	if (err)
		goto out;
	stats = stats_find(trace.fd);
	if (stats)
		err = stats_check_load(&c->stats, trace.fd, stats);
	if (err)
		goto out;
	err = check_times(c);
out:
	trace_close(&trace);
	return err;
}

static int verdict(const struct check *c)
{
	bool strict = c->options->strict;

	if (!c->accepted || (strict && (!c->clean || c->contradicted)) ||
	    (c->stats.name && !c->stats.sound))
		return STATUS_FAILED;
	return incomplete(&c->survey) ? STATUS_LOST : STATUS_COMPLETE;
}

/* Checks the statistics file of a recording in summary mode, which has no trace. */
static int check_summary(struct check *c)
{
	int err = stats_check_load(&c->stats, AT_FDCWD, c->options->path);

	c->accepted = c->clean = true;
	c->survey.lost = c->stats.stats.events.values[STATS_DROPPED];
	c->survey.verifiable = c->stats.sound;
	report_survey(c);
	return err;
}

static int check(const struct options *options)
{
	struct check c = {.options = options, .stats = {.diagnostics = &c.diagnostics}};
	int err, status = STATUS_FAILED;

	if (stats_is_file_name(options->path)) {
		err = check_summary(&c);
	} else {
		judge(&c);
		err = check_streams(&c);
	}
	if (!err && c.diagnostics.nomem)
		err = -ENOMEM;
	if (err) {
		log_error("%s: cannot check: %s", options->path, strerror(-err));
		goto out;
	}
	status = verdict(&c);
	if (print(&c, status) < 0)
		status = STATUS_FAILED;
out:
	cpu_times_fini(&c.cpu_times);
	stats_check_free(&c.stats);
	diagnostics_free(&c.diagnostics);
	return status;
}

static int repair_and_check(const struct options *options)
{
	struct options repaired = *options;
	struct repair repair = {.trace = options->path, .out = options->out};
	char *beside = NULL;
	int status = STATUS_FAILED;

	if (!options->in_place && !options->out) {
		beside = path_with_suffix(options->path, ".repaired");
		if (!beside) {
			log_lack("for the name of the output");
			return STATUS_FAILED;
		}
		repair.out = beside;
	}
	if (repair_run(&repair) < 0)
		goto out;
	repaired.path = repair.out ? repair.out : options->path;
	log_info("%s: repaired %llu of %llu streams and left out %llu: %llu bytes cut, %llu events "
		 "added, %llu dropped",
		 repaired.path, (unsigned long long)repair.repaired,
		 (unsigned long long)repair.streams, (unsigned long long)repair.left_out,
		 (unsigned long long)repair.bytes_cut, (unsigned long long)repair.events_added,
		 (unsigned long long)repair.events_dropped);
	status = check(&repaired);
	if (status == STATUS_COMPLETE && (repair.repaired || repair.left_out))
		status = STATUS_LOST;
out:
	free(beside);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {0};

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	return options.repair ? repair_and_check(&options) : check(&options);
}
