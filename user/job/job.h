/* SPDX-License-Identifier: MIT */
/*
 * job: `ovni-bpf --job -- COMMAND`, the program that a launcher starts for each rank.
 *
 * In: the options, and the environment of a rank; out: the exit status or the signal of COMMAND,
 * whatever happens to the recording. One process of a node is elected: it starts the recorder as
 * its child, and stays as the task of the launcher. All others execute COMMAND in place, after the
 * recorder has begun. Members are declared: the registered processes, and their descendants.
 *
 *   first to bind the socket ──► elected: COMMAND as a child, stopped; the recorder as a child
 *   all others ──► register ──► "recorded" ──► become COMMAND
 *
 * Invariant: no process waits for the recorder for longer than --job-timeout, and none that has
 * another user id is heard.
 * Specification: job.md 4.1.
 */
#ifndef USER_JOB_JOB_H
#define USER_JOB_JOB_H

#include "user/config/config.h"

/* Returns the exit status of this process; does not return where it becomes COMMAND, or ends by its
 * signal. */
int job_run(const struct options *options);

#endif
