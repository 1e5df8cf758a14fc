/* SPDX-License-Identifier: MIT */
#include "trace/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "trace/base/text.h"

static const char *log_program = "ovni";
static atomic_int log_limit = LOG_INFO;
static atomic_bool lacks_memory;
static _Thread_local bool muted;
static atomic_bool status_shown; /* a line of log_status() is on the terminal */

static pthread_mutex_t divert_lock = PTHREAD_MUTEX_INITIALIZER; /* of the next two */
static void (*divert_hear)(void *to, enum log_level level, const char *text);
static void *divert_to;
static atomic_bool diverted; /* else the lock is not taken: a child after fork() may log */

static const char *const level_kinds[] = {
	[LOG_ERROR] = "error: ",
	[LOG_WARN] = "warning: ",
	[LOG_INFO] = "info: ",
	[LOG_DEBUG] = "debug: ",
};

/*
 * The number of a standard file that the caller has closed would go to the next file that is
 * opened, and messages would be written into that file. A useless descriptor takes the number:
 * writing to standard output and error fails, and so does reading standard input.
 */
static void take_closed_numbers(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd)
			return; /* as good as closed */
}

void log_setup(const char *program, enum log_level level)
{
	take_closed_numbers();
	log_program = program;
	atomic_store(&log_limit, (int)level);
}

enum log_level log_level(void)
{
	return (enum log_level)atomic_load(&log_limit);
}

/* One write() for a line: lines of several threads and programs do not mix. */
static void put_line(const char *line, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* nowhere to complain */
		line += n;
		len -= (size_t)n;
	}
}

#define ERASE	"\r\033[K" /* of a terminal: the line that the cursor is in */
#define COLUMNS 80	   /* of a terminal with unknown width */

static void remove_status(void)
{
	if (atomic_exchange(&status_shown, false))
		put_line(ERASE, strlen(ERASE));
}

/* Of the terminal. */
static int columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? COLUMNS : size.ws_col;
}

void log_status(const char *line)
{
	char text[512], shown[sizeof(text) + sizeof(ERASE)];
	int len;

	if (!line) {
		remove_status();
		return;
	}
	snprintf(text, sizeof(text), "%.64s: %s", log_program, line);
	/* a line that continues in the next row could not be erased */
	len = snprintf(shown, sizeof(shown), ERASE "%.*s", columns() - 1, text);
	atomic_store(&status_shown, true);
	put_line(shown, (size_t)len);
}

void log_mute(bool mute)
{
	muted = mute;
}

void log_divert(void (*hear)(void *to, enum log_level level, const char *text), void *to)
{
	pthread_mutex_lock(&divert_lock);
	divert_hear = hear;
	divert_to = to;
	atomic_store(&diverted, hear != NULL);
	pthread_mutex_unlock(&divert_lock);
}

/* Gives the text to the listener; false if there is none. */
static bool divert(enum log_level level, const char *text)
{
	bool heard;

	if (!atomic_load(&diverted))
		return false;
	pthread_mutex_lock(&divert_lock);
	heard = divert_hear;
	if (heard)
		divert_hear(divert_to, level, text);
	pthread_mutex_unlock(&divert_lock);
	return heard;
}

static atomic_bool has_error;
static char first_error[512];

const char *log_first_error(void)
{
	return first_error;
}

/* Writes one line: the program, `kind`, and the message. */
static void say(enum log_level level, const char *kind, const char *fmt, va_list args)
{
	char text[1024], line[2048], *said = text, *shown = line;
	int saved = errno, len, start;
	size_t need, size = sizeof(line);
	va_list again;

	if (muted)
		return;
	va_copy(again, args);
	len = vsnprintf(text, sizeof(text), fmt, args);
	if (len < 0)
		goto out;
	if ((size_t)len >= sizeof(text)) {
		said = malloc((size_t)len + 1);
		if (said) {
			errno = saved; /* for %m */
			vsnprintf(said, (size_t)len + 1, fmt, again);
		} else {
			said = text; /* without memory a cut message is better than none */
			len = sizeof(text) - 1;
		}
	}
	start = snprintf(line, sizeof(line), "%.64s: %s", log_program, kind);
	need = (size_t)start + text_escape(NULL, 0, said, (size_t)len) + 2;
	if (need > size) {
		shown = malloc(need);
		if (shown) {
			size = need;
			memcpy(shown, line, (size_t)start);
		} else {
			shown = line;
		}
	}
	/* the room left out for the newline is there: text_escape() ends with a NUL */
	text_escape(shown + start, size - (size_t)start - 1, said, (size_t)len);
	if (level == LOG_ERROR && !atomic_exchange(&has_error, true))
		snprintf(first_error, sizeof(first_error), "%s", shown + start);
	if (!divert(level, shown + start)) {
		need = strlen(shown);
		shown[need++] = '\n';
		remove_status();
		put_line(shown, need);
	}
	if (shown != line)
		free(shown);
	if (said != text)
		free(said);
out:
	va_end(again);
	errno = saved;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	va_list args;

	if ((int)level > atomic_load(&log_limit))
		return;
	va_start(args, fmt);
	say(level, level_kinds[level], fmt, args);
	va_end(args);
}

void log_report(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(LOG_INFO, "", fmt, args);
	va_end(args);
}

void log_lack(const char *fmt, ...)
{
	char what[256];
	va_list args;

	/* of a thread that is muted, another one reports it */
	if (muted || atomic_exchange(&lacks_memory, true))
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	log_error("out of memory (%s)", what);
}

bool log_lacks_memory(void)
{
	return atomic_load(&lacks_memory);
}

int flush_stdout(void)
{
	int err;

	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	err = errno ? errno : EIO;
	log_error("cannot write standard output: %s", strerror(err));
	return -err;
}
