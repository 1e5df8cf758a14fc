/* SPDX-License-Identifier: MIT */
/*
 * options: the command line of ovni-bpf.
 *
 * In: argv; out: struct options, in which nothing contradicts anything else. Pure: the
 * machine is not looked at (that a process or a CPU exists is found out later).
 */
#ifndef USER_CLI_OPTIONS_H
#define USER_CLI_OPTIONS_H

#include <stdbool.h>

#include "trace/base/status.h"
#include "user/config/config.h"

/*
 * Reads the command line. Returns true with `options` filled in; or false, with the exit
 * status in *status, when the program is to end: after one message, or after --help or --version.
 * The strings of argv must outlive the options.
 */
bool options_parse(struct options *options, int argc, char **argv, enum status *status);
void options_free(struct options *options);

/* `argv` begins with the program and "session". Returns the exit status of the program. */
int session_command(int argc, char **argv);

#endif
