/* SPDX-License-Identifier: MIT */
/*
 * user_stack_ring: the ring of struct user_stack (--why=stack=user).
 *
 * In: what bpf/user_stack.bpf.h sends; out: each stack, to a function, in the calling thread.
 */
#ifndef USER_KERNEL_USER_STACK_RING_H
#define USER_KERNEL_USER_STACK_RING_H

#include "bpf/record.h"

struct bpf_load;
struct user_stack_ring;

typedef void (*user_stack_taker)(void *arg, const struct user_stack *stack);

/* Opens the ring of the loaded programs. NULL after one message. */
struct user_stack_ring *user_stack_ring_open(const struct bpf_load *bpf);
void user_stack_ring_close(struct user_stack_ring *ring); /* NULL is fine */

/* Waits up to `timeout_ms` for stacks, and gives those that are there to `take`. Returns how many,
 * or -errno. `ring` is a struct user_stack_ring. */
int user_stack_ring_poll(void *ring, int timeout_ms, user_stack_taker take, void *arg);

#endif
