/* SPDX-License-Identifier: MIT */
/*
 * session_command: `ovni-bpf session start|run|status|save|stop|list`.
 *
 * In: the command line; out: a session that outlives the terminal (start), one in the foreground
 * for a service manager (run), or a question to one that runs, and its answer on standard
 * output, for people or (--json) for scripts.
 */
#ifndef USER_CLI_SESSION_COMMAND_H
#define USER_CLI_SESSION_COMMAND_H

#include "user/cli/options.h"

/* `argv` begins with the program, then "session". The exit status of the program. */
int client_run(int argc, char **argv);

#endif
