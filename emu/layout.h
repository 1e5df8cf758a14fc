/* SPDX-License-Identifier: MIT */
/*
 * layout: places the channels of each thread and CPU in memory.
 *
 * In: the system and the enabled models; out: channels, their masks, the slots of every thread and
 * CPU, the tables of events and the breakdown views. Later events allocate memory only for tasks.
 * Invariant: the data that an event of a thread needs are side by side.
 * Specification: emulator.md 2, stages 6 and 7.
 */
#ifndef EMU_LAYOUT_H
#define EMU_LAYOUT_H

#include "emu/emulation.h"

/*
 * Adds a channel, before layout_models() places them in memory. Returns its number, or -errno
 * after a message.
 */
int layout_add_channel(struct emulator *emu, const struct channel_page *page);

/*
 * Prepares the enabled models and allocates all that their events touch. Returns 0, or -errno after
 * a message; the emulator owns the allocations in both cases.
 */
int layout_models(struct emulator *emu) __attribute__((warn_unused_result));

#endif
