/* SPDX-License-Identifier: MIT */
/*
 * sleep_stacks: the different stacks of the long sleeps of one trace (--why=stack).
 *
 * In: records of stacks, in the draining thread; out: a number for each different one, which the
 * OHw (KCI) that ends the sleep has, and its line of the file `stacks` (trace/ovni/stack_file.h).
 * The frames of user code come later (user/stacks/user_stacks.h): such a sleep has a number of its
 * own, with a line at once for the kernel's frames, and another one as soon as all are known.
 * Invariants: no file is opened and nothing waits here, but in sleep_stacks_settle(); a line is
 * given to the writer before the first event with its number; memory follows the number of
 * different stacks, which is limited. Specification: event-mapping.md "The stack of a long sleep".
 */
#ifndef USER_TIMELINE_SLEEP_STACKS_H
#define USER_TIMELINE_SLEEP_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

struct kernel_symbols;
struct user_stacks;
struct sleep_stacks;

/* `symbols` and `user` stay the caller's; NULL: addresses have no names; there are no frames of
 * user code. NULL without memory. */
struct sleep_stacks *sleep_stacks_new(const struct kernel_symbols *symbols,
				      struct user_stacks *user);
void sleep_stacks_free(struct sleep_stacks *stacks); /* NULL is fine */

/* The number of this stack, from 1; with the number of the stack of the waker that ended the sleep
 * (0: none), which another number may share. 0: it is empty, there is no memory, or the file is
 * full. */
uint32_t sleep_stacks_number(struct sleep_stacks *stacks, const struct record_stack *record,
			     uint32_t waker);

/* At the end: waits until the frames of user code of the last stacks are known. */
void sleep_stacks_settle(struct sleep_stacks *stacks);

/* The lines that were made since the last call, for free(), and their size; NULL: none. */
char *sleep_stacks_take_lines(struct sleep_stacks *stacks, size_t *size);

/* The bytes of all lines, those that are not taken yet too. */
uint64_t sleep_stacks_bytes(const struct sleep_stacks *stacks);

/* How many there are. */
uint32_t sleep_stacks_different(const struct sleep_stacks *stacks);

/* Sleeps that have the stack of their waker. */
uint64_t sleep_stacks_wakers(const struct sleep_stacks *stacks);

/* Sleeps, and wakers, whose frames of user code were asked for; *unknown: those of which they are
 * not known. */
uint64_t sleep_stacks_user(const struct sleep_stacks *stacks, uint64_t *unknown);

#endif
