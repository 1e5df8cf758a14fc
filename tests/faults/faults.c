/* SPDX-License-Identifier: MIT */
/*
 * faults: makes the N-th call of its kind fail, or the last one of the process; preloaded.
 *
 * In, from the environment:
 *   FAULT_PROGRAM   the name of the process it acts in (others are left alone)
 *   FAULT_KIND      files: write, openat, mkdirat, renameat, unlinkat, ftruncate, and of streams of
 *                   the C library fflush (the buffer is lost) and fclose; where the call only
 *                   fails, close, too: a network share reports late errors there
 *                   writes: write alone
 *                   memory: malloc, calloc, realloc, reallocarray, aligned_alloc, strdup and
 *                           their callers
 *   FAULT_LEAST     memory: only allocations of at least so many bytes count
 *   FAULT_AT        the number of the call, from 1; 0: none, only count
 *   FAULT_ERROR     errno that it fails with; "kill": SIGKILL instead of the call; "short": a
 *                   write of half of the bytes, and SIGKILL; "stop": SIGSTOP before the call
 *   FAULT_FOREVER   with any value: all later ones fail as well
 *   FAULT_ON        a path: only files on the same file system count
 *   FAULT_COUNT     a file that gets the number of calls at the end
 *   FAULT_WHERE     a file that gets the places in the program (for addr2line) from which the call
 *                   that fails was made, the innermost first
 *   FAULT_STORM     us between signals to each thread of the process, with a handler that
 *                   does not restart system calls
 * Only calls that name a file below a directory descriptor, or write to a regular file, are
 * counted as files: messages on standard error are not.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind { NONE, FILES, WRITES, MEMORY };
enum action { FAIL, KILL, SHORT, STOP };

static enum kind kind;
static enum action action;
static int error;
static long at;
static size_t least; /* FAULT_LEAST */
static bool forever, chosen;
static dev_t chosen_device; /* FAULT_ON */
static const char *count_path, *where_path;
static atomic_long calls;
static long storm_us;

static long number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : 0;
}

/* Stops this process until somebody continues it; the call is then made. */
static bool stop_us(void)
{
	if (action != STOP)
		return false;
	syscall(SYS_kill, (pid_t)syscall(SYS_getpid), SIGSTOP);
	return true;
}

static void kill_us(void)
{
	syscall(SYS_kill, (pid_t)syscall(SYS_getpid), SIGKILL);
	for (;;)
		pause();
}

/* Is it this call's turn? */
static bool turn(enum kind of)
{
	long n;

	if (kind != of)
		return false;
	n = atomic_fetch_add(&calls, 1) + 1;
	return at && (n == at || (forever && n > at));
}

static void tell_where(void)
{
	void *frames[24];
	int n, fd = (int)syscall(SYS_openat, AT_FDCWD, where_path, O_WRONLY | O_CREAT | O_TRUNC,
				 0644);
	Dl_info ours, info;
	char text[32];
	enum kind before = kind;

	kind = NONE;
	n = backtrace(frames, 24);
	for (int i = 0; fd >= 0 && i < n; i++) {
		int len;

		if (!dladdr(frames[i], &info) || !dladdr((void *)tell_where, &ours) ||
		    !strcmp(info.dli_fname, ours.dli_fname) || strstr(info.dli_fname, ".so"))
			continue;
		len = snprintf(text, sizeof(text), "0x%lx\n",
			       (unsigned long)((char *)frames[i] - (char *)info.dli_fbase - 1));
		(void)!syscall(SYS_write, fd, text, len);
	}
	if (fd >= 0)
		close(fd);
	kind = before;
}

/* True if the file is on the file system of FAULT_ON. */
static bool there(const struct stat *st)
{
	return !chosen || st->st_dev == chosen_device;
}

static bool below(int dir)
{
	struct stat st;

	return !chosen || (!fstat(dir, &st) && there(&st));
}

static bool fails(enum kind of)
{
	if (!turn(of) || stop_us())
		return false;
	if (where_path)
		tell_where();
	if (action != FAIL)
		kill_us();
	errno = error;
	return true;
}

/* ---- storm ---- */

static void hear(int signal)
{
	(void)signal;
}

static void *storm(void *arg)
{
	const struct timespec pause = {.tv_sec = storm_us / 1000000,
				       .tv_nsec = storm_us % 1000000 * 1000};
	pid_t self = (pid_t)syscall(SYS_gettid), process = getpid();

	(void)arg;
	for (;;) {
		DIR *dir = opendir("/proc/self/task");
		struct dirent *entry;

		while (dir && (entry = readdir(dir))) {
			pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

			if (tid > 0 && tid != self)
				syscall(SYS_tgkill, process, tid, SIGUSR2);
		}
		if (dir)
			closedir(dir);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Threads that block all signals do not block this one. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	static int (*real)(int, const sigset_t *, sigset_t *);
	sigset_t ours;

	if (!real)
		real = (int (*)(int, const sigset_t *, sigset_t *))dlsym(RTLD_NEXT,
									 "pthread_sigmask");
	if (storm_us && set) {
		ours = *set;
		sigdelset(&ours, SIGUSR2);
		set = &ours;
	}
	return real(how, set, old);
}

static void start_storm(void)
{
	struct sigaction on_signal = {.sa_handler = hear};
	pthread_t thread;

	sigaction(SIGUSR2, &on_signal, NULL);
	if (!pthread_create(&thread, NULL, storm, NULL))
		pthread_detach(thread);
}

/* ---- begin and end ---- */

static void __attribute__((constructor)) begin(void)
{
	const char *program = getenv("FAULT_PROGRAM"), *what = getenv("FAULT_KIND");
	const char *how = getenv("FAULT_ERROR"), *on = getenv("FAULT_ON");
	struct stat st;

	if (!program || strcmp(program, program_invocation_short_name))
		return;
	at = number("FAULT_AT");
	least = (size_t)number("FAULT_LEAST");
	forever = getenv("FAULT_FOREVER") != NULL;
	chosen = on && !stat(on, &st);
	chosen_device = chosen ? st.st_dev : 0;
	count_path = getenv("FAULT_COUNT");
	where_path = getenv("FAULT_WHERE");
	action = !how			 ? FAIL
		 : !strcmp(how, "kill")	 ? KILL
		 : !strcmp(how, "short") ? SHORT
		 : !strcmp(how, "stop")	 ? STOP
					 : FAIL;
	error = (int)number("FAULT_ERROR");
	storm_us = number("FAULT_STORM");
	kind = !what			 ? NONE
	       : !strcmp(what, "files")	 ? FILES
	       : !strcmp(what, "writes") ? WRITES
	       : !strcmp(what, "memory") ? MEMORY
					 : NONE;
	if (storm_us)
		start_storm();
}

static void __attribute__((destructor)) end(void)
{
	char text[32];
	int fd, len;

	if (!count_path)
		return;
	kind = NONE;
	fd = (int)syscall(SYS_openat, AT_FDCWD, count_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	len = snprintf(text, sizeof(text), "%ld\n", atomic_load(&calls));
	if (fd >= 0) {
		if (syscall(SYS_write, fd, text, len) != len)
			_exit(99);
		close(fd);
	}
}

/* ---- files ---- */

static bool regular(int fd)
{
	struct stat st;

	return fd > 2 && !fstat(fd, &st) && S_ISREG(st.st_mode) && there(&st);
}

static ssize_t result(long value)
{
	if (value >= 0)
		return value;
	return -1; /* syscall() has set errno */
}

ssize_t write(int fd, const void *data, size_t size)
{
	if ((kind == FILES || kind == WRITES) && regular(fd) && turn(kind) && !stop_us()) {
		if (where_path)
			tell_where();
		if (action == SHORT)
			(void)!syscall(SYS_write, fd, data, size / 2);
		if (action != FAIL)
			kill_us();
		errno = error;
		return -1;
	}
	return result(syscall(SYS_write, fd, data, size));
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(args, mode_t);
	va_end(args);
	if (dir != AT_FDCWD && (flags & O_ACCMODE) != O_RDONLY && below(dir) && fails(FILES))
		return -1;
	return (int)result(syscall(SYS_openat, dir, path, flags, mode));
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	return below(dir) && fails(FILES) ? -1 : (int)result(syscall(SYS_mkdirat, dir, path, mode));
}

int renameat(int from, const char *old, int to, const char *new)
{
	return renameat2(from, old, to, new, 0);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
	return below(from) && fails(FILES)
		       ? -1
		       : (int)result(syscall(SYS_renameat2, from, old, to, new, flags));
}

int unlinkat(int dir, const char *path, int flags)
{
	return below(dir) && fails(FILES) ? -1
					  : (int)result(syscall(SYS_unlinkat, dir, path, flags));
}

int ftruncate(int fd, off_t size)
{
	return below(fd) && fails(FILES) ? -1 : (int)result(syscall(SYS_ftruncate, fd, size));
}

static bool written(int fd)
{
	return (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY && regular(fd);
}

int close(int fd)
{
	bool refused = kind == FILES && action == FAIL && written(fd) && fails(FILES);
	int closed = (int)result(syscall(SYS_close, fd));

	errno = refused ? error : errno;
	return refused ? -1 : closed;
}

int fflush(FILE *file)
{
	static int (*real)(FILE *);

	if (file && kind == FILES && written(fileno(file)) && fails(FILES)) {
		__fpurge(file);
		return EOF;
	}
	if (!real)
		real = (int (*)(FILE *))dlsym(RTLD_NEXT, "fflush");
	return real(file);
}

int fclose(FILE *file)
{
	static int (*real)(FILE *);
	bool refused = kind == FILES && written(fileno(file)) && fails(FILES);
	int closed;

	if (!real)
		real = (int (*)(FILE *))dlsym(RTLD_NEXT, "fclose");
	closed = real(file);
	errno = refused ? error : errno;
	return refused ? EOF : closed;
}

/* ---- memory ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static bool lacks(size_t size)
{
	return size >= least && fails(MEMORY);
}

void *malloc(size_t size)
{
	return lacks(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX;
	return lacks(bytes) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return lacks(size) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return lacks(size) ? NULL : __libc_memalign(align, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}
