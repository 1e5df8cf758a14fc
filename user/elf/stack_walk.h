/* SPDX-License-Identifier: MIT */
/*
 * stack_walk: the functions on the stack of a thread, from its registers and a copy of its stack.
 *
 * In: the files that a process has mapped for execution, their places, registers, bytes of the
 * stack; out: one text of frames, the innermost first, as the file `stacks` has them. libdw walks
 * by .eh_frame or .debug_frame, and by frame pointers where a function has neither. All this is
 * done by one child process, which lives as long as the walk: it has no privileges, gets open files
 * only, and keeps what it has learned about them. It may crash or loop on a damaged file: then it
 * is ended, and the next call starts another one.
 * Invariants: each address of a text lies in a mapping for execution; a stack whose outermost
 * function was not reached ends with STACK_FRAME_CUT. One thread at a time calls these.
 * Specification: why.md A8, and part B.
 */
#ifndef USER_ELF_STACK_WALK_H
#define USER_ELF_STACK_WALK_H

#include <stddef.h>
#include <stdint.h>

#define STACK_WALK_FILES     512 /* numbers of files are below */
#define STACK_WALK_PROCESSES 32	 /* and those of processes */
#define STACK_WALK_MAPPINGS  1024
#define STACK_WALK_FRAMES    250
#define STACK_WALK_TEXT	     (32u << 10) /* bytes, its NUL included */
#define STACK_WALK_NO_FILE   UINT32_MAX

struct stack_walk;

struct walk_mapping {
	uint64_t start, end;
	uint64_t bias; /* address in memory - address in the file */
	uint32_t file; /* STACK_WALK_NO_FILE: memory of no file, or of one that cannot be read */
	uint32_t pad;
};

struct walk_stack {
	uint64_t from; /* address of the first byte */
	uint32_t bytes;
	uint32_t nregisters;
	const uint64_t *registers; /* in the order of DWARF, then the instruction pointer */
	const void *stack;
};

/* NULL without memory. */
struct stack_walk *stack_walk_new(void);
void stack_walk_free(struct stack_walk *walk); /* NULL is fine; ends the child */

/* Raised whenever a child was lost: the files and processes must be given anew. */
unsigned stack_walk_generation(const struct stack_walk *walk);

/* Gives a file, `fd` stays the caller's, with the name that frames have. 0 or -errno. */
int stack_walk_file(struct stack_walk *walk, uint32_t file, int fd, const char *name)
	__attribute__((warn_unused_result));

/* Gives the mappings of a process, in place of those that its number had before. 0 or -errno. */
int stack_walk_process(struct stack_walk *walk, uint32_t process,
		       const struct walk_mapping *mappings, size_t n)
	__attribute__((warn_unused_result));

/* Writes the frames with a NUL into `text`, of STACK_WALK_TEXT bytes. Returns their length; 0:
 * there are none, since the instruction pointer is in no mapping; -EAGAIN: an outer address is in
 * none, and the text ends before; or -errno: the child was lost. */
int stack_walk_frames(struct stack_walk *walk, uint32_t process, const struct walk_stack *stack,
		      char *text) __attribute__((warn_unused_result));

#endif
