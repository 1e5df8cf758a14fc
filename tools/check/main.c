/* SPDX-License-Identifier: MIT */
/*
 * ovni-check: faults of a trace, and whether it is complete.
 *
 *   error: loom.n1/proc.5/thread.7: event OHr at byte 1204, clock 81: is no legal change ...
 *   CPU 0 of n1: 100 % of 10.002 s = 71.20 threads + 28.80 idle + 0.00 other + 0.00 unknown
 *   invalid: 1 error, 0 warnings
 *
 * In: a trace; out: diagnostics with their severities, and the verdict. The emulator, run without
 * output, gives the verdict; since it stops at the first fault, a survey of each stream then
 * reports the other faults. --repair (repair.h) makes the trace of a crashed program valid again.
 * Specification: emulator.md, models.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/emulation.h"
#include "trace/states/cpu_time.h"
#include "tools/check/repair.h"
#include "tools/check/repair_stats.h"
#include "tools/check/stats_check.h"
#include "tools/check/diagnostics.h"
#include "tools/check/survey.h"
#include "tools/lib/replace_file.h"
#include "tools/lib/table.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/stack_file.h"
#include "trace/ovni/trace.h"
#include "trace/states/sleep_call.h"

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
	struct stack_table stacks;
	uint64_t stacks_unknown; /* sleeps with the number of a stack that is not in the file */
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
	diagnostics_move(&c->diagnostics, &lint, highest);
}

static int on_span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		   int64_t from, int64_t to)
{
	struct check *c = arg;

	return cpu_times_add(&c->cpu_times, intervals, stream, cpu, from, to);
}

static int on_event(void *arg, const struct intervals *intervals, uint32_t stream,
		    const struct event *ev)
{
	struct check *c = arg;

	(void)intervals;
	stats_check_event(&c->stats, stream, ev);
	if (sleep_stack(ev) && !stack_table_find(&c->stacks, sleep_stack(ev)))
		c->stacks_unknown++;
	return 0;
}

static void report_cpu_times(struct check *c)
{
	for (size_t i = 0; i < c->cpu_times.ncpus; i++) {
		const struct cpu_time *cpu = &c->cpu_times.cpus[i];
		char window[DURATION_TEXT], overlap[DURATION_TEXT], idle[32] = "";
		double percent = cpu->window ? (double)cpu->window / 100 : 1;

		duration_words(window, cpu->window);
		duration_words(overlap, cpu->overlap);
		if (cpu->idle_known)
			snprintf(idle, sizeof(idle), "%.2f idle + ", (double)cpu->idle / percent);
		diagnostics_add(&c->diagnostics, SEVERITY_NOTE,
				"CPU %d of %s: 100 %% of %s = %.2f threads + %s%.2f %s + %.2f "
				"unknown",
				cpu->cpu, cpu->loom, window,
				(double)(cpu->threads - cpu->overlap) / percent, idle,
				(double)cpu->other / percent,
				cpu->idle_known ? "other" : CPU_TIME_OTHER_OR_IDLE,
				(double)cpu->unknown / percent);
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
	int err = stats_check_begin(&c->stats, source);

	if (err)
		return err;
	err = intervals_walk(intervals, source, &listener, c);
	if (err)
		return err;
	return cpu_times_finish(&c->cpu_times, intervals);
}

/* Compares times with the window and with stats.json; impossible for a trace whose streams cannot
 * be walked. Returns 0 or -ENOMEM. */
static int check_times(struct check *c, struct source *source)
{
	struct intervals intervals = {0};
	int err;

	diagnostics_capture(&c->diagnostics, fault_severity(c));
	err = walk(c, source, &intervals);
	diagnostics_release();
	if (err)
		goto out;
	report_cpu_times(c);
	c->contradicted = !stats_check_compare(
		&c->stats, &c->survey, c->options->strict ? SEVERITY_ERROR : SEVERITY_WARNING);
out:
	intervals_fini(&intervals);
	return err == -ENOMEM ? err : 0;
}

#define COMPLETENESS (WHOLE_TEXT + 16)

static const char *completeness(const struct check *c, char text[COMPLETENESS])
{
	const struct whole *w = &c->survey.whole;
	char reasons[WHOLE_TEXT];

	if (*whole_text(w, reasons))
		snprintf(text, COMPLETENESS, "incomplete: %s", reasons);
	else
		snprintf(text, COMPLETENESS, "%s",
			 whole_is_verified(w) ? "complete"
					      : "completeness cannot be verified: the trace has no "
						"count of its events");
	return text;
}

static void report_survey(struct check *c)
{
	const struct survey *s = &c->survey;
	const struct whole *w = &s->whole;
	char repairs[WHOLE_TEXT];

	if (w->lost)
		diagnostics_add(&c->diagnostics, SEVERITY_WARNING,
				"the recorder lost %llu event%s, by its own count",
				(unsigned long long)w->lost, plural(w->lost, "", "s"));
	if (w->recovered)
		diagnostics_add(&c->diagnostics, SEVERITY_WARNING,
				"a repair closed %llu stream%s: later events are missing",
				(unsigned long long)w->recovered, plural(w->recovered, "", "s"));
	if (s->repairs)
		diagnostics_add(&c->diagnostics, SEVERITY_NOTE, "%s",
				whole_repairs(s->repairs, w->lost, repairs));
}

static void print_json(const struct check *c, int status, struct printer *out)
{
	const struct diagnostics *d = &c->diagnostics;
	char text[COMPLETENESS];

	completeness(c, text);
	printer_text(out, "{\"trace\":");
	printer_json_string(out, c->options->path, strlen(c->options->path));
	printer_format(out, ",\n \"valid\":%s,\"status\":%d,\"completeness\":",
		       status == STATUS_FAILED ? "false" : "true", status);
	printer_json_string(out, text, strlen(text));
	printer_format(out,
		       ",\n \"streams\":%llu,\"events\":%llu,\"errors\":%zu,\"warnings\":%zu,"
		       "\n \"lost\":%llu,\"missing\":%llu,\n \"findings\":",
		       (unsigned long long)c->survey.streams, (unsigned long long)c->survey.events,
		       d->counts[SEVERITY_ERROR], d->counts[SEVERITY_WARNING],
		       (unsigned long long)c->survey.whole.lost,
		       (unsigned long long)c->survey.whole.events_missing);
	diagnostics_print_json(d, out);
	printer_text(out, ",\n \"cpus\":[");
	for (size_t i = 0; i < c->cpu_times.ncpus; i++) {
		const struct cpu_time *cpu = &c->cpu_times.cpus[i];

		printer_format(out, "%s\n  {\"loom\":", i ? "," : "");
		printer_json_string(out, cpu->loom, strlen(cpu->loom));
		printer_format(out, ",\"cpu\":%d,\"window\":%lld,\"threads\":%lld", cpu->cpu,
			       (long long)cpu->window, (long long)(cpu->threads - cpu->overlap));
		if (cpu->idle_known)
			printer_format(out, ",\"idle\":%lld", (long long)cpu->idle);
		printer_format(out, ",\"%s\":%lld,\"unknown\":%lld,\"twice\":%lld}",
			       cpu->idle_known ? "other" : "other_or_idle", (long long)cpu->other,
			       (long long)cpu->unknown, (long long)cpu->overlap);
	}
	printer_text(out, c->cpu_times.ncpus ? "\n ]}\n" : "]}\n");
}

static void print_text(const struct check *c, int status, struct printer *out)
{
	static const char *const verdicts[] = {"valid", "invalid", NULL, "valid, but incomplete"};
	const struct diagnostics *d = &c->diagnostics;
	const struct survey *s = &c->survey;
	size_t errors = d->counts[SEVERITY_ERROR], warnings = d->counts[SEVERITY_WARNING];
	char text[COMPLETENESS];

	diagnostics_print(d, out, !c->options->quiet);
	printer_format(out, "%s: %llu stream%s, %llu event%s, %zu error%s, %zu warning%s; ",
		       verdicts[status], (unsigned long long)s->streams,
		       plural(s->streams, "", "s"), (unsigned long long)s->events,
		       plural(s->events, "", "s"), errors, plural(errors, "", "s"), warnings,
		       plural(warnings, "", "s"));
	completeness(c, text);
	printer_escaped(out, text, strlen(text));
	printer_text(out, "\n");
}

static int print(const struct check *c, int status)
{
	struct printer out;

	printer_open(&out, STDOUT_FILENO);
	if (c->options->json)
		print_json(c, status, &out);
	else
		print_text(c, status, &out);
	return printer_close(&out);
}

/* Statistics that a repair closed are incomplete, even if each stream beside them is complete. */
static void report_stats(struct check *c)
{
	if (!c->stats.stats.recovered)
		return;
	if (!c->survey.whole.recovered)
		c->survey.whole.recovered = 1;
	diagnostics_add(
		&c->diagnostics, SEVERITY_WARNING,
		"a repair closed the statistics: later times, and all counts of events, are "
		"missing");
}

/* Checks the streams one by one, then the times. */
static int check_streams(struct check *c)
{
	struct source source;
	struct diagnostics opening = {0};
	bool accepted = c->accepted && (c->clean || !c->options->strict);
	const struct trace *trace = &source.trace;
	const char *stats;
	int err, opened;

	/* messages about single streams stand behind the messages of the survey */
	diagnostics_capture(&opening, SEVERITY_ERROR);
	opened = source_open(&source, c->options->path);
	diagnostics_release();
	if (opened && (trace->fd < 0 || !trace->nstreams)) {
		err = accepted && trace->fd < 0 ? opened : 0;
		diagnostics_move(&c->diagnostics, &opening, SEVERITY_ERROR);
		c->accepted &= trace->fd < 0;
		goto out;
	}
	if (opened == -ENOMEM) {
		err = opened;
		goto out;
	}
	err = survey_run(&c->survey, &source, &c->diagnostics, fault_severity(c));
	report_survey(c);
	if (err)
		goto out;
	stats = stats_find(trace->fd);
	if (stats)
		err = stats_check_load(&c->stats, trace->fd, stats);
	if (err)
		goto out;
	report_stats(c);
	/* a damaged one is a fault that the emulator has reported */
	diagnostics_capture(&c->diagnostics, accepted ? SEVERITY_ERROR : SEVERITY_NOTE);
	err = stack_table_load(&c->stacks, trace->fd, c->options->path);
	diagnostics_release();
	if (err == -ENOMEM)
		goto out;
	diagnostics_move(&c->diagnostics, &opening, fault_severity(c));
	err = opened ? 0 : check_times(c, &source);
	if (!err && c->stacks_unknown)
		diagnostics_add(&c->diagnostics, SEVERITY_WARNING,
				"%llu %s a stack that is not known: the file " STACK_FILE
				" does not have its number",
				(unsigned long long)c->stacks_unknown,
				plural(c->stacks_unknown, "sleep or wait for a CPU has",
				       "sleeps or waits for a CPU have"));
out:
	diagnostics_free(&opening);
	source_close(&source);
	return err;
}

static int verdict(const struct check *c)
{
	bool strict = c->options->strict;

	if (!c->accepted || (strict && (!c->clean || c->contradicted)) ||
	    (c->stats.name && !c->stats.sound))
		return STATUS_FAILED;
	return whole_is(&c->survey.whole) ? STATUS_COMPLETE : STATUS_LOST;
}

/* Checks the statistics file of a recording in summary mode, which has no trace. */
static int check_summary(struct check *c)
{
	int err = stats_check_load(&c->stats, AT_FDCWD, c->options->path);

	c->accepted = c->clean = true;
	c->survey.whole = (struct whole){.lost = c->stats.stats.events.values[STATS_DROPPED],
					 .with_lost = c->stats.sound,
					 .sessions = c->stats.sound,
					 .streams = 1};
	report_survey(c);
	report_stats(c);
	return err;
}

/* Can the path be opened as a trace? Otherwise one message says why. */
static bool is_trace(const char *path)
{
	struct trace trace = {.fd = -1};
	int err = trace_open(&trace, path);

	trace_close(&trace);
	return !err;
}

static int check(const struct options *options)
{
	struct check c = {.options = options, .stats = {.diagnostics = &c.diagnostics}};
	int err, status = STATUS_FAILED;

	if (stats_is_file_name(options->path)) {
		err = check_summary(&c);
	} else {
		judge(&c);
		if (!options->json && !c.accepted && !is_trace(options->path)) {
			err = 0; /* no verdict: there is nothing to judge */
			goto out;
		}
		err = check_streams(&c);
	}
	if (!err && (c.diagnostics.nomem || log_lacks_memory()))
		err = -ENOMEM; /* the errors may only be consequences */
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
	stack_table_free(&c.stacks);
	diagnostics_free(&c.diagnostics);
	return status;
}

static int repair_and_check(const struct options *options)
{
	struct options repaired = *options;
	struct repair_counts counts;
	char *out = NULL;
	int status = STATUS_FAILED;

	if (!options->in_place) {
		out = output_path(options->out, options->path, ".repaired");
		if (!out)
			return STATUS_FAILED;
		repaired.path = out;
	}
	if (repair_trace(options->path, out, &counts) < 0)
		goto out;
	log_info("%s: repaired %llu of %llu stream%s and left out %llu: %llu byte%s cut, %llu "
		 "event%s added, %llu dropped",
		 repaired.path, (unsigned long long)counts.repaired,
		 (unsigned long long)counts.streams, plural(counts.streams, "", "s"),
		 (unsigned long long)counts.left_out, (unsigned long long)counts.bytes_cut,
		 plural(counts.bytes_cut, "", "s"), (unsigned long long)counts.events_added,
		 plural(counts.events_added, "", "s"), (unsigned long long)counts.events_dropped);
	status = check(&repaired);
	if (status == STATUS_COMPLETE && (counts.repaired || counts.left_out))
		status = STATUS_LOST;
out:
	free(out);
	return status;
}

/* The same for the snapshots of a recording in mode summary. */
static int repair_and_check_stats(const struct options *options)
{
	struct options repaired = *options;
	size_t len = strlen(options->path) - strlen(STATS_PART);
	char *out = options->out ? strdup(options->out) : strndup(options->path, len);
	int status = STATUS_FAILED, err;

	if (!out) {
		log_no_memory("for the name of the statistics");
		return STATUS_FAILED;
	}
	if (options->in_place || !stats_is_file_name(out)) {
		log_error("the repaired statistics need a name that ends in " STATS_FILE
			  ", and are never written in place");
		goto out;
	}
	err = repair_stats(AT_FDCWD, options->path, AT_FDCWD, out, "summary");
	if (err == -ENODATA)
		log_error("%s: no whole snapshot: nothing can be recovered", options->path);
	if (err)
		goto out;
	repaired.path = out;
	status = check(&repaired);
out:
	free(out);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {0};

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	if (options.repair && repair_stats_is_for(options.path))
		return repair_and_check_stats(&options);
	return options.repair ? repair_and_check(&options) : check(&options);
}
