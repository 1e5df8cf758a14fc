/* SPDX-License-Identifier: MIT */
#include "user/elf/stack_walk.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/elf/elf_child.h"
#include "user/elf/stack_walk_child.h"

#define ANSWER_MS 20000 /* reading the files of a large process takes long */
#define LOST_MAX  20	/* then something is wrong with all of them */

struct stack_walk {
	pid_t child; /* 0: none */
	int socket;
	unsigned generation;
};

struct stack_walk *stack_walk_new(void)
{
	struct stack_walk *walk = calloc(1, sizeof(*walk));

	if (walk)
		walk->socket = -1;
	return walk;
}

static void end_child(struct stack_walk *walk)
{
	if (!walk->child)
		return;
	close(walk->socket);
	kill(walk->child, SIGKILL);
	while (waitpid(walk->child, NULL, 0) < 0 && errno == EINTR)
		;
	walk->child = 0;
	walk->socket = -1;
}

void stack_walk_free(struct stack_walk *walk)
{
	if (walk)
		end_child(walk);
	free(walk);
}

unsigned stack_walk_generation(const struct stack_walk *walk)
{
	return walk->generation;
}

static int lose_child(struct stack_walk *walk, int err)
{
	end_child(walk);
	walk->generation++;
	return err;
}

/* Starts the child, unless there is one. 0 or -errno. */
static int start(struct stack_walk *walk)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	int sockets[2], err;

	if (walk->child)
		return 0;
	if (walk->generation >= LOST_MAX)
		return -ECHILD;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	walk->child = fork();
	if (!walk->child) {
		elf_child_confine(sockets[1], 0);
		/* those for the group of the recorder: the last stacks come after them */
		for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
			signal(ignored[i], SIG_IGN);
		stack_walk_serve(sockets[1]);
		_exit(0);
	}
	err = -errno;
	close(sockets[1]);
	if (walk->child < 0) {
		close(sockets[0]);
		walk->child = 0;
		return err;
	}
	walk->socket = sockets[0];
	return 0;
}

/* Sends a request with up to two parts behind it, and a descriptor (-1: none). 0 or -errno. */
static int request(struct stack_walk *walk, struct walk_request *head, const struct iovec parts[2],
		   int fd)
{
	struct iovec all[3] = {{head, sizeof(*head)}, parts[0], parts[1]};
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = all, .msg_iovlen = 3};
	int err = start(walk);

	if (err)
		return err;
	if (fd >= 0) {
		struct cmsghdr *rights;

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		rights = CMSG_FIRSTHDR(&message);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	}
	while (sendmsg(walk->socket, &message, MSG_NOSIGNAL) < 0) {
		if (errno != EINTR)
			return lose_child(walk, -errno);
	}
	return 0;
}

int stack_walk_file(struct stack_walk *walk, uint32_t file, int fd, const char *name)
{
	struct walk_request head = {.kind = WALK_FILE, .number = file};
	const struct iovec parts[2] = {{(void *)name, strnlen(name, 200)}};

	return request(walk, &head, parts, fd);
}

int stack_walk_process(struct stack_walk *walk, uint32_t process,
		       const struct walk_mapping *mappings, size_t n)
{
	struct walk_request head = {.kind = WALK_PROCESS, .number = process, .n = (uint32_t)n};
	const struct iovec parts[2] = {{(void *)mappings, n * sizeof(*mappings)}};

	return request(walk, &head, parts, -1);
}

int stack_walk_frames(struct stack_walk *walk, uint32_t process, const struct walk_stack *stack,
		      char *text)
{
	struct walk_request head = {.kind = WALK_STACK,
				    .number = process,
				    .n = stack->nregisters,
				    .bytes = stack->bytes,
				    .from = stack->from};
	const struct iovec parts[2] = {
		{(void *)stack->registers, stack->nregisters * sizeof(*stack->registers)},
		{(void *)stack->stack, stack->bytes},
	};
	struct walk_answer answer;
	struct iovec in[2] = {{&answer, sizeof(answer)}, {text, STACK_WALK_TEXT - 1}};
	struct msghdr message = {.msg_iov = in, .msg_iovlen = 2};
	struct pollfd wait;
	ssize_t n;
	int err = request(walk, &head, parts, -1);

	if (err)
		return err;
	wait = (struct pollfd){.fd = walk->socket, .events = POLLIN};
	do {
		n = poll(&wait, 1, ANSWER_MS);
	} while (n < 0 && errno == EINTR);
	n = n > 0 ? recvmsg(walk->socket, &message, 0) : -1;
	if (n < (ssize_t)sizeof(answer) || (size_t)n != sizeof(answer) + answer.size)
		return lose_child(walk, -ENOEXEC);
	/* as untrusted as the files */
	for (uint32_t i = 0; i < answer.size; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return lose_child(walk, -ENOEXEC);
	text[answer.size] = '\0';
	return answer.status == WALK_UNMAPPED ? -EAGAIN : (int)answer.size;
}
