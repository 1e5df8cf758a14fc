/* SPDX-License-Identifier: MIT */
/*
 * ovni-check: all that is wrong with a trace, and whether it is complete.
 *
 *   error: loom.n1/proc.5/thread.7: event OHr at byte 1204, clock 81: is no legal change ...
 *   CPU 0 of n1: 100 % of 10.002 s = 71.20 threads + 28.80 idle + 0.00 other + 0.00 unknown
 *   invalid: 1 error, 0 warnings
 *
 * In: a trace; out: findings with their severities, and the verdict. The verdict is the
 * emulator's own, which is run without output; a survey of each stream then says what it
 * stopped before. --repair makes a trace that a crash left behind valid again.
 * Specification: emulator.md, models.md.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/emulator.h"
#include "trace/states/cpu_time.h"
#include "tools/check/stats_check.h"
#include "tools/check/diagnostics.h"
#include "tools/check/repair.h"
#include "tools/check/survey.h"
#include "tools/lib/table.h"
#include "tools/lib/usage.h"
#include "trace/base/log.h"

struct options {
	struct emu_options emu;
	const char *path, *out;
	bool strict, json, quiet, repair, in_place;
};

struct check {
	const struct options *options;
	struct diagnostics findings;
	struct survey survey;
	struct cpu_times account;
	struct figures figures;
	bool accepted;	   /* by the emulator */
	bool clean;	   /* by its lint, too */
	bool contradicted; /* perf.json, by the streams */
};

enum { KEY_STRICT = 0x100, KEY_REPAIR, KEY_IN_PLACE };

static const struct argp_option argp_options[] = {
	{"all-models", 'a', NULL, 0, "Enable all models, required or not", 0},
	{"breakdown", 'b', NULL, 0, "Also what the breakdown views need", 0},
	{"offsets", 'c', "FILE", 0, "Clock offsets between the hosts", 0},
	{"strict", KEY_STRICT, NULL, 0, "Stacks that are not empty at the end are errors", 0},
	{"json", 'j', NULL, 0, "One JSON object", 0},
	{"quiet", 'q', NULL, 0, "Only errors, warnings and the verdict", 0},
	{"repair", KEY_REPAIR, NULL, 0, "Write a valid copy of a trace that a crash left behind",
	 1},
	{"output", 'o', "DIR", 0, "With --repair: where to (TRACE.repaired)", 1},
	{"in-place", KEY_IN_PLACE, NULL, 0, "With --repair: mend the trace itself", 1},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'a':
		options->emu.all_models = true;
		return 0;
	case 'b':
		options->emu.breakdown = true;
		return 0;
	case 'c':
		options->emu.offsets = arg;
		return 0;
	case KEY_STRICT:
		options->strict = true;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case KEY_REPAIR:
		options->repair = true;
		return 0;
	case 'o':
		options->out = arg;
		return 0;
	case KEY_IN_PLACE:
		options->in_place = true;
		return 0;
	case ARGP_KEY_ARG:
		return usage_trace(key, arg, state, &options->path);
	case ARGP_KEY_END:
		if ((options->out || options->in_place) && !options->repair)
			argp_error(state, "--output and --in-place belong to --repair");
		if (options->out && options->in_place)
			argp_error(state, "--output or --in-place, not both");
		return usage_trace(key, arg, state, &options->path);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Runs the emulator; its messages become findings of at most the severity `most`. */
static int emulate(struct check *c, bool lint, struct diagnostics *findings, enum severity most,
		   bool *accepted)
{
	struct emu_options emu = c->options->emu;
	int err;

	emu.trace = c->options->path;
	emu.no_output = emu.quiet = true;
	emu.lint = lint;
	emu.jobs = 1;
	err = diagnostics_catch(findings);
	if (err)
		return err;
	*accepted = emulator_run(&emu) == 0;
	diagnostics_caught(findings, most);
	return 0;
}

/* The verdict: first with lint, and only if that refuses, without. */
static int judge(struct check *c)
{
	struct diagnostics strict = {0};
	enum severity most;
	int err = emulate(c, true, &strict, SEVERITY_ERROR, &c->clean);

	c->accepted = c->clean;
	if (!err && !c->clean)
		err = emulate(c, false, &c->findings, SEVERITY_ERROR, &c->accepted);
	most = c->accepted && !c->options->strict ? SEVERITY_WARNING : SEVERITY_ERROR;
	for (size_t i = 0; i < strict.n; i++)
		diagnostics_add(&c->findings,
				strict.list[i].severity < most ? most : strict.list[i].severity,
				"%s", strict.list[i].text);
	diagnostics_free(&strict);
	return err;
}

static int span(void *arg, const struct intervals *intervals, uint32_t stream, int32_t cpu,
		int64_t from, int64_t to)
{
	struct check *c = arg;

	(void)intervals;
	return cpu_times_add(&c->account, stream, cpu, from, to);
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct check *c = arg;

	(void)intervals;
	figures_event(&c->figures, stream, ev);
	return 0;
}

static void say_account(struct check *c)
{
	for (size_t i = 0; i < c->account.ncpus; i++) {
		const struct cpu_time *cpu = &c->account.cpus[i];
		char window[32], more[32];
		double all = cpu->window ? (double)cpu->window / 100 : 1;

		table_duration(window, cpu->window);
		table_duration(more, cpu->overlap);
		diagnostics_add(
			&c->findings, SEVERITY_NOTE,
			"CPU %d of %s: 100 %% of %s = %.2f threads + %.2f idle%s + %.2f other + "
			"%.2f unknown",
			cpu->cpu, cpu->loom, window, (double)(cpu->threads - cpu->overlap) / all,
			(double)cpu->idle / all, cpu->in_session ? "" : " or not recorded",
			(double)cpu->other / all, (double)cpu->unknown / all);
		if (cpu->overlap)
			diagnostics_add(
				&c->findings, c->accepted ? SEVERITY_WARNING : SEVERITY_ERROR,
				"CPU %d of %s: its threads ran %s longer than there was time",
				cpu->cpu, cpu->loom, more);
	}
}

/* The account, and the figures of threads, need a trace that opens and whose streams can be walked.
 */
static int walk(struct check *c)
{
	const struct interval_listener listener = {.span = span, .event = event};
	struct source source;
	struct intervals intervals = {0};
	int err;

	err = diagnostics_catch(&c->findings);
	if (err)
		return err;
	err = source_open(&source, c->options->path);
	if (!err)
		err = figures_begin(&c->figures, &source);
	if (!err)
		err = intervals_walk(&intervals, &source, &listener, c);
	if (!err)
		err = cpu_times_finish(&c->account, &intervals);
	/* what is wrong has been said by the others */
	diagnostics_caught(&c->findings, c->accepted ? SEVERITY_WARNING : SEVERITY_ERROR);
	if (!err) {
		say_account(c);
		c->contradicted = !figures_compare(
			&c->figures, &c->survey,
			c->options->strict ? SEVERITY_ERROR : SEVERITY_WARNING, &c->findings);
	}
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
	if (!s->told)
		return "completeness cannot be verified: the trace does not tell how much it "
		       "should have";
	return "complete";
}

static void say_survey(struct check *c)
{
	const struct survey *s = &c->survey;

	if (s->lost)
		diagnostics_add(&c->findings, SEVERITY_WARNING,
				"the recorder lost %llu events, as it says",
				(unsigned long long)s->lost);
	if (s->recovered)
		diagnostics_add(
			&c->findings, SEVERITY_WARNING,
			"%llu streams were closed by a repair: what came later is not in them",
			(unsigned long long)s->recovered);
	if (s->repairs)
		diagnostics_add(
			&c->findings, SEVERITY_NOTE,
			"%llu changes of who runs were not recorded and had to be concluded",
			(unsigned long long)s->repairs);
}

static int print(const struct check *c, int status)
{
	static const char *const words[] = {"valid", "invalid", NULL, "valid, but incomplete"};
	const struct diagnostics *f = &c->findings;
	struct printer out;

	if (printer_open(&out, STDOUT_FILENO) < 0) {
		log_error("no memory to print what was found");
		return -ENOMEM;
	}
	if (c->options->json) {
		printer_text(&out, "{\"trace\":");
		printer_json_string(&out, c->options->path, strlen(c->options->path));
		printer_format(&out, ",\n \"valid\":%s,\"status\":%d,\"completeness\":",
			       status == STATUS_FAILED ? "false" : "true", status);
		printer_json_string(&out, completeness(c), strlen(completeness(c)));
		printer_format(
			&out,
			",\n \"streams\":%llu,\"events\":%llu,\"errors\":%zu,\"warnings\":%zu,"
			"\n \"lost\":%llu,\"missing\":%llu,\n \"findings\":",
			(unsigned long long)c->survey.streams, (unsigned long long)c->survey.events,
			f->counts[SEVERITY_ERROR], f->counts[SEVERITY_WARNING],
			(unsigned long long)c->survey.lost, (unsigned long long)c->survey.missing);
		diagnostics_print_json(f, &out);
		printer_text(&out, ",\n \"cpus\":[");
		for (size_t i = 0; i < c->account.ncpus; i++) {
			const struct cpu_time *cpu = &c->account.cpus[i];

			printer_format(&out, "%s\n  {\"loom\":", i ? "," : "");
			printer_json_string(&out, cpu->loom, strlen(cpu->loom));
			printer_format(&out,
				       ",\"cpu\":%d,\"window\":%lld,\"threads\":%lld,\"idle\":%lld,"
				       "\"other\":%lld,\"unknown\":%lld,\"twice\":%lld}",
				       cpu->cpu, (long long)cpu->window,
				       (long long)(cpu->threads - cpu->overlap),
				       (long long)cpu->idle, (long long)cpu->other,
				       (long long)cpu->unknown, (long long)cpu->overlap);
		}
		printer_text(&out, c->account.ncpus ? "\n ]}\n" : "]}\n");
	} else {
		diagnostics_print(f, &out, !c->options->quiet);
		printer_format(&out,
			       "%s: %llu streams, %llu events, %zu errors, %zu warnings; %s\n",
			       words[status], (unsigned long long)c->survey.streams,
			       (unsigned long long)c->survey.events, f->counts[SEVERITY_ERROR],
			       f->counts[SEVERITY_WARNING], completeness(c));
	}
	return printer_close(&out);
}

static int check(const struct options *options)
{
	struct check *c = calloc(1, sizeof(*c));
	struct trace trace = {.fd = -1};
	int err, status = STATUS_FAILED;
	bool valid;

	if (!c) {
		log_error("%s: no memory to check it", options->path);
		return STATUS_FAILED;
	}
	c->options = options;
	err = judge(c);
	valid = c->accepted && (c->clean || !options->strict);
	if (!err && diagnostics_catch(&c->findings) == 0) {
		err = trace_open(&trace, options->path);
		diagnostics_caught(&c->findings, SEVERITY_ERROR);
		if (!err) {
			err = survey_run(&c->survey, &trace, &c->findings,
					 c->accepted ? SEVERITY_WARNING : SEVERITY_ERROR);
			say_survey(c);
			if (!err)
				err = figures_load(&c->figures, &trace, &c->findings);
			if (!err)
				err = walk(c);
		} else {
			err = valid ? err : 0; /* said; there is nothing more to see */
		}
		trace_close(&trace);
	}
	if (!err && c->findings.nomem)
		err = -ENOMEM;
	valid = valid && (!c->figures.there || c->figures.sound) &&
		!(c->contradicted && options->strict);
	if (!err)
		status = !valid			  ? STATUS_FAILED
			 : incomplete(&c->survey) ? STATUS_LOST
						  : STATUS_COMPLETE;
	if (err)
		log_error("%s: cannot be checked: %s", options->path, strerror(-err));
	else if (print(c, status) < 0)
		status = STATUS_FAILED;
	cpu_times_fini(&c->account);
	figures_free(&c->figures);
	diagnostics_free(&c->findings);
	free(c);
	return status;
}

static int repair_and_check(const struct options *options)
{
	struct options mended = *options;
	struct repair repair = {.trace = options->path};
	char *out = NULL;
	int status = STATUS_FAILED;

	if (!options->in_place && !options->out) {
		size_t n = strlen(options->path);

		while (n > 1 && options->path[n - 1] == '/')
			n--;
		if (asprintf(&out, "%.*s.repaired", (int)n, options->path) < 0) {
			log_error("%s: no memory to mend it", options->path);
			return STATUS_FAILED;
		}
	}
	repair.out = options->in_place ? NULL : options->out ? options->out : out;
	if (repair_run(&repair) == 0) {
		mended.path = repair.out ? repair.out : options->path;
		log_info("%s: %llu of %llu streams mended, %llu left out: %llu bytes cut, %llu "
			 "events "
			 "added, %llu dropped",
			 mended.path, (unsigned long long)repair.mended,
			 (unsigned long long)repair.streams, (unsigned long long)repair.left_out,
			 (unsigned long long)repair.bytes_cut,
			 (unsigned long long)repair.events_added,
			 (unsigned long long)repair.events_dropped);
		status = check(&mended);
		if (status == STATUS_COMPLETE && (repair.mended || repair.left_out))
			status = STATUS_LOST;
	}
	free(out);
	return status;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options,
		parse,
		"TRACE",
		"Check an ovni trace: is it valid, what is wrong with it, is it complete?\v"
		"  ovni-check trace              # valid? complete? where did the time go?\n"
		"  ovni-check --strict trace     # stacks must be empty at the end, too\n"
		"  ovni-check --repair trace     # write trace.repaired after a crash",
		NULL,
		NULL,
		NULL};
	struct options options = {0};

	usage_parse(&argp, "ovni-check", argc, argv, &options);
	return options.repair ? repair_and_check(&options) : check(&options);
}
