/* SPDX-License-Identifier: MIT */
/*
 * signals: the signals that end a recording, and their state for a command.
 *
 * In: signals sent to the recorder; out: a descriptor to read them from. SIGINT and SIGTERM end a
 * recording even if they were ignored when the recorder started: a shell ignores SIGINT for a
 * command in the background, and scripts must be able to end it. SIGHUP stays ignored if it was
 * (nohup).
 * Invariant: after signals_restore() a new process handles signals as the recorder did when it was
 * started.
 */
#ifndef USER_HOST_SIGNALS_H
#define USER_HOST_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define SIGNALS_CHANGED 5

struct signals {
	int fd; /* a signalfd; -1: none */
	sigset_t mask;
	struct sigaction actions[SIGNALS_CHANGED];
};

/* From here on the signals that end a recording, and `also` (0: none), come through `fd` alone;
 * SIGPIPE and SIGXFSZ are errors of the write. 0 or -errno, after which there is nothing to close.
 */
int signals_redirect(struct signals *signals, int also) __attribute__((warn_unused_result));

/* Is this the second copy of the first signal? timeout(1) sends a signal to the process that it
 * runs and then to its group. `code` and `from` are si_code and si_pid of siginfo_t. */
bool signals_repeated(int number, int code, pid_t from);

/* From here on the signals that end a recording end us at once, except such a second copy. */
void signals_let_through(const struct signals *signals);

/* They come through `fd` again. */
void signals_hold(const struct signals *signals);

/* In a new process, before it executes a program. */
void signals_restore(const struct signals *signals);

void signals_close(struct signals *signals);

#endif
