/* SPDX-License-Identifier: MIT */
/*
 * asleep: the main thread sleeps -n times in each of some system calls, in a fixed order.
 *
 * A second process watches its state in /proc and ends each sleep only when the thread sleeps: so
 * each call is known to sleep. The last phases (fsync, a direct pread, page faults of a file) sleep
 * as the disk says. Reports one line a phase: call=NAME (as ovni-dump shows it, without the
 * argument), its clocks, the descriptor and the file behind it, the number of calls, and, as the
 * kernel counts them for the thread, its sleeps, its time on CPUs and waiting for one, ns. The
 * thread does nothing between the clocks but these calls.
 */
#include "workload.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
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
	POLL_32BIT,
	SELECT,
	WAITV,
	URING,
	WAIT_CHILD,
	VFORK,
	FSYNC,
	PREAD,
	FAULT,
	SLEEP,
	PHASES
};

#define ROUNDS_MAX 100
#define PAGE	   4096
#define FILE_PAGES 256

static struct shared {	    /* with the process that watches */
	_Atomic int phase;  /* that the main thread is in */
	_Atomic long round; /* of all phases: changes just before each call */
	_Atomic int futex;
	_Atomic int released; /* children may end, so many */
	struct sockaddr_un address;
	socklen_t address_size;
} * shared;

static int pipe_ends[2], event, listener, epoll, disk_file = -1, direct_file = -1, uring = -1;
static pid_t sleeper;
static long rounds = 1;

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

/* False if the main thread is in another round. */
static bool wait_state(char wanted, long round)
{
	while (state() != wanted) {
		if (shared->round != round)
			return false;
		usleep(1000);
	}
	return true;
}

static void end_sleep(enum phase phase, long round)
{
	uint64_t one = 1;
	int fd;

	switch (phase) {
	case READ:
	case POLL:
	case EPOLL:
	case SELECT:
	case URING:
		must(write(pipe_ends[1], "x", 1) == 1, "write");
		break;
	case FUTEX:
	case WAITV:
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
		wait_state('T', round);
		kill(sleeper, SIGCONT);
		wait_state('S', round); /* in the call that goes on */
		kill(sleeper, SIGUSR1);
		break;
	case SIGNAL:
	case CALL_32BIT:
	case POLL_32BIT:
		kill(sleeper, SIGUSR1);
		break;
	case WAIT_CHILD:
	case VFORK:
		shared->released++;
		break;
	default:
		break;
	}
}

static void watch(void)
{
	for (long round = 0;;) {
		enum phase phase;

		if (shared->round == round) {
			if (shared->phase == PHASES || getppid() != sleeper)
				_exit(0);
			usleep(1000);
			continue;
		}
		round = shared->round;
		phase = (enum phase)shared->phase;
		if (phase < FSYNC && wait_state(phase == VFORK ? 'D' : 'S', round))
			end_sleep(phase, round);
	}
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

/* A call of the 32-bit table that a signal ends: pause(), or poll() without descriptors. */
static bool call_32bit(int number)
{
#if defined(__x86_64__)
	if (sigsetjmp(no_32bit, 1))
		return false;
	int result = number;

	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"(0), "c"(0), "d"(-1)
			 : "memory", "r8", "r9", "r10", "r11");
	return result == -EINTR;
#else
	(void)number;
	return false;
#endif
}

static bool wait_futexes(void)
{
	struct { /* struct futex_waitv of newer headers */
		uint64_t value, address;
		uint32_t flags, reserved;
	} wait = {0, (uintptr_t)&shared->futex, 2 /* of 32 bits */, 0};

	return !syscall(449, &wait, 1, 0, NULL, 0);
}

/* A child that ends when so many are released. */
static void child(int number)
{
	while (shared->released < number)
		usleep(500);
	_exit(0);
}

static pid_t __attribute__((noinline)) make_vfork(int number)
{
	pid_t pid = vfork();

	if (!pid)
		child(number);
	return pid;
}

/* A ring with a read of one byte from the pipe, to be submitted with each call. */
static struct io_uring_params ring;
static char *ring_submitted, *ring_completed;
static char ring_byte;

static void open_uring(void)
{
	struct io_uring_sqe *entry;
	size_t bytes;

	uring = (int)syscall(SYS_io_uring_setup, 1, &ring);
	if (uring < 0)
		return; /* this machine does not permit it */
	bytes = ring.sq_off.array + ring.sq_entries * sizeof(uint32_t);
	ring_submitted = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring,
			      IORING_OFF_SQ_RING);
	bytes = ring.cq_off.cqes + ring.cq_entries * sizeof(struct io_uring_cqe);
	ring_completed = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring,
			      IORING_OFF_CQ_RING);
	entry = mmap(NULL, ring.sq_entries * sizeof(*entry), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, uring, IORING_OFF_SQES);
	must(ring_submitted != MAP_FAILED && ring_completed != MAP_FAILED && entry != MAP_FAILED,
	     "mmap of the ring");
	entry->opcode = IORING_OP_READ;
	entry->fd = pipe_ends[0];
	entry->addr = (uintptr_t)&ring_byte;
	entry->len = 1;
	entry->off = UINT64_MAX;
}

static bool wait_uring(void)
{
	_Atomic uint32_t *tail = (void *)(ring_submitted + ring.sq_off.tail);
	_Atomic uint32_t *head = (void *)(ring_completed + ring.cq_off.head);

	*tail += 1;
	if (syscall(SYS_io_uring_enter, uring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return false;
	*head += 1;
	return true;
}

/* A file of FILE_PAGES pages in the current folder, of which no page is in memory. */
static void open_disk(void)
{
	static char pages[FILE_PAGES * PAGE] __attribute__((aligned(PAGE)));

	disk_file = open("asleep.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(disk_file >= 0, "asleep.data");
	direct_file = open("asleep.data", O_RDONLY | O_DIRECT);
	memset(pages, 1, sizeof(pages));
	must(write(disk_file, pages, sizeof(pages)) == sizeof(pages) && !fsync(disk_file),
	     "write of asleep.data");
}

/* ns that the thread has waited for CPUs: the second number of schedstat. */
static long waited_ns(void)
{
	char text[128] = "";
	long run = 0, wait = 0;
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%ld %ld", &run, &wait) != 2)
		wait = 0;
	if (fd >= 0)
		close(fd);
	return wait;
}

static int64_t on_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
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

/* The system call of a phase, as ovni-dump shows it, and the descriptor that it waits for. */
static const struct {
	const char *call;
	const int *fd; /* NULL: none */
} phases[PHASES] = {
	[READ] = {"read", &pipe_ends[0]},
	[POLL] = {"ppoll", NULL},
	[EPOLL] = {"epoll_wait", &epoll},
	[FUTEX] = {"futex", NULL},
	[ACCEPT] = {"accept", &listener},
	[EVENTFD] = {"read", &event},
	[STOPPED] = {"clock_nanosleep", NULL},
	[SIGNAL] = {"ppoll", NULL},
	[CALL_32BIT] = {"32-bit_pause", NULL},
	[POLL_32BIT] = {"32-bit_poll", NULL},
	[SELECT] = {"pselect6", NULL},
	[WAITV] = {"futex_waitv", NULL},
	[URING] = {"io_uring_enter", &uring},
	[WAIT_CHILD] = {"wait4", NULL},
	[VFORK] = {"vfork", NULL},
	[FSYNC] = {"fsync", &disk_file},
	[PREAD] = {"pread64", &direct_file},
	[FAULT] = {"fault", NULL},
	[SLEEP] = {"clock_nanosleep", NULL},
};

static struct pollfd polled;
static pid_t children[ROUNDS_MAX];
static char *mapped;

/* What a phase needs beside the call, before its clocks begin. False: this machine lacks it. */
static bool prepare(enum phase phase)
{
	shared->released = 0;
	for (int i = 0; i < rounds && phase == WAIT_CHILD; i++) {
		children[i] = fork();
		must(children[i] >= 0, "fork");
		if (!children[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			child(i + 1);
		}
	}
	if (phase == URING)
		return uring >= 0;
	if (phase == PREAD)
		return direct_file >= 0;
	if (phase != FAULT)
		return true;
	mapped = mmap(NULL, FILE_PAGES * PAGE, PROT_READ, MAP_SHARED, disk_file, 0);
	must(mapped != MAP_FAILED && !madvise(mapped, FILE_PAGES * PAGE, MADV_RANDOM), "mmap");
	must(!posix_fadvise(disk_file, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise");
	return true;
}

static bool call(enum phase phase, int round)
{
	static char page[PAGE] __attribute__((aligned(PAGE)));
	struct timespec hour = {.tv_sec = 3600};
	struct epoll_event got;
	uint64_t value;
	fd_set set;
	char byte;

	switch (phase) {
	case READ:
		return read(pipe_ends[0], &byte, 1) == 1;
	case POLL:
		return syscall(SYS_ppoll, &polled, 1, NULL, NULL, 0) == 1 &&
		       read(pipe_ends[0], &byte, 1) == 1;
	case EPOLL:
		return epoll_wait(epoll, &got, 1, -1) == 1 && read(pipe_ends[0], &byte, 1) == 1;
	case SELECT:
		FD_ZERO(&set);
		FD_SET(pipe_ends[0], &set);
		return syscall(SYS_pselect6, pipe_ends[0] + 1, &set, NULL, NULL, NULL, NULL) == 1 &&
		       read(pipe_ends[0], &byte, 1) == 1;
	case FUTEX:
		syscall(SYS_futex, &shared->futex, FUTEX_WAIT, 0, NULL, NULL, 0);
		return true;
	case WAITV:
		return wait_futexes();
	case URING:
		return wait_uring();
	case ACCEPT:
		return !close(accept(listener, NULL, NULL));
	case EVENTFD:
		return read(event, &value, sizeof(value)) == sizeof(value);
	case STOPPED:
		return clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL) == EINTR;
	case SIGNAL:
		return ppoll(NULL, 0, NULL, NULL) < 0 && errno == EINTR;
	case CALL_32BIT:
		return call_32bit(29);
	case POLL_32BIT:
		return call_32bit(168);
	case WAIT_CHILD:
		return waitpid(children[round], NULL, 0) == children[round];
	case VFORK:
		children[round] = make_vfork(round + 1);
		return children[round] > 0;
	case FSYNC:
		return pwrite(disk_file, "y", 1, round * PAGE) == 1 && !fsync(disk_file);
	case PREAD:
		return pread(direct_file, page, PAGE, (FILE_PAGES - 1 - round) * PAGE) == PAGE;
	case FAULT:
		(void)*(volatile char *)(mapped + round * 2 * PAGE);
		return true;
	default:
		sleep_for(1000 * MSEC / rounds); /* the recorder reads /proc meanwhile */
		return true;
	}
}

/* All calls of a phase. */
static void run(enum phase phase)
{
	int64_t begin, end, cpu;
	long slept, waited;
	int fd = phases[phase].fd ? *phases[phase].fd : -1;
	char text[256];

	if (!prepare(phase))
		return;
	slept = sleeps();
	waited = waited_ns();
	cpu = on_cpu_ns();
	begin = now_ns();
	for (int round = 0; round < rounds; round++) {
		shared->futex = 0;
		shared->phase = (int)phase;
		shared->round++;
		if (!call(phase, round)) {
			must(phase == CALL_32BIT || phase == POLL_32BIT ||
				     (phase == WAITV && errno == ENOSYS),
			     phases[phase].call);
			shared->round++; /* this machine does not have it */
			return;
		}
	}
	end = now_ns();
	cpu = on_cpu_ns() - cpu;
	waited = waited_ns() - waited;
	slept = sleeps() - slept;
	for (int i = 0; i < rounds && phase == VFORK; i++)
		must(waitpid(children[i], NULL, 0) == children[i], "waitpid");
	say("phase=%d call=%s begin=%ld end=%ld fd=%d file=%s calls=%ld sleeps=%ld cpu=%ld "
	    "waited=%ld",
	    phase, phases[phase].call, begin, end, fd, file_of(fd, text, sizeof(text)), rounds,
	    slept, cpu, waited);
}

int main(int argc, char **argv)
{
	static const struct knob knobs[] = {{'n', &rounds, "sleeps in each call"}, {0}};
	struct sigaction usr1 = {.sa_handler = on_usr1}, segv = {.sa_handler = on_segv};
	struct epoll_event waits = {.events = EPOLLIN};
	pid_t watcher;

	workload_begin(argc, argv, knobs);
	must(rounds >= 1 && rounds <= ROUNDS_MAX, "-n");
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
	open_uring();
	open_disk();
	sigaction(SIGUSR1, &usr1, NULL);
	sigaction(SIGSEGV, &segv, NULL);
	sleeper = getpid();
	watcher = fork();
	must(watcher >= 0, "fork");
	if (!watcher)
		watch();
	for (int phase = 0; phase < PHASES; phase++)
		run((enum phase)phase);
	shared->phase = PHASES;
	must(waitpid(watcher, NULL, 0) == watcher, "waitpid");
	say("sleeper=%d", sleeper);
	return 0;
}
