/* SPDX-License-Identifier: MIT */
/* target_process: see target_process.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/host/read_file.h"
#include "user/host/target_process.h"
#include "trace/base/log.h"

/* /proc/TID exists for threads, too, though it is not listed. */
static bool in_proc(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return access(path, F_OK) == 0;
}

/* A zombie is in /proc, and no more than that. */
static bool is_alive(uint32_t pid)
{
	char path[32], *text, *state;
	size_t size;
	bool alive;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	text = read_file(AT_FDCWD, path, 0, 128, &size);
	if (!text)
		return false;
	state = strrchr(text, ')'); /* of the name, which may have any signs */
	alive = state && !strchr("ZX", state[2]);
	free(text);
	return alive;
}

static int find_one(struct target *target, size_t i)
{
	uint32_t pid = target->pids[i];
	int fd = -1;

	if (target->threads) {
		if (in_proc(pid))
			return 0;
		log_error("there is no thread %u", pid);
		return -ESRCH;
	}
	fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (fd >= 0) {
		target->fds[i] = fd;
		return 0;
	}
	if (errno == ENOSYS && in_proc(pid))
		return 0;
	/* EINVAL; since 6.16 ENOENT */
	if (errno != ESRCH && in_proc(pid)) {
		log_error("%u is a thread of a process, not a process: use -t %u", pid, pid);
		return -EINVAL;
	}
	log_error("there is no process %u", pid);
	return -ESRCH;
}

int target_find(struct target *target, const uint32_t *pids, size_t npids, bool threads)
{
	int err = 0;

	*target = (struct target){.pids = pids, .npids = npids, .threads = threads};
	target->fds = malloc((npids + 1) * sizeof(*target->fds));
	if (!target->fds)
		return log_no_memory("for the processes to be recorded");
	for (size_t i = 0; i < npids; i++)
		target->fds[i] = -1;
	for (size_t i = 0; i < npids && !err; i++)
		err = find_one(target, i);
	return err;
}

bool target_lives(const struct target *target)
{
	for (size_t i = 0; i < target->npids; i++) {
		struct pollfd exited = {.fd = target->fds[i], .events = POLLIN};

		if (target->fds[i] < 0 ? is_alive(target->pids[i]) : poll(&exited, 1, 0) == 0)
			return true;
	}
	return false;
}

void target_close(struct target *target)
{
	for (size_t i = 0; target->fds && i < target->npids; i++)
		if (target->fds[i] >= 0)
			close(target->fds[i]);
	free(target->fds);
	memset(target, 0, sizeof(*target));
}
