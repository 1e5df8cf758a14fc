/* SPDX-License-Identifier: MIT */
/*
 * neighbour: the programs beside this one, run on a trace when it is complete.
 *
 * In: the name of a program in the folder of ovni-bpf, and its arguments; out: its wait status. It
 * runs without a shell, as the user that this process is by now (the caller, with no more
 * capabilities), and its standard output is our standard error. A signal that would end a
 * recording ends the program and not us; so does its time limit. If we are killed, so is it.
 */
#ifndef USER_SESSION_NEIGHBOUR_H
#define USER_SESSION_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct signals;

#define NEIGHBOUR_ARGS_MAX 6

struct neighbour {
	const char *name; /* "ovni-emu" */
	/* argv[1] and the following, ended by NULL */
	const char *args[NEIGHBOUR_ARGS_MAX + 1];
	uint64_t limit_ms; /* 0: none */
};

/* True if the program can be executed; else errno says why not. No message. */
bool neighbour_exists(const char *name);

/*
 * Runs it and waits for its end, with the signals held (signals_hold()). Returns its exit status;
 * -EINTR if a signal came that ends recordings, to us or to it, -ETIMEDOUT after the limit, -ECHILD
 * if another signal killed it; or another -errno, after one message, if it could not be executed.
 */
int neighbour_run(const struct neighbour *neighbour, const struct signals *signals)
	__attribute__((warn_unused_result));

/*
 * Waits for the end of a process that was started before, up to `limit_ms` (0: no limit), and
 * forwards signals of other processes to it (signals of the terminal reach it anyway). Returns 0
 * when it has ended, -EINTR a moment after a signal, or -ETIMEDOUT.
 */
int neighbour_wait(struct command *command, const struct signals *signals, uint64_t limit_ms)
	__attribute__((warn_unused_result));

#endif
