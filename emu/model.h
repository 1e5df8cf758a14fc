/* SPDX-License-Identifier: MIT */
/*
 * model: what the emulator must know about one ovni model: a page of tables, and a few
 * functions for what tables cannot say.
 *
 * In: the catalogue of events (trace/catalog/catalog.h) and the page in models/NAME.c; out: one
 * flat table from (category, value) to an action. What an event pushes, pops or sets is in the
 * catalogue; the page names the functions for the others. An event of the catalogue that has
 * neither does nothing. The core knows no model, the models do not know each other.
 * Specification: emulator.md 7, models.md.
 */
#ifndef EMU_MODEL_H
#define EMU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/paraver/channel.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/event.h"
#include "trace/base/json.h"

struct emulator;
struct thread;
struct action;

/* Handles one event of a thread. Returns 0, or a negative errno after emu_refuse(). */
typedef int (*model_event_fn)(struct emulator *emu, struct thread *th, const struct event *ev,
			      const struct action *action);

enum action_op {
	DO_REFUSE = 0, /* no such event */
	DO_IGNORE,     /* nothing to do */
	DO_PUSH,
	DO_POP,
	DO_SET,
	DO_CLEAR,
	DO_CALL,  /* of a jumbo event, the payload is its length and the data */
	DO_JUMBO, /* the event must be jumbo, its payload is the data */
};

struct action {
	uint8_t op;	  /* enum action_op */
	bool told;	  /* a warning about it: one is enough */
	uint16_t channel; /* that the catalogue names: its place in the emulation */
	int32_t value;	  /* to push, pop or set there, as the catalogue has it */
	model_event_fn fn;
};

/* An event that the catalogue cannot tell in full: a function of the page does it. */
struct model_event {
	char mcv[4];
	bool jumbo;
	model_event_fn fn;
};

/* The view of -b: see breakdown.h. */
struct breakdown_page {
	const char *file; /* "nosv-breakdown" */
	uint32_t type;
	const char *label;
	bool two_inputs;		 /* subsystem and label only (openmp) */
	uint16_t subsystem, tasks, idle; /* channels on the page; tasks: type or label */
	int64_t body;			 /* value of subsystem in a task body */
};

struct model_state; /* of one emulation, below */

struct model {
	const char *name; /* as in the catalogue and in ovni.require */
	bool ours;	  /* not of the reference: enabled by ovni.require alone, not by -a */
	const struct channel_page *channels;
	size_t nchannels;
	const struct model_event *events;
	size_t nevents;
	uint16_t lint_channel; /* the stack that must be empty at the end (-l) */
	const char *lint;      /* what is on it: "subsystems"; NULL: not checked */
	const struct breakdown_page *breakdown;

	/* The hooks, in the order of their calls; each may be NULL. All return 0 or a negative
	 * errno after a message, but for metadata: its faults count only if the model turns
	 * out to be enabled, so it tells them with model_complain(). */
	int (*metadata)(struct emulator *emu, struct model_state *state, const struct json *meta,
			size_t stream);
	int (*prepare)(struct emulator *emu, struct model_state *state); /* may add channels */
	int (*start)(struct emulator *emu, struct model_state *state);	 /* channels are there */
	/* After each change of the state of a thread, and each mark, for models that watch: */
	int (*watch)(struct emulator *emu, struct model_state *state, struct thread *th,
		     const struct event *ev);
	int (*finish)(struct emulator *emu, struct model_state *state); /* the trace is complete */
	int (*describe)(struct emulator *emu, struct model_state *state); /* labels for the .pcf */
	void (*close)(struct model_state *state);
};

struct model_state {
	const struct model *model;
	const struct catalog_model *catalog; /* NULL for a model without events */
	bool enabled;
	uint16_t accept;   /* bit s: events are accepted in thread->situation s */
	uint16_t *index;   /* category << 8 | value: place in actions */
	bool no_breakdown; /* the trace does not allow its view of -b */
	uint32_t first_channel;
	char *complaint; /* what its metadata has wrong, NULL if nothing */
	void *data;	 /* the model's own */
};

extern const struct model *const models[]; /* in order of their character; ours last; NULL ends */
#define MODELS_MAX 16

/* Keeps the first complaint about the metadata of a model. Returns -EINVAL. */
int model_complain(struct model_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Reads a version X.Y.Z (anything may follow a further '.' or '-'). Returns 0 or -EINVAL.
 */
int model_parse_version(const char *text, int version[3]) __attribute__((warn_unused_result));

/*
 * Checks the entry of the model in `require` (an object) against the version that we have.
 * *wanted is set if there is one. Returns 0, or -EINVAL after model_complain().
 */
int model_check_require(struct model_state *state, const struct json *require, const char *path,
			bool *wanted);

/* For pages: an event that is obsolete. It has no effect but for one warning. Returns 0. */
int model_obsolete(struct emulator *emu, struct thread *th, const struct event *ev,
		   const struct action *action);

/*
 * Fills state->index from the page and the catalogue, adding to emu->actions, and the
 * labels of the channels. Returns 0 or -errno after a message.
 */
int model_prepare_events(struct emulator *emu, struct model_state *state)
	__attribute__((warn_unused_result));

#endif
