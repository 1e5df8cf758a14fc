/* SPDX-License-Identifier: MIT */
/*
 * command: the program that is run to be recorded; and processes that run already.
 *
 * It is started stopped, so that it can be tagged before its first instruction: a child that
 * waits for a byte, and executes the program when it comes. If the recorder dies before, so
 * does the child. Its exit status is its own and never becomes ours.
 */
#ifndef USER_HOST_COMMAND_H
#define USER_HOST_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct identity;
struct signals;

struct command {
	char **argv;
	pid_t pid;	/* 0: not started */
	int go_fd;	/* a byte starts the program */
	int trouble_fd; /* errno, if it could not be executed */
	bool ended;
	int status; /* in the form of wait(), if the command has ended; else -1 */
};

/* Finds out whether `name` can be executed, looked for as execvp() with the PATH `paths` (NULL: the
 * usual one). 0, or -errno after one message. */
int command_find(const char *name, const char *paths) __attribute__((warn_unused_result));

enum command_flags {
	/* standard input and output of a program that we run for ourselves are nothing and our
	 * standard error (standard output belongs to the recorded command); else they are ours */
	COMMAND_MESSAGES = 1,
	/* it is killed when the calling thread ends in any way, and never gains privileges; else it
	 * goes on */
	COMMAND_DIES_WITH_US = 2,
};

/* Starts the child, as `runner`, and with the signals that were taken from our caller; `flags` are
 * of enum command_flags. `argv` must outlive it. 0, or -errno after one message. */
int command_start(struct command *command, char **argv, const struct identity *runner,
		  const struct signals *signals, unsigned flags)
	__attribute__((warn_unused_result));

/* Starts the program, and waits until it has been executed. 0, or -errno after one message. */
int command_release(struct command *command) __attribute__((warn_unused_result));

/* Has it ended? Then `status` is set. Waits for `wait_ms` at most. */
bool command_ended(struct command *command, int wait_ms);

/* Passes a signal on, if it runs. */
void command_signal(const struct command *command, int signal);

/* Closes all; a child that was not released ends. Also of a zeroed struct. */
void command_close(struct command *command);

/* The letter of the state of a process in /proc/PID/stat ('T': stopped); NUL if it cannot be read.
 */
char process_state(uint32_t pid);

/*
 * The processes or threads that the user named, and whether they still live. A named one is held by
 * a descriptor, so that its number cannot come to mean another one without notice. (Threads have no
 * such descriptor on older kernels; they are looked up in /proc.)
 */
struct target {
	const uint32_t *pids; /* the caller's, npids of them */
	size_t npids;
	bool threads;
	int *fds; /* by place in pids; -1: none */
};

/* Finds them all. 0, or -errno after one message (the first that does not exist). `pids` must
 * outlive the target. */
int target_find(struct target *target, const uint32_t *pids, size_t npids, bool threads)
	__attribute__((warn_unused_result));

/* Does any of them live? */
bool target_lives(const struct target *target);

void target_close(struct target *target); /* also of a zeroed struct */

#endif
