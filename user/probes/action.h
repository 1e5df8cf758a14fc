/* SPDX-License-Identifier: MIT */
/*
 * action: the meaning of a thread entering or leaving a site.
 *
 * One action per site, in an array with the same indices; made by actions_of_site() for -u and
 * --usdt (a function is a state of the stack of marks 0, a value a single mark), and by the API
 * files for theirs. The timeline (probe_events.h) executes them and knows neither API files nor
 * models: it keeps the stacks balanced, and never writes an event that a model refuses.
 *
 *   entry of the function   entry[0..], then `during` begins
 *   its return              `during` ends, then at_return[0..]
 *   it is left otherwise    `during` ends (longjmp, an exception, exec, a missed return)
 *   a point                 entry[0..]
 *
 * Invariants: once finished, no value is 0; a mark's type is declared; constant strings live as
 * long as the actions.
 * Specification: event-mapping.md "User probes and marks", "Library APIs".
 */
#ifndef USER_PROBES_ACTION_H
#define USER_PROBES_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/probes/site.h"
#include "trace/ovni/event.h"

#define ACTION_STEPS_MAX 8		 /* at the entry, and at the return */
#define ACTION_ALSO_MAX	 3		 /* states of one call beside the first */
#define ACTION_ZERO	 (-2147483648LL) /* written for the value 0 of an argument */
#define ACTION_TYPES	 89		 /* of marks that probes use, from 0 */

#define MARK_PUSH MCV('O', 'M', '[')
#define MARK_POP  MCV('O', 'M', ']')
#define MARK_SET  MCV('O', 'M', '=')

/* A state of one of the stacks of a thread, or the value of a single channel. */
struct effect {
	uint32_t enter;	   /* MCV: MARK_PUSH, MARK_SET, or an event of a model (no payload) */
	uint32_t leave;	   /* MCV of the event that ends it; 0: enter has no end */
	int32_t type;	   /* marks: type, 0 to 88 */
	int64_t value;	   /* marks: 0 is numbered by actions_finish(), by its label */
	const char *label; /* marks: of the value; NULL: the value comes from the record */
	bool repeats;	   /* may be pushed on its equal; else the inner one is not written */

	/* Given by actions_finish(): */
	uint16_t stack;	   /* effects with the same number share one stack */
	uint32_t declared; /* the index of its declaration, for each stream that has it */
};

enum step_kind {
	STEP_BEGIN, /* pushes the effect on its stack until a STEP_END, even after the return */
	STEP_END,   /* removes the topmost equal one (enter, type, value), if there is any */
	STEP_SET,   /* writes effect.enter once (leave is 0) */
	STEP_VALUE, /* MARK_SET with a value of the record (argument, return, operand) */
};

enum step_when {
	WHEN_ALWAYS,
	WHEN_ZERO,    /* at a return: the lower 32 bits of the returned value are 0, */
	WHEN_NONZERO, /* or are not; */
	WHEN_FALSE,   /* the same for a _Bool: the lower 8 bits, the others are arbitrary */
	WHEN_TRUE,
};

struct step {
	enum step_kind kind;
	enum step_when when;
	struct effect effect;
	struct site_value value; /* of the site: what STEP_VALUE writes, or a condition tests */
	uint8_t index;		 /* of it in the values of the site: action_bind() */
};

struct action {
	struct step entry[ACTION_STEPS_MAX], at_return[ACTION_STEPS_MAX];
	unsigned nentry, nreturn;
	bool has_during;
	struct effect during;
	struct effect also[ACTION_ALSO_MAX]; /* with it, on other stacks: nalso of them */
	unsigned nalso;
};

/* A type of marks: it is declared in the streams that use it. */
struct mark_type {
	const char *title; /* NULL: the type is not used */
	bool single;	   /* else a stack */
};

/* A declaration in the metadata of the streams that use it: types, then models; after a type come
 * its value 0 and its labels. */
struct declaration {
	char model; /* not 0: an event of this model is used, and the rest means nothing */
	bool single;
	int32_t type;
	const char *title; /* the type alone; else NULL, and */
	const char *label; /* this is the label of */
	int64_t value;
};

struct actions {
	struct action *list; /* by index of the site: count of them */
	size_t count;
	struct mark_type types[ACTION_TYPES];
	struct declaration *declarations; /* after actions_finish(): ndeclarations of them */
	size_t ndeclarations;
	char **titles; /* made here: ntitles of them */
	size_t ntitles;
};

/* Actions that do nothing, for `count` sites. 0 or -ENOMEM. */
int actions_new(struct actions *actions, size_t count) __attribute__((warn_unused_result));

/* Declares a type of marks; one that is declared with the same title and kind is fine. The title
 * stays the caller's. 0, or -EEXIST: it is declared otherwise. */
int actions_type(struct actions *actions, int32_t type, const char *title, bool single)
	__attribute__((warn_unused_result));

/* Gives the action of a site the meaning of -u and --usdt: a function is a state of the marks 0; a
 * point is a value of a single mark, "Point"; each argument and returned value is the value of
 * another single mark. 0, or -errno after one message (out of memory, no type is left). */
int actions_of_site(struct actions *actions, size_t index, const struct site *site)
	__attribute__((warn_unused_result));

/* Finds the values that the steps need in the values of the site, to which the missing ones are
 * added. False: one has no place there. */
bool action_bind(struct action *action, struct site *site);

/* Adds the effects of `more` to `into`, if they share no stack and no type of marks, and there is
 * room. A value that both write, of equal type, is written once: both must be bound to one site.
 * Returns whether it did; else `into` has not changed. */
bool action_join(struct action *into, struct action *more);

/*
 * Numbers the rest: values of marks that are 0 get dense ids from 1 in byte order of their
 * labels, type by type, past values given before; stacks get their numbers. Call it once, when all
 * actions are there. 0 or -ENOMEM; the types of all marks must be declared.
 */
int actions_finish(struct actions *actions) __attribute__((warn_unused_result));

/* Does the action need the return of the function? Else only the entry is probed. */
static inline bool action_returns(const struct action *action)
{
	return action->has_during || action->nreturn;
}

void actions_free(struct actions *actions); /* also of a zeroed struct */

#endif
