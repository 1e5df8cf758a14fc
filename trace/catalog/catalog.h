/* SPDX-License-Identifier: MIT */
/*
 * catalog: the tables of all known events, in catalog/tables.c.
 *
 * In: an MCV or an event; out: its entry, or a sentence in English. An entry is a signature and a
 * sentence, in which %{name} stands for an argument, and the catalogue leaves out a part in [...]
 * if one of its arguments is missing. The decoder, the dump, the checker, the models of the
 * emulator and the generated page of events all use these tables: a new event is one line. An event
 * that enters a region has the MCV of the leaving event in `leaves`, so that recorder and checker
 * balance stacks without an emulator.
 * Specification: models.md (every model), event-mapping.md (payloads of `bpf`).
 */
#ifndef TRACE_CATALOG_CATALOG_H
#define TRACE_CATALOG_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/json.h"
#include "trace/ovni/event.h"
#include "trace/catalog/signature.h"

/* Thread states that accept the events of a model (models.md, first line of each). */
enum catalog_when {
	WHEN_ANY,    /* any state */
	WHEN_ACTIVE, /* running, cooling, warming */
	WHEN_RUNNING,
};

/* Action of an event on a channel of its thread (models.md: single and stack channels). */
enum catalog_action {
	ACTION_NONE,  /* none in these tables */
	ACTION_PUSH,  /* pushes `value` on the stack */
	ACTION_POP,   /* pops `value` from the stack */
	ACTION_SET,   /* sets a single channel to `value` */
	ACTION_CLEAR, /* empties a single channel */
};

struct catalog_event {
	const char *signature; /* "OAs(i32 cpu)" */
	const char *english;   /* "switches its affinity to the CPU %{cpu}" */
	char leaves[4];	       /* of an entering event: MCV of the leaving event; else "" */
	int value;	       /* to push, pop or set; 0: in the arguments */
	const char *label;     /* of `value` in the .pcf, or NULL */
	enum catalog_action action;
	const char *channel; /* "subsystem"; NULL without an action */
};

/* A value of a channel without an event, and its label in the .pcf. */
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
	bool out_of_cpu; /* accepts events between KCO and KCI */
	bool repeats;	 /* a push may repeat the top of the stack */
	const struct catalog_event *events;
	size_t nevents;
	const struct catalog_label *labels; /* further values of its channels */
	size_t nlabels;
};

/* All models by character; the last one has a NULL name. */
extern const struct catalog_model catalog_models[];

/* The model of a character or a name, or NULL. */
const struct catalog_model *catalog_model(char character);
const struct catalog_model *catalog_model_by_name(const char *name);

/* Adds the models with a bit in `models` to ovni.require of the metadata, where they are missing.
 */
void catalog_require(struct json *meta, const uint64_t models[4]);

/*
 * The entry of an MCV, or NULL; its parsed signature goes to *sig, unless `sig` is NULL. A wildcard
 * entry ("OB.") stands for all values of its category without an entry. O(1) after the first call,
 * which parses the signatures. Thread-safe.
 */
const struct catalog_event *catalog_find(uint32_t mcv, const struct signature **sig);

/* Whether a function of the model mpi, by the value of its channel, is a blocking collective that
 * no rank leaves before all have entered it; and whether it is MPI_Init(_thread) (models.md 10). */
bool catalog_synchronises(int mpi_function);
bool catalog_is_mpi_init(int mpi_function);

/*
 * Writes the sentence of `ev` with its arguments into `out`: at most `size` bytes with the NUL at
 * the end. Unprintable characters are escaped, "?" stands for a missing required argument, and
 * "UNKNOWN" for an unknown event. Returns the full length, as snprintf() does.
 */
size_t catalog_explain(const struct event *ev, char *out, size_t size);

#endif
