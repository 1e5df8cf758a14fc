/* SPDX-License-Identifier: MIT */
/* emulate: see emulate.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/session/emulate.h"
#include "user/host/signals.h"
#include "trace/base/log.h"

#define EMULATOR "ovni-emu"

/* Path of the emulator, in the folder of this program. */
static int beside(char *path, size_t size)
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
	return snprintf(path, size, "%s/%s", own, EMULATOR) < (int)size ? 0 : -ENAMETOOLONG;
}

int emulate_find(void)
{
	char path[PATH_MAX];
	int err = beside(path, sizeof(path));

	if (!err && access(path, X_OK))
		err = -errno;
	if (err)
		log_error("--emulate: cannot run %s in the folder of ovni-bpf: %s", EMULATOR,
			  strerror(-err));
	return err;
}

int emulate_run(const char *dir, bool quiet, const struct signals *signals)
{
	char path[PATH_MAX];
	char *loud[] = {(char *)EMULATOR, (char *)"--", (char *)dir, NULL};
	char *still[] = {(char *)EMULATOR, (char *)"-q", (char *)"--", (char *)dir, NULL};
	int status, err = beside(path, sizeof(path));
	pid_t pid;

	if (err)
		goto failed;
	pid = fork();
	if (pid < 0) {
		err = -errno;
		goto failed;
	}
	if (pid == 0) {
		signals_give_back(signals);
		execv(path, quiet ? still : loud);
		log_error("cannot run %s: %s", path, strerror(errno));
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		err = -errno;
		goto failed;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status))
		log_error("%s was killed by signal %d", EMULATOR, WTERMSIG(status));
	return -ECHILD;
failed:
	log_error("cannot run %s: %s", EMULATOR, strerror(-err));
	return err;
}
