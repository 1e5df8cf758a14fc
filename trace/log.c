/* SPDX-License-Identifier: MIT */
#include "trace/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/text.h"

static const char *log_program = "ovni";
static atomic_int log_limit = LOG_INFO;

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

/*
 * Of the first three descriptors, those that are closed lead nowhere from now on. Else the next
 * file that is opened has such a number, and what is said ends up in it.
 */
static void fill_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void log_setup(const char *program, enum log_level level)
{
	fill_descriptors();
	log_program = program;
	atomic_store(&log_limit, (int)level);
}

enum log_level log_level(void)
{
	return (enum log_level)atomic_load(&log_limit);
}

/* One write() for a line: those of several threads and programs do not mix. */
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

void log_at(enum log_level level, const char *fmt, ...)
{
	char text[1024], line[2048], *said = text, *shown = line;
	int saved = errno, len, start;
	size_t need, size = sizeof(line);
	va_list args;

	if ((int)level > atomic_load(&log_limit))
		return;
	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0)
		goto out;
	if ((size_t)len >= sizeof(text)) {
		said = malloc((size_t)len + 1);
		if (said) {
			errno = saved; /* for %m */
			va_start(args, fmt);
			vsnprintf(said, (size_t)len + 1, fmt, args);
			va_end(args);
		} else {
			said = text; /* without memory a cut message is better than none */
			len = sizeof(text) - 1;
		}
	}
	start = snprintf(line, sizeof(line), "%.64s: %s: ", log_program, level_names[level]);
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
	need = strlen(shown);
	shown[need++] = '\n';
	put_line(shown, need);
	if (shown != line)
		free(shown);
	if (said != text)
		free(said);
out:
	errno = saved;
}
