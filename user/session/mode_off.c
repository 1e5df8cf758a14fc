/* SPDX-License-Identifier: MIT */
/* mode_off: see mode_off.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "user/host/command.h"
#include "user/session/mode_off.h"
#include "user/host/privilege.h"
#include "user/host/signals.h"
#include "user/stats/live_report.h"
#include "trace/base/log.h"

#define LOOK_MS 20

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

static int run(struct command *command, char **argv, const struct identity *runner)
{
	struct signals signals;
	int err = signals_take(&signals, 0);

	if (err)
		return err;
	err = command_start(command, argv, runner, &signals);
	if (!err)
		err = command_release(command);
	while (!err && !command_ended(command, 0))
		pass_signals(signals.fd, command);
	signals_close(&signals);
	return err;
}

enum status off_run(const struct options *o)
{
	struct identity runner = {0};
	struct command command = {0};
	int err = o->user ? identity_of_user(&runner, o->user) : identity_of_caller(&runner);

	if (!err)
		err = command_find(o->command[0], identity_path(&runner));
	if (!err && o->dry_run) {
		printf("what: %s, without a recording (--mode off)\n", o->command[0]);
		identity_free(&runner);
		return flush_stdout() ? STATUS_FAILED : STATUS_COMPLETE;
	}
	if (!err)
		err = run(&command, o->command, &runner);
	if (!err && !o->quiet)
		summary_off(command.status);
	command_close(&command);
	identity_free(&runner);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
