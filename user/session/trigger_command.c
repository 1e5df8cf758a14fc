/* SPDX-License-Identifier: MIT */
/* trigger_command: see trigger_command.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "user/host/command.h"
#include "user/session/neighbour.h"
#include "user/session/trigger_command.h"
#include "trace/base/log.h"

/* Starts it on the oldest trace that waits. A trace for which that fails has its message. */
static void start(struct trigger_command *trigger)
{
	struct command *command = &trigger->command;
	int err;

	while (trigger->nwaiting && !trigger->runs) {
		snprintf(trigger->path, sizeof(trigger->path), "%s", trigger->waiting[0]);
		free(trigger->waiting[0]);
		trigger->nwaiting--;
		memmove(trigger->waiting, trigger->waiting + 1,
			trigger->nwaiting * sizeof(trigger->waiting[0]));
		trigger->argv[0] = (char *)trigger->program;
		trigger->argv[1] = trigger->path;
		err = command_start(command, trigger->argv, trigger->user, trigger->signals,
				    COMMAND_MESSAGES);
		if (err)
			continue;
		err = command_release(command);
		if (err) {
			command_close(command);
			continue;
		}
		trigger->runs = true;
	}
}

static void report(const struct trigger_command *trigger)
{
	int status = trigger->command.status;

	if (WIFSIGNALED(status))
		log_warn("--on-trigger: '%s %s' was ended by signal %d (%s)", trigger->program,
			 trigger->path, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		log_warn("--on-trigger: '%s %s' ended with status %d", trigger->program,
			 trigger->path, WEXITSTATUS(status));
}

void trigger_command_add(struct trigger_command *trigger, const char *path)
{
	char *copy;

	if (!trigger->program)
		return;
	if (trigger->nwaiting == TRIGGER_COMMANDS_MAX) {
		log_warn("--on-trigger: '%s' is not run on %s: it is too slow, and %u traces wait",
			 trigger->program, path, trigger->nwaiting);
		return;
	}
	copy = strdup(path);
	if (copy)
		trigger->waiting[trigger->nwaiting++] = copy;
	else
		log_warn("--on-trigger: '%s' is not run on %s: %s", trigger->program, path,
			 strerror(ENOMEM));
	trigger_command_poll(trigger);
}

void trigger_command_poll(struct trigger_command *trigger)
{
	if (!trigger->program)
		return;
	if (trigger->runs && command_ended(&trigger->command, 0)) {
		report(trigger);
		command_close(&trigger->command);
		trigger->runs = false;
	}
	start(trigger);
}

void trigger_command_finish(struct trigger_command *trigger)
{
	trigger_command_poll(trigger);
	if (trigger->runs)
		log_info("waiting for the end of '%s %s' (--on-trigger)", trigger->program,
			 trigger->path);
	while (trigger->runs) {
		if (neighbour_wait(&trigger->command, trigger->signals, 0)) {
			log_warn("--on-trigger: interrupted, and not run on the other traces");
			return;
		}
		trigger_command_poll(trigger);
	}
}

void trigger_command_close(struct trigger_command *trigger)
{
	command_close(&trigger->command);
	for (unsigned i = 0; i < trigger->nwaiting; i++)
		free(trigger->waiting[i]);
	*trigger = (struct trigger_command){0};
}
