/* SPDX-License-Identifier: MIT */
/* session: see session.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "user/session/session.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "user/config/job_members.h"
#include "user/control/control.h"
#include "user/host/clock.h"
#include "user/host/kernel_symbols.h"
#include "user/kernel/user_stack_ring.h"
#include "user/stacks/user_stacks.h"
#include "user/kernel/rings.h"
#include "user/session/recorder.h"
#include "user/sink/finalizer.h"
#include "user/sink/job_dir.h"
#include "user/timeline/state_times.h"

#define COMMAND_PATIENCE_MS 1000 /* for a command that was sent a signal */
#define FETCH_MS	    100	 /* how often threads that have died are fetched */
#define NOTE_MS		    200	 /* between two writes of the file of the node */
#define LOOK_MS		    20 /* how often the end of the target, and --max-size, are looked for */

/* ---- recording ---- */

/* Launchers send several signals to end a job: from their daemons, srun, and scripts. A second one
 * is not the user's wish to end at once; for that, launchers use SIGKILL. */
static bool by_launcher(const struct recorder *r)
{
	return r->options->job_plan;
}

/* A signal from the terminal has reached the command as well; another one is passed on. */
static void read_signals(struct recorder *r)
{
	struct signalfd_siginfo info;

	while (read(r->signals.fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1) {
			if (r->options->mode != MODE_FULL || !sink_request(&r->sink))
				log_warn("SIGUSR1 means nothing to a recording of one trace (see "
					 "--rotate, --last)");
			continue;
		}
		if (signals_repeated((int)info.ssi_signo, info.ssi_code, (pid_t)info.ssi_pid))
			continue;
		if (info.ssi_code <= 0)
			command_signal(&r->command, (int)info.ssi_signo);
		if (!r->reason) {
			r->reason = "signal";
		} else if (!r->killed_by && !by_launcher(r)) {
			r->killed_by = (int)info.ssi_signo;
			atomic_store(&r->drain.hurry, true);
		}
	}
}

static void show_live(struct recorder *r, uint64_t now)
{
	const struct summary_now figures = {
		.now_ns = now,
		.events = atomic_load(&r->drain.events),
		.bytes = r->options->mode == MODE_FULL ? sink_bytes(&r->sink) : 0,
		.threads = atomic_load(&r->drain.streams),
		.lost = event_counts_lost(&r->counts),
		.fullest = atomic_load(&r->drain.fullest) / 1000.0,
	};

	summary_live_show(&r->live, &figures);
}

static void check_for_end(struct recorder *r, uint64_t now)
{
	const struct options *o = r->options;

	if (o->duration_ns && now - r->t0 >= o->duration_ns)
		r->reason = "duration";
	else if (o->all ? o->command && command_ended(&r->command, 0)
			: !options_job_rule(o) && !bpf_load_in_target(&r->bpf))
		r->reason = "target";
	else if (o->max_bytes && sink_full(&r->sink))
		r->reason = "size";
	else if (o->strict_drops && event_counts_lost(&r->counts))
		r->reason = "drops";
}

/* --interval: the times so far go to the statistics. */
static int take_snapshot(struct recorder *r)
{
	struct time_stats times = {0};
	int err = r->options->mode == MODE_FULL ? drain_times(&r->drain, &times)
						: summary_now(&r->summary, &times);

	if (!err)
		err = stats_snapshot(&r->stats, &times);
	time_stats_free(&times);
	return err;
}

static void fail(struct recorder *r)
{
	r->failed = true;
	r->reason = "error";
}

/* In mode summary the kernel keeps a limited number of threads that have ended. */
static void count(struct recorder *r, uint64_t now)
{
	if (r->options->mode != MODE_FULL && summary_fetch(&r->summary)) {
		fail(r);
		return;
	}
	if (!r->options->interval_ns || now < r->next_interval_ns)
		return;
	r->next_interval_ns += r->options->interval_ns;
	if (r->next_interval_ns <= now)
		r->next_interval_ns = now + r->options->interval_ns;
	if (take_snapshot(r))
		fail(r);
}

/* How long nothing needs to be looked at, ns. */
static uint64_t time_to_next(const struct recorder *r, uint64_t now)
{
	const struct options *o = r->options;
	uint64_t next = FETCH_MS * 1000000ull;

	if (!o->all || o->command || o->max_bytes || o->strict_drops)
		next = LOOK_MS * 1000000ull;
	if (r->live.on && r->live.next_ns - now < next)
		next = r->live.next_ns > now ? r->live.next_ns - now : 0;
	if (o->duration_ns && r->t0 + o->duration_ns - now < next)
		next = r->t0 + o->duration_ns - now;
	if (o->interval_ns && r->next_interval_ns < now + next)
		next = r->next_interval_ns > now ? r->next_interval_ns - now : 0;
	return next;
}

/* Waits for the command, so that it is no zombie for long. Reports if its children still run, since
 * the recording then continues. */
static void report_command_end(struct recorder *r, uint64_t now)
{
	if (!r->options->command || r->options->all || !command_ended(&r->command, 0) ||
	    r->command_end_reported)
		return;
	if (!r->command_end_ns)
		r->command_end_ns = now;
	if (now - r->command_end_ns < COMMAND_PATIENCE_MS * 1000000ull)
		return;
	r->command_end_reported = true;
	log_info("the command has ended; threads that it created still run (%u) and are recorded "
		 "(Ctrl-C ends that)",
		 bpf_load_in_target(&r->bpf));
}

/* Reports the traces that were completed since the last call, in a session with several. */
static void report_traces(struct recorder *r)
{
	struct finalizer_report news;

	while (sink_report(&r->sink, &news)) {
		r->traces++;
		snprintf(r->newest, sizeof(r->newest), "%s/%04u", r->output.path, news.number);
		if (!strcmp(news.why, "request"))
			control_saved(r->control, r->newest);
		if (!strcmp(news.why, "trigger"))
			trigger_command_add(&r->on_trigger, r->newest);
		log_status(NULL);
		if (!r->options->quiet)
			summary_part(r->output.path, &news);
	}
}

static const char *kind_of_output(const struct recorder *r)
{
	if (r->options->mode != MODE_FULL)
		return "counters";
	if (r->options->last_bytes)
		return "flight recorder";
	return sink_fd(&r->sink) >= 0 ? "rotation" : "one trace";
}

static void send_status(struct recorder *r, unsigned client)
{
	struct json *status = control_status(r->control);

	json_put_string(status, "output", r->output.path);
	json_put_string(status, "keeps", kind_of_output(r));
	json_put_real(status, "seconds", (double)(clock_now() - r->t0) / 1e9);
	json_put_int(status, "records", (int64_t)atomic_load(&r->drain.records));
	json_put_int(status, "events", (int64_t)atomic_load(&r->drain.events));
	/* a flight recorder makes its streams when it saves, a summary none */
	if (r->options->mode == MODE_FULL && !r->options->last_bytes)
		json_put_int(status, "threads", (int64_t)atomic_load(&r->drain.streams));
	json_put_int(status, "bytes", (int64_t)sink_bytes(&r->sink));
	json_put_int(status, "lost", (int64_t)event_counts_lost(&r->counts));
	json_put_int(status, "traces", (int64_t)r->traces);
	json_put_real(status, "fullest_ring", atomic_load(&r->drain.fullest) / 1000.0);
	control_send(r->control, client, status);
}

static void answer(struct recorder *r)
{
	enum control_request request;
	unsigned client;

	while ((request = control_next(r->control, &client))) {
		if (request == CONTROL_STATUS)
			send_status(r, client);
		else if (request == CONTROL_SAVE && !sink_request(&r->sink))
			control_refuse(r->control, client,
				       "there is nothing to save: it records one trace (see "
				       "--last and --rotate)");
		else if (request == CONTROL_STOP && !r->reason)
			r->reason = "request";
	}
}

/* ---- one node of a job ---- */

/* The reason also says where the streams are, if they are not in the directory of the job. */
static int write_node(const struct recorder *r, const char *state, const char *why)
{
	const char *where = r->spool.fd < 0 || !*r->spool.where ? NULL : r->spool.where;
	char *both = why && where ? xasprintf("%s; %s", why, where) : NULL;
	const struct job_node_facts facts = {
		.state = state,
		.why = both ?: why ?: where,
		.kernel = r->kernel,
		.boot_id = r->boot_id[0] ? r->boot_id : NULL,
		.stopped_by = r->reason,
		.t0 = r->t0,
		.t1 = r->drain.t1,
		.begin = &r->begin,
		.end = &r->drain.end,
		.threads = r->end.sum.threads,
		.events = r->end.sum.events,
		.lost = r->counts.lost,
	};

	int err = job_dir_write_node(r->output.fd, r->options, &facts);

	free(both);
	return err;
}

/* The file of the node names the ranks from their begin on: if this recorder is killed, it is known
 * whom it has recorded. */
static void note_members(struct recorder *r, size_t ranks, uint64_t now)
{
	if (ranks == r->noted || now < r->next_note_ns)
		return;
	if (write_node(r, "recording", NULL))
		r->failed = true;
	r->noted = ranks;
	r->next_note_ns = now + NOTE_MS * 1000000ull;
}

/* Tells ovni-job how many ranks there were, of how many, and how many threads run, if that has
 * changed. Without a reader the end of stop_fd ends the recording. */
static void tell_members(struct recorder *r)
{
	const struct job_plan *job = r->options->job_plan;
	int32_t size;
	size_t ranks = job_members_count(job->members, &size);
	char line[sizeof(r->told)];
	int n = snprintf(line, sizeof(line), "%zu %d %u\n", ranks, size,
			 bpf_load_in_target(&r->bpf));

	note_members(r, ranks, clock_now());
	if (!strcmp(line, r->told))
		return;
	memcpy(r->told, line, sizeof(line));
	(void)!write(job->ready_fd, line, (size_t)n);
}

/* The window is open: the members may begin. */
static int job_begin(struct recorder *r)
{
	if (write_node(r, "recording", NULL))
		return -EIO;
	if (!r->options->job_plan->rule)
		return write(r->options->job_plan->ready_fd, "", 1) == 1 ? 0 : -errno;
	tell_members(r);
	return 0;
}

static void job_end(struct recorder *r)
{
	char why[64];

	if (r->spool.fd >= 0) {
		r->failed |= write_node(r, "copying", NULL) != 0;
		r->failed |= spool_copy(&r->spool, r->output.fd) != 0;
	}
	snprintf(why, sizeof(why), "%llu event%s lost", (unsigned long long)r->counts.lost,
		 plural(r->counts.lost, " was", "s were"));
	if (write_node(r, r->failed || r->counts.lost ? "incomplete" : "complete",
		       r->failed	? log_first_error()
		       : r->counts.lost ? why
					: NULL))
		r->failed = true;
}

static void record(struct recorder *r)
{
	struct pollfd fds[] = {{.fd = r->signals.fd, .events = POLLIN},
			       {.fd = r->drain.done_fd, .events = POLLIN},
			       {.fd = sink_fd(&r->sink), .events = POLLIN},
			       {.fd = control_fd(r->control), .events = POLLIN},
			       {.fd = -1, .events = POLLIN}};

	if (options_job_rule(r->options))
		fds[4].fd = r->options->job_plan->stop_fd;
	if (!r->options->quiet)
		log_report("recording to %s (Ctrl-C ends it)", r->output.path);
	control_ready(r->control);
	if (r->options->job_plan && job_begin(r))
		fail(r);
	summary_live_begin(&r->live, clock_now(), !r->options->quiet);
	if (r->options->command && command_release(&r->command))
		fail(r);
	while (!r->reason) {
		uint64_t now = clock_now(), next = time_to_next(r, now);
		struct timespec wait = {.tv_sec = (time_t)(next / 1000000000),
					.tv_nsec = (long)(next % 1000000000)};

		ppoll(fds, 5, &wait, NULL);
		now = clock_now();
		read_signals(r);
		report_traces(r);
		trigger_command_poll(&r->on_trigger);
		answer(r);
		if (!r->reason && (fds[1].revents & POLLIN))
			r->reason = "error";
		if (options_job_rule(r->options))
			tell_members(r);
		if (!r->reason && fds[4].revents)
			r->reason = "target";
		if (!r->reason)
			check_for_end(r, now);
		if (!r->reason)
			count(r, now);
		if (r->live.on && now >= r->live.next_ns)
			show_live(r, now);
		report_command_end(r, now);
	}
}

/* ---- draining, done ---- */

/* Mode summary: there are no rings to drain. */
static void close_window(struct recorder *r)
{
	int err = bpf_load_close_window(&r->bpf, &r->drain.t1);

	window_edge_read(&r->drain.end, "/proc", r->bpf.npossible);
	if (!err)
		err = summary_stop(&r->summary, r->drain.t1);
	bpf_load_detach(&r->bpf);
	if (err)
		fail(r);
	log_status(NULL);
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
		read_signals(r);
	}
	if (drain_join(&r->drain))
		fail(r);
	log_status(NULL);
}

/* The times at the end of the window, from the records or from the kernel. */
static int read_times(struct recorder *r)
{
	int err;

	if (r->options->mode != MODE_FULL)
		return summary_end(&r->summary, &r->times);
	for (size_t i = 0; i < r->tasks.ntasks; i++) {
		err = state_times_task(r->drain.times, &r->tasks.tasks[i].task);
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
		.counts = &r->counts,
		.kinds = r->bpf.kinds | 1u << EVENT_OTHER,
		.t0 = r->t0,
		.t1 = r->drain.t1,
		.begin = &r->begin,
		.end = &r->drain.end,
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
	/* Without an end of the window there are no times; its failure has been reported. */
	closed = !r->drain.err && r->drain.t1 && (r->summary.t1 == r->drain.t1 || full);
	if (closed && read_times(r)) {
		closed = false;
		r->failed = true;
	}
	/* A signal now ends us at once: all that is left is waiting, and the disk's work. */
	if (!r->killed_by && !by_launcher(r))
		signals_let_through(&r->signals);
	if (r->options->command) {
		bool soon = !strcmp(r->reason, "target") || !strcmp(r->reason, "signal");

		command_ended(&r->command, soon && !r->killed_by ? COMMAND_PATIENCE_MS : 0);
		end.command_status = r->command.status;
	}
	if (event_counts_close(&r->counts, r->drain.cut))
		r->failed = true;
	if (full && sink_end(&r->sink, &r->tasks, &end, r->drain.cut))
		r->failed = true;
	write_stats(r, closed);
	report_traces(r);
}

/* Is the user to see the overview of the trace? Only at a terminal, of one complete trace. */
static bool wants_overview(const struct recorder *r)
{
	const struct summary_end *end = &r->end;

	return !r->options->quiet && !r->control && isatty(STDERR_FILENO) && !r->killed_by &&
	       !r->failed && end->streams && end->sum.threads && end->parts == 1 && end->trace;
}

static enum status status_of(const struct recorder *r)
{
	if (r->failed)
		return STATUS_FAILED;
	return r->counts.lost ? STATUS_LOST : STATUS_COMPLETE;
}

/* Does the user want to leave events out? */
static bool has_filters(const struct options *o)
{
	return options_some_threads(o) || o->cpu_list || o->kinds != KINDS_ALL || !o->self ||
	       !o->kthreads || o->max_rate || o->one_of;
}

/* The trace to look at first. */
static const char *trace_of(const struct recorder *r)
{
	if (r->options->last_bytes || r->options->rotate_ns || r->options->rotate_bytes)
		return r->traces ? r->newest : NULL;
	return r->output.path;
}

/* The time stolen from all CPUs in the window, ns; 0 also: not known. */
static uint64_t stolen(const struct recorder *r)
{
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < r->begin.ncpus; cpu++) {
		uint64_t ns = window_edge_stolen(&r->begin, &r->drain.end, cpu);

		sum += ns == STEAL_UNKNOWN ? 0 : ns;
	}
	return sum;
}

/* Collects the facts for the report, before the session frees them. */
static void summarize(struct recorder *r)
{
	bool full = r->options->mode == MODE_FULL;
	stats_sum(&r->stats, &r->times, &r->run);
	r->end = (struct summary_end){
		.dir = r->output.path,
		.kept = r->output.kept,
		.stopped_by = r->reason,
		.parts = full ? sink_segments(&r->sink) : 0,
		.kinds = r->bpf.kinds | 1u << EVENT_OTHER,
		.streams = full,
		.keeps = r->options->last_bytes > 0,
		.verbose = r->options->verbose,
		.filters = has_filters(r->options),
		.run = &r->run,
		.cost = &r->cost,
		.ncpus = r->drain.ncpus,
		.counts = &r->counts,
		.command = r->options->command != NULL,
		.command_status = r->command.status,
		.trace = trace_of(r),
		.killed_by = r->killed_by,
	};
	if (full)
		r->end.sum = *sink_result(&r->sink);
	else
		r->end.sum.threads = r->run.all.times.threads;
	r->end.sum.window_ns = r->drain.t1 > r->t0 ? r->drain.t1 - r->t0 : 0;
	r->end.unread_ns = r->drain.delay.ns;
	r->end.without_cpu_ns = r->drain.delay.without_cpu_ns;
	r->end.stolen_ns = stolen(r);
	r->end.overview = wants_overview(r);
	if (r->user_stacks) {
		uint64_t known = user_stacks_known(r->user_stacks);
		uint32_t asked = bpf_load_user_stacks(&r->bpf);

		r->end.user_stacks_unknown = asked > known ? asked - known : 0;
		r->end.stacks_copied = r->bpf.user_stack_way == USER_STACKS_AT_SWITCH;
	}
}

static void report(struct recorder *r)
{
	bool full = r->options->mode == MODE_FULL;
	const struct summary_end *end = &r->end;

	if (!full && !r->options->quiet)
		summary_table(&r->times);
	bpf_load_report(&r->bpf);
	apis_report(&r->probes.apis, &r->probes.sites);
	if (!r->options->quiet) {
		if (full)
			probes_report(&r->probes, r->bpf.sites, end->sum.window_ns, end->verbose);
		summary_report(end);
	} else if (r->counts.lost) {
		log_warn("%llu event%s lost: %s says which", (unsigned long long)r->counts.lost,
			 plural(r->counts.lost, " was", "s were"), r->output.path);
	}
}

static void close_all(struct recorder *r)
{
	drain_join(&r->drain);
	sink_close(&r->sink);
	summary_free(&r->summary);
	state_times_free(r->drain.times);
	time_stats_free(&r->times);
	stats_close(&r->stats);
	snapshot_tasks_free(&r->tasks);
	rings_close(r->rings);
	user_stacks_stop(r->user_stacks);
	user_stack_ring_close(r->user_stack_ring);
	bpf_load_close(&r->bpf);
	kernel_symbols_free(r->symbols);
	free(r->irq_names);
	probes_close(&r->probes);
	free(r->trigger_sites);
	target_close(&r->target);
	topology_free(&r->topology);
	window_edge_free(&r->begin);
	window_edge_free(&r->drain.end);
}

/* Frees the objects that the report still used. */
static void close_rest(struct recorder *r)
{
	event_counts_free(&r->counts);
	trigger_command_close(&r->on_trigger);
	command_close(&r->command);
	signals_close(&r->signals);
	identity_free(&r->caller);
	identity_free(&r->runner);
	spool_close(&r->spool);
	output_dir_close(&r->output);
}

enum status session_run(const struct options *options, struct control *control)
{
	struct recorder recorder = {.options = options,
				    .control = control,
				    .signals.fd = -1,
				    .output.fd = -1,
				    .spool.fd = -1,
				    .drain.done_fd = -1};
	struct recorder *r = &recorder;
	enum status status;

	status = recorder_prepare(r);
	if (status || options->dry_run) {
		if (!status && recorder_print_plan(r))
			status = STATUS_FAILED;
		close_all(r);
		close_rest(r);
		return status;
	}
	if (recorder_arm(r)) {
		close_all(r);
		output_dir_abandon(&r->output);
		close_rest(r);
		return STATUS_FAILED;
	}
	record(r);
	drain(r);
	finish(r);
	output_dir_release(&r->output);
	summarize(r);
	if (options->job_plan)
		job_end(r);
	report(r);
	close_all(r);
	if (!r->killed_by)
		recorder_follow_up(r);
	status = r->end.status = status_of(r);
	if (!options->quiet)
		summary_last(&r->end);
	if (r->killed_by) {
		signals_let_through(&r->signals);
		raise(r->killed_by);
	}
	close_rest(r);
	return status;
}

/* ---- --mode off ---- */

/* The command receives a signal of the terminal itself; other signals are passed on. */
static void pass_signals(int fd, const struct command *command)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	struct signalfd_siginfo info;

	poll(&wait, 1, LOOK_MS);
	while (read(fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_code <= 0)
			command_signal(command, (int)info.ssi_signo);
}

static int run_command(struct command *command, char **argv, const struct identity *runner)
{
	struct signals signals;
	int err = signals_redirect(&signals, 0);

	if (err)
		return err;
	err = command_start(command, argv, runner, &signals, 0);
	if (err)
		goto out;
	err = command_release(command);
	if (err)
		goto out;
	while (!command_ended(command, 0))
		pass_signals(signals.fd, command);
out:
	signals_close(&signals);
	return err;
}

enum status session_run_off(const struct options *o)
{
	struct identity runner = {0};
	struct command command = {0};
	int err = o->user ? identity_of_user(&runner, o->user) : identity_of_caller(&runner);

	if (err)
		goto out;
	err = privilege_suspend(&runner);
	if (err)
		goto out;
	err = command_find(o->command[0], identity_path(&runner));
	privilege_resume();
	if (err)
		goto out;
	if (o->dry_run) {
		printf("what: %s, without a recording (--mode off)\n", o->command[0]);
		err = flush_stdout();
		goto out;
	}
	err = run_command(&command, o->command, &runner);
	if (!err && !o->quiet)
		summary_off(command.status);
out:
	command_close(&command);
	identity_free(&runner);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
