/* SPDX-License-Identifier: MIT */
/*
 * model: describes one ovni model to the emulator: a page of tables, and a few functions.
 *
 * In: the catalogue of events (trace/catalog/catalog.h) and the page in models/NAME.c; out: one
 * flat table from (category, value) to an action. The catalogue has the values that events push,
 * pop or set; the page names the functions of the other events. An event of the catalogue that
 * has neither does nothing. Invariant: the core does not depend on a model, nor a model on another.
 * Specification: emulator.md 2 (stages 6 and 7) and 7, models.md.
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

/* Handles one event of a thread. Returns 0, or -errno after emu_refuse(). */
typedef int (*model_event_fn)(struct emulator *emu, struct thread *th, const struct event *ev,
			      const struct action *action);

enum action_op {
	DO_REFUSE = 0, /* no such event */
	DO_IGNORE,     /* no effect */
	DO_PUSH,
	DO_POP,
	DO_SET,
	DO_CLEAR,
	DO_CALL,  /* of a jumbo event, the payload is its length and the data */
	DO_JUMBO, /* the event must be jumbo, its payload is the data */
};

struct action {
	uint8_t op;	  /* enum action_op */
	bool warned;	  /* the one warning about an obsolete event */
	uint16_t channel; /* number of the channel that the catalogue names */
	int32_t value;	  /* of the catalogue, to push, pop or set */
	model_event_fn fn;
};

/* An event with a function on the page, since the catalogue cannot describe it in full. */
struct model_event {
	char mcv[4];
	bool jumbo;
	model_event_fn fn;
};

/* The breakdown view of a model (breakdown.h). */
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
	bool extension;	  /* unknown to the reference: enabled by ovni.require, not by -a */
	const struct channel_page *channels;
	size_t nchannels;
	const struct model_event *events;
	size_t nevents;
	uint16_t lint_channel; /* the stack that must be empty at the end (-l) */
	const char *lint;      /* its contents in messages: "subsystems"; NULL: not checked */
	const struct breakdown_page *breakdown;
	uint16_t types_channel; /* of a model with tasks: shows the labels of task types */

	/*
	 * The hooks, in the order of their calls; each may be NULL. They return 0, or -errno after
	 * a message. Faults of the metadata count only if the model gets enabled: that hook reports
	 * them with model_complain().
	 */
	int (*metadata)(struct emulator *emu, struct model_state *state, const struct json *meta,
			size_t stream);
	int (*prepare)(struct emulator *emu, struct model_state *state); /* may add channels */
	int (*start)(struct emulator *emu, struct model_state *state);	 /* channels exist */
	/* after each change of the state of a thread, and each mark */
	int (*watch)(struct emulator *emu, struct model_state *state, struct thread *th,
		     const struct event *ev);
	int (*finish)(struct emulator *emu,
		      struct model_state *state); /* at the end of the trace */
	int (*describe)(struct emulator *emu,
			struct model_state *state); /* adds labels for the .pcf */
	void (*close)(struct model_state *state);
};

struct model_state {
	const struct model *model;
	const struct catalog_model *catalog; /* NULL for a model without events */
	bool enabled;
	uint16_t accept;   /* bit s: accepts events in thread->situation s */
	uint16_t *index;   /* category << 8 | value: index in actions */
	bool no_breakdown; /* the trace does not allow its view of -b */
	uint32_t first_channel;
	char *complaint;     /* first fault of its metadata, NULL if none */
	struct tasks *tasks; /* of a model with tasks (task.h), from its start on */
	void *data;	     /* owned by the model */
};

/* The fields of struct model for a table of channels and of events. */
#define CHANNELS(table) .channels = table, .nchannels = sizeof(table) / sizeof((table)[0])
#define EVENTS(table)	.events = table, .nevents = sizeof(table) / sizeof((table)[0])

extern const struct model model_nanos6, model_ovni, model_openmp, model_nosv, model_bpf;
extern const struct model *const models[]; /* by character, extensions last, ended by NULL */
#define MODELS_MAX 16

/* Keeps the first complaint about the metadata of a model. Returns -EINVAL or -ENOMEM. */
int model_complain(struct model_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Reads a version X.Y.Z; a further '.' or '-' may follow with any text. Returns 0 or -EINVAL.
 */
int model_parse_version(const char *text, int version[3]) __attribute__((warn_unused_result));

/*
 * Compares the entry of the model in `require` (an object) with the version in the catalogue, and
 * sets *required if there is an entry. Returns 0, or -EINVAL after model_complain().
 */
int model_check_require(struct model_state *state, const struct json *require, const char *path,
			bool *required);

/* A function for pages: an obsolete event, which only causes one warning. Returns 0. */
int model_obsolete(struct emulator *emu, struct thread *th, const struct event *ev,
		   const struct action *action);

/*
 * Adds a channel, before models_prepare() places them in memory. Returns its number, or -errno
 * after a message.
 */
int model_add_channel(struct emulator *emu, const struct channel_page *page);

/* Adds the label of a value to the .pcf; the caller owns the string. Returns 0 or -ENOMEM. */
int channel_add_label(struct channel *channel, int64_t value, const char *label)
	__attribute__((warn_unused_result));
/* The label of a value, or NULL. */
const char *channel_label(const struct channel *channel, int64_t value);

/*
 * Prepares the enabled models: their channels and tables of events, the slots of every thread and
 * CPU, and the breakdown views. Later events allocate memory only for tasks, and the data that an
 * event of a thread needs are side by side. Returns 0, or -errno after a message; the emulator owns
 * the allocations in both cases.
 */
int models_prepare(struct emulator *emu) __attribute__((warn_unused_result));

#endif
