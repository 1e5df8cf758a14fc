/* SPDX-License-Identifier: MIT */
/*
 * workload: functions shared by the small programs with a known schedule.
 *
 * A workload takes single-letter options with numbers (knobs), waits at a gate if the
 * test wants to attach first, does its work, checks itself, and reports its
 * work as lines of key=value words. Status 0: the report is exact; 1: it could not work.
 *
 *   WORKLOAD_GATE    a FIFO: the work begins after a writer has opened and closed it
 *   WORKLOAD_REPORT  a file that the lines are appended to; else standard output
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MSEC 1000000L /* ns */

static int report_fd = STDOUT_FILENO;

__attribute__((format(printf, 1, 2), noreturn)) static inline void fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

/* Ends the program with a message about `what` and errno, unless `ok`. */
static inline void must(bool ok, const char *what)
{
	if (!ok)
		fail("%s: %s", what, strerror(errno));
}

/* Reports one line, in one write, so that lines of many processes do not mix. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n < 0 || n >= (int)sizeof(line) - 1)
		fail("line too long: %s", format);
	line[n++] = '\n';
	must(write(report_fd, line, (size_t)n) == n, "write of the report");
}

struct knob {
	char letter;
	long *value; /* holds the default */
	const char *help;
};

static inline __attribute__((noreturn)) void knobs_usage(const struct knob *knobs, int status)
{
	FILE *to = status ? stderr : stdout;

	fprintf(to, "usage: %s [-LETTER NUMBER]...\n", program_invocation_short_name);
	for (; knobs->letter; knobs++)
		fprintf(to, "  -%c  %s (%ld)\n", knobs->letter, knobs->help, *knobs->value);
	exit(status);
}

static inline void knob_set(const struct knob *knobs, char letter, const char *text)
{
	const struct knob *knob = knobs;
	char *end;

	while (knob->letter && knob->letter != letter)
		knob++;
	if (!knob->letter)
		knobs_usage(knobs, 2);
	errno = 0;
	*knob->value = strtol(text, &end, 0);
	if (errno || *end || end == text)
		fail("-%c: '%s' is not a number", letter, text);
}

/*
 * Reads the options of `knobs` (ended by letter 0), opens the report, and waits at
 * the gate. Call it once, first.
 */
static inline void workload_begin(int argc, char **argv, const struct knob *knobs)
{
	const char *gate = getenv("WORKLOAD_GATE");
	const char *report = getenv("WORKLOAD_REPORT");
	char byte;
	int i, fd;

	for (i = 1; i < argc; i += 2) {
		if (argv[i][0] == '-' && argv[i][1] == 'h')
			knobs_usage(knobs, 0);
		if (argv[i][0] != '-' || !argv[i][1] || argv[i][2] || i + 1 >= argc)
			knobs_usage(knobs, 2);
		knob_set(knobs, argv[i][1], argv[i + 1]);
	}
	if (report) {
		report_fd = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		must(report_fd >= 0, report);
	}
	if (gate) {
		fd = open(gate, O_RDONLY | O_CLOEXEC);
		must(fd >= 0, gate);
		while (read(fd, &byte, 1) > 0)
			;
		close(fd);
		unsetenv("WORKLOAD_GATE");
	}
	if (!getenv("WORKLOAD_MAIN")) { /* not of a process that this one executes */
		setenv("WORKLOAD_MAIN", "reported", 1);
		say("workload=%s main=%d", program_invocation_short_name, getpid());
	}
}

static inline int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Stays on the CPU, without a system call, until `ns` have passed. */
static inline void spin_for(int64_t ns)
{
	int64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static inline void sleep_for(int64_t ns)
{
	struct timespec ts = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

/* CPU time of the calling thread. */
static inline int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Uses the CPU for `ns` of CPU time, however long that takes. */
static inline void work_for(int64_t ns)
{
	int64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		;
}

/* The times of the calling thread by the scheduler's own count. */
struct schedstat {
	int64_t ran, waited; /* ns; waited: for a CPU */
};

static inline struct schedstat my_schedstat(void)
{
	static __thread int fd = -1;
	struct schedstat s;
	char text[80];
	ssize_t n;

	if (fd < 0)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	must(fd >= 0, "/proc/thread-self/schedstat");
	n = pread(fd, text, sizeof(text) - 1, 0);
	must(n > 0, "/proc/thread-self/schedstat");
	text[n] = '\0';
	must(sscanf(text, "%ld %ld", &s.ran, &s.waited) == 2, "/proc/thread-self/schedstat");
	return s;
}

/* How often the calling thread has left its CPU to wait, and against its will (or by a yield). */
struct switches {
	long voluntary, involuntary;
};

static inline struct switches my_switches(void)
{
	struct rusage usage;

	must(!getrusage(RUSAGE_THREAD, &usage), "getrusage");
	return (struct switches){usage.ru_nvcsw, usage.ru_nivcsw};
}

/* The n-th CPU that this thread may use, counting round. */
static inline int allowed_cpu(int n)
{
	cpu_set_t set;
	int cpu;

	must(!sched_getaffinity(0, sizeof(set), &set), "sched_getaffinity");
	n %= CPU_COUNT(&set);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set) && n-- == 0)
			return cpu;
	}
	fail("no CPU allowed");
}

/* Keeps the calling thread on `cpu`; with -1 it stays free. */
static inline void pin(long cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("cannot run on CPU %ld: %s", cpu, strerror(errno));
}

__attribute__((format(printf, 1, 2))) static inline void name_thread(const char *format, ...)
{
	char name[64]; /* the kernel takes the first 15 */
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	must(!prctl(PR_SET_NAME, name), "prctl(PR_SET_NAME)");
}

static inline pthread_t start_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, run, arg);
	must(!errno, "pthread_create");
	return thread;
}

static inline void join_thread(pthread_t thread)
{
	errno = pthread_join(thread, NULL);
	must(!errno, "pthread_join");
}

/* Has `n` threads run, each given its number, and waits for all of them. */
static inline void run_threads(long n, void *(*run)(void *))
{
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	long i;

	must(threads != NULL, "calloc");
	for (i = 0; i < n; i++)
		threads[i] = start_thread(run, (void *)(intptr_t)i);
	for (i = 0; i < n; i++)
		join_thread(threads[i]);
	free(threads);
}

/* Reaps `pid` and checks that it exited with `status`. */
static inline void reap(pid_t pid, int status)
{
	int got;

	must(waitpid(pid, &got, 0) == pid, "waitpid");
	if (!WIFEXITED(got) || WEXITSTATUS(got) != status)
		fail("child %d ended with 0x%x instead of status %d", pid, (unsigned)got, status);
}

#endif
