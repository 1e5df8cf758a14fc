/* SPDX-License-Identifier: MIT */
/*
 * losses: events that are missing in a trace, by its metadata.
 *
 * In: the metadata of each stream; out: warnings, and the exit status of a program that converts
 * the trace: the result is complete only if the trace is.
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

/* Adds the losses in one stream's metadata (NULL: none). */
void losses_add(struct losses *losses, const struct json *meta);

/* STATUS_COMPLETE; or STATUS_LOST after a warning for each kind of loss. */
int losses_status(const struct losses *losses, const char *path);

#endif
