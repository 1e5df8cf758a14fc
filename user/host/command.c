/* SPDX-License-Identifier: MIT */
/* command: see command.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/host/command.h"
#include "user/host/privilege.h"
#include "user/host/proc_info.h"
#include "user/host/signals.h"
#include "trace/base/log.h"
#include "user/host/read_file.h"

static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? -errno : 0;
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

static int set_files(unsigned flags)
{
	int nothing;

	if (!(flags & COMMAND_MESSAGES))
		return 0;
	nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return -errno;
	return 0;
}

/* Lets the kernel kill this process when the thread ends that has started it. It forgets that at an
 * exec which adds capabilities, as every exec of root does without PR_SET_NO_NEW_PRIVS. */
static int die_with(unsigned flags, pid_t parent)
{
	if (!(flags & COMMAND_DIES_WITH_US))
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

/* The child: waits, and becomes the command. */
static void __attribute__((noreturn))
child(struct command *command, const struct identity *runner, const struct signals *signals,
      unsigned flags, pid_t parent, int go_fd, int trouble_fd)
{
	ssize_t n;
	char go;
	int err;

	do
		n = read(go_fd, &go, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(127); /* the recorder has ended */
	signals_restore(signals);
	err = set_files(flags);
	if (err)
		goto failed;
	err = identity_become(runner);
	if (err)
		goto failed;
	err = die_with(flags, parent);
	if (err)
		goto failed;
	execvp(command->argv[0], command->argv);
	err = -errno;
failed:
	if (write(trouble_fd, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

int command_start(struct command *command, char **argv, const struct identity *runner,
		  const struct signals *signals, unsigned flags)
{
	int go[2] = {-1, -1}, trouble[2] = {-1, -1}, err;
	pid_t pid, self = getpid();

	*command = (struct command){.argv = argv, .go_fd = -1, .trouble_fd = -1, .status = -1};
	if (pipe2(go, O_CLOEXEC) || pipe2(trouble, O_CLOEXEC))
		goto failed;
	pid = fork();
	if (pid < 0)
		goto failed;
	if (pid == 0) {
		close(go[1]);
		close(trouble[0]);
		child(command, runner, signals, flags, self, go[0], trouble[1]);
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

/* ---- named processes ---- */

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
	char state = process_state(pid);

	return state && !strchr("ZX", state);
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
	*target = (struct target){.pids = pids, .npids = npids, .threads = threads};
	target->fds = malloc((npids + 1) * sizeof(*target->fds));
	if (!target->fds)
		return log_no_memory("for the processes to be recorded");
	for (size_t i = 0; i < npids; i++)
		target->fds[i] = -1;
	for (size_t i = 0; i < npids; i++) {
		int err = find_one(target, i);

		if (err)
			return err;
	}
	return 0;
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
