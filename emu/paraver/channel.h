/* SPDX-License-Identifier: MIT */
/*
 * channel: the values of a thread that Paraver shows, one slot per thread and channel.
 *
 *   event ──► channel_push/pop/set ──► slot of the thread ──┬──► row of the thread
 *                                                           └──► row of the CPU where it runs
 *
 * A channel holds an integer or nothing ("empty", written as 0). A row is written only when an
 * event touches it; the policy then compares with the last value written there. Bits tell
 * which slots can write anything at all, so a change of state costs what is set, not
 * the number of channels:
 *
 *   has    the slot is not empty
 *   shown  the row's last value was not empty, or was never written
 *
 * Invariant: an empty slot has the value 0, so value and `has` compare together. Models
 * refuse a 0 that may not be written before it gets here.
 * Specification: prv.md 3 and 4.
 */
#ifndef EMU_PARAVER_CHANNEL_H
#define EMU_PARAVER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/paraver/prv.h"

#define CHANNEL_STACK_MAX 512 /* values in a stack */

enum channel_kind { CHANNEL_SINGLE, CHANNEL_STACK };
enum channel_track { TRACK_ANY, TRACK_RUNNING, TRACK_ACTIVE };
enum channel_policy { POLICY_SKIP, POLICY_SKIP_EMPTY, POLICY_ALL };

enum channel_cpu {		   /* which CPU's row shows it too */
		   CPU_OF_RUNNING, /* where the thread is the running one */
		   CPU_OF_THREAD,  /* that the thread belongs to, when it is written */
		   CPU_NONE,
};

struct value_label {
	int64_t value;
	const char *label;
};

/* What the page of a model says about one of its channels. */
struct channel_page {
	uint32_t type;	  /* event type in Paraver */
	const char *name; /* in the catalogue; NULL if it has none there */
	enum channel_kind kind;
	bool repeats; /* the present value may be set or pushed again */
	enum channel_track track;
	enum channel_policy policy;
	const char *label;
	bool alone; /* the label is complete: no " of the RUNNING thread" */
	enum channel_cpu cpu;
	int64_t initial;     /* value before any event, nothing is written for it; 0: empty */
	int64_t cpu_default; /* value of a CPU without a running thread; 0: empty */
	const struct value_label *values; /* labels that are not in the catalogue, ended by a NULL
					   * label; NULL for none */
};

struct breakdown;

/* A channel of this emulation: the page, prepared for the hot path. */
struct channel {
	struct prv_type type;
	uint8_t visible; /* bit s: a thread in state s shows it in its row */
	uint8_t kind, policy, repeats, cpu;
	int64_t cpu_default;
	const struct channel_page *page;
	struct breakdown *breakdown; /* whose input it is in the rows of CPUs, NULL if none */
	uint8_t breakdown_input;     /* enum breakdown_input */
	uint32_t number;	     /* its place, from 0 */
	struct value_label *labels;  /* for the .pcf; the strings live as long as the emulation */
	size_t nlabels;
};

enum { LAST_EMPTY = 0, LAST_VALUE = 1, LAST_NEVER = 2 };

struct slot {	       /* of one thread and channel */
	int64_t value; /* the present one: the top of a stack */
	int64_t last;  /* written last in the row of the thread */
	int64_t *stack;
	uint16_t depth, room; /* of the stack */
	uint8_t has;	      /* 0 if empty */
	uint8_t last_kind;    /* LAST_* */
};

struct cpu_slot { /* of one CPU and channel */
	int64_t last;
	uint8_t last_kind;
};

/*
 * The outcome of a write; the caller tells the user (emu_refuse_channel).
 */
enum channel_result {
	CHANNEL_OK,
	CHANNEL_REPEAT,	  /* the same value again, and the channel does not repeat */
	CHANNEL_FULL,	  /* a stack of CHANNEL_STACK_MAX values */
	CHANNEL_EMPTY,	  /* pop of an empty stack */
	CHANNEL_MISMATCH, /* pop of a value that is not on top */
	CHANNEL_NOMEM,
};

/* Gives the stack room for more values. Returns CHANNEL_OK, _FULL or _NOMEM. */
enum channel_result channel_stack_grow(struct slot *slot);

/* Adds a label for a value to the .pcf. 0 or -ENOMEM. */
int channel_add_label(struct channel *channel, int64_t value, const char *label)
	__attribute__((warn_unused_result));
/* The label of a value, or NULL. */
const char *channel_label(const struct channel *channel, int64_t value);

#endif
