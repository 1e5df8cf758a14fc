/* SPDX-License-Identifier: MIT */
/* election: see election.h. */
#include "user/job/election.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/log.h"

#define RETRY_NS    10000000ull
#define SECOND	    1000000000ull
#define QUIET_NS    SECOND /* without a new rank, where their number is not known */
#define MEMBERS_MAX 100000

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* FNV-1a: the same in all processes. */
static uint64_t hash(uint64_t sum, const char *text)
{
	while (*text)
		sum = (sum ^ (uint8_t)*text++) * 0x100000001b3ull;
	return sum;
}

/* The name: a NUL, then a text that fits, whatever the length of the key and the host. */
static socklen_t make_name(struct sockaddr_un *name, const char *key, const char *host)
{
	int n;

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
		     "ovni-bpf.job.%u.%.40s.%016" PRIx64, (unsigned)geteuid(), key,
		     hash(hash(0xcbf29ce484222325ull, key), host));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* The process at the other end, of our user; its pid, or 0. */
static pid_t peer_of(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != geteuid())
		return 0;
	return peer.pid;
}

static void set_timeout(int fd, uint64_t ns)
{
	struct timeval t = {.tv_sec = (time_t)(ns / SECOND), .tv_usec = (ns % SECOND) / 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

/* Registers with the elected process: it can be reached within `left_ns`. 0, or -errno without a
 * message. */
static int join(const struct sockaddr_un *name, socklen_t size, int32_t rank, uint64_t left_ns,
		uint64_t whole_ns, enum job_answer *answer)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err = 0;
	char byte;

	if (fd < 0)
		return -errno;
	set_timeout(fd, left_ns ? left_ns : 1000);
	if (connect(fd, (const struct sockaddr *)name, size)) {
		err = -errno;
		goto out;
	}
	*answer = JOB_SILENCE;
	/* The elected process waits for others, and for its recorder, up to the timeout each. If it
	 * ends before, this call does. */
	set_timeout(fd, 2 * whole_ns + SECOND);
	if (!peer_of(fd) || send(fd, &rank, sizeof(rank), MSG_NOSIGNAL) != sizeof(rank))
		goto out;
	if (recv(fd, &byte, 1, 0) == 1 &&
	    (byte == JOB_RECORDED || byte == JOB_NOT_RECORDED || byte == JOB_LATE))
		*answer = (enum job_answer)byte;
out:
	close(fd);
	return err;
}

int election_enter(struct election *election, const char *key, const char *host, int32_t rank,
		   uint64_t timeout_ns, enum job_answer *answer)
{
	const struct timespec pause = {.tv_nsec = RETRY_NS};
	uint64_t end = now() + timeout_ns;
	struct sockaddr_un name;
	socklen_t size = make_name(&name, key, host);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = -errno;

	*election = (struct election){.listener = -1};
	*answer = JOB_SILENCE;
	while (fd >= 0) {
		uint64_t at = now();

		if (!bind(fd, (struct sockaddr *)&name, size)) {
			if (listen(fd, SOMAXCONN)) {
				err = -errno;
				break;
			}
			election->listener = fd;
			return 1;
		}
		err = -errno;
		if (err != -EADDRINUSE)
			break;
		err = join(&name, size, rank, at < end ? end - at : 0, timeout_ns, answer);
		/* not listening yet, a full queue, or just gone: who is first then? */
		if ((err != -ECONNREFUSED && err != -EAGAIN) || now() >= end) {
			close(fd);
			return 0;
		}
		nanosleep(&pause, NULL);
	}
	log_error("cannot find the other processes of the job on this node: %s", strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

/* Accepts one process, which has connected and sends its rank next: on a busy machine it may not
 * run for seconds in between. 1: registered, 0: none or not ours, or -errno after one message. */
static int accept_one(struct election *e, uint64_t timeout_ns)
{
	int fd = accept4(e->listener, NULL, NULL, SOCK_CLOEXEC), err, *kept;
	pid_t pid = fd >= 0 ? peer_of(fd) : 0;
	int32_t rank;

	if (fd < 0)
		return 0;
	set_timeout(fd, timeout_ns ? timeout_ns : 1000);
	if (!pid || e->npeers >= MEMBERS_MAX || recv(fd, &rank, sizeof(rank), 0) != sizeof(rank)) {
		close(fd);
		return 0;
	}
	kept = ARRAY_ADD(e->peers, e->npeers);
	if (!kept) {
		close(fd);
		return log_no_memory("for the members of the job");
	}
	*kept = fd;
	err = job_members_add(e->members, (uint32_t)pid, rank, -1);
	return err ? err : 1;
}

int election_gather(struct election *e, uint32_t own_pid, int32_t own_rank, int32_t expected,
		    uint64_t timeout_ns)
{
	uint64_t end = now() + timeout_ns;
	int err;

	e->members = job_members_new();
	err = e->members ? job_members_add(e->members, own_pid, own_rank, -1) : -ENOMEM;
	while (!err && (expected < 0 || e->npeers + 1 < (size_t)expected)) {
		struct pollfd wait = {.fd = e->listener, .events = POLLIN};
		uint64_t at = now(), left = at < end ? end - at : 0;
		int ready;

		if (expected < 0 && left > QUIET_NS)
			left = QUIET_NS;
		ready = poll(&wait, 1, (int)(left / 1000000));
		if (!ready)
			break;
		if (ready < 0 && errno != EINTR)
			return -errno;
		err = ready > 0 ? accept_one(e, at < end ? end - at : 0) : 0;
		err = err > 0 ? 0 : err;
	}
	return err;
}

void election_answer(struct election *e, enum job_answer answer)
{
	char byte = (char)answer;

	for (size_t i = 0; i < e->npeers; i++) {
		/* one that has gone is not missed here: it has no thread to record */
		(void)!send(e->peers[i], &byte, 1, MSG_NOSIGNAL);
		close(e->peers[i]);
		e->peers[i] = -1;
	}
}

void election_refuse_late(struct election *e)
{
	char byte = JOB_LATE;
	int fd;

	while (e->listener >= 0 && (fd = accept4(e->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		(void)!send(fd, &byte, 1, MSG_NOSIGNAL);
		close(fd);
	}
}

void election_close(struct election *e)
{
	for (size_t i = 0; i < e->npeers; i++)
		if (e->peers[i] >= 0)
			close(e->peers[i]);
	if (e->listener >= 0)
		close(e->listener);
	free(e->peers);
	job_members_free(e->members);
	*e = (struct election){.listener = -1};
}
