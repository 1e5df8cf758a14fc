/* SPDX-License-Identifier: MIT */
/*
 * log: the messages of our programs on standard error, one sentence a line:
 *
 *   ovni-emu: error: loom.n1/proc.5/thread.7: stream ends inside an event at byte 1204
 *
 * The function that discovers a problem reports it; its callers only pass on the code.
 * Messages are for people: the problem, its place, and the remedy.
 * Bytes that are not printable (they come from traces) are shown as \xNN.
 */
#ifndef TRACE_BASE_LOG_H
#define TRACE_BASE_LOG_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

enum log_level { LOG_NOTHING = -1, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Sets the name that starts each line, and the least important level that is
 * still shown (LOG_INFO at the start). `program` must outlive its use. Call it before files
 * are opened: from then on none of them gets the number of a closed standard file. */
void log_setup(const char *program, enum log_level level);
enum log_level log_level(void);

void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line of a report, at any level: the user has requested it. */
void log_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Reports "out of memory (while reading X)"; `fmt` is the part in parentheses. Returns -ENOMEM for
 * the caller to pass on. A program reports it once: later failures are its consequence. */
#define log_no_memory(...) (log_lack(__VA_ARGS__), log_enomem())
void log_lack(const char *fmt, ...) __attribute__((format(printf, 1, 2), cold));
/* Inline, so that compilers and analyzers see that it is an error. */
static inline int log_enomem(void)
{
	return -ENOMEM;
}
/* The first error that was reported since the start, as it was shown; "" if there was none. */
const char *log_first_error(void);
/* Whether that was reported: an answer may then be incomplete. */
bool log_lacks_memory(void);

/*
 * Shows `line` on the terminal, with the name of the program before it, until the next one or a
 * message takes its place; NULL removes it. Text beyond the width of the terminal is cut.
 * Standard error must be a terminal.
 */
void log_status(const char *line);

/* Gives every message to `hear` instead of standard error, without the name of the program and the
 * level, escaped as it would be shown; NULL: back to standard error. `hear` is called under a lock:
 * it must not log. */
void log_divert(void (*hear)(void *to, enum log_level level, const char *text), void *to);

#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

/* Leaves out the messages of the calling thread, where another thread reports the same. */
void log_mute(bool muted);

/* Flushes standard output, for a program that prints its results there. Returns 0, or -errno after
 * one message if output is lost. */
int flush_stdout(void) __attribute__((warn_unused_result));

#endif
