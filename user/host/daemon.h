/* SPDX-License-Identifier: MIT */
/*
 * daemon: detaches from the terminal, and notifies the service manager that the session has begun.
 */
#ifndef USER_HOST_DAEMON_H
#define USER_HOST_DAEMON_H

#include <stdbool.h>

/*
 * Continues in a new process and session, without a terminal, with `log` as standard output and
 * error. In the new process it returns 0, and a write to *ready_fd reports that the recording has
 * begun. In the caller it waits for that or for the end of the new process, sets *ready if the
 * recording has begun, and returns 1. -errno after one message. No other thread may run yet.
 */
int daemon_begin(int log, int *ready_fd, bool *ready);

/* Notifies the service manager, if one started this process (sd_notify(3)). */
void daemon_notify(const char *state);

#endif
