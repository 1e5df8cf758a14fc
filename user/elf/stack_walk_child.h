/* SPDX-License-Identifier: MIT */
/*
 * stack_walk_child: the side of stack_walk.h that runs in the child process.
 *
 * In: requests through a socket, one in each message; out: an answer for each WALK_STACK. Reads the
 * files with libdw, and nothing else of the system.
 */
#ifndef USER_ELF_STACK_WALK_CHILD_H
#define USER_ELF_STACK_WALK_CHILD_H

#include <stdint.h>

#include "user/elf/stack_walk.h"

enum walk_kind {
	WALK_FILE,    /* then its name; with its descriptor */
	WALK_PROCESS, /* then `n` of struct walk_mapping */
	WALK_STACK,   /* then n registers, and `bytes` of the stack */
};

struct walk_request {
	uint32_t kind, number; /* of the file or the process */
	uint32_t n, bytes;
	uint64_t from;
};

#define WALK_MESSAGE_MAX (sizeof(struct walk_request) + 64 * 1024)

enum walk_status { WALK_WHOLE, WALK_CUT, WALK_UNMAPPED };

struct walk_answer {
	uint32_t status, size; /* bytes of text that follow, at most STACK_WALK_TEXT - 1 */
};

/* Answers until the other side closes the socket. */
void stack_walk_serve(int socket);

#endif
