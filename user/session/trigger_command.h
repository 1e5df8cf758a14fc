/* SPDX-License-Identifier: MIT */
/*
 * trigger_command: runs the program of --on-trigger on each trace that a trigger saved.
 *
 * In: paths of complete traces; out: one run after the other, without a shell, with the path as the
 * only argument, as the calling user with the environment of this user; standard input is empty,
 * and standard output is our standard error. A failure is reported and changes nothing else.
 * Invariant: the recording never waits for the program; the end of the session does, until a
 * signal.
 */
#ifndef USER_SESSION_TRIGGER_COMMAND_H
#define USER_SESSION_TRIGGER_COMMAND_H

#include <limits.h>
#include <stdbool.h>

#include "user/host/command.h"

#define TRIGGER_COMMANDS_MAX                                                                       \
	16 /* that wait for the one that runs; more are left out, with a message */

struct identity;
struct signals;

struct trigger_command {
	const char *program; /* set by the caller; NULL: none, all functions do nothing */
	const struct identity *user;
	const struct signals *signals;

	struct command command; /* that runs */
	bool runs;
	char path[PATH_MAX]; /* its argument */
	char *argv[3];
	char *waiting[TRIGGER_COMMANDS_MAX]; /* nwaiting paths, the oldest first */
	unsigned nwaiting;
};

/* The trace `path` is complete: runs the program on it when its turn comes. */
void trigger_command_add(struct trigger_command *trigger, const char *path);

/* Looks whether the program has ended, and starts it on the next trace. Never waits. */
void trigger_command_poll(struct trigger_command *trigger);

/* Waits until it has run on all traces; the signals are held (signals_hold()), and one of them ends
 * the waiting. */
void trigger_command_finish(struct trigger_command *trigger);

void trigger_command_close(struct trigger_command *trigger); /* also of a zeroed struct */

#endif
