/* SPDX-License-Identifier: MIT */
/*
 * layout: where the channels of each thread and CPU lie in memory.
 *
 * In: the system and the models that are enabled; out: channels, the masks over them, the slots of
 * every thread and CPU, the tables of events and the breakdown views. After it nothing is allocated
 * for an event but tasks. Invariant: what an event of a thread needs lies side by side.
 * Specification: emulator.md 2, stages 6 and 7.
 */
#ifndef EMU_LAYOUT_H
#define EMU_LAYOUT_H

#include "emu/emulator.h"

/* Prepares the enabled models and lays out all that their events touch. Returns 0, or -errno after
 * a message; what it has allocated is the emulator's either way. */
int layout_models(struct emulator *emu) __attribute__((warn_unused_result));

#endif
