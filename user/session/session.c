/* SPDX-License-Identifier: MIT */
/* session: its last stages, and all of them in their order (see session.h, recorder.h). */
#include <poll.h>
#include <signal.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/session/emulate.h"
#include "user/kernel/merge.h"
#include "user/session/recorder.h"
#include "user/session/session.h"
#include "user/timeline/state_times.h"
#include "user/stats/thread_table.h"
#include "trace/base/log.h"

/* ---- draining, done ---- */

static void fail(struct recorder *r)
{
	r->failed = true;
	r->reason = "error";
}

/* Mode summary: there are no rings to drain. */
static void close_window(struct recorder *r)
{
	int err = links_close_window(&r->links, &r->drain.t1);

	if (!err)
		err = summary_stop(&r->summary, r->drain.t1);
	links_detach(&r->links);
	if (err)
		fail(r);
	summary_live_clear();
}

static void drain(struct recorder *r)
{
	struct pollfd fds[] = {{.fd = r->signals.fd, .events = POLLIN},
			       {.fd = r->drain.done_fd, .events = POLLIN}};

	if (r->options->mode != MODE_FULL) {
		close_window(r);
		return;
	}
	drain_stop(&r->drain);
	while (!(fds[1].revents & POLLIN)) {
		poll(fds, 2, -1);
		recorder_read_signals(r);
	}
	if (drain_join(&r->drain))
		fail(r);
	summary_live_clear();
}

/* The times at the end of the window, from the records or from the kernel. */
static int read_times(struct recorder *r)
{
	int err;

	if (r->options->mode != MODE_FULL)
		return summary_end(&r->summary, &r->times);
	for (size_t i = 0; i < r->tasks.ntasks; i++) {
		err = state_times_task(r->drain.times, &r->tasks.tasks[i]);
		if (err)
			goto no_memory;
	}
	err = state_times_close(r->drain.times, r->drain.cut, &r->times);
	if (!err)
		return 0;
no_memory:
	return log_no_memory("for the times of the threads");
}

static void write_stats(struct recorder *r, bool closed)
{
	const struct stats_session session = {
		.options = r->options,
		.account = &r->account,
		.kinds = r->links.kinds | 1u << EVENT_OTHER,
		.t0 = r->t0,
		.t1 = r->drain.t1,
		.cost = &r->cost,
	};

	cost_end(&r->cost);
	if (closed && stats_write(&r->stats, &r->times, &session))
		r->failed = true;
}

static void finish(struct recorder *r)
{
	struct segment_end end = {.stopped_by = r->reason, .command_status = -1};
	bool full = r->options->mode == MODE_FULL, closed;
	bool whole = full && !r->drain.err && !r->drain.cut;

	if (!whole)
		snapshot_tasks_free(&r->tasks);
	/* Without an end of the window, which has been said, there are no times. */
	closed = !r->drain.err && r->drain.t1 && (r->summary.t1 == r->drain.t1 || full);
	if (closed && read_times(r)) {
		closed = false;
		r->failed = true;
	}
	/* A signal now ends us at once: all that is left is waiting, and the disk's work. */
	if (!r->killed_by)
		signals_let_through(&r->signals);
	if (r->options->command) {
		bool soon = !strcmp(r->reason, "target") || !strcmp(r->reason, "signal");

		command_ended(&r->command, soon && !r->killed_by ? COMMAND_PATIENCE_MS : 0);
		end.command_status = r->command.status;
	}
	if (account_close(&r->account, r->drain.cut))
		r->failed = true;
	if (full && sink_end(&r->sink, &r->tasks, &end, r->drain.cut))
		r->failed = true;
	write_stats(r, closed);
	recorder_tell_parts(r);
}

static enum status status_of(const struct recorder *r)
{
	if (r->failed)
		return STATUS_FAILED;
	return r->account.lost ? STATUS_LOST : STATUS_COMPLETE;
}

static void report(struct recorder *r)
{
	bool full = r->options->mode == MODE_FULL;
	struct stats_run run;
	const struct segment_result counted = {0};
	const struct segment_result *sum = full ? sink_result(&r->sink) : &counted;
	struct summary_end end = {
		.dir = r->output.path,
		.kept = r->output.kept,
		.stopped_by = r->reason,
		.window_ns = r->drain.t1 > r->t0 ? r->drain.t1 - r->t0 : 0,
		.events = sum->events,
		.records = sum->records,
		.bytes = sum->bytes,
		.threads = sum->threads,
		.repairs = sum->repairs,
		.late = sum->late,
		.parts = full ? sink_segments(&r->sink) : 0,
		.lost = r->account.lost,
		.full = r->account.full,
		.user = r->account.user,
		.kinds = r->links.kinds | 1u << EVENT_OTHER,
		.streams = full,
		.keeps = r->options->last_bytes > 0,
		.verbose = r->options->verbose,
		.run = &run,
		.cost = &r->cost,
		.missed = r->account.missed,
		.ncpus = r->drain.ncpus,
		.account = r->account.cpus,
		.naccount = r->account.ncpus,
		.command = r->options->command != NULL,
		.command_status = r->command.status,
		.status = status_of(r),
	};

	stats_sum(&r->stats, &r->times, &run);
	if (!full) {
		end.threads = run.all.times.threads;
		if (!r->options->quiet)
			table_show(&r->times);
	}
	links_report(&r->links);
	apis_report(&r->probes.apis, &r->probes.sites);
	if (!r->options->quiet) {
		if (full)
			probes_report(&r->probes, r->links.sites, end.window_ns,
				      r->options->verbose);
		summary_report(&end);
	} else if (end.lost)
		log_warn("%llu events were lost: %s says which", (unsigned long long)end.lost,
			 r->output.path);
}

static void close_all(struct recorder *r)
{
	drain_join(&r->drain);
	sink_close(&r->sink);
	account_free(&r->account);
	summary_free(&r->summary);
	state_times_free(r->drain.times);
	time_stats_free(&r->times);
	stats_close(&r->stats);
	snapshot_tasks_free(&r->tasks);
	order_free(r->order);
	rings_close(r->rings);
	links_close(&r->links);
	probes_close(&r->probes);
	free(r->trigger_sites);
	signals_close(&r->signals);
	target_close(&r->target);
	topology_free(&r->topology);
	identity_free(&r->caller);
	identity_free(&r->runner);
}

enum status session_run(const struct options *options, struct control *control)
{
	struct recorder recorder = {.options = options,
				    .control = control,
				    .signals.fd = -1,
				    .output.fd = -1,
				    .drain.done_fd = -1};
	struct recorder *r = &recorder;
	enum status status;

	status = recorder_prepare(r);
	if (status || options->dry_run) {
		if (!status && recorder_tell_plan(r))
			status = STATUS_FAILED;
		close_all(r);
		return status;
	}
	if (recorder_arm(r)) {
		command_close(&r->command);
		close_all(r);
		output_dir_abandon(&r->output);
		output_dir_close(&r->output);
		return STATUS_FAILED;
	}
	recorder_record(r);
	drain(r);
	finish(r);
	status = status_of(r);
	report(r);
	close_all(r);
	if (r->killed_by) {
		signals_let_through(&r->signals);
		raise(r->killed_by);
	}
	if (options->emulate && emulate_run(r->output.path, options->quiet, &r->signals))
		status = STATUS_FAILED;
	if (options->command && !command_ended(&r->command, 0) && strcmp(r->reason, "signal")) {
		log_info("the command goes on; waiting for its end");
		while (!command_ended(&r->command, 1000))
			;
	}
	command_close(&r->command);
	output_dir_close(&r->output);
	return status;
}
