/* SPDX-License-Identifier: MIT */
/* main: of ovni-bpf. Standard error is the conversation; standard output is the command's. */
#include <string.h>

#include "doctor/doctor.h"
#include "options.h"
#include "session.h"
#include "trace/log.h"

int main(int argc, char **argv)
{
	struct options options;
	enum status status;

	log_setup("ovni-bpf", LOG_INFO);
	if (argc > 1 && !strcmp(argv[1], "doctor"))
		return doctor_run(argc - 1, argv + 1);
	if (!options_parse(&options, argc, argv, &status))
		return status;
	log_setup("ovni-bpf", options.quiet ? LOG_WARN : options.verbose ? LOG_DEBUG : LOG_INFO);
	status = session_run(&options);
	options_free(&options);
	return status;
}
