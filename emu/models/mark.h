/* SPDX-License-Identifier: MIT */
/*
 * mark: events of the user, with types that the streams declare in ovni.mark.
 *
 * In: the declarations of all streams, and the events OM[ OM] OM=; out: one channel per type
 * (event type 100 + t). Invariant: channels are in the order of their first declaration, by gindex
 * of the thread.
 * Part of the ovni model. Specification: models.md 1.4, prv.md 4.4.
 */
#ifndef EMU_MODELS_MARK_H
#define EMU_MODELS_MARK_H

#include "emu/emulation.h"

#define MARK_TYPES 100

struct marks;

struct marks *mark_new(void);
void mark_free(struct marks *marks); /* accepts NULL */

/* Adds the declarations of a stream. Returns 0, or a negative errno after model_complain(). */
int mark_declare(struct marks *marks, struct model_state *state, const struct json *meta,
		 size_t stream, const char *path);
/* Adds the channels of all types. Returns 0, or -errno after a message. */
int mark_prepare(struct marks *marks, struct emulator *emu) __attribute__((warn_unused_result));

/* Handles OM[, OM] and OM=. Returns 0, or -errno after emu_refuse(). */
int mark_event(const struct marks *marks, struct emulator *emu, struct thread *th,
	       const struct event *ev);

#endif
