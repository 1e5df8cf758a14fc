/* SPDX-License-Identifier: MIT */
/* emulate: see emulate.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulate.h"
#include "privilege.h"
#include "trace/log.h"

#define EMULATOR "ovni-emu"

/* Where this program lies, whatever it was called by. */
static int beside(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - sizeof(EMULATOR));
	char *slash;

	if (len < 0)
		return -errno;
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	strcpy(slash + 1, EMULATOR);
	return 0;
}

int emulate_find(void)
{
	char path[PATH_MAX];
	int err = beside(path, sizeof(path));

	if (!err && access(path, X_OK))
		err = -errno;
	if (err)
		log_error("--emulate: there is no %s beside ovni-bpf: %s", EMULATOR,
			  strerror(-err));
	return err;
}

int emulate_run(const char *dir, const struct identity *identity)
{
	char path[PATH_MAX], *argv[] = {(char *)EMULATOR, (char *)dir, NULL};
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
		err = identity_become(identity);
		if (!err) {
			execv(path, argv);
			err = -errno;
		}
		log_error("cannot run %s: %s", path, strerror(-err));
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
		log_error("%s was ended by signal %d", EMULATOR, WTERMSIG(status));
	return -ECHILD;
failed:
	log_error("cannot run %s: %s", EMULATOR, strerror(-err));
	return err;
}
