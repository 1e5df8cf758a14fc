/* SPDX-License-Identifier: MIT */
/* neighbour: see neighbour.h. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/host/clock.h"
#include "user/host/command.h"
#include "user/host/privilege.h"
#include "user/host/signals.h"
#include "user/session/neighbour.h"
#include "trace/base/log.h"

#define LOOK_MS	    20
#define PATIENCE_MS 1000 /* for a process that was sent a signal */

static int find(const char *name, char *path, size_t size)
{
	char own[PATH_MAX], *slash;
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (len < 0)
		return -errno;
	own[len] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return snprintf(path, size, "%s/%s", own, name) < (int)size ? 0 : -ENAMETOOLONG;
}

bool neighbour_exists(const char *name)
{
	char path[PATH_MAX];
	int err = find(name, path, sizeof(path));

	if (err)
		errno = -err;
	return !err && !access(path, X_OK);
}

/* True if a signal came that ends a recording. */
static bool read_signals(const struct command *command, const struct signals *signals)
{
	struct signalfd_siginfo info;
	bool any = false;

	while (read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1 ||
		    signals_repeated((int)info.ssi_signo, info.ssi_code, (pid_t)info.ssi_pid))
			continue;
		if (info.ssi_code <= 0)
			command_signal(command, (int)info.ssi_signo);
		any = true;
	}
	return any;
}

int neighbour_wait(struct command *command, const struct signals *signals, uint64_t limit_ms)
{
	struct pollfd wait = {.fd = signals->fd, .events = POLLIN};
	uint64_t end_ns = limit_ms ? clock_now() + limit_ms * 1000000 : UINT64_MAX;

	while (!command_ended(command, 0)) {
		poll(&wait, 1, LOOK_MS);
		if (read_signals(command, signals)) {
			command_ended(command, PATIENCE_MS);
			return -EINTR;
		}
		if (clock_now() > end_ns)
			return -ETIMEDOUT;
	}
	return 0;
}

/* Its exit status, -EINTR, or -ECHILD. Ctrl-C reaches the program as it reaches us: it may have
 * ended before we have read our signal. */
static int result_of(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGHUP)
		return -EINTR;
	return -ECHILD;
}

int neighbour_run(const struct neighbour *neighbour, const struct signals *signals)
{
	char path[PATH_MAX], *argv[NEIGHBOUR_ARGS_MAX + 2] = {path};
	const struct identity self = {0};
	struct command command;
	int err = find(neighbour->name, path, sizeof(path));

	if (err) {
		log_error("cannot find the folder of ovni-bpf: %s", strerror(-err));
		return err;
	}
	for (unsigned i = 0; neighbour->args[i]; i++)
		argv[i + 1] = (char *)neighbour->args[i];
	err = command_start(&command, argv, &self, signals,
			    COMMAND_MESSAGES | COMMAND_DIES_WITH_US);
	if (err)
		return err;
	err = command_release(&command);
	if (err)
		goto out;
	err = neighbour_wait(&command, signals, neighbour->limit_ms);
	if (err == -ETIMEDOUT)
		command_signal(&command, SIGTERM);
	if (err && !command_ended(&command, PATIENCE_MS)) {
		command_signal(&command, SIGKILL);
		command_ended(&command, PATIENCE_MS);
	}
	if (!err)
		err = result_of(command.status);
out:
	command_close(&command);
	return err;
}
