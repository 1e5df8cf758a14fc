/* SPDX-License-Identifier: MIT */
/*
 * terminal: the terminal on standard output: its size, colours, and a pager.
 *
 * In: the environment (TERM, NO_COLOR, COLUMNS, OVNI_PAGER, PAGER) and the user's choice; out: how
 * to print. Off a terminal there are no colours (unless asked for), no pager and no limit of rows.
 * Invariant: a program with more rights than the owner of its environment runs no pager; no shell
 * is ever run.
 */
#ifndef TOOLS_LIB_TERMINAL_H
#define TOOLS_LIB_TERMINAL_H

#include <stdbool.h>

#define TERMINAL_COLUMNS 100 /* of a page that is no terminal */

enum terminal_colour { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
extern const char *const terminal_colours[]; /* choices of an option */

struct terminal {
	bool on;	   /* standard output is a terminal */
	bool colour;	   /* escape sequences may be printed */
	int columns, rows; /* rows: 0 off a terminal */
	int pager;	   /* its process, 0: none */
};

void terminal_init(struct terminal *terminal, enum terminal_colour colour);

/*
 * Puts a pager between standard output and the terminal: $OVNI_PAGER, else $PAGER, else less; words
 * separated by blanks; "cat" or nothing: none. Does nothing off a terminal. From then on SIGINT is
 * the pager's. A pager that cannot be run is replaced by none, after one message.
 */
void terminal_page(struct terminal *terminal);

/* Ends the output and waits for the pager. */
void terminal_close(struct terminal *terminal);

#endif
