/* SPDX-License-Identifier: MIT */
/*
 * perfetto_stacks: stacks of sleeps as call stacks of Perfetto.
 *
 * In: the lines of the file `stacks`; out: interned data of the sequence of a track: each name of a
 * function, file, frame and stack once. A frame has its file, [kernel] for the kernel, and its
 * address there, or its offset in the function. Specification: perfetto.md 11.
 */
#ifndef TOOLS_EXPORT_PERFETTO_STACKS_H
#define TOOLS_EXPORT_PERFETTO_STACKS_H

#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/ovni/stack_file.h"

struct perfetto_stacks { /* all zero: no sequence has a stack */
	struct hash numbers;
	uint32_t last;
};

/* Appends to `packet` what the sequence does not have of a stack yet. Returns the number of the
 * call stack, from 1 on, or 0 without memory. */
uint32_t perfetto_stacks_put(struct perfetto_stacks *stacks, struct bytes *packet,
			     uint32_t sequence, const struct stack_line *line);
/* The sequences end: the next part of the trace has its own. */
void perfetto_stacks_clear(struct perfetto_stacks *stacks);

#endif
