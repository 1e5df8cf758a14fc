/* SPDX-License-Identifier: MIT */
/* main: of ovni-bpf. Standard error is the conversation; standard output is the command's, or
 * --list's. */
#include <string.h>

#include "user/doctor/doctor.h"
#include "user/cli/options.h"
#include "user/host/privilege.h"
#include "user/job/node_recorder.h"
#include "user/job/job.h"
#include "user/probes/list.h"
#include "user/session/session.h"
#include "trace/base/log.h"

/* Reads files of the user, with the rights of the user; no session. */
static enum status list(const struct options *o)
{
	const struct resolve_scope scope = {.pids = o->pids,
					    .npids = o->npids,
					    .command = o->command,
					    .all = o->all,
					    .proc = "/proc",
					    .root = ""};

	if (privilege_act_as_caller())
		return STATUS_FAILED;
	return list_run(o->list, &scope, o->json) || log_lacks_memory() ? STATUS_FAILED
									: STATUS_COMPLETE;
}

int main(int argc, char **argv)
{
	enum log_level level = LOG_INFO;
	struct options options;
	enum status status;

	log_setup("ovni-bpf", level);
	if (argc > 1 && !strcmp(argv[1], "doctor"))
		return doctor_run(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "session"))
		return session_command(argc, argv);
	if (!options_parse(&options, argc, argv, &status))
		return status;
	if (options.quiet)
		level = LOG_WARN;
	else if (options.verbose)
		level = LOG_DEBUG;
	log_setup("ovni-bpf", level);
	if (options.list)
		status = list(&options);
	else if (options.job)
		status = (enum status)job_run(&options);
	else if (options.job_node)
		status = node_recorder_run(&options);
	else if (options.mode == MODE_OFF)
		status = session_run_off(&options);
	else
		status = session_run(&options, NULL);
	options_free(&options);
	return status;
}
