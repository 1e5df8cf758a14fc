/* SPDX-License-Identifier: MIT */
/*
 * usage: what all the tools' command lines have in common.
 *
 * --help and -h print the usage on standard output and end with 0, --version likewise; a
 * mistake ends with 2 after one message. Options may stand before and after the directory.
 */
#ifndef TOOLS_LIB_USAGE_H
#define TOOLS_LIB_USAGE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/base/status.h"

/* Names the program in messages ("ovni-dump") and parses; does not return after a mistake. */
void usage_parse(const struct argp *argp, const char *program, int argc, char **argv, void *input);

/* The part of a parser that takes the one trace of a program: ARGP_KEY_ARG and ARGP_KEY_END; a
 * second or a missing one is a mistake. Other keys are ARGP_ERR_UNKNOWN. */
error_t usage_trace(int key, char *arg, struct argp_state *state, const char **path);

/* What is made of `path` if the user names nothing else: the same path, without slashes at its end,
 * and `suffix`. The caller frees; NULL, after a message, without memory. */
char *usage_beside(const char *path, const char *suffix);

/* Reads an integer in [least, most]; a mistake in it ends the program as usage_parse() does.
 * `what` names the option in the message. */
int64_t usage_int(struct argp_state *state, const char *what, const char *text, int64_t least,
		  int64_t most);

/* A number of bytes with an optional K, M, G (powers of 1024). */
uint64_t usage_bytes(struct argp_state *state, const char *what, const char *text);

/* A point in time as the user gives it: ns as the dump prints them, or with `+` what has
 * passed since the first event; s, ms, us and ns may follow a number. */
struct moment {
	bool given, relative;
	int64_t ns;
};
struct moment usage_moment(struct argp_state *state, const char *what, const char *text);

/* The clock that it means in a trace whose first event has the clock `start`; clamped. */
int64_t moment_clock(const struct moment *moment, int64_t start);

#endif
