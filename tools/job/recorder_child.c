/* SPDX-License-Identifier: MIT */
/* recorder_child: see recorder_child.h. */
#include "tools/job/recorder_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/base/log.h"

#define NOT_EXECUTED 127

int recorder_child_start(struct recorder_child *child, char *const argv[])
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, err;

	*child = (struct recorder_child){.to = -1, .from = -1, .size = -1};
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		goto failed;
	child->pid = fork();
	if (child->pid < 0)
		goto failed;
	if (!child->pid) {
		signal(SIGPIPE, SIG_DFL);
		if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
			execv(argv[0], argv);
		log_error("cannot execute '%s': %s", argv[0], strerror(errno));
		_exit(NOT_EXECUTED);
	}
	close(in[0]);
	close(out[1]);
	child->to = in[1];
	child->from = out[0];
	fcntl(child->from, F_SETFL, O_NONBLOCK);
	return 0;
failed:
	err = -errno;
	log_error("cannot start the recorder: %s", strerror(-err));
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
	child->pid = 0;
	return err;
}

/* Takes whole lines of "RANKS SIZE RUNNING". */
static void take_lines(struct recorder_child *child)
{
	char *end;

	while ((end = memchr(child->text, '\n', child->length))) {
		*end = '\0';
		if (sscanf(child->text, "%d %d %d", &child->ranks, &child->size, &child->running) ==
		    3)
			child->ready = true;
		child->length -= (unsigned)(end + 1 - child->text);
		memmove(child->text, end + 1, child->length);
	}
	if (child->length == sizeof(child->text))
		child->length = 0; /* no line of the recorder is that long */
}

void recorder_child_poll(struct recorder_child *child)
{
	ssize_t n;

	while (child->from >= 0 && (n = read(child->from, child->text + child->length,
					     sizeof(child->text) - child->length)) > 0) {
		child->length += (unsigned)n;
		take_lines(child);
	}
	if (!child->pid || waitpid(child->pid, &child->status, WNOHANG) != child->pid)
		return;
	child->pid = 0;
	child->running = 0;
	recorder_child_stop(child);
	close(child->from);
	child->from = -1;
}

void recorder_child_stop(struct recorder_child *child)
{
	if (child->to >= 0)
		close(child->to);
	child->to = -1;
}
