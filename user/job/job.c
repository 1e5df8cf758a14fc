/* SPDX-License-Identifier: MIT */
/* job: see job.h. */
#include "user/job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/status.h"
#include "trace/base/text.h"
#include "user/host/command.h"
#include "user/host/privilege.h"
#include "user/host/signals.h"
#include "user/job/election.h"
#include "user/config/launcher.h"
#include "user/session/session.h"
#include "user/sink/job_dir.h"

#define LOOK_MS	     50
#define NOT_EXECUTED 127 /* as a shell */

/* The state of the elected process. */
struct elected {
	const struct options *options;
	struct launcher launcher;
	struct election election;
	struct command command;
	struct signals signals;
	pid_t recorder; /* 0: not started, or it has ended */
	int ready;	/* a byte when the recorder has begun; its end without one: it has failed */
};

/* ---- a process that becomes the command ---- */

static void say_answer(const struct launcher *launcher, enum job_answer answer)
{
	static const char *const answers[] = {
		[JOB_NOT_RECORDED] = "the recorder of this node has failed",
		[JOB_LATE] = "the recorder of this node had begun before",
		[JOB_SILENCE] = "no recorder of this node has answered in time (--job-timeout)",
	};

	if (answer != JOB_RECORDED)
		log_warn("rank %d is not recorded: %s", launcher->rank, answers[answer]);
}

/* Becomes the command, as the calling user. Returns the status of a failure. */
static int become(char **command)
{
	struct identity caller = {0};
	int err = identity_of_caller(&caller);

	if (!err)
		err = identity_become(&caller);
	if (!err) {
		execvp(command[0], command);
		err = -errno;
	}
	log_error("cannot execute '%s': %s", command[0], strerror(-err));
	return NOT_EXECUTED;
}

/* ---- the recorder, a child of the elected process ---- */

static int record(struct elected *e, int ready)
{
	struct options options = *e->options;
	struct job_plan plan = {
		.key = e->launcher.key,
		.launcher = e->launcher.name,
		.size = e->launcher.size,
		.nodes = options.nodes ? (int32_t)options.nodes : e->launcher.nodes,
		.members = e->election.members,
		.command = options.command,
		.ready_fd = ready,
	};
	struct job_member member;
	enum status status;

	options.pids = calloc(e->election.npeers + 1, sizeof(*options.pids));
	if (!options.pids)
		return log_no_memory("for the members of the job");
	while (job_members_get(plan.members, options.npids, &member))
		options.pids[options.npids++] = member.pid;
	options.command = NULL;
	options.job_plan = &plan;
	options.quiet = !options.verbose;
	log_setup("ovni-bpf", options.verbose ? LOG_DEBUG : LOG_WARN);
	options.output_chosen = true;
	status = session_run(&options, NULL);
	/* the directory is the user's; a failure before the privileges were dropped has them still
	 */
	if (status == STATUS_FAILED && !privilege_act_as_caller())
		job_dir_failed(&options);
	free(options.pids);
	return status;
}

/* A fork, not another program: the options are here, and no thread runs yet. */
static int start_recorder(struct elected *e)
{
	int ready[2];

	if (pipe2(ready, O_CLOEXEC))
		return -errno;
	e->recorder = fork();
	if (e->recorder < 0) {
		e->recorder = 0;
		close(ready[0]);
		close(ready[1]);
		return -errno;
	}
	if (!e->recorder) {
		int status;

		close(ready[0]);
		/* the command must not wait for a byte that only we could write */
		close(e->command.go_fd);
		close(e->command.trouble_fd);
		close(e->election.listener);
		e->election.listener = -1;
		signals_restore(&e->signals);
		status = record(e, ready[1]);
		_exit(status < 0 ? STATUS_FAILED : status);
	}
	close(ready[1]);
	e->ready = ready[0];
	return 0;
}

/* ---- the elected process ---- */

/* Passes signals on to the command. */
static void pass_signals(struct elected *e)
{
	struct signalfd_siginfo info;

	while (read(e->signals.fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_code <= 0)
			command_signal(&e->command, (int)info.ssi_signo);
}

/* Waits until the recorder has begun, or has failed, or it takes too long. */
static bool wait_ready(struct elected *e)
{
	struct pollfd wait = {.fd = e->ready, .events = POLLIN};
	uint64_t ms = e->options->job_timeout_ns / 1000000;
	char byte;
	int n;

	do
		n = poll(&wait, 1, ms > 3600000 ? 3600000 : (int)ms);
	while (n < 0 && errno == EINTR);
	return n > 0 && read(e->ready, &byte, 1) == 1;
}

/* Reports how the recorder has ended. It has written the file of its node itself, unless it was
 * killed. */
static void recorder_ended(struct elected *e, int status)
{
	pid_t pid = e->recorder;
	char why[64];

	e->recorder = 0;
	if (!WIFSIGNALED(status))
		return;
	snprintf(why, sizeof(why), "the recorder was killed by signal %d", WTERMSIG(status));
	log_warn("%s: its trace ends there, and the command goes on", why);
	job_dir_killed(e->options->output, pid, why);
}

static void watch(struct elected *e)
{
	struct pollfd fds[] = {{.fd = e->signals.fd, .events = POLLIN},
			       {.fd = e->election.listener, .events = POLLIN}};

	while (!command_ended(&e->command, 0) || e->recorder) {
		int status;

		poll(fds, 2, LOOK_MS);
		pass_signals(e);
		election_refuse_late(&e->election);
		if (e->recorder && waitpid(e->recorder, &status, WNOHANG) == e->recorder)
			recorder_ended(e, status);
	}
}

/* Ends as the command has ended. */
static int end_like(int status)
{
	const struct rlimit none = {0};
	sigset_t set;

	if (!WIFSIGNALED(status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;
	setrlimit(RLIMIT_CORE, &none); /* the command has left its own */
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int lead(struct elected *e)
{
	const struct options *o = e->options;
	struct identity runner = {0};
	bool recorded = false;
	int err = identity_of_caller(&runner), status;

	if (!err)
		err = signals_redirect(&e->signals, 0);
	if (err)
		goto alone;
	err = command_start(&e->command, o->command, &runner, &e->signals, 0);
	if (err) {
		signals_close(&e->signals);
		goto alone;
	}
	err = election_gather(&e->election, (uint32_t)e->command.pid, e->launcher.rank,
			      e->launcher.local_size, o->job_timeout_ns);
	if (!err)
		err = start_recorder(e);
	/* from here on this process only waits, passes signals on, and may write into the directory
	 * of the user */
	if (!err)
		err = privilege_act_as_caller();
	if (!err)
		recorded = wait_ready(e);
	election_answer(&e->election, recorded ? JOB_RECORDED : JOB_NOT_RECORDED);
	if (!recorded)
		log_warn("node without a recording: the command runs without it");
	if (command_release(&e->command)) {
		if (e->recorder)
			kill(e->recorder, SIGTERM);
		watch(e);
		return NOT_EXECUTED;
	}
	watch(e);
	status = e->command.status;
	command_close(&e->command);
	election_close(&e->election);
	signals_close(&e->signals);
	identity_free(&runner);
	return end_like(status);
alone:
	election_close(&e->election);
	identity_free(&runner);
	return become(o->command);
}

int job_run(const struct options *options)
{
	struct elected elected = {.options = options, .signals.fd = -1, .ready = -1};
	enum job_answer answer;
	struct utsname host;
	int chosen;

	if (!launcher_read(&elected.launcher)) {
		log_error("--job: no launcher has started this process: start it with srun or "
			  "mpirun");
		return STATUS_USAGE;
	}
	uname(&host);
	chosen = election_enter(&elected.election, elected.launcher.key, host.nodename,
				elected.launcher.rank, options->job_timeout_ns, &answer);
	if (chosen > 0)
		return lead(&elected);
	say_answer(&elected.launcher, chosen ? JOB_SILENCE : answer);
	return become(options->command);
}
