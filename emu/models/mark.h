/* SPDX-License-Identifier: MIT */
/*
 * mark: events of the user, whose types the streams declare in ovni.mark.
 *
 * In: declarations, joined over all streams, and the events OM[ OM] OM=; out: one channel per type
 * (event type 100 + t), in the order in which threads (by gindex) name them first.
 * Part of the ovni model. Specification: models.md 1.4, prv.md 4.4.
 */
#ifndef EMU_MODELS_MARK_H
#define EMU_MODELS_MARK_H

#include "emu/emulator.h"

#define MARK_TYPES 100

struct marks;

struct marks *mark_new(void);
void mark_free(struct marks *marks); /* NULL is fine */

/* Takes in what a stream declares; complains about faults. */
int mark_declare(struct marks *marks, struct model_state *state, const struct json *meta,
		 size_t stream, const char *path);
/* Adds the channels of all types. 0, or -errno after a message. */
int mark_prepare(struct marks *marks, struct emulator *emu) __attribute__((warn_unused_result));

/* OM[ OM] OM= */
int mark_event(const struct marks *marks, struct emulator *emu, struct thread *th,
	       const struct event *ev);

#endif
