/* SPDX-License-Identifier: MIT */
/*
 * stack_file: the file `stacks` of a trace, the stacks of its long sleeps.
 *
 * In: text, a line for each different stack, with the number that an OHw or KCI has; out: its
 * frames, the innermost first. For the writers: the names, and lines that a part of the trace uses.
 *
 *   ovni-bpf stacks 1
 *   1	do_nanosleep+0x6e;hrtimer_nanosleep+0x97;do_syscall_64+0x55;...
 *   2	=1
 *   2	=1;clock_nanosleep@libc.so.6+0xcee3f;main@prog+0x1149@prog.c:12;...
 *   3	=2
 *   4	=1	3
 *
 * A second tab and a number behind the frames: the stack of the waker that ended the sleep. Of two
 * lines with one number the later one holds: the frames of user code are known later. A user
 * frame is NAME@FILE+ADDRESS[@SOURCE:LINE], or [FILE+ADDRESS]@BUILD-ID. Invariants: the file is
 * untrusted: frames are printable; "=" leads to a line with frames within STACK_SAME_MAX steps; a
 * last line without an end, of a killed recorder, does not count. Specification: event-mapping.md
 * "The stack of a long sleep".
 */
#ifndef TRACE_OVNI_STACK_FILE_H
#define TRACE_OVNI_STACK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_FILE	"stacks"
#define STACK_FILE_HEAD "ovni-bpf stacks 1\n"
#define STACK_FILE_WRITTEN_MAX                                                                     \
	(32u << 20) /* bytes that a recorder writes; a merged file has more */
#define STACK_FRAME_END	 ';'
#define STACK_LINE_SAME	 '=' /* and a number: the frames of that stack, then those that follow */
#define STACK_SAME_MAX	 4
#define STACK_FRAME_FILE '@'		     /* behind the name of a frame of user code */
#define STACK_FRAME_NONE "[no_kernel_stack]" /* user code alone was asked for */
#define STACK_FRAME_CUT	 "[cut]" /* in place of the outermost frame: there may be more */

struct stack_line {
	uint32_t number;
	uint32_t size;	     /* bytes of the frames */
	const char *frames;  /* of the kernel, or all */
	uint32_t outer_size; /* bytes of the frames behind these */
	const char *outer;   /* of user code */
	uint32_t first;	     /* index of the line with the same frames that stands first: its own */
	uint32_t waker;	     /* number of the stack of the waker that ended the sleep; 0: none */
	bool used;	     /* by the part of the trace that is written */
};

struct stack_table {
	char *text;
	struct stack_line *lines; /* n of them, by number */
	size_t n;
	bool torn; /* a last line without an end was left out */
};

/*
 * Reads the file in the directory `trace_fd` of the trace `path`; without one the table is empty.
 * 0, -EBADMSG for a damaged file, or another -errno, after one message. stack_table_free() may
 * follow in all cases.
 */
int stack_table_load(struct stack_table *table, int trace_fd, const char *path)
	__attribute__((warn_unused_result));
void stack_table_free(struct stack_table *table);

/* The line of a number; NULL: it is not known. */
struct stack_line *stack_table_find(const struct stack_table *table, uint32_t number);

/* The stack of the waker that ended the sleep with this stack, or NULL. */
const struct stack_line *stack_line_waker(const struct stack_table *table,
					  const struct stack_line *line);

/* The frame that begins at the offset *at, 0 at first, which then is that of the next one: its
 * length; 0: there is none. */
size_t stack_line_frame(const struct stack_line *line, size_t *at, const char **frame);

/* The bytes of a frame that are the name of its function, without its offset, or its address. */
size_t stack_frame_name(const char *frame, size_t len);
/* Is it a frame of user code? */
bool stack_frame_is_user(const char *frame, size_t len);

/* The names of its innermost `most` functions, of user code if it has some, "futex_wait <- do_futex
 * <- __x64_sys_futex", for free(); NULL without memory. */
char *stack_line_text(const struct stack_line *line, unsigned most);

/* Its innermost frame of user code outside of the C library, and the caller of that one:
 * "take (pool.c:40) <- worker", without that one if it is of the C library; "" without such a
 * frame. The C library is known by its files, so its functions in a static program count. For
 * free(); NULL without memory. */
char *stack_line_place(const struct stack_line *line);

/* The same of the stack of a waker; without such a frame its innermost two functions of the kernel,
 * as of an interrupt. */
char *stack_line_waker_place(const struct stack_line *line);

/* Writes the used lines of a table, with those of their wakers, into the trace `out_fd`, after
 * those that are there, with `more` added to their numbers. None used: no file is made. 0, or
 * -errno after one message. */
int stack_table_write(const struct stack_table *table, int out_fd, uint32_t more)
	__attribute__((warn_unused_result));

#endif
