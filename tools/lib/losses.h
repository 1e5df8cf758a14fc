/* SPDX-License-Identifier: MIT */
/*
 * losses: what the metadata of a trace says is missing from it.
 *
 * In: the metadata of each stream; out: the exit status of a program that made something else of
 * the trace. What is converted is complete only if the trace was: the one who converts it cannot
 * know better, but must not be silent about it.
 */
#ifndef TOOLS_LIB_LOSSES_H
#define TOOLS_LIB_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "trace/base/json.h"

struct losses {
	uint64_t events;    /* that the recorder lost */
	uint64_t records;   /* that the producers of imported Loom runs dropped */
	uint64_t recovered; /* streams that were closed after a crash */
};

/* Adds what one stream's metadata says (NULL: nothing). */
void losses_add(struct losses *losses, const struct json *meta);

/* STATUS_COMPLETE; or STATUS_LOST, after a warning for each kind of thing that `path` lacks. */
int losses_status(const struct losses *losses, const char *path);

#endif
