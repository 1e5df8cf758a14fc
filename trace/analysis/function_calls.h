/* SPDX-License-Identifier: MIT */
/*
 * function_calls: the regions that a thread enters and leaves, as functions with a name.
 *
 * In: an event; out: the function that it enters or leaves, and the names of a function. A function
 * is a value of a stack mark, or a state of a stack channel of a model. A thread leaves the
 * innermost open call of a function; a leave without an enter began before the trace.
 * Specification: event-mapping.md, "User probes and marks" and "Library APIs"; models.md 1.4.
 */
#ifndef TRACE_ANALYSIS_FUNCTION_CALLS_H
#define TRACE_ANALYSIS_FUNCTION_CALLS_H

#include "trace/analysis/thread_times.h"
#include "trace/base/hash.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/trace.h"

#define MARK_TYPE_LOST 92 /* "Events lost" is not a function */

struct function {
	int32_t type;  /* of a mark; else minus the character of the model, */
	int64_t value; /* and value is the channel and the state in it */
};

/* Reads which function the event enters (ACTION_PUSH) or leaves (ACTION_POP) into *function; any
 * other action: neither. */
enum catalog_action function_event(const struct event *ev, struct function *function);

static inline bool function_same(const struct function *a, const struct function *b)
{
	return a->type == b->type && a->value == b->value;
}

/* Whether the two are on one stack: marks of one type, or states of one channel of a model. */
static inline bool function_same_type(const struct function *a, const struct function *b)
{
	return a->type == b->type && (a->type >= 0 || a->value >> 32 == b->value >> 32);
}

/* Functions with numbers, in the order of their first use. Zeroed: none. */
struct function_list {
	struct function *list;
	size_t n;
	struct hash numbers;
};

/* The number of a function, which is added if it is new; -1 without memory, without a message. */
int64_t function_number(struct function_list *functions, const struct function *function);
void function_list_free(struct function_list *functions);

/* ---- the open calls of a thread ---- */

struct function_call {
	struct function function;
	uint32_t number;		      /* of the function in a list */
	bool inner;			      /* inside a call of the same function */
	bool apart;			      /* begins with the call around it, or ends after it */
	int64_t begin, classes[TIME_CLASSES]; /* of the thread when it began: thread_times_read() */
};

struct function_calls {		    /* zeroed: none */
	struct function_call *list; /* the outermost one first */
	size_t depth;
	uint32_t room;
};

/* Enters a call of `function` with the number `number`, and returns it without its classes; NULL
 * without memory. */
struct function_call *function_calls_enter(struct function_calls *calls,
					   const struct function *function, uint32_t number,
					   int64_t clock);
/* The innermost call of `function` leaves: returns its index, for function_calls_remove(), or -1:
 * it was entered before the trace begins. */
int64_t function_calls_find(const struct function_calls *calls, const struct function *function);
void function_calls_remove(struct function_calls *calls, size_t i);
void function_calls_free(struct function_calls *calls);

/* ---- names ---- */

/* The label of a function and the title of its type, from the first stream that has them; for
 * free(). NULL without memory. */
void function_names(const struct source *source, const struct function *function, char **label,
		    char **title);

#endif
