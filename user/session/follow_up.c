/* SPDX-License-Identifier: MIT */
/*
 * follow_up: what comes after a complete trace.
 *
 * In: the trace and the end of the session; out: the files of other programs, the overview, and the
 * status of the command.
 * Invariant: nothing here changes the trace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/status.h"
#include "trace/base/text.h"
#include "user/session/neighbour.h"
#include "user/session/recorder.h"

#define OVERVIEW_LIMIT_MS 10000

/* Runs a program on the trace, in `neighbour` with up to 3 options. 0 if its exit status is 0 or 3,
 * else -errno after a message, of the program or of this function. `lack`: the consequence of a
 * signal, as a sentence. */
static int run_on_trace(const struct recorder *r, struct neighbour neighbour, const char *lack)
{
	const char *program = neighbour.name;
	unsigned n = 0;
	int status;

	while (neighbour.args[n])
		n++;
	if (r->options->quiet)
		neighbour.args[n++] = "-q";
	neighbour.args[n++] = "--";
	neighbour.args[n] = r->output.path;
	status = neighbour_run(&neighbour, &r->signals);

	if (status == -EINTR)
		log_error("%s was interrupted: %s", program, lack);
	else if (status == -ECHILD)
		log_error("%s was killed by a signal", program);
	/* of a trace that has losses: our own status says it, too */
	if (status == STATUS_LOST)
		return 0;
	return status > 0 ? -ECHILD : status;
}

/* Prints the overview; if that is not possible, why, and the shares of time instead. */
static void show_overview(const struct recorder *r)
{
	/* without a folder, ovni-report could take the name for a report's */
	const char *trace = r->end.trace, *here = strchr(trace, '/') ? "" : "./";
	char *path = xasprintf("%s%s", *trace == '-' ? "./" : here, trace);
	struct neighbour report = {
		.name = REPORTER, .args = {"--no-pager", path}, .limit_ms = OVERVIEW_LIMIT_MS};
	int status = -ENOMEM;

	if (!path) {
		log_lack("for the overview");
	} else if (!neighbour_exists(REPORTER)) {
		status = -errno;
		log_report("no overview: cannot run " REPORTER " in the folder of ovni-bpf: %s",
			   strerror(-status));
	} else {
		status = neighbour_run(&report, &r->signals);
		if (status == -EINTR)
			log_report("no overview: " REPORTER " was interrupted");
		else if (status == -ETIMEDOUT)
			log_report("no overview: " REPORTER " took longer than %d s",
				   OVERVIEW_LIMIT_MS / 1000);
		else if (status == -ECHILD)
			log_report("no overview: " REPORTER " was killed by a signal");
		else if (status > 0)
			log_report("no overview: " REPORTER " ended with status %d", status);
	}
	if (status)
		summary_times(&r->end);
	free(path);
}

/* The command may outlive the recording. A signal ends the waiting. */
static void wait_for_command(struct recorder *r)
{
	if (!r->options->command)
		return;
	if (!command_ended(&r->command, 0) && strcmp(r->reason, "signal")) {
		log_info("the command still runs; waiting for its end");
		if (neighbour_wait(&r->command, &r->signals, 0))
			log_info("the command is left alone");
	}
	r->end.command_status = r->command.status;
}

/* The files of --emulate, --html, --perfetto. */
static void make_files(struct recorder *r)
{
	if (r->options->emulate) {
		r->end.emulated = !run_on_trace(r, (struct neighbour){EMULATOR},
						"the files for Paraver are incomplete");
		r->failed |= !r->end.emulated;
	}
	if (r->options->html) {
		r->end.page = !run_on_trace(r, (struct neighbour){VIEWER}, "there is no page");
		r->failed |= !r->end.page;
	}
	if (r->options->perfetto &&
	    run_on_trace(r,
			 (struct neighbour){EXPORTER, {"--perfetto", "-o", r->options->perfetto}},
			 "there is no file for Perfetto"))
		r->failed = true;
}

void recorder_follow_up(struct recorder *r)
{
	signals_hold(&r->signals);
	if (!r->failed) /* else its error has been reported, and another one would follow */
		make_files(r);
	if (r->end.overview)
		show_overview(r);
	trigger_command_finish(&r->on_trigger);
	wait_for_command(r);
	if (r->options->quiet)
		return;
	summary_command(&r->end);
	if (isatty(STDERR_FILENO))
		summary_next(&r->end);
}
