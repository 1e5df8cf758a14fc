/* SPDX-License-Identifier: MIT */
/*
 * pallas_command: declares the commands of ovni-pallas, one file each (print.c, info.c, ...).
 *
 * In: the options of the command line; out: the exit status of the program: 0 complete, 1 failed,
 * 3 complete but events were lost.
 */
#ifndef TOOLS_PALLAS_PALLAS_COMMAND_H
#define TOOLS_PALLAS_PALLAS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pallas_options {
	const char *from, *to; /* the first and second operand */
	uint64_t memory;       /* limit in bytes */
	bool threads;	       /* one thread after the other */
	bool tsv;	       /* tab-separated, in ns */
	bool attributes, grammar, loops, definitions, sequences;
	int level; /* of zstd; -1: no compression */
	bool masking, blocks, calls;
};

int pallas_print(const struct pallas_options *o);
int pallas_info(const struct pallas_options *o);
int pallas_stats(const struct pallas_options *o);
int pallas_export(const struct pallas_options *o);
int pallas_import(const struct pallas_options *o);
int pallas_validate(const struct pallas_options *o);

/* Writes ns as seconds with 9 decimals, right-aligned in at least `width` columns, no NUL, into
 * `out` of at least 40 bytes. Returns the length. */
size_t pallas_put_seconds(char *out, uint64_t ns, size_t width);
#endif
