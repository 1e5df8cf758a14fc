/* SPDX-License-Identifier: MIT */
/*
 * user_stacks: the frames of user code of long sleeps, by the number that the kernel's side gave
 * (--why=stack=user).
 *
 * In: struct user_stack, taken from their ring by a thread of their own, and /proc/PID/maps and the
 * files of these processes, which a second thread has walked; out: a text of frames for each number
 * (user/elf/stack_walk.h). Invariants: the draining thread waits for nothing here; a process is
 * read while it lives, and known afterwards; processes that the user may not look into have no
 * frames; the newest USER_STACKS_KEPT numbers are known. Specification: why.md A8, and part B.
 */
#ifndef USER_STACKS_USER_STACKS_H
#define USER_STACKS_USER_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define USER_STACKS_KEPT  (1u << 20)  /* numbers; more than 17 minutes at the highest rate */
#define USER_STACKS_BYTES (32u << 20) /* of all different texts; more are not known */

struct user_stacks;

/* Waits up to `timeout_ms` for stacks, and gives each to `take`. Returns how many, or -errno. */
typedef int (*user_stacks_poll)(void *source, int timeout_ms,
				void (*take)(void *arg, const struct user_stack *stack), void *arg);

/* Starts the threads. `proc` is "/proc". `pids`, which must live as long: processes whose mappings
 * are read first, since each may end at once after a sleep. NULL after one message. */
struct user_stacks *user_stacks_start(const char *proc, user_stacks_poll poll, void *source,
				      const uint32_t *pids, size_t npids);
void user_stacks_stop(struct user_stacks *stacks); /* NULL is fine */

/* Takes the stack of a thread that sleeps, from its memory, if it still sleeps there. Copies
 * `registers`; any thread may call it. */
void user_stacks_sleeper(struct user_stacks *stacks, const struct record_registers *registers);

/* Waits until all stacks that were sent before have been taken, at most some seconds. */
void user_stacks_settle(struct user_stacks *stacks);

enum user_stack_state {
	USER_STACK_PENDING, /* not taken yet, or never sent */
	USER_STACK_KNOWN,
	USER_STACK_NONE, /* it could not be walked */
};

/* The frames of a number; *id is equal for equal texts. The text lives as long as `stacks`. Any
 * thread may ask. */
enum user_stack_state user_stacks_find(struct user_stacks *stacks, uint32_t number, uint32_t *id,
				       const char **text);

/* How many stacks had frames that are known. */
uint64_t user_stacks_known(struct user_stacks *stacks);

#endif
