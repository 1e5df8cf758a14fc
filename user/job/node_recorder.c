/* SPDX-License-Identifier: MIT */
/* node_recorder: see node_recorder.h. */
#include "user/job/node_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "user/config/job_members.h"
#include "user/config/launcher.h"
#include "user/host/privilege.h"
#include "user/session/session.h"
#include "user/sink/job_dir.h"

/* Standard output belongs to ovni-job: what else is printed there goes to standard error. */
static int take_output(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		log_error("--job-node: no standard output: %s", strerror(errno));
		return -errno;
	}
	signal(SIGPIPE, SIG_IGN);
	return fd;
}

static int record(const struct options *given, const struct job_plan *plan)
{
	struct options options = *given;
	enum status status;

	options.job_plan = plan;
	options.quiet = !options.verbose;
	options.output_chosen = true;
	log_setup("ovni-bpf", options.verbose ? LOG_DEBUG : LOG_WARN);
	status = session_run(&options, NULL);
	/* the directory is the user's; a failure before the privileges were dropped has them still
	 */
	if (status == STATUS_FAILED && !privilege_act_as_caller())
		job_dir_failed(&options);
	return status;
}

enum status node_recorder_run(const struct options *options)
{
	struct identity caller = {0};
	struct launcher launcher;
	enum status status = STATUS_FAILED;
	struct job_rule rule;
	struct job_plan plan = {
		.launcher = "ovni-job",
		.size = -1,
		.nodes = options->nodes ? (int32_t)options->nodes : -1,
		.rule = &rule,
		.stop_fd = STDIN_FILENO,
	};

	if (!launcher_read(&launcher)) {
		log_error("ovni-job: no launcher has started it: start it with srun or mpirun");
		return STATUS_USAGE;
	}
	if (!launcher_rule(&rule, &launcher)) {
		log_error("ovni-job: cannot tell the processes of the job from others: outside of "
			  "Slurm, set " LAUNCHER_JOB " to the same value for ovni-job and for the "
			  "program (mpirun -x " LAUNCHER_JOB ")");
		return STATUS_USAGE;
	}
	plan.key = launcher.key;
	plan.members = job_members_new();
	plan.ready_fd = take_output();
	if (plan.members && plan.ready_fd >= 0 && !identity_of_caller(&caller)) {
		rule.rule.uid = caller.uid;
		status = (enum status)record(options, &plan);
	}
	identity_free(&caller);
	job_members_free(plan.members);
	return status;
}
