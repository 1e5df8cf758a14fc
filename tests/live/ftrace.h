/* SPDX-License-Identifier: MIT */
/*
 * ftrace: the file of the independent instrument.
 *
 * A header, then the records of the first CPU in the order of its ring buffer, then those of the
 * next one. Written by ftrace.c, read by compare.c.
 */
#ifndef TESTS_LIVE_FTRACE_H
#define TESTS_LIVE_FTRACE_H

#include <stdint.h>

#define FTRACE_MAGIC "ftrace1"

struct ftrace_header {
	char magic[8];
	uint64_t nrecords;
};

enum ftrace_kind {
	FTRACE_SWITCH,	/* a leaves in `state`, b enters */
	FTRACE_WAKEUP,	/* a is on a run queue of CPU b */
	FTRACE_WAKING,	/* a is about to be woken */
	FTRACE_FORK,	/* a has created the thread or process b */
	FTRACE_EXEC,	/* a has executed a program; its tid was b before */
	FTRACE_RUNTIME, /* a, which runs, has `state` ns more on its account */
	/* With -i. a: vector of a softirq, number of a line; b: enum ftrace_handler */
	FTRACE_ENTER, /* an interrupt handler begins */
	FTRACE_LEAVE,
	FTRACE_KINDS
};

enum ftrace_handler {
	FTRACE_SOFTIRQ_VECTOR,
	FTRACE_IRQ_LINE,
	FTRACE_LOCAL_TIMER,
	FTRACE_IRQ_WORK,
	FTRACE_CALL_FUNCTION,
	FTRACE_CALL_FUNCTION_SINGLE,
	FTRACE_RESCHEDULE
};

/* Of `flags` */
#define FTRACE_HARDIRQ 0x08
#define FTRACE_SOFTIRQ 0x10
#define FTRACE_NMI     0x40

/* Of `state`: the kernel's value when it is not runnable; 0x100: preempted in it */
#define FTRACE_BLOCKED 0xff
#define FTRACE_STOPPED 0x04
#define FTRACE_DEAD    0x30 /* EXIT_DEAD or EXIT_ZOMBIE */

struct ftrace_record {
	uint64_t clock; /* CLOCK_MONOTONIC, ns */
	uint8_t kind;	/* enum ftrace_kind */
	uint8_t flags;	/* of the context: in which interrupt */
	uint16_t cpu;
	int32_t current; /* tid in whose context it happened */
	int32_t a, b;
	uint32_t state;
	uint32_t pad;
};
_Static_assert(sizeof(struct ftrace_record) == 32, "of the file");

#endif
