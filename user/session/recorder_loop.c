/* SPDX-License-Identifier: MIT */
/* recorder, the stage in which the window is open (see recorder.h). */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "user/host/clock.h"
#include "user/sink/finalizer.h"
#include "user/control/control.h"
#include "user/session/recorder.h"
#include "trace/base/log.h"

#define FETCH_MS 100 /* how often threads that have died are fetched */
#define LOOK_MS	 20  /* how often the end of the target, and --max-size, are looked for */

/* A signal from the terminal has reached the command as well; another one is passed on. */
void recorder_read_signals(struct recorder *r)
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
		} else if (!r->killed_by) {
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
		.lost = account_lost(&r->account),
		.fullest = atomic_load(&r->drain.fullest) / 1000.0,
	};

	summary_live_show(&r->live, &figures);
}

static void look_for_end(struct recorder *r, uint64_t now)
{
	const struct options *o = r->options;

	if (o->duration_ns && now - r->t0 >= o->duration_ns)
		r->reason = "duration";
	else if (!o->all && !links_in_target(&r->links))
		r->reason = "target";
	else if (o->max_bytes && sink_full(&r->sink))
		r->reason = "size";
	else if (o->strict_drops && account_lost(&r->account))
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

/* In mode summary the kernel keeps a limited number of threads that have ended. */
static void count(struct recorder *r, uint64_t now)
{
	int err = r->options->mode == MODE_FULL ? 0 : summary_fetch(&r->summary);

	if (err)
		goto failed;
	if (!r->options->interval_ns || now < r->next_interval_ns)
		return;
	r->next_interval_ns += r->options->interval_ns;
	if (r->next_interval_ns <= now)
		r->next_interval_ns = now + r->options->interval_ns;
	err = take_snapshot(r);
	if (!err)
		return;
failed:
	r->failed = true;
	r->reason = "error";
}

/* How long nothing needs to be looked at, ns. */
static uint64_t time_to_next(const struct recorder *r, uint64_t now)
{
	const struct options *o = r->options;
	uint64_t next = FETCH_MS * 1000000ull;

	if (!o->all || o->max_bytes || o->strict_drops)
		next = LOOK_MS * 1000000ull;
	if (r->live.on && r->live.next_ns - now < next)
		next = r->live.next_ns > now ? r->live.next_ns - now : 0;
	if (o->duration_ns && r->t0 + o->duration_ns - now < next)
		next = r->t0 + o->duration_ns - now;
	if (o->interval_ns && r->next_interval_ns < now + next)
		next = r->next_interval_ns > now ? r->next_interval_ns - now : 0;
	return next;
}

/* Waits for the command, so that it is no zombie for long. If what it has created goes on, that
 * is said: the recording goes on, too. */
static void tell_command_end(struct recorder *r, uint64_t now)
{
	if (!r->options->command || !command_ended(&r->command, 0) || r->command_told)
		return;
	if (!r->command_end_ns)
		r->command_end_ns = now;
	if (now - r->command_end_ns < COMMAND_PATIENCE_MS * 1000000ull)
		return;
	r->command_told = true;
	log_info("the command has ended; what it has created goes on (threads: %u) and is recorded "
		 "(Ctrl-C ends that)",
		 links_in_target(&r->links));
}

/* Traces that are complete, of a session with several. */
void recorder_tell_parts(struct recorder *r)
{
	struct finalizer_report news;

	while (sink_report(&r->sink, &news)) {
		char trace[PATH_MAX];

		r->traces++;
		snprintf(trace, sizeof(trace), "%s/%04u", r->output.path, news.number);
		if (!strcmp(news.why, "request"))
			control_saved(r->control, trace);
		summary_live_clear();
		if (!r->options->quiet)
			summary_part(r->output.path, &news);
	}
}

static void tell_status(struct recorder *r, unsigned client)
{
	const struct options *o = r->options;
	const struct control_figures figures = {
		.output = r->output.path,
		.keeps = o->mode != MODE_FULL	  ? "counters"
			 : o->last_bytes	  ? "flight recorder"
			 : sink_fd(&r->sink) >= 0 ? "rotation"
						  : "one trace",
		.seconds = (double)(clock_now() - r->t0) / 1e9,
		.fullest = atomic_load(&r->drain.fullest) / 1000.0,
		.records = atomic_load(&r->drain.records),
		.events = atomic_load(&r->drain.events),
		.threads = atomic_load(&r->drain.streams),
		.bytes = sink_bytes(&r->sink),
		.lost = account_lost(&r->account),
		.traces = r->traces,
	};

	control_tell(r->control, client, &figures);
}

static void answer(struct recorder *r)
{
	enum control_request request;
	unsigned client;

	while ((request = control_next(r->control, &client))) {
		if (request == CONTROL_STATUS)
			tell_status(r, client);
		else if (request == CONTROL_SAVE && !sink_request(&r->sink))
			control_refuse(r->control, client,
				       "there is nothing to save: it records one trace (see "
				       "--last and --rotate)");
		else if (request == CONTROL_STOP && !r->reason)
			r->reason = "request";
	}
}

void recorder_record(struct recorder *r)
{
	struct pollfd fds[] = {{.fd = r->signals.fd, .events = POLLIN},
			       {.fd = r->drain.done_fd, .events = POLLIN},
			       {.fd = sink_fd(&r->sink), .events = POLLIN},
			       {.fd = control_fd(r->control), .events = POLLIN}};

	if (!r->options->quiet)
		summary_begin(r->output.path);
	control_ready(r->control);
	summary_live_begin(&r->live, clock_now(), !r->options->quiet);
	if (r->options->command && command_release(&r->command)) {
		r->failed = true;
		r->reason = "error";
	}
	while (!r->reason) {
		uint64_t now = clock_now(), next = time_to_next(r, now);
		struct timespec wait = {.tv_sec = (time_t)(next / 1000000000),
					.tv_nsec = (long)(next % 1000000000)};

		ppoll(fds, 4, &wait, NULL);
		now = clock_now();
		recorder_read_signals(r);
		recorder_tell_parts(r);
		answer(r);
		if (!r->reason && (fds[1].revents & POLLIN))
			r->reason = "error";
		if (!r->reason)
			look_for_end(r, now);
		if (!r->reason)
			count(r, now);
		if (summary_live_due(&r->live, now))
			show_live(r, now);
		tell_command_end(r, now);
	}
}
