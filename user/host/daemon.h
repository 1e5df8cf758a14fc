/* SPDX-License-Identifier: MIT */
/*
 * daemon: goes on when the terminal is gone; and tells a service manager that it has begun.
 */
#ifndef USER_HOST_DAEMON_H
#define USER_HOST_DAEMON_H

#include <stdbool.h>

/*
 * Goes on in a new session, without a terminal, with `log` as standard output and error. In the
 * process that called: waits until the other one says that it records, *ready tells if it did, and
 * 1 is returned. In the one that goes on: *ready_fd is to be told, and 0 is returned. -errno after
 * one message. No thread may run yet.
 */
int daemon_begin(int log, int *ready_fd, bool *ready);

/* Tells the service manager that started us, if one did (sd_notify(3)). */
void daemon_notify(const char *state);

#endif
