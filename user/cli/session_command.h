/* SPDX-License-Identifier: MIT */
/*
 * session_command: `ovni-bpf session start|run|status|save|stop|list`.
 *
 * In: the command line; out: a session in the background (start) or in the foreground for a service
 * manager (run); or a request to a running session, and its answer on standard output, as text or
 * JSON (--json).
 */
#ifndef USER_CLI_SESSION_COMMAND_H
#define USER_CLI_SESSION_COMMAND_H

#include "user/cli/options.h"

/* `argv` begins with the program and "session". Returns the exit status of the program. */
int session_command(int argc, char **argv);

#endif
