/* SPDX-License-Identifier: MIT */
/*
 * catalog: THE tables of all events that the project knows, one file per model
 * (catalog/ovni.c, catalog/nosv.c, ...).
 *
 * An entry is a signature and an English sentence in which %{name} stands for an
 * argument, and [...] for a part that is left out if an argument in it is missing. The
 * decoder, dump, the checker, the emulator's models and the generated page of events all
 * derive from these tables: a new event is one line. For an event that enters something,
 * `leaves` names the one that leaves it, so that recorder and checker balance stacks
 * without an emulator.
 * Specification: models.md (every model), event-mapping.md (payloads of `bpf`).
 */
#ifndef TRACE_CATALOG_CATALOG_H
#define TRACE_CATALOG_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ovni/event.h"
#include "trace/catalog/signature.h"

/* Which thread states accept a model's events (models.md, first line of each). */
enum catalog_when {
	WHEN_ANY,    /* any state */
	WHEN_ACTIVE, /* running, cooling, warming */
	WHEN_RUNNING,
};

/* What an event does to a channel of its thread (models.md: single and stack channels). */
enum catalog_action {
	ACTION_NONE,  /* nothing that these tables could tell */
	ACTION_PUSH,  /* puts `value` on the stack */
	ACTION_POP,   /* takes `value` off the stack */
	ACTION_SET,   /* sets a single channel to `value` */
	ACTION_CLEAR, /* sets it to empty */
};

struct catalog_event {
	const char *signature; /* "OAs(i32 cpu)" */
	const char *english;   /* "switches its affinity to the CPU %{cpu}" */
	char leaves[4];	       /* of an event that enters: MCV of the one that leaves; else "" */
	int value;	       /* what the action puts or takes; 0: it is in the arguments */
	const char *label;     /* of that value in the .pcf; else NULL */
	enum catalog_action action;
	const char *channel; /* "subsystem": the one acted upon; NULL without an action */
};

/* A value of a channel that no event names, with its label in the .pcf. */
struct catalog_label {
	const char *channel;
	int value;
	const char *label;
};

struct catalog_model {
	char character;	     /* 'O' */
	const char *name;    /* "ovni" */
	const char *version; /* "1.1.0" */
	enum catalog_when when;
	bool out_of_cpu; /* accepted while the kernel model says out of the CPU */
	bool repeats;	 /* a push may repeat the top of a stack */
	const struct catalog_event *events;
	size_t nevents;
	const struct catalog_label *labels; /* further values of its channels */
	size_t nlabels;
};

/* All models in the order of their character; the last one has a NULL name. */
extern const struct catalog_model *const catalog_models[];

/* The model of a character or a name, or NULL. */
const struct catalog_model *catalog_model(char character);
const struct catalog_model *catalog_model_by_name(const char *name);

/*
 * The entry of an MCV, or NULL if no model knows it. A category whose values mean
 * nothing ("OB.", any value) is found through its wildcard entry. O(1) after the first
 * call, which parses the signatures; thread safe.
 */
const struct catalog_event *catalog_find(uint32_t mcv, const struct signature **sig);

/*
 * Writes the English of `ev` with its arguments into `out` (always ended by NUL, cut if
 * too small): at most `size` bytes. What is not printable in a string is escaped, a
 * required argument that is missing shows as "?". Unknown events give "UNKNOWN". Returns
 * the length it would have, as snprintf() does.
 */
size_t catalog_explain(const struct event *ev, char *out, size_t size);

#endif
