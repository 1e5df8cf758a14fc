/* SPDX-License-Identifier: MIT */
/* command: see command.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/host/command.h"
#include "user/host/privilege.h"
#include "user/host/signals.h"
#include "trace/base/log.h"

static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return access(path, X_OK) ? -errno : 0;
}

int command_find(const char *name, const char *paths)
{
	const char *at, *end;
	int err = -ENOENT, one;
	char *path;

	if (strchr(name, '/')) {
		err = check_executable(name);
		goto out;
	}
	if (!paths || !*paths)
		paths = "/usr/local/bin:/usr/bin:/bin";
	for (at = paths; err; at = end + 1) {
		end = strchrnul(at, ':');
		/* an empty part is the current folder */
		if (asprintf(&path, "%.*s%s%s", (int)(end - at), at, end == at ? "./" : "/", name) <
		    0) {
			err = -ENOMEM;
			break;
		}
		one = check_executable(path);
		free(path);
		if (one != -ENOENT && one != -ENOTDIR)
			err = one;
		if (!*end)
			break;
	}
out:
	if (err == -ENOENT)
		log_error("there is no command '%s'", name);
	else if (err)
		log_error("cannot execute '%s': %s", name, strerror(-err));
	return err;
}

/* The child: waits, and becomes the command. */
static void __attribute__((noreturn))
child(struct command *command, const struct identity *runner, const struct signals *signals,
      int go_fd, int trouble_fd)
{
	ssize_t n;
	char go;
	int err;

	do
		n = read(go_fd, &go, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(127); /* the recorder has ended */
	signals_give_back(signals);
	err = identity_become(runner);
	if (!err) {
		execvp(command->argv[0], command->argv);
		err = -errno;
	}
	if (write(trouble_fd, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

int command_start(struct command *command, char **argv, const struct identity *runner,
		  const struct signals *signals)
{
	int go[2] = {-1, -1}, trouble[2] = {-1, -1}, err;
	pid_t pid;

	*command = (struct command){.argv = argv, .go_fd = -1, .trouble_fd = -1, .status = -1};
	if (pipe2(go, O_CLOEXEC) || pipe2(trouble, O_CLOEXEC))
		goto failed;
	pid = fork();
	if (pid < 0)
		goto failed;
	if (pid == 0) {
		close(go[1]);
		close(trouble[0]);
		child(command, runner, signals, go[0], trouble[1]);
	}
	close(go[0]);
	close(trouble[1]);
	command->pid = pid;
	command->go_fd = go[1];
	command->trouble_fd = trouble[0];
	return 0;
failed:
	err = -errno;
	log_error("cannot start '%s': %s", argv[0], strerror(-err));
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (trouble[i] >= 0)
			close(trouble[i]);
	}
	return err;
}

int command_release(struct command *command)
{
	int err = 0;
	ssize_t n;

	if (write(command->go_fd, "", 1) != 1)
		err = -errno;
	close(command->go_fd);
	command->go_fd = -1;
	do
		n = read(command->trouble_fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		err = -errno;
	close(command->trouble_fd);
	command->trouble_fd = -1;
	if (err)
		log_error("cannot execute '%s': %s", command->argv[0], strerror(-err));
	return err;
}

bool command_ended(struct command *command, int wait_ms)
{
	const struct timespec step = {.tv_nsec = 5000000};
	pid_t pid;

	if (!command->pid || command->ended)
		return true;
	for (;; wait_ms -= 5) {
		pid = waitpid(command->pid, &command->status, WNOHANG);
		if (pid == command->pid || (pid < 0 && errno == ECHILD)) {
			command->ended = true;
			return true;
		}
		command->status = -1;
		if (wait_ms <= 0)
			return false;
		nanosleep(&step, NULL);
	}
}

void command_signal(const struct command *command, int signal)
{
	if (command->pid && !command->ended)
		kill(command->pid, signal);
}

void command_close(struct command *command)
{
	if (command->argv) {
		if (command->trouble_fd >= 0)
			close(command->trouble_fd);
		if (command->go_fd >= 0) {
			close(command->go_fd);
			command_ended(command, 1000);
		}
	}
	memset(command, 0, sizeof(*command));
}
