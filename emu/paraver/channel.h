/* SPDX-License-Identifier: MIT */
/*
 * channel: the values of threads in Paraver, one slot per thread and channel.
 *
 *   event ──► channel_push/pop/set ──► slot of the thread ──┬──► row of the thread
 *                                                           └──► row of the CPU where it runs
 *
 * A channel has an integer or is empty (written as 0). Only an event that touches a row writes to
 * it; the policy then compares with the last value of the row. Bits select the slots that may
 * write a line, so the cost of a change of state follows the used slots, not the number of
 * channels:
 *
 *   has    the slot is not empty
 *   shown  the last value of the row was not empty, or it has no value yet
 *
 * The reference hides a channel while the thread is off its CPU, as its tracking says. Such a
 * channel also has a lasting type, of ours: its value stays in the row of the thread from OHx to
 * OHe.
 *
 * Invariant: an empty slot has the value 0, so value and `has` compare together. Models refuse a
 * value of 0 where it is not allowed.
 * Specification: prv.md 3, 4 and 7.
 */
#ifndef EMU_PARAVER_CHANNEL_H
#define EMU_PARAVER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/paraver/prv.h"

#define CHANNEL_STACK_MAX 512 /* values in a stack */
/* Our form of a type of the reference. */
#define LASTING_TYPE(number) ((number) + 320)

/* In the rows of CPUs: dense numbers of the running process and thread, with names in the .pcf. */
#define CPU_TYPE_PROCESS LASTING_TYPE(1u)
#define CPU_TYPE_THREAD	 LASTING_TYPE(2u)

enum channel_kind { CHANNEL_SINGLE, CHANNEL_STACK };
enum channel_track { TRACK_ANY, TRACK_RUNNING, TRACK_ACTIVE };
enum channel_policy { POLICY_SKIP, POLICY_SKIP_EMPTY, POLICY_ALL };

enum channel_cpu {		   /* the CPU that also shows the channel in its row */
		   CPU_OF_RUNNING, /* the CPU with this thread as the running one */
		   CPU_OF_THREAD,  /* the CPU of the thread at the time of the write */
		   CPU_NONE,
};

struct value_label {
	int64_t value;
	const char *label;
};

/* One channel on the page of a model. */
struct channel_page {
	uint32_t type;	  /* event type in Paraver */
	const char *name; /* in the catalogue, NULL for none */
	enum channel_kind kind;
	bool repeats; /* an event may set or push the present value again */
	enum channel_track track;
	enum channel_policy policy;
	const char *label;
	bool alone; /* the label is complete: no " of the RUNNING thread" */
	bool brief; /* no lasting type */
	enum channel_cpu cpu;
	int64_t initial;     /* value before the first event, without a line; 0: empty */
	int64_t cpu_default; /* value of a CPU without a running thread; 0: empty */
	const struct value_label *values; /* labels beside those of the catalogue, ended by a NULL
					   * label; NULL for none */
};

/* A page with the constants above, without their prefixes, and further fields. */
#define CHANNEL_PAGE(number, text, its_kind, its_track, its_policy, ...)                           \
	{                                                                                          \
		.type = number, .label = text, .kind = CHANNEL_##its_kind,                         \
		.track = TRACK_##its_track, .policy = POLICY_##its_policy, __VA_ARGS__             \
	}

struct breakdown;

/* A channel of one emulation: its page, prepared for the hot path. */
struct channel {
	struct prv_type type;
	uint8_t visible; /* bit s: the row of a thread in state s shows it */
	uint8_t policy, repeats, cpu;
	int64_t cpu_default;
	bool used;		 /* some thread had a value */
	struct prv_type lasting; /* of the lasting type; length 0: none */
	const struct channel_page *page;
	struct breakdown *breakdown; /* view with the rows of CPUs as an input, NULL if none */
	uint8_t breakdown_input;     /* enum breakdown_input */
	uint32_t number;	     /* index in the emulation */
	struct value_label *labels;  /* for the .pcf; the strings live as long as the emulation */
	size_t nlabels;
};

enum { LAST_EMPTY = 0, LAST_VALUE = 1, LAST_NEVER = 2 };

struct slot {	       /* of one thread and channel */
	int64_t value; /* present value: the top of a stack */
	int64_t last;  /* last value in the row of the thread */
	int64_t *stack;
	uint32_t room;	   /* of the stack */
	uint16_t depth;	   /* of the stack */
	uint8_t has;	   /* 0 if empty */
	uint8_t last_kind; /* LAST_* */
};

struct cpu_slot { /* of one CPU and channel */
	int64_t last;
	uint8_t last_kind;
};

/* Result of a write; the caller logs a failure (emu_refuse_channel). */
enum channel_result {
	CHANNEL_OK,
	CHANNEL_REPEAT,	  /* the same value again in a channel that does not repeat */
	CHANNEL_FULL,	  /* a stack of CHANNEL_STACK_MAX values */
	CHANNEL_EMPTY,	  /* pop of an empty stack */
	CHANNEL_MISMATCH, /* pop of another value than the top */
	CHANNEL_NOMEM,
};

#endif
