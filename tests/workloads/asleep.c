/* SPDX-License-Identifier: MIT */
/*
 * asleep: the main thread sleeps once in each of some system calls, in a fixed order.
 *
 * A second process watches its state in /proc and ends each sleep only when the thread sleeps: so
 * each call is known to sleep. Reports one line a phase: call=NAME (as ovni-dump shows it, without
 * the argument), its clocks, the descriptor and the file behind it. The thread does nothing between
 * the clocks but this call.
 */
#include "workload.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum phase {
	READ,
	POLL,
	EPOLL,
	FUTEX,
	ACCEPT,
	EVENTFD,
	STOPPED,
	SIGNAL,
	CALL_32BIT,
	SLEEP,
	PHASES
};

static struct shared {	   /* with the process that watches */
	_Atomic int phase; /* that the main thread is in, + 1 */
	_Atomic int futex;
	struct sockaddr_un address;
	socklen_t address_size;
} * shared;

static int pipe_ends[2], event, listener;
static pid_t sleeper;

/* The letter of the state of the main thread. */
static char state(void)
{
	char path[64], text[512], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", sleeper);
	fd = open(path, O_RDONLY);
	must(fd >= 0, path);
	n = read(fd, text, sizeof(text) - 1);
	must(n > 0, path);
	close(fd);
	text[n] = '\0';
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

static void wait_state(char wanted)
{
	while (state() != wanted)
		usleep(1000);
}

static void end_sleep(enum phase phase)
{
	uint64_t one = 1;
	int fd;

	switch (phase) {
	case READ:
	case POLL:
	case EPOLL:
		must(write(pipe_ends[1], "x", 1) == 1, "write");
		break;
	case FUTEX:
		shared->futex = 1;
		syscall(SYS_futex, &shared->futex, FUTEX_WAKE, 1, NULL, NULL, 0);
		break;
	case ACCEPT:
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		must(!connect(fd, (struct sockaddr *)&shared->address, shared->address_size),
		     "connect");
		close(fd);
		break;
	case EVENTFD:
		must(write(event, &one, sizeof(one)) == sizeof(one), "write");
		break;
	case STOPPED:
		kill(sleeper, SIGSTOP);
		wait_state('T');
		kill(sleeper, SIGCONT);
		wait_state('S'); /* in the call that goes on */
		kill(sleeper, SIGUSR1);
		break;
	case SIGNAL:
	case CALL_32BIT:
		kill(sleeper, SIGUSR1);
		break;
	default:
		break;
	}
}

static void watch(void)
{
	for (int phase = 0; phase < PHASES; phase++) {
		if (phase == SLEEP)
			continue;
		while (shared->phase <= phase)
			usleep(1000);
		if (shared->phase > phase + 1)
			continue; /* this machine does not have it */
		wait_state('S');
		end_sleep((enum phase)phase);
	}
	_exit(0);
}

static sigjmp_buf no_32bit;

static void on_segv(int signal)
{
	(void)signal;
	siglongjmp(no_32bit, 1);
}

static void on_usr1(int signal)
{
	(void)signal;
}

/* pause() of the 32-bit table. */
static bool pause_32bit(void)
{
#if defined(__x86_64__)
	if (sigsetjmp(no_32bit, 1))
		return false;
	int result = 29;

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	return result == -EINTR;
#else
	return false;
#endif
}

static const char *file_of(int fd, char *text, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = fd < 0 ? -1 : readlink(path, text, size - 1);
	if (n < 0)
		return "-";
	text[n] = '\0';
	return text;
}

int main(int argc, char **argv)
{
	static const char *const names[PHASES] = {
		[READ] = "read",
		[POLL] = "ppoll",
		[EPOLL] = "epoll_wait",
		[FUTEX] = "futex",
		[ACCEPT] = "accept",
		[EVENTFD] = "read",
		[STOPPED] = "clock_nanosleep",
		[SIGNAL] = "ppoll",
		[CALL_32BIT] = "32-bit_pause",
		[SLEEP] = "clock_nanosleep",
	};
	static const struct knob knobs[] = {{0}};
	struct sigaction usr1 = {.sa_handler = on_usr1}, segv = {.sa_handler = on_segv};
	struct timespec hour = {.tv_sec = 3600};
	struct epoll_event waits = {.events = EPOLLIN}, got;
	struct pollfd polled;
	char byte, text[256];
	uint64_t value;
	pid_t watcher;
	int epoll;

	workload_begin(argc, argv, knobs);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(shared != MAP_FAILED, "mmap");
	must(!pipe(pipe_ends), "pipe");
	event = eventfd(0, 0);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	shared->address = (struct sockaddr_un){.sun_family = AF_UNIX}; /* the kernel gives a name */
	shared->address_size = sizeof(shared->address);
	must(event >= 0 && listener >= 0 &&
		     !bind(listener, (struct sockaddr *)&shared->address, sizeof(sa_family_t)) &&
		     !getsockname(listener, (struct sockaddr *)&shared->address,
				  &shared->address_size) &&
		     !listen(listener, 1),
	     "socket");
	polled = (struct pollfd){.fd = pipe_ends[0], .events = POLLIN};
	epoll = epoll_create1(0);
	must(epoll >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_ends[0], &waits), "epoll");
	sigaction(SIGUSR1, &usr1, NULL);
	sigaction(SIGSEGV, &segv, NULL);
	sleeper = getpid();
	watcher = fork();
	must(watcher >= 0, "fork");
	if (!watcher)
		watch();
	for (int phase = 0; phase < PHASES; phase++) {
		int fd = -1;
		int64_t begin = now_ns(), end;
		bool done = true;

		shared->phase = phase + 1;
		switch (phase) {
		case READ:
			fd = pipe_ends[0];
			done = read(fd, &byte, 1) == 1;
			break;
		case POLL:
			done = syscall(SYS_ppoll, &polled, 1, NULL, NULL, 0) == 1;
			break;
		case EPOLL:
			fd = epoll;
			done = epoll_wait(epoll, &got, 1, -1) == 1;
			break;
		case FUTEX:
			syscall(SYS_futex, &shared->futex, FUTEX_WAIT, 0, NULL, NULL, 0);
			break;
		case ACCEPT:
			fd = listener;
			done = accept(listener, NULL, NULL) >= 0;
			break;
		case EVENTFD:
			fd = event;
			done = read(fd, &value, sizeof(value)) == sizeof(value);
			break;
		case STOPPED:
			done = clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL) == EINTR;
			break;
		case SIGNAL:
			done = ppoll(NULL, 0, NULL, NULL) < 0 && errno == EINTR;
			break;
		case CALL_32BIT:
			done = pause_32bit();
			break;
		case SLEEP:
			sleep_for(1000 * MSEC); /* the recorder reads /proc meanwhile */
			break;
		}
		end = now_ns();
		if (phase == POLL || phase == EPOLL)
			must(read(pipe_ends[0], &byte, 1) == 1, "read");
		if (phase == CALL_32BIT && !done)
			continue;
		must(done, names[phase]);
		say("phase=%d call=%s begin=%ld end=%ld fd=%d file=%s", phase, names[phase], begin,
		    end, fd, file_of(fd, text, sizeof(text)));
	}
	shared->phase = PHASES + 1;
	must(waitpid(watcher, NULL, 0) == watcher, "waitpid");
	say("sleeper=%d", sleeper);
	return 0;
}
