/* SPDX-License-Identifier: MIT */
/* daemon: see daemon.h. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/host/daemon.h"
#include "trace/base/log.h"

static int wait_until_ready(int fd, pid_t child, bool *ready)
{
	char byte;
	ssize_t n;

	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	do {
		n = read(fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	close(fd);
	*ready = n == 1;
	return 1;
}

/* Standard input is empty, and messages go to the log. */
static void redirect(int log)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (nothing >= 0) {
		dup2(nothing, STDIN_FILENO);
		close(nothing);
	}
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
}

int daemon_begin(int log, int *ready_fd, bool *ready)
{
	int fds[2], err;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		goto failed;
	child = fork();
	if (child < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		errno = -err;
		goto failed;
	}
	if (child) {
		close(fds[1]);
		return wait_until_ready(fds[0], child, ready);
	}
	close(fds[0]);
	setsid();
	/* a process that does not lead its session can never get a terminal */
	child = fork();
	if (child)
		_exit(child < 0);
	redirect(log);
	*ready_fd = fds[1];
	return 0;
failed:
	err = -errno;
	log_error("cannot continue in the background: %s", strerror(-err));
	return err;
}

void daemon_notify(const char *state)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof(address.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(address.sun_path, path, len);
	if (*path == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		log_debug("the service manager does not listen: %s", strerror(errno));
	close(fd);
}
