/* SPDX-License-Identifier: MIT */
/* elf_child: see elf_child.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"
#include "user/host/privilege.h"

#define SECONDS_MAX 20		 /* of CPU time, for one answer */
#define MEMORY_MAX  (8ull << 30) /* bytes, with the files, which libelf maps */
#define ANSWER_MAX  (2ull << 30) /* bytes that the parent accepts */
#define READ_SIZE   (1u << 16)

/* Exit status of the child. Libraries and sanitizers call exit() with 0 and 1. */
enum child_status { CHILD_DONE = 40, CHILD_NO_MEMORY };

static void limit(int resource, rlim_t value)
{
	const struct rlimit limits = {value, value};

	setrlimit((__rlimit_resource_t)resource, &limits);
}

/* If memory runs out, the kernel kills this process and no other. */
static void die_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) != 4)
		errno = 0; /* the limits hold alone */
	close(fd);
}

void elf_child_confine(int fd, unsigned cpu_seconds)
{
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU};

	prctl(PR_SET_NAME, "ovni-elf"); /* so that no reader takes it for a recorded command */
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		signal(crashes[i], SIG_DFL);
	limit(RLIMIT_CORE, 0);
	if (cpu_seconds)
		limit(RLIMIT_CPU, cpu_seconds);
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes */
	limit(RLIMIT_AS, MEMORY_MAX);
#endif
	privilege_resume();
	die_first();
	privilege_drop_all();
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of the user clears it */
	if (fd >= 0) {
		syscall(SYS_close_range, 3, fd - 1, 0);
		syscall(SYS_close_range, fd + 1, ~0u, 0);
	}
}

static void __attribute__((noreturn)) child(int fd, elf_child_work work, void *arg, int out)
{
	struct bytes answer = {0};

	elf_child_confine(-1, SECONDS_MAX);
	work(&answer, elf_section_begin(fd), arg);
	if (answer.failed)
		_exit(CHILD_NO_MEMORY);
	for (size_t done = 0; done < answer.size;) {
		ssize_t n = write(out, answer.data + done, answer.size - done);

		if (n <= 0)
			break; /* the parent has enough */
		done += (size_t)n;
	}
	_exit(CHILD_DONE);
}

/* Reads all that the child writes. */
static int receive(int fd, struct bytes *answer)
{
	char bytes[READ_SIZE];
	ssize_t n;

	for (;;) {
		n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return answer->failed ? -ENOMEM : 0;
		if (answer->size > ANSWER_MAX)
			return -ENOEXEC;
		bytes_put(answer, bytes, (size_t)n);
	}
}

int elf_child_run(int fd, elf_child_work work, void *arg, struct elf_answer *answer)
{
	int pipes[2], status = 0, err;
	pid_t pid;

	*answer = (struct elf_answer){0};
	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		child(fd, work, arg, pipes[1]);
	err = -errno; /* of fork() */
	close(pipes[1]);
	if (pid < 0)
		goto out;
	err = receive(pipes[0], &answer->bytes);
out:
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (err)
		goto fail;
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_DONE)
		return 0;
	err = WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NO_MEMORY ? -ENOMEM : -ENOEXEC;
fail:
	elf_answer_free(answer);
	return err;
}

const char *elf_child_error(int err)
{
	switch (err) {
	case -ENOMEM:
		return NULL;
	case -ENOEXEC:
		return "is damaged, or too large: reading it crashed or took too long";
	default:
		return "cannot be read: no child process could be started";
	}
}
